"""Keeps what has to go to whom, and what became of it: the outbox and the delivery log.

The life of a row: `enqueue` writes it in the transaction that writes its match;
`alerts.outbox_lease` takes it into a message by `first`, `with_it`, `lease` and `parts`;
`ended` or `retried` say how that ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from focus.i18n import decode_message, encode_message
from focus.storage.alerts.alerts import from_text
from focus.storage.alerts.database import ChannelSeal, Statements
from focus.storage.alerts.matches import MATCH, match_of
from focus.storage.alerts.records import (
    SENT,
    WAITING,
    DeliveryRecord,
    OutboxLease,
    OutboxRow,
    Part,
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
"""What may go is decided in Python, not in SQL."""

_PARTS = f"""
SELECT {MATCH}, (SELECT count(*) FROM alert_match t WHERE t.duplicate_of = m.id), a.definition
FROM outbox o JOIN alert_match m ON m.id = o.alert_match JOIN alert a ON a.id = o.alert
WHERE o.batch = ? AND o.state = 0
ORDER BY o.alert, m.relevance DESC, m.found_at DESC, m.id"""


class Outbox(Statements):
    """The tables `outbox` and `delivery`."""

    def enqueue(
        self,
        user: int,
        alert: int,
        *,
        matches: Iterable[int],
        channels: Sequence[str],
        due_at: float,
    ) -> int:
        """Note that these matches go out by these channels.

        Gives the number of rows; a match that was noted before is not noted again.
        """
        kept = [self._db.channels.seal(channel) for channel in channels]
        return self._db.change_all(
            "INSERT OR IGNORE INTO outbox (user, alert, alert_match, channel, state, due_at, "
            "tries, batch, error) VALUES (?, ?, ?, ?, 0, ?, 0, '', '')",
            [(user, alert, match, channel, due_at) for match in matches for channel in kept],
        )

    # -- leasing, all inside one transaction of the caller's --------------------------

    def first(self, kind: str, *, due: float) -> OutboxRow | None:
        """The row of a kind of channel that has waited longest since it was due."""
        row = self._db.row(_FIRST, (due, kind))
        return _row(row, self._db.channels) if row else None

    def with_it(self, first: OutboxRow, *, due: float) -> list[OutboxRow]:
        """The rows of its batch, or else all that are due by the same channel, itself included."""
        if first.batch:
            rows = self._db.rows(_BATCH, (first.batch,))
        else:
            rows = self._db.rows(_FRESH, (due, first.user, self._db.channels.seal(first.channel)))
        return [_row(row, self._db.channels) for row in rows]

    def give_up(self, rows: Sequence[OutboxRow], reason: str, *, now: float) -> None:
        """Rows that must not go out any more."""
        self._db.change_all(
            "UPDATE outbox SET state = 2, error = ?, due_at = ? WHERE id = ?",
            [(encode_message(reason), now, row.id) for row in rows],
        )

    def hold(self, until: dict[int, float]) -> None:
        """Rows (by id) that must not go out before."""
        sql = "UPDATE outbox SET due_at = ? WHERE id = ?"
        self._db.change_all(sql, [(end, number) for number, end in until.items()])

    def lease(self, rows: Sequence[OutboxRow], batch: str, *, until: float) -> OutboxLease:
        """Make rows one message that nobody else gets until then."""
        self._db.change_all(
            "UPDATE outbox SET batch = ?, due_at = ? WHERE id = ?",
            [(batch, until, row.id) for row in rows],
        )
        first = rows[0]
        reader = first.user, first.channel, first.language, first.zone
        return OutboxLease(batch, *reader, first.tries, self._parts(batch))

    def _parts(self, batch: str) -> list[Part]:
        """What a message says: of each alert the best, at most `max_items`."""
        parts: dict[int, Part] = {}
        for *columns, similar, definition in self._db.rows(_PARTS, (batch,)):
            number = int(columns[0])
            alert = from_text(definition, self._db.channels)
            part = parts.get(number) or Part(alert, number, [], 0, {})
            parts[number] = part = part._replace(total=part.total + 1)
            if part.total <= part.alert.max_items:
                match = match_of(columns)
                part.matches.append(match)
                part.similar[match.id] = similar
        return list(parts.values())

    # -- how it ended -----------------------------------------------------------------

    def ended(self, lease: OutboxLease, state: int, *, now: float, detail: str) -> None:
        """The message was sent (`SENT`), and never goes out again; or it is given up (`DEAD`)."""
        error = "" if state == SENT else encode_message(detail)
        self._note(lease, (state, error, now), now=now, detail=detail)

    def retried(self, lease: OutboxLease, *, now: float, due_at: float, reason: str) -> None:
        """The message failed, and goes out again then."""
        self._note(lease, (WAITING, encode_message(reason), due_at), now=now, detail=reason)

    def _note(
        self, lease: OutboxLease, values: tuple[int, str, float], *, now: float, detail: str
    ) -> None:
        sql = (
            "UPDATE outbox SET state = ?, error = ?, due_at = ?, tries = tries + 1 "
            "WHERE batch = ? AND state = 0"
        )
        with self._db.transaction():
            changed = self._db.change(sql, (*values, lease.batch))
            if changed:  # else another process has done it, after our lease had run out
                whose = lease.user, lease.channel, lease.batch
                self.log(DeliveryRecord(now, *whose, changed, values[0], detail))

    def redirect(self, user: int, kind: str, address: str) -> None:
        """Have what waits for a person's channel of a kind go to another address."""
        self._db.change(
            "UPDATE OR IGNORE outbox SET channel = ? WHERE user = ? AND state = 0 "
            "AND channel GLOB ?",
            (self._db.channels.seal(f"{kind}:{address}"), user, f"{kind}:*"),
        )

    def move(self, alert: int, *, since: float, to: float) -> None:
        """Have what waits for an alert's own time, `since` then, wait for another."""
        sql = (
            "UPDATE outbox SET due_at = ? WHERE alert = ? AND state = 0 AND batch = '' "
            "AND due_at = ?"
        )
        self._db.change(sql, (to, alert, since))

    def log(self, line: DeliveryRecord) -> None:
        """A line for people."""
        sql = (
            "INSERT INTO delivery (at, user, channel, batch, items, state, detail) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        kept = line._replace(
            channel=self._db.channels.seal(line.channel), detail=encode_message(line.detail)
        )
        self._db.change(sql, kept)

    # -- reading ----------------------------------------------------------------------

    def next_due(self) -> float | None:
        """When the next message may go out; None when none waits."""
        found: float | None = self._db.value("SELECT min(due_at) FROM outbox WHERE state = 0")
        return found

    def counts(self, user: int | None = None) -> dict[int, int]:
        """Rows by state, of one user or of all."""
        sql = "SELECT state, count(*) FROM outbox WHERE :user IS NULL OR user = :user GROUP BY 1"
        return dict(self._db.rows(sql, {"user": user}))

    def deliveries(self, user: int | None = None, *, limit: int = 50) -> list[DeliveryRecord]:
        """The delivery log of one user or of all, latest first; `limit` -1: all of it."""
        where, values = ("", ()) if user is None else ("WHERE user = ?", (user,))
        sql = (
            "SELECT at, user, channel, batch, items, state, detail FROM delivery "
            f"{where} ORDER BY at DESC, id DESC LIMIT ?"
        )
        found = (DeliveryRecord(*row) for row in self._db.rows(sql, (*values, limit)))
        channels = self._db.channels
        return [
            each._replace(channel=channels.open(each.channel), detail=decode_message(each.detail))
            for each in found
        ]


def _row(columns: Sequence[Any], channels: ChannelSeal) -> OutboxRow:
    number, user, channel, batch, tries, definition, *reader = columns
    alert, flags = from_text(definition, channels), map(bool, reader[3:])
    return OutboxRow(number, user, channels.open(channel), batch, tries, alert, *reader[:3], *flags)
