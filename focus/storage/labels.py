"""Keeps what people say of stored pages, and writes what follows from it.

Functions over the connection of a `Store`, each one read or one transaction; they run in
the store's thread: `await store.run(partial(labels.uncertain, crawl=…, …))`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from focus.http.zstd import decompress_bounded
from focus.storage.schema import LAST_ID, id_range, row_id
from focus.storage.writer import CrawlInfo, next_ids, transaction

MAX_TEXT = 64 * 1024 * 1024  # bytes of one page's text; more was never kept


class JudgedPage(NamedTuple):
    """A page as it was judged.

    id    of its URL in the crawl
    html  its decoded text; "" when it was not kept
    host_nth  number of the request among those to its host
    """

    id: int
    nth: int
    url: str
    title: str
    description: str
    relevance: float
    relevant: bool
    parts: dict[str, float]
    matched: dict[str, list[str]]
    html: str
    host_nth: int = 0


class Rejudged(NamedTuple):
    """A page judged anew. `matched` as in records.Page."""

    id: int
    relevance: float
    relevant: bool
    parts: dict[str, float]
    matched: dict[str, list[str]]


class PageLabel(NamedTuple):
    """A person's label of a page."""

    page: int  # row id
    url: str
    relevant: bool


def crawl_info(db: sqlite3.Connection, *, crawl: int) -> tuple[str, CrawlInfo]:
    """The configuration of a crawl's last run as JSON, and how far it got."""
    config, counters = db.execute(_CRAWL, (crawl,)).fetchone()
    info = CrawlInfo(crawl, True, False, "", msgspec.json.decode(counters), *next_ids(db, crawl))
    return config, info


def uncertain(
    db: sqlite3.Connection, *, crawl: int, topic: str, threshold: float, limit: int
) -> list[int]:
    """Row ids of stored pages without a label, the nearest to the threshold first.

    Only pages whose text is stored: nothing can be learned from the others.
    """
    values = (*id_range(crawl), topic, threshold, limit)
    return [row[0] for row in db.execute(_UNCERTAIN, values)]


def page(db: sqlite3.Connection, *, row: int) -> JudgedPage:
    """A stored page by its row id."""
    return _stored(db.execute(_PAGE + " WHERE page.id = ?", (row,)).fetchone())


def row_of(db: sqlite3.Connection, *, crawl: int, url: str, key: bytes) -> int | None:
    """The row id of a crawl's page by its URL, as asked for or as served, or duplicate key.

    One pass over the crawl's URLs. None when no page is of that URL.
    """
    row = db.execute(_ROW_OF, (*id_range(crawl), key, url, url, key)).fetchone()
    return None if row is None else int(row[0])


def pages(db: sqlite3.Connection, *, crawl: int, after: int, limit: int) -> list[JudgedPage]:
    """The crawl's pages in order of `nth`, from the first beyond `after`."""
    rows = db.execute(_PAGE + _IN_ORDER, (crawl, after, limit)).fetchall()
    return [_stored(row) for row in rows]


def _stored(row: Sequence[object]) -> JudgedPage:
    number, nth, url, title, description, relevance, relevant, parts, matched, packed, host_nth = (
        row
    )
    assert isinstance(number, int) and isinstance(nth, int) and isinstance(host_nth, int)
    assert isinstance(relevance, float)
    html = unpacked(packed) if isinstance(packed, bytes) else ""
    return JudgedPage(
        number & LAST_ID,
        nth,
        str(url),
        str(title),
        str(description),
        relevance,
        bool(relevant),
        msgspec.json.decode(str(parts), type=dict[str, float]),
        msgspec.json.decode(str(matched), type=dict[str, list[str]]),
        html,
        host_nth,
    )


def unpacked(packed: bytes) -> str:
    """The decoded text of a page as the database keeps it."""
    return decompress_bounded(packed, MAX_TEXT).decode("utf-8", "replace")


def judged(db: sqlite3.Connection, *, crawl: int) -> list[tuple[int, float, int]]:
    """(Row id, relevance, relevant) of the crawl's pages whose text is stored, in order."""
    return db.execute(_JUDGED, (crawl,)).fetchall()


def put(db: sqlite3.Connection, *, topic: str, said: PageLabel, now: float) -> None:
    """Store a label; a later one takes the place of an earlier."""
    with transaction(db):
        values = (topic, said.url, said.page, said.relevant, now)
        db.execute("INSERT OR REPLACE INTO label VALUES (?, ?, ?, ?, ?)", values)


def labelled(db: sqlite3.Connection, *, topic: str) -> list[PageLabel]:
    """All labels of a topic whose pages are still there, in order of URL."""
    rows = db.execute(_LABELLED, (topic,)).fetchall()
    return [PageLabel(number, url, bool(relevant)) for number, url, relevant in rows]


def rejudge(db: sqlite3.Connection, *, crawl: int, judged: Sequence[Rejudged]) -> None:
    """Write the new relevance of pages."""
    encode = msgspec.json.Encoder().encode
    with transaction(db):
        numbers = [(j.relevance, j.relevant, row_id(crawl, j.id)) for j in judged]
        db.executemany("UPDATE page SET relevance = ?, relevant = ? WHERE id = ?", numbers)
        texts = [
            (encode(j.parts).decode(), encode(j.matched).decode(), row_id(crawl, j.id))
            for j in judged
        ]
        db.executemany("UPDATE page_text SET parts = ?, matched = ? WHERE id = ?", texts)


_CRAWL = """
SELECT config, counters FROM crawl JOIN progress ON progress.crawl = crawl.id WHERE id = ?"""
_UNCERTAIN = """
SELECT page.id FROM page JOIN body ON body.id = page.id JOIN page_text ON page_text.id = page.id
WHERE page.id BETWEEN ? AND ? AND NOT EXISTS (
    SELECT 1 FROM label WHERE label.topic = ? AND label.url = page_text.url)
ORDER BY abs(page.relevance - ?), page.id LIMIT ?"""
_PAGE = """
SELECT page.id, nth, page_text.url, title, description, relevance, relevant, parts, matched, zstd,
host_nth
FROM page JOIN page_text ON page_text.id = page.id LEFT JOIN body ON body.id = page.id"""
_JUDGED = """
SELECT page.id, relevance, relevant FROM page JOIN body ON body.id = page.id
WHERE page.crawl = ? ORDER BY page.nth"""
_ROW_OF = """
SELECT page.id FROM page JOIN url_found f USING (id) JOIN page_text USING (id)
WHERE page.id BETWEEN ? AND ? AND (f.key = ? OR f.url = ? OR page_text.url = ?)
ORDER BY f.key = ? DESC LIMIT 1"""
_IN_ORDER = " WHERE page.crawl = ? AND page.nth > ? ORDER BY page.nth LIMIT ?"
_LABELLED = """
SELECT label.page, label.url, label.relevant FROM label JOIN page ON page.id = label.page
WHERE topic = ? ORDER BY label.url"""
