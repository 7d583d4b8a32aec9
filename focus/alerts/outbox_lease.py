"""Leases of outbox rows, so that one relay alone sends a message.

A lease takes all rows of one user and channel that are due, gives them a batch (the id of the
message) and an expiry time, and commits before anything is sent. A relay that is killed leaves rows
whose lease expires: they are leased again as the same batch, so that the receiver can recognise the
repetition by its id. No row is added to an existing batch.

A row is checked when it is leased: its channel may have been removed from the alert since, and
quiet hours hold it until they end.
"""

from __future__ import annotations

import uuid

from focus.alerts.delivery import CHANNELS, split_channel
from focus.alerts.schedule import find_zone, parse_quiet
from focus.i18n import msg
from focus.storage.alerts.records import FAILED, DeliveryRecord, OutboxLease, OutboxRow
from focus.storage.alerts.store import AlertStore

LEASE_S = 300.0
"""How long a relay that died holds a message; longer than any delivery takes (see the channels)."""

_DELETED = "deleted before it went out"


def lease_message(store: AlertStore, kind: str, *, due: float, now: float) -> OutboxLease | None:
    """Lease the next message of a kind of channel that was due by `due`; None if there is none.

    No other relay gets its rows until the lease expires.
    """
    with store.transaction():
        while (first := store.outbox.find_first_due(kind, due=due)) is not None:
            rows = _sendable_rows(store, store.outbox.list_message_rows(first, due=due), now)
            if rows:
                batch = first.batch or uuid.uuid4().hex
                return store.outbox.lease_rows(message_rows(rows), batch, until=now + LEASE_S)
    return None


def _sendable_rows(store: AlertStore, rows: list[OutboxRow], now: float) -> list[OutboxRow]:
    """Return the rows that may be sent now.

    The others are abandoned, or held until quiet hours end; a batch is held as a whole.
    """
    refused: dict[str, list[OutboxRow]] = {}
    allowed: list[OutboxRow] = []
    for row in rows:
        reason = refusal_reason(row)
        (refused.setdefault(reason, []) if reason else allowed).append(row)
    for reason, refused_rows in refused.items():
        _abandon(store, refused_rows, reason, now)
    quiet_ends = {row.id: end for row in allowed if (end := quiet_until(row, now)) is not None}
    if quiet_ends and allowed[0].batch:
        quiet_ends = dict.fromkeys((row.id for row in allowed), max(quiet_ends.values()))
    store.outbox.postpone(quiet_ends)
    return [row for row in allowed if row.id not in quiet_ends]


def _abandon(store: AlertStore, rows: list[OutboxRow], reason: str, now: float) -> None:
    store.outbox.fail_rows(rows, reason, now=now)
    if reason != _DELETED:  # the owner deleted it and expects no message
        row = rows[0]
        line = DeliveryRecord(now, row.user, row.channel, row.batch, len(rows), FAILED, reason)
        store.outbox.add_delivery(line)


# -- what may go ----------------------------------------------------------------------


def refusal_reason(row: OutboxRow) -> str:
    """Return why a row must not be sent any more, or an empty string."""
    if row.disabled:
        return msg("the account is disabled")
    if row.deleted:
        return _DELETED
    if row.channel not in row.alert.channels:
        return msg("the channel was removed from the alert")
    kind, _ = split_channel(row.channel)
    if not row.admin and CHANNELS[kind].is_admin_only:
        return msg("{kind} channels are for administrators", kind=kind)
    return ""


def quiet_until(row: OutboxRow, now: float) -> float | None:
    """Return the end of the quiet hours that a row is in, or None."""
    quiet = parse_quiet(row.alert.quiet or row.quiet)
    release = now if quiet is None else quiet.next_release(now, find_zone(row.zone))
    return release if release > now else None


def message_rows(rows: list[OutboxRow]) -> list[OutboxRow]:
    """Return the rows of one message: a batch, all rows for a digest, or a single row."""
    if rows[0].batch:
        return rows
    if not rows[0].alert.digest:
        return rows[:1]
    return [row for row in rows if row.alert.digest]
