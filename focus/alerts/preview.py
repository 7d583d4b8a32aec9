"""Says what the last days would have sent, by stored pages alone: nothing is fetched or sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from urllib.parse import urlsplit

import msgspec

from focus.alerts.matching import Subjects, match_page
from focus.alerts.near_duplicates import AlertTexts
from focus.alerts.page_match import PageView
from focus.storage.alerts.records import Alert, Match, StoredAlert
from focus.storage.alerts.store import AlertStore

SETTLED_S = 3_600.0  # after a site's crawl began; what has no date and came earlier existed
LOOKED_AT = 2_000  # pages of a site, the latest


class Preview(msgspec.Struct, frozen=True):
    """The messages that the last days would have sent.

    matches   news, best first, without repetitions; `similar` of each, in the same order
    pages     looked at
    undated   match it too, but give no date and came with the first visit
    unvisited sites that have never been visited: nothing is known of them yet
    """

    matches: list[Match]
    similar: list[int]
    pages: int
    undated: int
    unvisited: list[str]


def preview(
    store: AlertStore,
    wanted: Alert | StoredAlert,
    *,
    now: float,
    zone: tzinfo,
    days: float = 7.0,
    trusted: bool = True,
) -> Preview:
    """What an alert, kept or not, would have sent in the last days; by stored pages alone.

    One that is kept is judged as its votes have taught it. A page counts by the date that it
    gives; one without by when it came, if that was after the first visit. ConfigError for a
    topic file that cannot be used.

    trusted  whether an alert that is not kept may name files of this machine (`topic_of`)
    """
    if isinstance(wanted, StoredAlert):
        alert, subject = wanted.alert, Subjects().of_owned(store, wanted)
    else:
        alert, subject = wanted, Subjects().of(wanted, trusted=trusted)
    since = now - days * 86400.0
    found: list[Match] = []
    pages = undated = 0
    unvisited = []
    for host in dict.fromkeys(urlsplit(url).netloc for url in alert.sites):
        site = store.sites.named(host)
        if site is None or site.crawl is None:
            unvisited.append(host)
            continue
        settled = store.pages.began_at(site.crawl) + SETTLED_S
        for view in _views(store, site.crawl, since):
            pages += 1
            if not subject.is_in_source(view):
                continue
            match = match_page(view, subject, alert, now=view.stored.fetched_at, zone=zone)
            if match is None:
                continue
            is_undated = match.published_at is None and (match.found_at < settled or view.is_list)
            undated += is_undated
            if not is_undated and (match.published_at or match.found_at) >= since:
                found.append(match)
    return _folded(found, pages, undated, unvisited)


def _views(store: AlertStore, crawl: int, since: float) -> Iterator[PageView]:
    for page in store.pages.since(crawl, since, limit=LOOKED_AT):
        if page.wanted:
            yield PageView(page, store.pages.source(page.id))


def _folded(found: list[Match], pages: int, undated: int, unvisited: list[str]) -> Preview:
    """Near-duplicates under the best of them."""
    texts = AlertTexts()
    matches: list[Match] = []
    similar: list[int] = []
    for match in sorted(found, key=lambda each: -each.relevance):
        earlier = texts.find(match.simhash, match.url)
        if earlier is not None:
            similar[earlier] += 1
            continue
        texts.add(len(matches), match.simhash, match.url)
        matches.append(match)
        similar.append(0)
    return Preview(matches, similar, pages, undated, unvisited)
