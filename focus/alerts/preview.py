"""Preview of the messages of the last days from stored pages; nothing is fetched or sent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import tzinfo
from urllib.parse import urlsplit

import msgspec

from focus.alerts.matching import CriteriaCache, match_page
from focus.alerts.near_duplicates import AlertTexts
from focus.alerts.page_match import PageView
from focus.storage.alerts.records import Alert, Match, StoredAlert
from focus.storage.alerts.store import AlertStore

FIRST_VISIT_S = 3_600.0
"""Longest time of a first visit; undated pages that were fetched in it existed before."""
MAX_PAGES = 2_000  # latest pages of a site


class Preview(msgspec.Struct, frozen=True):
    """Messages that the last days would have sent.

    matches    News, best first, without near-duplicates.
    similar    Number of near-duplicates of each match, in the same order.
    pages      Number of pages examined.
    undated    Pages that match, but have no date and came with the first visit.
    unvisited  Sites that have never been visited, so that nothing is known of them.
    """

    matches: list[Match]
    similar: list[int]
    pages: int
    undated: int
    unvisited: list[str]


def preview_alert(
    store: AlertStore,
    source: Alert | StoredAlert,
    *,
    now: float,
    zone: tzinfo,
    days: float = 7.0,
    trusted: bool = True,
) -> Preview:
    """Return what an alert would have sent in the last days, from stored pages alone.

    A stored alert is judged with what its votes have taught. A page counts by its own date; a page
    without one counts by its fetch time, if that is after the first visit.

    trusted  Whether an alert that is not stored may name files of this machine (`alert_topic`).

    Raises ConfigError for an unusable topic file.
    """
    if isinstance(source, StoredAlert):
        alert, criteria = source.alert, CriteriaCache().get_stored(store, source)
    else:
        alert, criteria = source, CriteriaCache().get(source, trusted=trusted)
    since = now - days * 86400.0
    matches: list[Match] = []
    pages = undated = 0
    unvisited = []
    for host in dict.fromkeys(urlsplit(url).netloc for url in alert.sites):
        site = store.sites.find_by_host(host)
        if site is None or site.crawl is None:
            unvisited.append(host)
            continue
        first_visit_end = min(
            store.pages.started_at(site.crawl) + FIRST_VISIT_S,
            store.sites.find_baseline_time(site.id) or math.inf,
        )
        for view in _iter_page_views(store, site.crawl, since):
            pages += 1
            if not criteria.may_be_in_source(view):
                continue
            match = match_page(view, criteria, alert, now=view.stored.fetched_at, zone=zone)
            if match is None:
                continue
            is_undated = match.published_at is None and (
                match.found_at < first_visit_end or view.is_index_page
            )
            undated += is_undated
            if not is_undated and (match.published_at or match.found_at) >= since:
                matches.append(match)
    return _fold_duplicates(matches, pages, undated, unvisited)


def _iter_page_views(store: AlertStore, crawl: int, since: float) -> Iterator[PageView]:
    for page in store.pages.list_since(crawl, since, limit=MAX_PAGES):
        if page.can_be_shown:
            yield PageView(page, store.pages.load_source(page.id))


def _fold_duplicates(
    all_matches: list[Match], pages: int, undated: int, unvisited: list[str]
) -> Preview:
    """Return the preview with near-duplicates counted at the best of them."""
    texts = AlertTexts()
    matches: list[Match] = []
    similar: list[int] = []
    for match in sorted(all_matches, key=lambda match: -match.relevance):
        earlier = texts.find(match.simhash, match.url)
        if earlier is not None:
            similar[earlier] += 1
            continue
        texts.add(len(matches), match.simhash, match.url)
        matches.append(match)
        similar.append(0)
    return Preview(matches, similar, pages, undated, unvisited)
