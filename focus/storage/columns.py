"""Reads back, column by column, what the frontier keeps of millions of URLs, and its log."""

from __future__ import annotations

import sqlite3
from operator import itemgetter
from typing import NamedTuple

from focus.late import np
from focus.records import UrlState
from focus.scheduling.url_table import Column, UrlColumns
from focus.storage import evidence_log, writer
from focus.storage.schema import LAST_ID, id_range, row_id

# Few values a row, as each costs an object: from the lowest bit 16 of depth, 3 of state, one
# for a URL that waits for another try, 8 of hops, then the queue.
_RETRIED = 1 << 19
_URLS = f"""
SELECT CAST(key || ifnull(link_evidence, '') AS BLOB), (queue << 28) | (min(hops, 255) << 20)
| ((state = {int(UrlState.WAITING)} AND tries > 0) * {_RETRIED}) | (state << 16)
| min(depth, 65535), ifnull(parent, -1), priority FROM url WHERE id BETWEEN ? AND ? ORDER BY id"""
_RETRIES = f"""
SELECT url.id & {LAST_ID}, tries, retry_at FROM json_each(?)
JOIN url ON url.id = json_each.value"""


def urls(db: sqlite3.Connection, *, crawl: int, first: int, most: int) -> UrlColumns | None:
    """The URLs from that id on, `most` at most; None if there are none."""
    found = writer.select(db, _URLS, (row_id(crawl, first), row_id(crawl, first + most - 1)))
    if not found:
        return None
    # In columns, one after the other: a third of the time of zip(*found).
    column, count = [map(itemgetter(place), found) for place in range(4)], len(found)
    bits = np.fromiter(column[1], np.int64, count)
    again = np.flatnonzero(bits & _RETRIED)
    ids = str([row_id(crawl, first + place) for place in again.tolist()])
    return UrlColumns(
        first=first,
        rows=[*column[0]],
        states=(bits >> 16 & 7).astype(np.uint8),
        depths=bits.astype(np.uint16),
        queues=(bits >> 28).astype(np.uint32),
        hops=(bits >> 20).astype(np.uint8),
        parents=np.fromiter(column[2], np.int32, count),
        priorities=np.fromiter(column[3], np.float64, count),
        retries=writer.select(db, _RETRIES, (ids,)) if len(again) else [],
    )


class LoggedEvidence(NamedTuple):
    """Columns of the log's records in order of writing: a later one of a URL counts.

    parents  `AS_BEFORE`: that of the record before, or of the row
    values   one row each
    """

    ids: Column
    parents: Column
    priorities: Column
    values: Column


def evidence(
    db: sqlite3.Connection, *, crawl: int, first: int, most: int = evidence_log.ROWS
) -> tuple[int, LoggedEvidence] | None:
    """Up to `most` rows of the log from that one on, and which is next; None: there are none."""
    values = row_id(crawl, first), id_range(crawl)[1], most
    rows = writer.select(db, evidence_log.LOG, values)
    if not rows:
        return None
    parts = [np.frombuffer(blob, _record(width)) for _, width, blob in rows]
    width = max(width for _, width, _ in rows)
    found = np.zeros((sum(map(len, parts)), width), np.float32)
    at = 0
    for part in parts:
        found[at : at + len(part), : part["values"].shape[1]] = part["values"]
        at += len(part)
    ids, parents, priorities = (
        np.concatenate([part[name] for part in parts]) for name in ("id", "parent", "priority")
    )
    return (rows[-1][0] & LAST_ID) + 1, LoggedEvidence(ids, parents, priorities, found)


def _record(width: int) -> np.dtype[np.void]:
    """`evidence_log.record` as numpy has it."""
    fields = [("id", "<u4"), ("parent", "<i4"), ("priority", "<f8"), ("values", "<f4", (width,))]
    return np.dtype(fields)
