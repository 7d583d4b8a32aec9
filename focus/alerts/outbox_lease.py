"""Which message goes out next, and what is in it? Rows of the outbox, taken so that no other can.

A claim takes all rows of one user and channel that are due, gives them a batch (the id of
the message) and a lease, and commits, all before anything is sent. Who is killed after that
leaves rows with a batch whose lease runs out: they are claimed again as the same batch, so
that the receiver can tell a repetition by its id. A batch never takes in another row.

Whether a row may go at all is asked when it is claimed: its channel may have been taken
off the alert since, and quiet hours hold it until they end.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from focus.alerts import schedule
from focus.alerts.alert import Alert
from focus.storage.alerts.outbox import DEAD, Logged, OutboxLease, Part, log
from focus.storage.alerts.store import HIT_COLUMNS, AlertStore, hit_of

LEASE_S = 300.0  # longer than any one message may take; see the limits of the channels

_DELETED = "deleted before it went out"


def claim(
    book: AlertStore, kind: str, *, due: float, now: float, lease_s: float = LEASE_S
) -> OutboxLease | None:
    """The next message of a kind of channel that was due by `due`; None when there is none.

    From here until the lease ends nobody else gets these rows.
    """
    with book.transaction() as db:
        while (first := _first(db, kind, due)) is not None:
            going = _sifted(db, _with_it(db, first, due), now)
            if going:
                batch = first.batch or uuid.uuid4().hex
                until = now + lease_s
                db.executemany(
                    "UPDATE outbox SET batch = ?, due_at = ? WHERE id = ?",
                    [(batch, until, row.id) for row in _message(going)],
                )
                return _loaded(db, going[0], batch)
    return None


class _Row(NamedTuple):
    """A row of the outbox, with what decides about it."""

    id: int
    user: int
    alert: int
    hit: int
    channel: str
    batch: str
    tries: int
    definition: Alert
    quiet: str
    zone: ZoneInfo
    language: str
    admin: bool
    disabled: bool
    deleted: bool

    def refusal(self) -> str:
        """Why it must not go out at all any more; "": it may."""
        if self.disabled:
            return "the account is disabled"
        if self.deleted:
            return _DELETED
        if self.channel not in self.definition.channels:
            return "the channel was taken off the alert"
        if self.channel.startswith("apprise:") and not self.admin:
            return "apprise channels are for administrators"
        return ""

    def held_until(self, now: float) -> float | None:
        """When quiet hours end that it is in; None: it is in none."""
        quiet = schedule.parse_quiet(self.definition.quiet or self.quiet)
        release = now if quiet is None else quiet.release(now, self.zone)
        return release if release > now else None


_ROW = """
SELECT o.id, o.user, o.alert, o.hit, o.channel, o.batch, o.tries, c.definition, u.quiet, u.zone,
u.language, u.admin, u.disabled, h.deleted
FROM outbox o JOIN alert c ON c.id = o.alert JOIN user u ON u.id = o.user
JOIN hit h ON h.id = o.hit
WHERE o.state = 0 AND """
_FIRST = _ROW + "o.due_at <= ? AND o.channel GLOB ? ORDER BY o.due_at, o.id LIMIT 1"
_BATCH = _ROW + "o.batch = ? ORDER BY o.id"
_FRESH = _ROW + "o.due_at <= ? AND o.user = ? AND o.channel = ? AND o.batch = '' ORDER BY o.id"
"""Zones and definitions are read in Python: what may go is decided there, not in SQL."""


def _first(db: sqlite3.Connection, kind: str, due: float) -> _Row | None:
    row = db.execute(_FIRST, (due, f"{kind}:*")).fetchone()
    return None if row is None else _row(row)


def _with_it(db: sqlite3.Connection, first: _Row, due: float) -> list[_Row]:
    """The rows of its batch, or else all that are due by the same channel, itself included."""
    if first.batch:
        found = db.execute(_BATCH, (first.batch,))
    else:
        found = db.execute(_FRESH, (due, first.user, first.channel))
    return [_row(each) for each in found]


def _row(columns: Sequence[Any]) -> _Row:
    definition = msgspec.json.decode(columns[7], type=Alert)
    zone = zone_of(columns[9])
    flags = (bool(each) for each in columns[11:])  # admin, disabled, deleted
    return _Row._make((*columns[:7], definition, columns[8], zone, columns[10], *flags))


def _sifted(db: sqlite3.Connection, rows: list[_Row], now: float) -> list[_Row]:
    """Those that may go now. The others are given up, or held; a batch is held as a whole."""
    refused: dict[str, list[_Row]] = {}
    allowed: list[_Row] = []
    for row in rows:
        refusal = row.refusal()
        (refused.setdefault(refusal, []) if refusal else allowed).append(row)
    for reason, those in refused.items():
        _give_up(db, those, reason, now)
    ends = {row.id: end for row in allowed if (end := row.held_until(now)) is not None}
    if ends and allowed[0].batch:
        ends = dict.fromkeys((row.id for row in allowed), max(ends.values()))
    db.executemany(
        "UPDATE outbox SET due_at = ? WHERE id = ?", [(end, row) for row, end in ends.items()]
    )
    return [row for row in allowed if row.id not in ends]


def _give_up(db: sqlite3.Connection, rows: list[_Row], reason: str, now: float) -> None:
    db.executemany(
        "UPDATE outbox SET state = 2, error = ?, due_at = ? WHERE id = ?",
        [(reason, now, row.id) for row in rows],
    )
    if reason != _DELETED:  # its owner has seen it; nobody wonders where it is
        row = rows[0]
        log(db, Logged(now, row.user, row.channel, row.batch, len(rows), DEAD, reason))


def _message(going: list[_Row]) -> list[_Row]:
    """What goes out in one message: a batch as it is; one row, or all rows for a digest."""
    if going[0].batch:
        return going
    if not going[0].definition.digest:
        return going[:1]
    return [row for row in going if row.definition.digest]


_HITS = ", ".join(f"h.{name}" for name in HIT_COLUMNS.split(", "))
_PARTS = f"""
SELECT {_HITS}, (SELECT count(*) FROM hit t WHERE t.twin = h.id), c.definition
FROM outbox o JOIN hit h ON h.id = o.hit JOIN alert c ON c.id = o.alert
WHERE o.batch = ? AND o.state = 0
ORDER BY o.alert, h.relevance DESC, h.found_at DESC, h.id"""


def _loaded(db: sqlite3.Connection, first: _Row, batch: str) -> OutboxLease:
    """The claim with what its message says: of each alert the best, at most `max_items`."""
    parts: dict[int, Part] = {}
    for *columns, similar, definition in db.execute(_PARTS, (batch,)):
        number = int(columns[0])
        if number not in parts:
            alert = msgspec.json.decode(definition, type=Alert)
            parts[number] = Part(alert, number, [], 0, {})
        part = parts[number]._replace(total=parts[number].total + 1)
        parts[number] = part
        if part.total <= part.alert.max_items:
            hit = hit_of(columns)
            part.hits.append(hit)
            part.similar[hit.id] = similar
    return OutboxLease(
        batch,
        first.user,
        first.channel,
        first.language,
        first.zone,
        first.tries,
        list(parts.values()),
    )


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its IANA name; UTC for one that this system does not know."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
