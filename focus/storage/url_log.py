"""Two logs with the state of URLs for resuming a crawl; each batch appends packed records.

`found_log` contains URLs as discovered. Reading its records as columns takes a tenth of the time of
reading the rows of `url_found`. `evidence_log` contains better link evidence of waiting URLs. A
page improves about nine URLs, whose rows are in different database pages, so rewriting these rows
would write nine database pages; instead the improvements of a batch are one row of the log. The
anchor texts are stored with the linking page in `link_anchor`. The last record of a URL is valid.
Resuming a crawl and `focus why` read both logs. For finished URLs `url_state` has the page with the
best link.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

import msgspec

from focus.records import PriorityChange, UrlRow
from focus.storage.schema import ANCHOR_SQL, ID_BITS, LAST_ID, id_range, row_id

ROWS_PER_READ = 1_000  # rows of the evidence log per read
NO_PARENT = -1  # parent of a seed, or of evidence without a better link
KEY_BYTES = 8  # bytes of a duplicate key that identify a URL (scheduling.url_table.Fingerprints)

INSERT_URLS = "INSERT INTO found_log VALUES *"
SELECT_URLS = "SELECT id, width, packed FROM found_log WHERE id BETWEEN ? AND ? ORDER BY id"
INSERT_EVIDENCE = f"""
WITH new (base, width, packed) AS (VALUES *)
INSERT INTO evidence_log SELECT ifnull((SELECT max(id) FROM evidence_log
WHERE id BETWEEN new.base AND new.base + {LAST_ID}), new.base - 1) + 1, width, packed FROM new"""
UPSERT_ANCHORS = """
INSERT INTO link_anchor VALUES * ON CONFLICT (id) DO UPDATE SET
anchors = json_patch(anchors, excluded.anchors)"""
SELECT_EVIDENCE = (
    "SELECT id, width, packed FROM evidence_log WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
)

_SELECT_BLOCK = "SELECT id, width, packed FROM found_log WHERE id <= ? ORDER BY id DESC LIMIT 1"
_SELECT_ANCHOR = f"SELECT {ANCHOR_SQL.format(url='?1', parent='?2')}"


# -- discovered URLs ----------------------------------------------------------------


@cache
def url_record(width: int) -> Struct:
    """Return the format: half a key, priority, queue, parent, depth, hops, `width` floats."""
    return Struct(f"<{KEY_BYTES}sdIiHB{width}f")


def pack_urls(crawl: int, urls: Sequence[UrlRow]) -> list[tuple[int, int, bytes]]:
    """Return the values of `INSERT_URLS`: one row for each run of URLs with consecutive ids."""
    rows = []
    for run in _consecutive_runs(urls):
        width = max(len(url.link_evidence) for url in run)
        rows.append((row_id(crawl, run[0].id), width, _pack_records(run, width)))
    return rows


def _consecutive_runs(urls: Sequence[UrlRow]) -> Iterator[Sequence[UrlRow]]:
    start = 0
    for end in range(1, len(urls) + 1):
        if end == len(urls) or urls[end].id != urls[end - 1].id + 1:
            yield urls[start:end]
            start = end


def _pack_records(urls: Sequence[UrlRow], width: int) -> bytes:
    pack = url_record(width).pack
    return b"".join(
        pack(
            url.key[:KEY_BYTES],
            url.priority,
            url.queue_id,
            NO_PARENT if url.parent_id is None else url.parent_id,
            min(url.depth, 65535),
            min(url.hops, 255),
            *_pad_evidence(url.link_evidence, width),
        )
        for url in urls
    )


def load_first_evidence(db: sqlite3.Connection, *, row: int) -> tuple[float, ...]:
    """Return the link evidence of a URL at its discovery by its row id; () if there is none."""
    block = db.execute(_SELECT_BLOCK, (row,)).fetchone()
    if block is None:
        return ()
    first, width, blob = block
    record = url_record(width)
    _, _, _, _, _, _, *values = record.unpack_from(blob, (row - first) * record.size)
    return tuple(values) if any(values) else ()


def _pad_evidence(link_evidence: tuple[float, ...], width: int) -> tuple[float, ...]:
    """Return the evidence with zeros appended up to `width` values."""
    return link_evidence + (0.0,) * (width - len(link_evidence))


# -- better evidence ----------------------------------------------------------------


class LatestEvidence(NamedTuple):
    """Last record of a URL in the evidence log; `parent` None if it did not change."""

    priority: float
    link_evidence: tuple[float, ...]
    parent: int | None
    anchor: str


@cache
def evidence_record(width: int) -> Struct:
    """Return the format: URL id, parent, priority, `width` floats of evidence."""
    return Struct(f"<Iid{width}f")


def pack_evidence(crawl: int, changes: Sequence[PriorityChange]) -> list[tuple[int, int, bytes]]:
    """Return the values of `INSERT_EVIDENCE`: one row for all changes; [] without changes."""
    if not changes:
        return []
    width = max(len(change.link_evidence) for change in changes)
    pack = evidence_record(width).pack
    records = b"".join(
        pack(
            change.id,
            NO_PARENT if change.parent_id is None else change.parent_id,
            change.priority,
            *_pad_evidence(change.link_evidence, width),
        )
        for change in changes
    )
    return [(row_id(crawl, 0), width, records)]


def link_anchor_rows(crawl: int, changes: Iterable[PriorityChange]) -> list[tuple[int, str]]:
    """Return the values of `UPSERT_ANCHORS`: the anchor texts of better links, by page."""
    anchors_by_page: dict[int, dict[int, str]] = {}
    for change in changes:
        if change.parent_id is not None:
            anchors_by_page.setdefault(change.parent_id, {})[change.id] = change.anchor
    encode = msgspec.json.encode
    return [
        (row_id(crawl, page), encode(texts).decode()) for page, texts in anchors_by_page.items()
    ]


def load_latest_evidence(db: sqlite3.Connection, *, row: int) -> LatestEvidence | None:
    """Return the last record of a URL by its row id, or None; takes a pass over the log."""
    latest, parent = None, None
    for number, source, *values in _iter_records(db, row >> ID_BITS):
        if number == row & LAST_ID:
            latest = values
            parent = parent if source == NO_PARENT else source
    if latest is None:
        return None
    (anchor,) = (
        db.execute(_SELECT_ANCHOR, (row, parent)).fetchone() if parent is not None else (None,)
    )
    return LatestEvidence(latest[0], tuple(latest[1:]), parent, anchor or "")


def load_priorities(db: sqlite3.Connection, *, crawl: int) -> dict[int, float]:
    """Return the last priority of every URL in the evidence log, by row id."""
    return {row_id(crawl, record[0]): record[2] for record in _iter_records(db, crawl)}


def _iter_records(db: sqlite3.Connection, crawl: int) -> Iterator[tuple[Any, ...]]:
    """Yield all evidence records of a crawl in order of writing."""
    first, last = id_range(crawl)
    while rows := db.execute(SELECT_EVIDENCE, (first, last, ROWS_PER_READ)).fetchall():
        for _, width, blob in rows:
            yield from evidence_record(width).iter_unpack(blob)
        first = rows[-1][0] + 1
