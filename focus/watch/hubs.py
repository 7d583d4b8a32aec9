"""Which pages are looked at again, and when? Those whose links lead to new relevant pages.

A page's interval is the time in which one new relevant page is to be expected of it:

    interval = (T + T₀)/(n + n₀), between 15 minutes and 7 days

n are the new relevant pages that its links led to, T the seconds it was watched, both
discounted by 0.8 with each visit; n₀ = 0.5 and T₀ = 12 h stand for what is not known yet:
one page a day. Worked: 6 pages in 12 hours: 86,400/6.5 = 3.7 hours; none in 7 days: 15 days,
so 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from focus.db.schema import LAST_ID, id_range, row_id
from focus.records import DropReason, UrlState
from focus.watch.book import Book
from focus.watch.schedule import LONGEST_S, SHORTEST_S

KEPT = 0.8
PRIOR, PRIOR_S = 0.5, 43_200.0
BEGIN_S = 3600.0  # until the second look at a section
CHILDREN = 3  # relevant pages that the links of a page led to, for it to be looked at again
MOST = 100  # such pages of a site, sections and listings apart


class Hub(msgspec.Struct, frozen=True):
    """A page that is due. `id` is the URL's number within its crawl."""

    id: int
    url: str
    etag: str
    last_modified: str
    watched_s: float
    fresh: float
    checked_at: float


_DUE = """
SELECT r.id, u.url, ifnull(x.etag, ''), ifnull(x.last_modified, ''), r.watched_s, r.fresh,
r.checked_at FROM revisit r JOIN url u ON u.id = r.id LEFT JOIN page_text x ON x.id = r.id
WHERE r.id BETWEEN ? AND ? AND (r.next_at <= ? OR u.depth = 0) ORDER BY r.next_at, r.id LIMIT ?
"""
_ROOTS = f"""
SELECT id FROM url WHERE id BETWEEN ? AND ? AND (state = {int(UrlState.DONE)} AND depth = 0
OR state = {int(UrlState.DROPPED)} AND reason = '{DropReason.LISTING}')
"""
_PARENTS = """
SELECT u.parent, count(*) FROM page p JOIN url u ON u.id = p.id
WHERE p.crawl = ? AND p.nth > ? AND p.relevant AND u.parent IS NOT NULL AND u.id >= ?
GROUP BY 1 ORDER BY 2 DESC, 1
"""
_NEW = "INSERT OR IGNORE INTO revisit VALUES (?, 0, 0, ?, ?, ?)"


def interval_s(fresh: float, watched_s: float) -> float:
    """Seconds until one new relevant page is to be expected, within the bounds."""
    return min(LONGEST_S, max(SHORTEST_S, (watched_s + PRIOR_S) / (fresh + PRIOR)))


def due(book: Book, crawl: int, *, now: float, most: int) -> list[Hub]:
    """Pages to look at now: sections always, others when their time has come."""
    rows = book.rows(_DUE, (*id_range(crawl), now, most))
    return [Hub(number & LAST_ID, *rest) for number, *rest in rows]


def news(book: Book, crawl: int, *, after: int, first: int) -> dict[int, int]:
    """URL -> relevant pages that its links led to: requests after this one, URLs from `first`."""
    return dict(book.rows(_PARENTS, (crawl, after, row_id(crawl, first))))


def learn(
    book: Book, crawl: int, seen: Iterable[Hub], found: Mapping[int, int], *, now: float
) -> float:
    """Note what a visit brought; when the first page of the site is due again.

    seen   the pages that were asked for again
    found  as of `news`
    """
    with book.transaction() as db:
        for hub in seen:
            fresh = KEPT * hub.fresh + found.get(hub.id, 0)
            watched_s = KEPT * hub.watched_s + max(0.0, now - hub.checked_at)
            wait_s = interval_s(fresh, watched_s)
            db.execute(
                "UPDATE revisit SET watched_s = ?, fresh = ?, interval_s = ?, checked_at = ?, "
                "next_at = ? WHERE id = ?",
                (watched_s, fresh, wait_s, now, now + wait_s, row_id(crawl, hub.id)),
            )
        for (number,) in db.execute(_ROOTS, id_range(crawl)).fetchall():
            db.execute(_NEW, (number, BEGIN_S, now, now + BEGIN_S))
        wait_s = interval_s(0.0, 0.0)
        rich = [url for url, children in found.items() if children >= CHILDREN]
        for url in rich[:MOST]:
            db.execute(_NEW, (row_id(crawl, url), wait_s, now, now + wait_s))
        (next_at,) = db.execute(
            "SELECT min(next_at) FROM revisit WHERE id BETWEEN ? AND ?", id_range(crawl)
        ).fetchone()
    return now + BEGIN_S if next_at is None else float(next_at)
