"""Reads back, column by column, what the frontier keeps of millions of URLs, and its log."""

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

URLS = 16_000
"""Read at once: what is made of so many stays in the processor's cache."""

# Few values a row, as each costs an object: from the lowest bit 3 of state, then hops.
_STATES = f"""
SELECT id & {LAST_ID}, state | (min(hops, 255) << 3), ifnull(parent, {url_log.NO_PARENT})
FROM url_state WHERE id BETWEEN ? AND ? ORDER BY id"""
_RETRIES = f"""
SELECT id & {LAST_ID}, tries, retry_at FROM url_state
WHERE id BETWEEN ? AND ? AND state = {int(UrlState.WAITING)} AND tries > 0 ORDER BY id"""


# Records as numpy has them, the evidence behind.
_FOUND = {  # url_log.found_record
    "head": "<u8",
    "priority": "<f8",
    "queue": "<u4",
    "parent": "<i4",
    "depth": "<u2",
    "hops": "u1",
}
_EVIDENCE = {"id": "<u4", "parent": "<i4", "priority": "<f8"}  # url_log.evidence_record


def urls(db: sqlite3.Connection, *, crawl: int, first: int, most: int) -> UrlColumns | None:
    """The URLs of whole batches from that id on, `most` or a few more; None: there are none."""
    import numpy as np

    rows, left = [], most
    for row in db.execute(url_log.FOUND, (row_id(crawl, first), id_range(crawl)[1])):
        rows.append(row)
        left -= len(row[2]) // url_log.found_record(row[1]).size
        if left <= 0:
            break
    if not rows:
        return None
    found = _joined(rows, _FOUND)
    span = rows[0][0], rows[0][0] + len(found) - 1
    columns = UrlColumns(
        first=rows[0][0] & LAST_ID,
        heads=found["head"],
        states=np.zeros(len(found), np.uint8),
        depths=found["depth"],
        queues=found["queue"],
        hops=found["hops"].copy(),
        parents=found["parent"].copy(),
        priorities=found["priority"],
        link_evidence=found["values"],
        retries=writer.select(db, _RETRIES, span),
    )
    _tell(columns, writer.select(db, _STATES, span))
    return columns


def _joined(
    rows: list[tuple[int, int, bytes]], fields: dict[str, str]
) -> np.ndarray[Any, np.dtype[np.void]]:
    """The records of rows of a log one behind the other; evidence that one lacks is zero."""
    import numpy as np

    widths = {width for _, width, _ in rows}
    if len(widths) == 1:
        return np.frombuffer(b"".join(blob for *_, blob in rows), _record(fields, widths.pop()))
    parts = [np.frombuffer(blob, _record(fields, width)) for _, width, blob in rows]
    found = np.zeros(sum(map(len, parts)), _record(fields, max(widths)))
    at = 0
    for part in parts:
        into = found[at : at + len(part)]
        for name in fields:
            into[name] = part[name]
        into["values"][:, : part["values"].shape[1]] = part["values"]
        at += len(part)
    return found


def _record(fields: dict[str, str], width: int) -> np.dtype[np.void]:
    import numpy as np

    return np.dtype([*fields.items(), ("values", "<f4", (width,))])


def _tell(columns: UrlColumns, rows: list[tuple[int, int, int]]) -> None:
    """Enter what became of URLs since they were found."""
    import numpy as np

    if not rows:
        return
    ids, bits, parents = (
        np.fromiter(map(itemgetter(place), rows), np.int64, len(rows)) for place in range(3)
    )
    ids -= columns.first
    columns.states[ids] = bits & 7
    columns.hops[ids] = bits >> 3
    told = parents != url_log.NO_PARENT
    columns.parents[ids[told]] = parents[told]


class LoggedEvidence(NamedTuple):
    """Columns of the log's records in order of writing: a later one of a URL counts.

    parents  `NO_PARENT`: that of the record before, or of the row
    values   one row each
    """

    ids: Column
    parents: Column
    priorities: Column
    values: Column


def evidence(
    db: sqlite3.Connection, *, crawl: int, first: int, most: int = url_log.ROWS
) -> tuple[int, LoggedEvidence] | None:
    """Up to `most` rows of the log from that one on, and which is next; None: there are none."""
    values = row_id(crawl, first), id_range(crawl)[1], most
    rows = writer.select(db, url_log.EVIDENCE, values)
    if not rows:
        return None
    found = _joined(rows, _EVIDENCE)
    logged = LoggedEvidence(found["id"], found["parent"], found["priority"], found["values"])
    return (rows[-1][0] & LAST_ID) + 1, logged
