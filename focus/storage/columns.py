"""Reads the URLs of a crawl and the log of link evidence as columns, for restoring a crawl."""

from __future__ import annotations

import sqlite3
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from focus.records import UrlState
from focus.scheduling.url_table import Column, UrlColumns
from focus.storage import url_log, writer
from focus.storage.schema import LAST_ID, id_range, row_id

if TYPE_CHECKING:
    import numpy as np

URLS_PER_READ = 16_000
"""URLs per read: their columns fit into the cache of the processor."""

# Few values per row, because each is an object: the lowest 3 bits are the state, the rest the hops.
_STATES = f"""
SELECT id & {LAST_ID}, state | (min(hops, 255) << 3), ifnull(parent, {url_log.NO_PARENT})
FROM url_state WHERE id BETWEEN ? AND ? ORDER BY id"""
_RETRIES = f"""
SELECT id & {LAST_ID}, tries, retry_at FROM url_state
WHERE id BETWEEN ? AND ? AND state = {int(UrlState.WAITING)} AND tries > 0 ORDER BY id"""


# Types of the records for numpy; the values of the evidence follow.
_URL_FIELDS = {  # url_log.url_record
    "head": "<u8",
    "priority": "<f8",
    "queue": "<u4",
    "parent": "<i4",
    "depth": "<u2",
    "hops": "u1",
}
_EVIDENCE_FIELDS = {"id": "<u4", "parent": "<i4", "priority": "<f8"}  # url_log.evidence_record


def read_urls(db: sqlite3.Connection, *, crawl: int, first: int, limit: int) -> UrlColumns | None:
    """Return the columns of about `limit` URLs from id `first` on; None if none is left.

    Batches are not split, so a few more URLs can be returned.
    """
    import numpy as np

    rows, remaining = [], limit
    for row in db.execute(url_log.SELECT_URLS, (row_id(crawl, first), id_range(crawl)[1])):
        rows.append(row)
        remaining -= len(row[2]) // url_log.url_record(row[1]).size
        if remaining <= 0:
            break
    if not rows:
        return None
    records = _join_records(rows, _URL_FIELDS)
    span = rows[0][0], rows[0][0] + len(records) - 1
    columns = UrlColumns(
        first=rows[0][0] & LAST_ID,
        heads=records["head"],
        states=np.zeros(len(records), np.uint8),
        depths=records["depth"],
        queues=records["queue"],
        hops=records["hops"].copy(),
        parents=records["parent"].copy(),
        priorities=records["priority"],
        link_evidence=records["values"],
        retries=writer.fetch_rows(db, _RETRIES, span),
    )
    _apply_states(columns, writer.fetch_rows(db, _STATES, span))
    return columns


def _join_records(
    rows: list[tuple[int, int, bytes]], fields: dict[str, str]
) -> np.ndarray[Any, np.dtype[np.void]]:
    """Return the records of log rows as one array; narrower evidence is filled with zeros."""
    import numpy as np

    widths = {width for _, width, _ in rows}
    if len(widths) == 1:
        return np.frombuffer(
            b"".join(blob for *_, blob in rows), _record_type(fields, widths.pop())
        )
    parts = [np.frombuffer(blob, _record_type(fields, width)) for _, width, blob in rows]
    joined = np.zeros(sum(map(len, parts)), _record_type(fields, max(widths)))
    start = 0
    for part in parts:
        into = joined[start : start + len(part)]
        for name in fields:
            into[name] = part[name]
        into["values"][:, : part["values"].shape[1]] = part["values"]
        start += len(part)
    return joined


def _record_type(fields: dict[str, str], width: int) -> np.dtype[np.void]:
    import numpy as np

    return np.dtype([*fields.items(), ("values", "<f4", (width,))])


def _apply_states(columns: UrlColumns, rows: list[tuple[int, int, int]]) -> None:
    """Set states, hops and parents that changed after the discovery of a URL."""
    import numpy as np

    if not rows:
        return
    ids, bits, parents = (
        np.fromiter(map(itemgetter(position), rows), np.int64, len(rows)) for position in range(3)
    )
    ids -= columns.first
    columns.states[ids] = bits & 7
    columns.hops[ids] = bits >> 3
    has_parent = parents != url_log.NO_PARENT
    columns.parents[ids[has_parent]] = parents[has_parent]


class LoggedEvidence(NamedTuple):
    """Columns of the evidence log in order of writing; the last record of a URL counts.

    parents  page with the best link; `NO_PARENT` if it did not change
    values   one row per record
    """

    ids: Column
    parents: Column
    priorities: Column
    values: Column


def read_evidence(
    db: sqlite3.Connection, *, crawl: int, first: int
) -> tuple[int, LoggedEvidence] | None:
    """Return (next row, columns) of the next log rows from `first` on; None at the end."""
    values = row_id(crawl, first), id_range(crawl)[1], url_log.ROWS_PER_READ
    rows = writer.fetch_rows(db, url_log.SELECT_EVIDENCE, values)
    if not rows:
        return None
    records = _join_records(rows, _EVIDENCE_FIELDS)
    logged = LoggedEvidence(
        records["id"], records["parent"], records["priority"], records["values"]
    )
    return (rows[-1][0] & LAST_ID) + 1, logged
