"""Has the pages of an earlier run looked at again that are due, after a crawl was brought back.

    new links first, by priority, and what a run that was broken off has left; then the pages that
    are due, those with the most news to be expected first; then what earlier rounds have left

How soon a page is due is told by its own news (`scheduling.revisits`): changes of its main text or
title, and relevant pages that it led to. What a look brings is decided in `engine.results`; what
was had of a page stays as it is until an answer has come, whatever happens meanwhile.

A *round* is what one order looks at: it ends with the run that comes to an end of its own, and
goes on after a kill, Ctrl-C or an outage. Limits count what a round asks for.
"""

from __future__ import annotations

import sqlite3

from focus.admission.near_duplicates import text_digest
from focus.crawler import Crawl
from focus.engine.limits import round_totals
from focus.engine.view import Request, conditional_headers
from focus.html.main_content import own_text
from focus.records import REVISIT_PRIORITY, StoredPage, UrlState
from focus.scheduling.revisits import make_revisit_policy
from focus.storage import page_checks
from focus.storage.labels import unpacked
from focus.store import CrawlInfo, Store

BROKEN_OFF = ("interrupted", "terminated", "offline")
"""Reasons of an end after which the same round goes on."""


async def look_again(crawl: Crawl, store: Store, info: CrawlInfo, age_s: float) -> int:
    """Have what is due looked at again; how many pages that are."""
    totals = crawl.unit_of_work.totals
    if info.finished and info.reason not in BROKEN_OFF:
        totals.round_from = info.next_url
        totals.round_pages = totals.pages + totals.looked
        totals.round_requests, totals.round_bytes = totals.requests, totals.bytes
        totals.round_relevant = totals.relevant
    if totals.round_from:
        crawl.frontier.exclude_ids_below(totals.round_from, include_last=True)
    totals.refreshed_from = totals.refreshed_from or info.next_url
    now, most, listings = crawl.transport.now(), _most(crawl), crawl.config.fetch.listings

    def due(db: sqlite3.Connection) -> list[StoredPage]:
        how = make_revisit_policy(age_s, page_checks.watched(db, info.id))
        found = how.due(page_checks.kept_pages(db, info.id, listings=listings), now)[:most]
        return _with_digests(db, info.id, found)

    pages = await store.run(due)
    for place, page in enumerate(pages):
        _ask_again(crawl, page, REVISIT_PRIORITY - place)
    return len(pages)


def _ask_again(crawl: Crawl, page: StoredPage, priority: float) -> None:
    """Let it wait behind all links; in the store it stays what it is until it has answered."""
    before = UrlState.DROPPED if page.is_url_source else UrlState.DONE
    validators = conditional_headers(page.etag, page.last_modified)
    crawl.requests[page.id] = Request(before=before, conditions=validators, stored_page=page)
    crawl.url_table.set_state(page.id, UrlState.WAITING)
    crawl.frontier.push(page.id, page.url, priority)


def _most(crawl: Crawl) -> int | None:
    """Pages that the limits leave room for, at most; None: no limit says so."""
    limits, done = crawl.config.limits, round_totals(crawl.unit_of_work.totals)
    pairs = (limits.max_pages, done.pages), (limits.max_requests, done.requests)
    return min((max(0, most - spent) for most, spent in pairs if most is not None), default=None)


def _with_digests(db: sqlite3.Connection, crawl: int, pages: list[StoredPage]) -> list[StoredPage]:
    """Find by their stored sources what pages said that were had without `--refresh`."""
    lacking = {page.id: page for page in pages if not (page.text_digest or page.is_url_source)}
    for number, packed in page_checks.sources(db, crawl, [*lacking]):
        lacking[number].text_digest = text_digest(own_text(unpacked(packed)))
    return pages
