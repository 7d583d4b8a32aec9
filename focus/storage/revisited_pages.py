"""Reads the state of revisited pages and the history of their changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from focus.i18n import mark
from focus.records import ChangeKind, DropReason, StoredPage, UrlState
from focus.scheduling.revisits import HUB_RELEVANCE, Observation, make_revisit_policy
from focus.storage.schema import ID_BITS, LAST_ID, id_range
from focus.storage.views import RecordedChange

_MASK = (1 << 64) - 1
CHANGE_NAMES = {
    ChangeKind.TEXT: mark("text"),
    ChangeKind.TITLE: mark("title"),
    ChangeKind.LINKS: mark("links"),
    ChangeKind.GONE: mark("gone"),
    ChangeKind.MOVED: mark("moved"),
    ChangeKind.BACK: mark("back"),
}
"""Names of the kinds of change for users."""


def total_observation(db: sqlite3.Connection, crawl: int) -> Observation:
    """Return the decayed observation time and changes of all pages of a crawl together."""
    return Observation(*db.execute(_OBSERVATION, id_range(crawl)).fetchone())


def iter_stored_pages(
    db: sqlite3.Connection, crawl: int, *, include_sources: bool
) -> Iterator[StoredPage]:
    """Yield the pages of a crawl in order of id, then its sitemaps and feeds if requested."""
    for row in db.execute(_PAGES, id_range(crawl)):
        page = StoredPage(*row)
        page.text_digest &= _MASK  # SQLite's integers are signed
        yield page
    if include_sources:
        yield from (StoredPage(*row) for row in db.execute(_URL_SOURCES, id_range(crawl)))


def count_due_pages(db: sqlite3.Connection, crawl: int, age_s: float, now: float) -> int:
    """Return the number of pages that a run with `--refresh` of this age would revisit."""
    pages = iter_stored_pages(db, crawl, include_sources=False)
    return len(make_revisit_policy(age_s, total_observation(db, crawl)).due(pages, now))


def load_changes(
    db: sqlite3.Connection,
    crawls: Sequence[int],
    *,
    key: bytes | None = None,
    since: float | None = None,
    limit: int | None = None,
) -> list[RecordedChange]:
    """Return the changes found by revisits of pages of these crawls, latest first.

    key   duplicate key of a URL, to return only its changes
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
        RecordedChange(
            url, at, [name for kind, name in CHANGE_NAMES.items() if kinds & kind], links, detail
        )
        for url, at, kinds, links, detail in rows
    ]


_OBSERVATION = """
SELECT ifnull(sum(watched_s), 0.0), ifnull(sum(news), 0.0) FROM page_check
WHERE id BETWEEN ? AND ?"""
# In the order of StoredPage's fields.
_PAGES = f"""
SELECT p.id & {LAST_ID}, u.url, p.digest, x.title, p.priority, ifnull(k.first_at, p.fetched_at),
ifnull(k.checked_at, p.fetched_at), ifnull(k.tried_at, p.fetched_at), k.changed_at, k.gone_at,
ifnull(l.changed_at, 0.0), ifnull(k.watched_s, 0.0), ifnull(k.news, 0.0), x.etag, x.last_modified,
0, ifnull(h.yielded, 0.0) >= {HUB_RELEVANCE} FROM page p
JOIN url_found u ON u.id = p.id JOIN url_state s ON s.id = p.id
JOIN page_text x ON x.id = p.id LEFT JOIN page_check k ON k.id = p.id LEFT JOIN hub h ON h.id = p.id
LEFT JOIN lastmod l ON l.id = p.id
WHERE p.id BETWEEN ? AND ? AND s.state = {int(UrlState.DONE)} ORDER BY p.id"""
_URL_SOURCES = f"""
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
