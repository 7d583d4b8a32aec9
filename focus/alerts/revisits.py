"""Which pages are looked at again, and when? Those whose links lead to new relevant pages.

Looking costs a request, not looking costs delay. With new relevant pages at a rate λ, an
interval t costs 1/t requests and λt/2 of delay per second; where a request is worth half an
hour of one page's delay, their sum is least at

    interval = √(1 h / λ), between 15 minutes and 7 days
    λ = (n + n₀)/(T + T₀)

n are the new relevant pages that were first found there, T the seconds it was watched, both
fading with e^(-t/week), so that every day of the week counts; n₀ = 0.005 and T₀ = 12 h stand
for what is not known yet. A section begins as if half a page had been found there, another
page as if a tenth. Worked: 24
pages a day for weeks: √(180/168) = 1 hour; one a day: 5 hours; none for a week: 6.4 days.
(An interval in proportion to 1/λ, one page a look, needs as many requests as one interval for
all: Cho and Garcia-Molina, 2003.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from focus.alerts.schedule import LONGEST_S, SHORTEST_S
from focus.records import DropReason, UrlState
from focus.storage.alerts.store import AlertStore
from focus.storage.schema import LAST_ID, id_range, row_id

GAIN_S = 3600.0
KEPT_S = 7 * 86_400.0
PRIOR, PRIOR_S = 0.005, 43_200.0
SECTION, OTHER = 0.5, 0.1  # pages that a section begins with, and another page
BEGIN_S = 3600.0  # until the second look at a section
PROVEN = 0.25  # pages, as they fade: one within ten days
CHILDREN = 3  # relevant pages that only this page leads to, for it to be looked at again
MOST = 100  # such pages of a site, sections and listings apart


class DueHub(NamedTuple):
    """A page that is due. `id` is the URL's number within its crawl.

    listing  a feed or sitemap
    """

    id: int
    url: str
    etag: str
    last_modified: str
    watched_s: float
    fresh: float
    checked_at: float
    listing: bool


_DUE = f"""
SELECT r.id, u.url, coalesce(x.etag, v.etag, ''),
coalesce(x.last_modified, v.last_modified, ''), r.watched_s, r.fresh, r.checked_at,
u.state = {int(UrlState.DROPPED)} FROM revisit r JOIN url u ON u.id = r.id
LEFT JOIN page_text x ON x.id = r.id LEFT JOIN validator v ON v.id = r.id
WHERE r.id BETWEEN ? AND ?
AND (r.next_at <= ? OR ? AND (u.depth = 0 OR r.fresh >= {PROVEN})) ORDER BY r.next_at, r.id LIMIT ?
"""
_ROOTS = f"""
SELECT id FROM url WHERE id BETWEEN ? AND ? AND (state = {int(UrlState.DONE)} AND depth = 0
OR state = {int(UrlState.DROPPED)} AND reason = '{DropReason.LISTING}')
"""
_NEWS = """
SELECT p.id FROM page p WHERE p.crawl = ? AND p.nth > ? AND p.relevant AND p.id >= ?
"""
_NEW = "INSERT OR IGNORE INTO revisit VALUES (?, 0, ?, ?, ?, ?)"


def interval_s(fresh: float, watched_s: float) -> float:
    """Seconds until the next look at a page that brought so much in that time."""
    wait_s = math.sqrt(GAIN_S * (watched_s + PRIOR_S) / (fresh + PRIOR))
    return min(LONGEST_S, max(SHORTEST_S, wait_s))


def due(book: AlertStore, crawl: int, *, until: float, proven: bool, most: int) -> list[DueHub]:
    """Pages whose time comes until then, the first first; `proven`: in any case sections, and
    those that brought something in the last days.
    """
    rows = book.rows(_DUE, (*id_range(crawl), until, proven, most))
    return [DueHub._make((number & LAST_ID, *rest)) for number, *rest in rows]


def news(book: AlertStore, crawl: int, *, after: int, first: int) -> list[int]:
    """Relevant pages of the requests after this one, URLs from `first` on."""
    rows = book.rows(_NEWS, (crawl, after, row_id(crawl, first)))
    return [number & LAST_ID for (number,) in rows]


def cover(
    links: Mapping[int, Sequence[int]], wanted: Iterable[int], *, chosen: Iterable[int] = ()
) -> list[int]:
    """Few pages that lead to the wanted ones, beside those chosen already: again and again the
    one that leads to most of what no other does, while that is `CHILDREN` at least.

    Worked: 1 → a b c d, 2 → c d e, 3 → e f g h: 3 and 1 (1 leads to four, and so does 3; 2 adds
    nothing to them).
    """
    left = set(wanted).difference(*(links.get(each, ()) for each in chosen))
    leads = {page: left.intersection(targets) for page, targets in links.items()}
    heap = [(-len(targets), page) for page, targets in leads.items() if len(targets) >= CHILDREN]
    heapify(heap)
    best = []
    while heap:
        _, page = heappop(heap)
        fewer = leads[page] & left
        if len(fewer) < CHILDREN:
            continue
        if heap and (-len(fewer), page) > heap[0]:
            heappush(heap, (-len(fewer), page))
            continue
        best.append(page)
        left -= fewer
    return best


def known(book: AlertStore, crawl: int) -> list[int]:
    """All pages that are looked at again."""
    rows = book.rows("SELECT id FROM revisit WHERE id BETWEEN ? AND ?", id_range(crawl))
    return [number & LAST_ID for (number,) in rows]


def root(book: AlertStore, crawl: int, *, now: float) -> None:
    """Have sections, feeds and sitemaps looked at again that are not yet."""
    with book.transaction() as db:
        for (number,) in db.execute(_ROOTS, id_range(crawl)).fetchall():
            db.execute(_NEW, (number, SECTION, BEGIN_S, now, now + BEGIN_S))


def learn(
    book: AlertStore,
    crawl: int,
    seen: Iterable[DueHub],
    found: Mapping[int, int],
    *,
    more: Sequence[int],
    now: float,
) -> float:
    """Note what a visit brought; when the first page of the site is due again.

    seen   the pages that were asked for again
    found  URL -> new relevant pages that were first found there
    more   pages to look at again from now on
    """
    with book.transaction() as db:
        for hub in seen:
            kept = math.exp(min(0.0, hub.checked_at - now) / KEPT_S)
            fresh = kept * hub.fresh + found.get(hub.id, 0)
            watched_s = kept * hub.watched_s + (1 - kept) * KEPT_S
            wait_s = interval_s(fresh, watched_s)
            db.execute(
                "UPDATE revisit SET watched_s = ?, fresh = ?, interval_s = ?, checked_at = ?, "
                "next_at = ? WHERE id = ?",
                (watched_s, fresh, wait_s, now, now + wait_s, row_id(crawl, hub.id)),
            )
        wait_s = interval_s(OTHER, 0.0)
        for url in more[:MOST]:
            db.execute(_NEW, (row_id(crawl, url), OTHER, wait_s, now, now + wait_s))
        (next_at,) = db.execute(
            "SELECT min(next_at) FROM revisit WHERE id BETWEEN ? AND ?", id_range(crawl)
        ).fetchone()
    return now + BEGIN_S if next_at is None else float(next_at)
