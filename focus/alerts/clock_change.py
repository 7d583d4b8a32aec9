"""Moves what is due by somebody's clock when their time zone changes.

A check at 07:30 is at 07:30 of the new zone from the next one on; what was found meanwhile and
waits for that time goes along. What comes at intervals or by itself keeps its times.
"""

from __future__ import annotations

from focus.alerts import schedule
from focus.alerts.schedule import zone_of
from focus.storage.alerts.store import AlertStore


def to_zone(store: AlertStore, user: int, zone: str, *, now: float) -> None:
    """Make a person's zone this one (an IANA name). What is due already stays due."""
    with store.transaction():
        store.users.change(user, zone=zone)
        for owned in store.alerts.all(user):
            timed = schedule.parse(owned.alert.schedule)
            if timed.cron is None or owned.next_at <= now:
                continue
            next_at = timed.next(now, zone_of(zone))
            store.alerts.checked(owned.id, now=owned.checked_at, next_at=next_at)
            store.outbox.move(owned.id, since=owned.next_at, to=next_at)
