"""Labels of stored pages, and new relevance of pages after learning from labels.

Functions over the connection of a `Store`, each one read or one transaction. They run in the
thread of the store: `await store.run_in_thread(partial(labels.find_uncertain_pages, crawl=…, …))`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from focus.http.zstd import decompress_bounded
from focus.records import DropReason
from focus.storage.schema import LAST_ID, OVER_THRESHOLD_SQL, id_range
from focus.storage.writer import CrawlInfo, next_free_ids, transaction

MAX_SOURCE_BYTES = 64 * 1024 * 1024  # maximum size of a stored source


class ScoredPage(NamedTuple):
    """Stored page with its relevance.

    id    URL id in the crawl
    html  decoded source; empty if it was not stored
    host_request_number  number of its request among those to its host
    """

    id: int
    request_number: int
    url: str
    title: str
    description: str
    relevance: float
    is_relevant: bool
    part_scores: dict[str, float]
    matched_terms: dict[str, list[str]]
    html: str
    host_request_number: int = 0


class PageLabel(NamedTuple):
    """Label of a page by a person; `page_row` is the row id of the page."""

    page_row: int
    url: str
    is_relevant: bool


def load_crawl(db: sqlite3.Connection, *, crawl: int) -> tuple[str, CrawlInfo]:
    """Return the configuration of the last run as JSON, and the state of the crawl."""
    config, counters = db.execute(_CRAWL, (crawl,)).fetchone()
    next_url, _, next_host = next_free_ids(db, crawl)
    totals = msgspec.json.decode(counters)
    return config, CrawlInfo(crawl, True, False, "", totals, next_url, next_host)


def find_uncertain_pages(
    db: sqlite3.Connection, *, crawl: int, topic_name: str, threshold: float, limit: int
) -> list[int]:
    """Return row ids of pages without a label, those nearest to the threshold first.

    Pages without a stored source are left out, because nothing can be learned from them.
    """
    values = (*id_range(crawl), topic_name, threshold, limit)
    return [row[0] for row in db.execute(_UNCERTAIN, values)]


def load_page(db: sqlite3.Connection, *, row: int) -> ScoredPage:
    """Return a stored page by its row id."""
    return _scored_page(db.execute(_PAGE + " WHERE page.id = ?", (row,)).fetchone())


def find_page_row(db: sqlite3.Connection, *, crawl: int, url: str, key: bytes) -> int | None:
    """Return the row id of a page by its requested URL, final URL or duplicate key.

    Takes one pass over the URLs of the crawl. Returns None if there is no such page.
    """
    row = db.execute(_FIND_ROW, (*id_range(crawl), key, url, url, key)).fetchone()
    return None if row is None else int(row[0])


def load_pages(db: sqlite3.Connection, *, crawl: int, after: int, limit: int) -> list[ScoredPage]:
    """Return up to `limit` pages of a crawl in order of request, after request `after`."""
    rows = db.execute(_PAGE + _IN_ORDER, (crawl, after, limit)).fetchall()
    return [_scored_page(row) for row in rows]


def _scored_page(row: Sequence[object]) -> ScoredPage:
    number, nth, url, title, description, relevance, relevant, parts, matched, packed, host_nth = (
        row
    )
    assert isinstance(number, int) and isinstance(nth, int) and isinstance(host_nth, int)
    assert isinstance(relevance, float)
    html = decompress_source(packed) if isinstance(packed, bytes) else ""
    return ScoredPage(
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


def decompress_source(packed: bytes) -> str:
    """Return the source of a page from its compressed form in the database."""
    return decompress_bounded(packed, MAX_SOURCE_BYTES).decode("utf-8", "replace")


def load_relevances(db: sqlite3.Connection, *, crawl: int) -> list[tuple[int, float, int]]:
    """Return (row id, relevance, is relevant) of pages with a stored source, in request order."""
    return db.execute(_JUDGED, (crawl,)).fetchall()


def store_label(db: sqlite3.Connection, *, topic: str, label: PageLabel, now: float) -> None:
    """Store a label; it replaces an earlier label of the same page."""
    with transaction(db):
        values = (topic, label.url, label.page_row, label.is_relevant, now)
        db.execute("INSERT OR REPLACE INTO label VALUES (?, ?, ?, ?, ?)", values)


def load_labels(db: sqlite3.Connection, *, topic: str) -> list[PageLabel]:
    """Return the labels of a topic whose pages still exist, in order of URL."""
    rows = db.execute(_LABELLED, (topic,)).fetchall()
    return [PageLabel(number, url, bool(relevant)) for number, url, relevant in rows]


def load_verdicts(db: sqlite3.Connection, *, crawl: int, topic: str) -> dict[int, bool]:
    """Return URL id -> whether the page is relevant, for the labelled pages of a crawl."""
    rows = db.execute(_VERDICTS, (*id_range(crawl), topic))
    return {number & LAST_ID: bool(relevant) for number, relevant in rows}


def load_redirects(db: sqlite3.Connection, *, crawl: int) -> list[tuple[str, str]]:
    """Return the redirects of a crawl, as pairs of URL and target."""
    return db.execute(_REDIRECTS, (*id_range(crawl), str(DropReason.REDIRECTED))).fetchall()


_CRAWL = """
SELECT config, counters FROM crawl JOIN progress ON progress.crawl = crawl.id WHERE id = ?"""
_UNCERTAIN = """
SELECT page.id FROM page JOIN body ON body.id = page.id JOIN page_text ON page_text.id = page.id
WHERE page.id BETWEEN ? AND ? AND NOT EXISTS (
    SELECT 1 FROM label WHERE label.topic = ? AND label.url = page_text.url)
ORDER BY abs(page.relevance - ?), page.id LIMIT ?"""
_PAGE = f"""
SELECT page.id, nth, page_text.url, title, description, relevance, {OVER_THRESHOLD_SQL}, parts,
matched, zstd, host_nth
FROM page JOIN page_text ON page_text.id = page.id LEFT JOIN body ON body.id = page.id"""
_JUDGED = f"""
SELECT page.id, relevance, {OVER_THRESHOLD_SQL} FROM page JOIN body ON body.id = page.id
WHERE page.crawl = ? ORDER BY page.nth"""
_FIND_ROW = """
SELECT page.id FROM page JOIN url_found f USING (id) JOIN page_text USING (id)
WHERE page.id BETWEEN ? AND ? AND (f.key = ? OR f.url = ? OR page_text.url = ?)
ORDER BY f.key = ? DESC LIMIT 1"""
_IN_ORDER = " WHERE page.crawl = ? AND page.nth > ? ORDER BY page.nth LIMIT ?"
_LABELLED = """
SELECT label.page, label.url, label.relevant FROM label JOIN page ON page.id = label.page
WHERE topic = ? ORDER BY label.url"""
_VERDICTS = """
SELECT id, relevant FROM page_text CROSS JOIN label USING (url)
WHERE id BETWEEN ? AND ? AND topic = ?"""
_REDIRECTS = """
SELECT url, detail FROM url WHERE id BETWEEN ? AND ? AND reason = ? AND detail LIKE 'http%'"""
