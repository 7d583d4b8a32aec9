"""Schedules the revisits of pages of earlier runs that are due, after a crawl was restored.

Order of requests: new links and the remaining URLs of an interrupted run, by priority; then due
pages, those with the most expected changes first; then remaining URLs of earlier rounds.

The time when a page is due depends on its own changes (`scheduling.revisits`): of its main text or
title, and relevant pages found through its links. `engine.results` decides what follows from a
revisit. The stored page does not change before a response has arrived.

A *revisit round* ends with the first run that ends normally, and continues after a kill, Ctrl-C
or an outage. Limits count the requests of a round.
"""

from __future__ import annotations

import sqlite3

from focus.crawler import Crawl
from focus.engine.view import Request, conditional_headers
from focus.records import REVISIT_PRIORITY, StoredPage, UrlState
from focus.scheduling.revisits import make_revisit_policy
from focus.storage import revisited_pages
from focus.store import CrawlInfo, Store

INTERRUPTED_REASONS = ("interrupted", "terminated", "offline")
"""Reasons for the end of a run after which the next run continues the same round."""


async def schedule_revisits(crawl: Crawl, store: Store, info: CrawlInfo, age_s: float) -> int:
    """Schedule revisits of all due pages; return their number."""
    totals = crawl.unit_of_work.totals
    if info.is_finished and info.end_reason not in INTERRUPTED_REASONS:
        totals.round_from = info.next_url
        totals.round_pages = totals.requested_pages
        totals.round_requests, totals.round_bytes = totals.requests, totals.bytes
        totals.round_relevant = totals.relevant
    if totals.round_from:
        crawl.frontier.exclude_ids_below(totals.round_from, include_last=True)
    totals.refreshed_from = totals.refreshed_from or info.next_url
    now, uses_sitemaps = crawl.transport.now(), crawl.config.fetch.sitemaps
    remaining = crawl.limits.remaining_requests()
    limit = None if remaining is None else max(0, remaining)

    def due(db: sqlite3.Connection) -> list[StoredPage]:
        policy = make_revisit_policy(age_s, revisited_pages.total_observation(db, info.id))
        return policy.due(
            revisited_pages.iter_stored_pages(db, info.id, include_sources=uses_sitemaps), now
        )[:limit]

    pages = await store.run_in_thread(due)
    for position, page in enumerate(pages):
        _schedule_revisit(crawl, page, REVISIT_PRIORITY - position)
    return len(pages)


def _schedule_revisit(crawl: Crawl, page: StoredPage, priority: float) -> None:
    """Add the page to the frontier behind all links; its stored state does not change yet."""
    before = UrlState.DROPPED if page.is_url_source else UrlState.DONE
    validators = conditional_headers(page.etag, page.last_modified)
    crawl.requests[page.id] = Request(before=before, conditions=validators, stored_page=page)
    crawl.url_table.set_state(page.id, UrlState.WAITING)
    crawl.frontier.push(page.id, page.url, priority)
