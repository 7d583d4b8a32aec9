"""What would the last days have sent? By stored pages alone: nothing is fetched, kept or sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from urllib.parse import urlsplit

import msgspec

from focus.alerts import matches
from focus.alerts.alert import Alert
from focus.alerts.matching import Subjects, hit_of_sheet
from focus.alerts.near_duplicates import AlertTexts
from focus.alerts.page_match import PageView
from focus.alerts.store import AlertStore, Match, StoredAlert

SETTLED_S = 3_600.0  # after a site's crawl began; what has no date and came earlier existed
LOOKED_AT = 2_000  # pages of a site, the latest


class Preview(msgspec.Struct, frozen=True):
    """What the last days would have sent.

    hits      news, best first, without repetitions; `similar` of each, in the same order
    pages     looked at
    undated   alert it too, but give no date and came with the first visit
    unvisited sites that have never been visited: nothing is known of them yet
    """

    hits: list[Match]
    similar: list[int]
    pages: int
    undated: int
    unvisited: list[str]


def preview(
    book: AlertStore, wanted: Alert | StoredAlert, *, now: float, zone: tzinfo, days: float = 7.0
) -> Preview:
    """What an alert, kept or not, would have sent in the last days; by stored pages alone.

    One that is kept is judged as its votes have taught it. A page counts by the date that it
    gives; one without by when it came, if that was after the first visit. ConfigError for a
    topic file that cannot be used.
    """
    if isinstance(wanted, StoredAlert):
        alert, subject = wanted.alert, Subjects().of_owned(book, wanted)
    else:
        alert, subject = wanted, Subjects().of(wanted, trusted=True)
    since = now - days * 86400.0
    found: list[Match] = []
    pages = undated = 0
    unvisited = []
    for host in dict.fromkeys(urlsplit(url).netloc for url in alert.sites):
        site = matches.site_of(book, host)
        if site is None or site.crawl is None:
            unvisited.append(host)
            continue
        settled = matches.began_at(book, site.crawl) + SETTLED_S
        for sheet in _sheets(book, site.crawl, since):
            pages += 1
            if not subject.is_in_source(sheet):
                continue
            hit = hit_of_sheet(sheet, subject, alert, now=sheet.stored.fetched_at, zone=zone)
            if hit is None:
                continue
            is_undated = hit.published_at is None and (hit.found_at < settled or sheet.is_list)
            undated += is_undated
            if not is_undated and (hit.published_at or hit.found_at) >= since:
                found.append(hit)
    return _folded(found, pages, undated, unvisited)


def _sheets(book: AlertStore, crawl: int, since: float) -> Iterator[PageView]:
    for page in matches.pages_since(book, crawl, since=since, limit=LOOKED_AT):
        if page.wanted:
            yield PageView(page, matches.source(book, page.id))


def _folded(found: list[Match], pages: int, undated: int, unvisited: list[str]) -> Preview:
    """Near-duplicates under the best of them."""
    texts = AlertTexts()
    hits: list[Match] = []
    similar: list[int] = []
    for hit in sorted(found, key=lambda each: -each.relevance):
        twin = texts.find(hit.simhash, hit.url)
        if twin is not None:
            similar[twin] += 1
            continue
        texts.add(len(hits), hit.simhash, hit.url)
        hits.append(hit)
        similar.append(0)
    return Preview(hits, similar, pages, undated, unvisited)
