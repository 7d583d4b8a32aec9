"""Keeps what a crawl needs of its URLs to go on as two logs: appended to batch by batch, packed.

`found_log` has URLs as they were found: a restart of millions reads its records as columns, and
no row of `url_found`, in a tenth of the time. `evidence_log` has better evidence for URLs that
wait. A page improves some nine of them, each in a place of its own in the file: to rewrite their
rows would write nine pages of it, one by one; so what a batch improves is one row of the log, and
the texts of the links stand by their pages in `link_anchor`. The last record of a URL is its
present evidence. A restart reads both, `focus why` looks in them, and when a URL is done with,
`url_state` has the page with its best link.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

import msgspec

from focus.records import PriorityChange, UrlRow
from focus.storage.schema import ANCHOR, ID_BITS, LAST_ID, id_range, row_id

ROWS = 1_000  # of the log of evidence, read at once
NO_PARENT = -1  # of a seed; of evidence that came from no better link
HALF = 8  # bytes of a key that the crawl finds a URL by (scheduling.url_table.Fingerprints)

APPEND_FOUND = "INSERT INTO found_log VALUES *"
FOUND = "SELECT id, width, packed FROM found_log WHERE id BETWEEN ? AND ? ORDER BY id"
APPEND_EVIDENCE = f"""
WITH new (base, width, packed) AS (VALUES *)
INSERT INTO evidence_log SELECT ifnull((SELECT max(id) FROM evidence_log
WHERE id BETWEEN new.base AND new.base + {LAST_ID}), new.base - 1) + 1, width, packed FROM new"""
ANCHORS = """
INSERT INTO link_anchor VALUES * ON CONFLICT (id) DO UPDATE SET
anchors = json_patch(anchors, excluded.anchors)"""
EVIDENCE = "SELECT id, width, packed FROM evidence_log WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"

_OF = "SELECT id, width, packed FROM found_log WHERE id <= ? ORDER BY id DESC LIMIT 1"
_TEXT = f"SELECT {ANCHOR.format(url='?1', parent='?2')}"


# -- URLs as found ------------------------------------------------------------------


@cache
def found_record(width: int) -> Struct:
    """Half a key, priority, queue, parent, depth, hops, and so many floats of evidence."""
    return Struct(f"<{HALF}sdIiHB{width}f")


def packed_found(crawl: int, urls: Sequence[UrlRow]) -> list[tuple[int, int, bytes]]:
    """The values of `APPEND_FOUND`: one row for URLs whose ids follow each other."""
    rows = []
    for run in _runs(urls):
        width = max(len(each.link_evidence) for each in run)
        rows.append((row_id(crawl, run[0].id), width, _records_of(run, width)))
    return rows


def _runs(urls: Sequence[UrlRow]) -> Iterator[Sequence[UrlRow]]:
    start = 0
    for end in range(1, len(urls) + 1):
        if end == len(urls) or urls[end].id != urls[end - 1].id + 1:
            yield urls[start:end]
            start = end


def _records_of(urls: Sequence[UrlRow], width: int) -> bytes:
    pack = found_record(width).pack
    return b"".join(
        pack(
            each.key[:HALF],
            each.priority,
            each.queue_id,
            NO_PARENT if each.parent_id is None else each.parent_id,
            min(each.depth, 65535),
            min(each.hops, 255),
            *_filled(each.link_evidence, width),
        )
        for each in urls
    )


def first_evidence(db: sqlite3.Connection, *, row: int) -> tuple[float, ...]:
    """The evidence that a URL was found with, by its row id; () where there was none."""
    found = db.execute(_OF, (row,)).fetchone()
    if found is None:
        return ()
    first, width, blob = found
    record = found_record(width)
    _, _, _, _, _, _, *values = record.unpack_from(blob, (row - first) * record.size)
    return tuple(values) if any(values) else ()


def shifted_found(blob: bytes, width: int, urls: int, queues: int) -> bytes:
    """Records for ids of URLs and queues that are larger by so much."""
    pack, unpacked = found_record(width).pack, found_record(width).iter_unpack(blob)
    return b"".join(
        pack(key, priority, queue + queues, _shifted(parent, urls), *rest)
        for key, priority, queue, parent, *rest in unpacked
    )


def _filled(link_evidence: tuple[float, ...], width: int) -> tuple[float, ...]:
    """Evidence as wide as the records of its row, with zeros behind."""
    return link_evidence + (0.0,) * (width - len(link_evidence))


def _shifted(parent: int, offset: int) -> int:
    return parent if parent == NO_PARENT else parent + offset


# -- better evidence ----------------------------------------------------------------


class Latest(NamedTuple):
    """The log's last record of one URL; parent None: none that its row has not."""

    priority: float
    link_evidence: tuple[float, ...]
    parent: int | None
    anchor: str


@cache
def evidence_record(width: int) -> Struct:
    """URL, parent, priority, and so many floats of evidence."""
    return Struct(f"<Iid{width}f")


def packed_evidence(crawl: int, changes: Sequence[PriorityChange]) -> list[tuple[int, int, bytes]]:
    """The values of `APPEND_EVIDENCE`: one row of the log for all, none for none."""
    if not changes:
        return []
    width = max(len(each.link_evidence) for each in changes)
    pack = evidence_record(width).pack
    records = b"".join(
        pack(
            each.id,
            NO_PARENT if each.parent_id is None else each.parent_id,
            each.priority,
            *_filled(each.link_evidence, width),
        )
        for each in changes
    )
    return [(row_id(crawl, 0), width, records)]


def anchors(crawl: int, changes: Iterable[PriorityChange]) -> list[tuple[int, str]]:
    """The values of `ANCHORS`: the texts of better links, by page."""
    found: dict[int, dict[int, str]] = {}
    for each in changes:
        if each.parent_id is not None:
            found.setdefault(each.parent_id, {})[each.id] = each.anchor
    encode = msgspec.json.encode
    return [(row_id(crawl, page), encode(texts).decode()) for page, texts in found.items()]


def latest(db: sqlite3.Connection, *, row: int) -> Latest | None:
    """What the log has of a URL by its row id, None if nothing; one pass over the crawl's log."""
    last, parent = None, None
    for number, source, *found in _records(db, row >> ID_BITS):
        if number == row & LAST_ID:
            last = found
            parent = parent if source == NO_PARENT else source
    if last is None:
        return None
    (anchor,) = db.execute(_TEXT, (row, parent)).fetchone() if parent is not None else (None,)
    return Latest(last[0], tuple(last[1:]), parent, anchor or "")


def priorities(db: sqlite3.Connection, *, crawl: int) -> dict[int, float]:
    """The present priority of every URL that the log has, by row id."""
    return {row_id(crawl, each[0]): each[2] for each in _records(db, crawl)}


def shifted_evidence(blob: bytes, width: int, offset: int) -> bytes:
    """Records of a log for ids that are larger by `offset`."""
    pack, unpacked = evidence_record(width).pack, evidence_record(width).iter_unpack(blob)
    return b"".join(
        pack(number + offset, _shifted(parent, offset), *rest) for number, parent, *rest in unpacked
    )


def _records(db: sqlite3.Connection, crawl: int) -> Iterator[tuple[Any, ...]]:
    """All records of a crawl in order of writing."""
    first, last = id_range(crawl)
    while rows := db.execute(EVIDENCE, (first, last, ROWS)).fetchall():
        for _, width, blob in rows:
            yield from evidence_record(width).iter_unpack(blob)
        first = rows[-1][0] + 1
