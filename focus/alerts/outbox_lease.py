"""Leases the next message that is to go out: rows of the outbox, taken so that no other can.

A lease takes all rows of one user and channel that are due, gives them a batch (the id of the
message) and a time, and commits, all before anything is sent. Who is killed after that leaves
rows with a batch whose time runs out: they are leased again as the same batch, so that the
receiver can tell a repetition by its id. A batch never takes in another row.

Whether a row may go at all is asked when it is leased: its channel may have been taken off the
alert since, and quiet hours hold it until they end.
"""

from __future__ import annotations

import uuid

from focus.alerts.delivery import CHANNELS, split_channel
from focus.alerts.schedule import parse_quiet, zone_of
from focus.i18n import msg
from focus.storage.alerts.records import DEAD, DeliveryRecord, OutboxLease, OutboxRow
from focus.storage.alerts.store import AlertStore

LEASE_S = 300.0  # longer than any one message may take; see the limits of the channels

_DELETED = "deleted before it went out"


def lease(
    store: AlertStore, kind: str, *, due: float, now: float, lease_s: float = LEASE_S
) -> OutboxLease | None:
    """The next message of a kind of channel that was due by `due`; None when there is none.

    From here until the lease ends nobody else gets these rows.
    """
    with store.transaction():
        while (first := store.outbox.first(kind, due=due)) is not None:
            going = _sifted(store, store.outbox.with_it(first, due=due), now)
            if going:
                batch = first.batch or uuid.uuid4().hex
                return store.outbox.lease(in_message(going), batch, until=now + lease_s)
    return None


def _sifted(store: AlertStore, rows: list[OutboxRow], now: float) -> list[OutboxRow]:
    """Those that may go now. The others are given up, or held; a batch is held as a whole."""
    refused: dict[str, list[OutboxRow]] = {}
    allowed: list[OutboxRow] = []
    for row in rows:
        reason = refusal(row)
        (refused.setdefault(reason, []) if reason else allowed).append(row)
    for reason, those in refused.items():
        _give_up(store, those, reason, now)
    ends = {row.id: end for row in allowed if (end := held_until(row, now)) is not None}
    if ends and allowed[0].batch:
        ends = dict.fromkeys((row.id for row in allowed), max(ends.values()))
    store.outbox.hold(ends)
    return [row for row in allowed if row.id not in ends]


def _give_up(store: AlertStore, rows: list[OutboxRow], reason: str, now: float) -> None:
    store.outbox.give_up(rows, reason, now=now)
    if reason != _DELETED:  # its owner has seen it; nobody wonders where it is
        row = rows[0]
        line = DeliveryRecord(now, row.user, row.channel, row.batch, len(rows), DEAD, reason)
        store.outbox.log(line)


# -- what may go ----------------------------------------------------------------------


def refusal(row: OutboxRow) -> str:
    """Why a row must not go out at all any more; "": it may."""
    if row.disabled:
        return msg("the account is disabled")
    if row.deleted:
        return _DELETED
    if row.channel not in row.alert.channels:
        return msg("the channel was taken off the alert")
    kind, _ = split_channel(row.channel)
    if not row.admin and CHANNELS[kind].is_admin_only:
        return msg("{kind} channels are for administrators", kind=kind)
    return ""


def held_until(row: OutboxRow, now: float) -> float | None:
    """When the quiet hours end that a row is in; None: it is in none."""
    quiet = parse_quiet(row.alert.quiet or row.quiet)
    release = now if quiet is None else quiet.release(now, zone_of(row.zone))
    return release if release > now else None


def in_message(going: list[OutboxRow]) -> list[OutboxRow]:
    """What goes out in one message: a batch as it is; one row, or all rows for a digest."""
    if going[0].batch:
        return going
    if not going[0].alert.digest:
        return going[:1]
    return [row for row in going if row.alert.digest]
