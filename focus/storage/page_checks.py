"""Reads what is known of pages that are looked at again: how each stands, and what has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from focus.i18n import mark
from focus.records import ChangeKind, DropReason, StoredPage, UrlState
from focus.scheduling.revisits import HUB_RELEVANCE, Observation, make_revisit_policy
from focus.storage.schema import ID_BITS, LAST_ID, id_range, row_id
from focus.storage.views import SeenChange

_MASK = (1 << 64) - 1
KINDS = {
    ChangeKind.TEXT: mark("text"),
    ChangeKind.TITLE: mark("title"),
    ChangeKind.LINKS: mark("links"),
    ChangeKind.GONE: mark("gone"),
    ChangeKind.MOVED: mark("moved"),
    ChangeKind.BACK: mark("back"),
}
"""Kinds of change, as people read them."""


def watched(db: sqlite3.Connection, crawl: int) -> Observation:
    """How long the pages of a crawl were watched in all, and what news that brought."""
    return Observation(*db.execute(_WATCHED, id_range(crawl)).fetchone())


def kept_pages(db: sqlite3.Connection, crawl: int, *, listings: bool) -> Iterator[StoredPage]:
    """The pages of a crawl in order of id, then its sitemaps and feeds if they are wanted."""
    for row in db.execute(_KEPT, id_range(crawl)):
        page = StoredPage(*row)
        page.text_digest &= _MASK  # SQLite's integers are signed
        yield page
    if listings:
        yield from (StoredPage(*row) for row in db.execute(_LISTINGS, id_range(crawl)))


def due(db: sqlite3.Connection, crawl: int, age_s: float, now: float) -> int:
    """How many pages a run with `--refresh` of that age would look at again."""
    pages = kept_pages(db, crawl, listings=False)
    return len(make_revisit_policy(age_s, watched(db, crawl)).due(pages, now))


def sources(db: sqlite3.Connection, crawl: int, ids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """(id, packed source) of those of these pages whose source is stored."""
    for number in ids:
        row = db.execute("SELECT zstd FROM body WHERE id = ?", (row_id(crawl, number),)).fetchone()
        if row is not None:
            yield number, row[0]


def changes(
    db: sqlite3.Connection,
    crawls: Sequence[int],
    *,
    key: bytes | None = None,
    since: float | None = None,
    limit: int | None = None,
) -> list[SeenChange]:
    """What looks at the pages of these crawls have found changed, the latest first.

    key   the duplicate key of a URL: only of that
    """
    values: list[Any] = []
    tests = [f"c.page >> {ID_BITS} IN ({', '.join(map(str, crawls))})"]
    if key is not None:
        tests.append("u.key = ?")
        values.append(key)
    if since is not None:
        tests.append("c.at >= ?")
        values.append(since)
    values.append(-1 if limit is None else limit)
    rows = db.execute(_CHANGES.format(" AND ".join(tests)), values)
    return [
        SeenChange(url, at, [name for kind, name in KINDS.items() if kinds & kind], links, detail)
        for url, at, kinds, links, detail in rows
    ]


_WATCHED = """
SELECT ifnull(sum(watched_s), 0.0), ifnull(sum(news), 0.0) FROM page_check
WHERE id BETWEEN ? AND ?"""
# In the order of StoredPage's fields.
_KEPT = f"""
SELECT p.id & {LAST_ID}, u.url, p.digest, x.title, p.priority, ifnull(k.first_at, p.fetched_at),
ifnull(k.checked_at, p.fetched_at), ifnull(k.tried_at, p.fetched_at), k.changed_at, k.gone_at,
ifnull(l.changed_at, 0.0), ifnull(k.watched_s, 0.0), ifnull(k.news, 0.0), x.etag, x.last_modified,
0, ifnull(h.yielded, 0.0) >= {HUB_RELEVANCE} FROM page p
JOIN url_found u ON u.id = p.id JOIN url_state s ON s.id = p.id
JOIN page_text x ON x.id = p.id LEFT JOIN page_check k ON k.id = p.id LEFT JOIN hub h ON h.id = p.id
LEFT JOIN lastmod l ON l.id = p.id
WHERE p.id BETWEEN ? AND ? AND s.state = {int(UrlState.DONE)} ORDER BY p.id"""
_LISTINGS = f"""
SELECT u.id & {LAST_ID}, u.url, 0, '', 0.0, ifnull(k.first_at, c.opened_at),
ifnull(k.checked_at, 0.0), ifnull(k.tried_at, 0.0), NULL, NULL, 0.0, ifnull(k.watched_s, 0.0),
ifnull(k.news, 0.0), ifnull(v.etag, ''), ifnull(v.last_modified, ''), 1, 1
FROM url_state s CROSS JOIN url_found u USING (id) JOIN crawl c ON c.id = u.id >> {ID_BITS}
LEFT JOIN validator v ON v.id = u.id LEFT JOIN page_check k ON k.id = u.id
WHERE s.id BETWEEN ? AND ? AND s.state = {int(UrlState.DROPPED)}
AND s.reason = '{DropReason.URL_SOURCE}' ORDER BY u.id"""
_CHANGES = """
SELECT u.url, c.at, c.kinds, c.links, c.detail FROM page_change c JOIN url u ON u.id = c.page
WHERE {} ORDER BY c.at DESC, c.page LIMIT ?"""
