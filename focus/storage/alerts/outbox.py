"""Outbox of messages to send, and the delivery log.

`enqueue` writes a row in the transaction of its match. `alerts.outbox_lease` combines rows to a
message with `find_first_due`, `list_message_rows` and `lease_rows`. `record_end` or `record_retry`
store the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from focus.i18n import decode_message, encode_message
from focus.storage.alerts.alerts import decode_alert
from focus.storage.alerts.database import ChannelSeal, Statements
from focus.storage.alerts.matches import MATCH_COLUMNS, match_from_row
from focus.storage.alerts.records import (
    SENT,
    WAITING,
    DeliveryRecord,
    MessagePart,
    OutboxLease,
    OutboxRow,
)

_ROW = """
SELECT o.id, o.user, o.channel, o.batch, o.tries, a.definition, u.quiet, u.zone, u.language,
u.admin, u.disabled, m.deleted
FROM outbox o JOIN alert a ON a.id = o.alert JOIN user u ON u.id = o.user
JOIN alert_match m ON m.id = o.alert_match
WHERE o.state = 0 AND """
_FIRST = (
    _ROW + "o.due_at <= ?1 AND (o.channel = ?2 OR o.channel GLOB ?2 || ':*') "
    "ORDER BY o.due_at, o.id LIMIT 1"
)
_BATCH = _ROW + "o.batch = ? ORDER BY o.id"
_FRESH = _ROW + "o.due_at <= ? AND o.user = ? AND o.channel = ? AND o.batch = '' ORDER BY o.id"
"""Whether a row may be sent is decided in Python and not in SQL."""

_PARTS = f"""
SELECT {MATCH_COLUMNS}, (SELECT count(*) FROM alert_match t WHERE t.duplicate_of = m.id),
a.definition
FROM outbox o JOIN alert_match m ON m.id = o.alert_match JOIN alert a ON a.id = o.alert
WHERE o.batch = ? AND o.state = 0
ORDER BY o.alert, m.relevance DESC, m.found_at DESC, m.id"""


class Outbox(Statements):
    """Tables `outbox` and `delivery`."""

    def enqueue(
        self,
        user: int,
        alert: int,
        *,
        matches: Iterable[int],
        channels: Sequence[str],
        due_at: float,
    ) -> int:
        """Add these matches for these channels; return the number of new rows.

        A match that was added before is not added again.
        """
        sealed = [self._db.channels.seal(channel) for channel in channels]
        return self._db.execute_many(
            "INSERT OR IGNORE INTO outbox (user, alert, alert_match, channel, state, due_at, "
            "tries, batch, error) VALUES (?, ?, ?, ?, 0, ?, 0, '', '')",
            [(user, alert, match, channel, due_at) for match in matches for channel in sealed],
        )

    # -- leasing, in one transaction of the caller ------------------------------------

    def find_first_due(self, kind: str, *, due: float) -> OutboxRow | None:
        """Return the row of a kind of channel that has been due for the longest time."""
        row = self._db.fetch_row(_FIRST, (due, kind))
        return _outbox_row(row, self._db.channels) if row else None

    def list_message_rows(self, first: OutboxRow, *, due: float) -> list[OutboxRow]:
        """Return the rows of the same batch, or all rows due for the same channel and user."""
        if first.batch:
            rows = self._db.fetch_rows(_BATCH, (first.batch,))
        else:
            rows = self._db.fetch_rows(
                _FRESH, (due, first.user, self._db.channels.seal(first.channel))
            )
        return [_outbox_row(row, self._db.channels) for row in rows]

    def fail_rows(self, rows: Sequence[OutboxRow], reason: str, *, now: float) -> None:
        """Mark rows as failed: they will not be sent."""
        self._db.execute_many(
            "UPDATE outbox SET state = 2, error = ?, due_at = ? WHERE id = ?",
            [(encode_message(reason), now, row.id) for row in rows],
        )

    def postpone(self, until: dict[int, float]) -> None:
        """Postpone rows to the given times, by id."""
        sql = "UPDATE outbox SET due_at = ? WHERE id = ?"
        self._db.execute_many(sql, [(end, number) for number, end in until.items()])

    def lease_rows(self, rows: Sequence[OutboxRow], batch: str, *, until: float) -> OutboxLease:
        """Combine rows to one message that no other process receives before `until`."""
        self._db.execute_many(
            "UPDATE outbox SET batch = ?, due_at = ? WHERE id = ?",
            [(batch, until, row.id) for row in rows],
        )
        first = rows[0]
        reader = first.user, first.channel, first.language, first.zone
        return OutboxLease(batch, *reader, first.tries, self._parts(batch))

    def _parts(self, batch: str) -> list[MessagePart]:
        """Return the parts of a message: the best matches of each alert, up to `max_items`."""
        parts: dict[int, MessagePart] = {}
        for *columns, similar, definition in self._db.fetch_rows(_PARTS, (batch,)):
            number = int(columns[0])
            alert = decode_alert(definition, self._db.channels)
            part = parts.get(number) or MessagePart(alert, number, [], 0, {})
            parts[number] = part = part._replace(total=part.total + 1)
            if part.total <= part.alert.max_items:
                match = match_from_row(columns)
                part.matches.append(match)
                part.similar[match.id] = similar
        return list(parts.values())

    # -- results ----------------------------------------------------------------------

    def record_end(self, lease: OutboxLease, state: int, *, now: float, detail: str) -> None:
        """Store that a message was sent (`SENT`) or has failed for good (`FAILED`)."""
        error = "" if state == SENT else encode_message(detail)
        self._record_result(lease, (state, error, now), now=now, detail=detail)

    def record_retry(self, lease: OutboxLease, *, now: float, due_at: float, reason: str) -> None:
        """Store that a message failed and will be sent again at `due_at`."""
        self._record_result(
            lease, (WAITING, encode_message(reason), due_at), now=now, detail=reason
        )

    def _record_result(
        self, lease: OutboxLease, values: tuple[int, str, float], *, now: float, detail: str
    ) -> None:
        sql = (
            "UPDATE outbox SET state = ?, error = ?, due_at = ?, tries = tries + 1 "
            "WHERE batch = ? AND state = 0"
        )
        with self._db.transaction():
            changed = self._db.execute(sql, (*values, lease.batch))
            if changed:  # otherwise the lease expired and another process has done it
                whose = lease.user, lease.channel, lease.batch
                self.add_delivery(DeliveryRecord(now, *whose, changed, values[0], detail))

    def redirect_channel(self, user: int, kind: str, address: str) -> None:
        """Change the address of unsent messages of a user for one kind of channel."""
        self._db.execute(
            "UPDATE OR IGNORE outbox SET channel = ? WHERE user = ? AND state = 0 "
            "AND channel GLOB ?",
            (self._db.channels.seal(f"{kind}:{address}"), user, f"{kind}:*"),
        )

    def reschedule(self, alert: int, *, since: float, to: float) -> None:
        """Move unsent messages of an alert that are due at `since` to the time `to`."""
        sql = (
            "UPDATE outbox SET due_at = ? WHERE alert = ? AND state = 0 AND batch = '' "
            "AND due_at = ?"
        )
        self._db.execute(sql, (to, alert, since))

    def add_delivery(self, line: DeliveryRecord) -> None:
        """Add a line to the delivery log."""
        sql = (
            "INSERT INTO delivery (at, user, channel, batch, items, state, detail) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        sealed = line._replace(
            channel=self._db.channels.seal(line.channel), detail=encode_message(line.detail)
        )
        self._db.execute(sql, sealed)

    # -- reading ----------------------------------------------------------------------

    def next_due_at(self) -> float | None:
        """Return the time when the next message is due; None if none waits."""
        due_at: float | None = self._db.fetch_value(
            "SELECT min(due_at) FROM outbox WHERE state = 0"
        )
        return due_at

    def count_by_state(self) -> dict[int, int]:
        """Return the number of rows by state."""
        return dict(self._db.fetch_rows("SELECT state, count(*) FROM outbox GROUP BY 1"))

    def list_deliveries(self, user: int | None = None, *, limit: int = 50) -> list[DeliveryRecord]:
        """Return the delivery log of one user or of all, latest first; -1 means no limit."""
        where, values = ("", ()) if user is None else ("WHERE user = ?", (user,))
        sql = (
            "SELECT at, user, channel, batch, items, state, detail FROM delivery "
            f"{where} ORDER BY at DESC, id DESC LIMIT ?"
        )
        records = (DeliveryRecord(*row) for row in self._db.fetch_rows(sql, (*values, limit)))
        channels = self._db.channels
        return [
            record._replace(
                channel=channels.open(record.channel), detail=decode_message(record.detail)
            )
            for record in records
        ]


def _outbox_row(columns: Sequence[Any], channels: ChannelSeal) -> OutboxRow:
    number, user, channel, batch, tries, definition, *reader = columns
    alert, flags = decode_alert(definition, channels), map(bool, reader[3:])
    return OutboxRow(number, user, channels.open(channel), batch, tries, alert, *reader[:3], *flags)
