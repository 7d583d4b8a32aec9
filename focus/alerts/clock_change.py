"""Change of a person's time zone, with the times of their alerts.

A check at 07:30 is at 07:30 of the new zone from the next one on; matches that wait for that time
are moved with it. Alerts with an interval, or with the schedule `auto`, keep their times.
"""

from __future__ import annotations

from focus.alerts import schedule
from focus.alerts.schedule import find_zone
from focus.storage.alerts.store import AlertStore


def change_zone(store: AlertStore, user: int, zone: str, *, now: float) -> None:
    """Set a person's time zone (an IANA name). Checks that are due already stay due."""
    with store.transaction():
        store.users.update(user, zone=zone)
        for stored_alert in store.alerts.list_alerts(user):
            parsed = schedule.parse(stored_alert.alert.schedule)
            if parsed.cron is None or stored_alert.next_at <= now:
                continue
            next_at = parsed.next(now, find_zone(zone))
            store.alerts.record_check(stored_alert.id, now=stored_alert.checked_at, next_at=next_at)
            store.outbox.reschedule(stored_alert.id, since=stored_alert.next_at, to=next_at)
