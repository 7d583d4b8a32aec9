"""Keeps better evidence for waiting URLs as a log: appended batch by batch, read back as columns.

A page improves some nine URLs that wait, each in a place of its own in the file: to rewrite
their rows would write nine pages of it, one by one. So what a batch improves is one row of
`evidence_log`, records of URL, parent, priority and evidence one behind the other, and the texts
of the links stand by their pages in `link_anchor`. The row of a URL has the evidence that it was
found with; the last record of the log is its present one. A restart replays the log, `focus why`
looks in it, and when a URL is done with, its row is told parent and text of its best link.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

import msgspec

from focus.records import Change
from focus.storage.schema import ID_BITS, LAST_ID, id_range, row_id

ROWS = 1_000  # of the log, read at once
AS_BEFORE = -1  # parent of a record whose evidence came from no better link

APPEND = f"""
WITH new (base, width, packed) AS (VALUES *)
INSERT INTO evidence_log SELECT ifnull((SELECT max(id) FROM evidence_log
WHERE id BETWEEN new.base AND new.base + {LAST_ID}), new.base - 1) + 1, width, packed FROM new"""
ANCHORS = """
INSERT INTO link_anchor VALUES * ON CONFLICT (id) DO UPDATE SET
anchors = json_patch(anchors, excluded.anchors)"""
ANCHOR = f"""
(SELECT nullif(json_extract(anchors, '$."' || ({{url}} & {LAST_ID}) || '"'), '')
FROM link_anchor WHERE link_anchor.id = ({{url}} & ~{LAST_ID}) + {{parent}})"""
"""SQL: the text of the link to a URL (row id) from a page (bare id); NULL: none is known."""
LOG = "SELECT id, width, packed FROM evidence_log WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"

_TEXT = f"SELECT {ANCHOR.format(url='?1', parent='?2')}"


class Latest(NamedTuple):
    """The log's last record of one URL; parent None: none that its row has not."""

    priority: float
    link_evidence: tuple[float, ...]
    parent: int | None
    anchor: str


@cache
def record(width: int) -> Struct:
    """URL, parent, priority, and so many floats of evidence."""
    return Struct(f"<Iid{width}f")


def packed(crawl: int, changes: Sequence[Change]) -> list[tuple[int, int, bytes]]:
    """The values of `APPEND`: one row of the log for all, none for none."""
    if not changes:
        return []
    width = max(len(each.link_evidence) for each in changes)
    pack, blank = record(width).pack, (0.0,) * width
    records = b"".join(
        pack(
            each.id,
            AS_BEFORE if each.parent is None else each.parent,
            each.priority,
            *(each.link_evidence + blank)[:width],
        )
        for each in changes
    )
    return [(row_id(crawl, 0), width, records)]


def anchors(crawl: int, changes: Iterable[Change]) -> list[tuple[int, str]]:
    """The values of `ANCHORS`: the texts of better links, by page."""
    found: dict[int, dict[int, str]] = {}
    for each in changes:
        if each.parent is not None:
            found.setdefault(each.parent, {})[each.id] = each.anchor
    encode = msgspec.json.encode
    return [(row_id(crawl, page), encode(texts).decode()) for page, texts in found.items()]


def latest(db: sqlite3.Connection, *, row: int) -> Latest | None:
    """What the log has of a URL by its row id, None if nothing; one pass over the crawl's log."""
    last, parent = None, None
    for number, source, *found in _records(db, row >> ID_BITS):
        if number == row & LAST_ID:
            last = found
            parent = parent if source == AS_BEFORE else source
    if last is None:
        return None
    (anchor,) = db.execute(_TEXT, (row, parent)).fetchone() if parent is not None else (None,)
    return Latest(last[0], tuple(last[1:]), parent, anchor or "")


def priorities(db: sqlite3.Connection, *, crawl: int) -> dict[int, float]:
    """The present priority of every URL that the log has, by row id."""
    return {row_id(crawl, each[0]): each[2] for each in _records(db, crawl)}


def shifted(blob: bytes, width: int, offset: int) -> bytes:
    """Records of a log for ids that are larger by `offset`."""
    pack, unpacked = record(width).pack, record(width).iter_unpack(blob)
    return b"".join(
        pack(number + offset, parent if parent == AS_BEFORE else parent + offset, *rest)
        for number, parent, *rest in unpacked
    )


def _records(db: sqlite3.Connection, crawl: int) -> Iterator[tuple[Any, ...]]:
    """All records of a crawl in order of writing."""
    first, last = id_range(crawl)
    while rows := db.execute(LOG, (first, last, ROWS)).fetchall():
        for _, width, blob in rows:
            yield from record(width).iter_unpack(blob)
        first = rows[-1][0] + 1
