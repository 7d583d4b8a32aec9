"""One run of `focus watch`: visits the sites of due alerts, matches new pages, delivers messages.

    due alerts -> their sites in turns: visit, match the pages against all alerts there, deliver
    -> the alerts' next times -> the outbox

No site holds up the others. While an alert is due every few minutes, a visit takes a minute at most
(`visit`), and after `MAX_RUN_S` the sites that are left wait for the next run, which begins with
the quick ones and continues with those that have waited longest.

After a kill the next run continues: pages that were not matched are behind the site's cursor,
messages that were not delivered are in the outbox, and an unfinished check is still due.
"""

from __future__ import annotations

import math
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from focus.alerts import matching, schedule
from focus.alerts.health import first_check_failure
from focus.alerts.matching import MatchingSummary
from focus.alerts.outbox_relay import DeliverySummary
from focus.alerts.schedule import MIN_INTERVAL_S, SLACK_S, find_zone
from focus.errors import FocusError, StoreLocked
from focus.i18n import chain_messages, msg
from focus.storage.alerts.records import StoredAlert, WatchedSite
from focus.storage.alerts.store import AlertStore
from focus.storage.lock import database_lock

Visit = Callable[[WatchedSite], Awaitable[None]]
"""Visits a site and stores what is new there, in the crawl that the site's row names.

Raises StoreLocked when another program crawls into the database, Offline when the local network is
down, FocusError for other failures. Failures of the site itself are in its row afterwards."""


Deliver = Callable[[], Awaitable[DeliverySummary]]
"""Delivers what is due. Raises StoreError only; failures of receivers are in the summary."""


OFFLINE_SITES = 3
"""Number of consecutive sites without a network after which the others are postponed."""


MAX_RUN_S = 60.0
"""Seconds after which a run leaves its other sites to the next one, if an alert is quick."""
DELIVERY_INTERVAL_S = 30.0
"""Seconds after which messages are delivered between two visits."""


class Offline(FocusError):
    """The local network is down, so that the visit is postponed."""


class AlreadyRunning(FocusError):
    """Another process is running `focus watch run` on the database."""

    exit_code = 6


class WatchRunSummary(msgspec.Struct):
    """Result of a run.

    alerts             Number of alerts checked.
    visited            Number of sites visited.
    welcomed           Existing pages sent to alerts that were added.
    is_busy            Whether a crawl holds the database, so that nothing was visited.
    failed             Number of sites whose visit failed.
    postponed          Sites that the local network prevented from being visited; they stay due.
    unfinished         Sites that the next run continues with, so that others get their turn.
    matched            Results of matching, by site.
    failures           New failures, for the operator.
    repeated_failures  Failures of earlier runs, which need no other mail by cron.
    """

    alerts: int = 0
    visited: int = 0
    welcomed: int = 0
    is_busy: bool = False
    failed: int = 0
    postponed: list[int] = msgspec.field(default_factory=list)
    unfinished: list[int] = msgspec.field(default_factory=list)
    matched: list[MatchingSummary] = msgspec.field(default_factory=list)
    failures: list[str] = msgspec.field(default_factory=list)
    repeated_failures: list[str] = msgspec.field(default_factory=list)
    delivered: DeliverySummary = msgspec.field(default_factory=DeliverySummary)

    @property
    def has_only_failures(self) -> bool:
        """Whether every visit failed."""
        return bool(self.failed) and self.failed == self.visited

    @property
    def news(self) -> int:
        """Number of pages to be sent."""
        return self.welcomed + sum(site.news for site in self.matched)


@contextmanager
def watch_lock(database: Path) -> Iterator[None]:
    """Hold the lock of `watch run`. Raises AlreadyRunning if another process has it."""
    try:
        with database_lock(database.with_name(database.name + ".watch"), pid=os.getpid()):
            yield
    except StoreLocked:
        raise AlreadyRunning(
            "another `focus watch run` is using {database}", database=database
        ) from None


def due_alerts(
    store: AlertStore, *, now: float, alert_ids: Sequence[int] | None = None
) -> list[StoredAlert]:
    """Return the alerts to check now; those in `alert_ids`, if given, whether due or not.

    Times that were stored while the clock was ahead are corrected first.
    """
    store.correct_future_times(now)
    if alert_ids is None:
        return store.alerts.list_due(now)
    chosen = [
        stored_alert
        for stored_alert in store.alerts.list_alerts()
        if stored_alert.id in alert_ids and not stored_alert.paused
    ]
    return [stored_alert for stored_alert in chosen if not stored_alert.alert.is_over(now)]


def due_sites(
    store: AlertStore, alerts: Sequence[StoredAlert], *, now: float, at_once: bool
) -> list[WatchedSite]:
    """Return the sites of these alerts that are to be visited, the quickest first.

    These are sites of alerts with a schedule of their own, and other sites with a page that is due.
    No site is visited before its `free_at`, however many alerts are due.

    at_once  Visit all sites whose last visit is at least a minute ago.
    """
    sites = store.sites.list_for_alerts([stored.id for stored in alerts])
    latest = now + SLACK_S
    if at_once:
        return [site for site in sites if (site.visited_at or 0.0) + MIN_INTERVAL_S <= latest]
    schedules = {stored.id: schedule.parse(stored.alert.schedule) for stored in alerts}
    quick_ids, scheduled_ids = (
        {site.id for site in store.sites.list_for_alerts(chosen)}
        for chosen in (
            [alert_id for alert_id in schedules if schedules[alert_id].is_quick],
            [alert_id for alert_id in schedules if not schedules[alert_id].is_auto],
        )
    )
    due_now = [
        site
        for site in sites
        if site.free_at <= latest and (site.id in scheduled_ids or site.next_at <= now)
    ]
    return sorted(due_now, key=lambda site: (site.id not in quick_ids, site.next_at))


async def run_due(
    store: AlertStore,
    visit: Visit,
    deliver: Deliver,
    *,
    clock: Callable[[], float],
    alert_ids: Sequence[int] | None = None,
) -> WatchRunSummary:
    """Check the due alerts, or those in `alert_ids`, and deliver. The caller holds `watch_lock`.

    Raises StoreError only; other failures are in the result.
    """
    summary = WatchRunSummary()
    started_at = clock()
    alerts = due_alerts(store, now=started_at, alert_ids=alert_ids)
    sites = due_sites(store, alerts, now=started_at, at_once=alert_ids is not None)
    run = _Run(store, alerts, visit, deliver, clock, summary)
    max_run_s = MAX_RUN_S if has_quick_alert(store) else math.inf
    await run.visit_all(sites, ends_at=started_at + max_run_s)
    if alerts:
        run.match_sites()
        if not summary.is_busy:
            skipped = summary.postponed + summary.unfinished
            skipped_ids = {
                alert.id for site in skipped for alert in store.alerts.list_for_site(site)
            }
            skipped_ids |= _postpone_resting(store, alerts, sites, now=started_at)
            finished = [alert for alert in alerts if alert.id not in skipped_ids]
            _finish_checks(store, finished, summary, started_at=started_at, now=clock())
    summary.delivered.add(await deliver())
    summary.failures += [
        chain_messages(kind, reason) for kind, reason in summary.delivered.failures.items()
    ]
    return summary


def has_quick_alert(store: AlertStore) -> bool:
    """Return whether an alert is due every few minutes, which limits runs and visits."""
    return any(
        schedule.parse(stored_alert.alert.schedule).is_quick
        for stored_alert in store.alerts.list_alerts()
        if not stored_alert.paused
    )


class _Run:
    """The visits of one run, with matching and delivery between them."""

    def __init__(
        self,
        store: AlertStore,
        alerts: Sequence[StoredAlert],
        visit: Visit,
        deliver: Deliver,
        clock: Callable[[], float],
        summary: WatchRunSummary,
    ) -> None:
        self._store, self._visit, self._deliver, self._clock = store, visit, deliver, clock
        self._alert_names = {stored.id: stored.alert.name for stored in alerts}
        self._summary = summary
        self._delivered_at = clock()

    async def visit_all(self, sites: Sequence[WatchedSite], *, ends_at: float) -> None:
        """Visit sites, failing ones last; no further one after `ends_at`.

        A site that is offline is at fault itself once another site responds. Where several in
        succession are offline, the others are not tried.
        """
        summary = self._summary
        order = sorted(sites, key=lambda site: site.failing_since is not None)
        for number, site in enumerate(order):
            if not await self._visit_site(site):
                return
            left_ids = [waiting.id for waiting in order[number + 1 :]]
            if summary.failed == summary.visited and len(summary.postponed) >= OFFLINE_SITES:
                summary.postponed += left_ids
                return
            if self._clock() >= ends_at:
                summary.unfinished += left_ids
                break
            if left_ids:
                await self._deliver_between_visits()
        if summary.failed < summary.visited:
            summary.postponed.clear()

    async def _visit_site(self, site: WatchedSite) -> bool:
        """Visit a site; return whether the next one may be visited."""
        store, summary = self._store, self._summary
        try:
            await self._visit(site)
        except StoreLocked:
            summary.is_busy = True
            return False
        except Offline:
            summary.postponed.append(site.id)
        except FocusError as error:
            store.sites.record_trouble(site.id, error.message, now=self._clock())
        summary.visited += 1
        after = store.sites.find_by_host(site.host)
        if after is not None and after.trouble:
            summary.failed += 1
            is_new = after.trouble != site.trouble
            failures = summary.failures if is_new else summary.repeated_failures
            failures.append(chain_messages(site.host, after.trouble))
        elif after is not None and after.visited_at is None and after.crawl is not None:
            summary.unfinished.append(site.id)  # a first visit that goes on in the next run
        return True

    async def _deliver_between_visits(self) -> None:
        """Match the pages of all sites so far and deliver, unless that was done a moment ago."""
        if self._clock() - self._delivered_at >= DELIVERY_INTERVAL_S:
            self.match_sites()
            self._summary.delivered.add(await self._deliver())
            self._delivered_at = self._clock()

    def match_sites(self) -> None:
        """Match the new pages of the sites of the due alerts against all alerts on them."""
        summary, names = self._summary, self._alert_names
        for site in self._store.sites.list_for_alerts(names):
            matched = matching.match_site(self._store, site, now=self._clock(), due=list(names))
            if matched.pages:
                summary.matched.append(matched)
            failures = [
                msg("alert {name!r}: {reason}", name=names[alert_id], reason=reason)
                for alert_id, reason in matched.failures.items()
                if alert_id in names
            ]
            summary.failures += [line for line in failures if line not in summary.failures]


def _postpone_resting(
    store: AlertStore, alerts: Sequence[StoredAlert], due: Sequence[WatchedSite], *, now: float
) -> set[int]:
    """Postpone alerts whose sites rest since their last check, and return the ids of these.

    They are due when the first of their sites may be visited again. An alert on a site that was
    visited since, because of another alert, is none of them: its pages were matched.
    """
    due_ids, postponed = {site.id for site in due}, set()
    for stored_alert in alerts:
        checked_at, sites = stored_alert.checked_at, store.sites.list_for_alerts([stored_alert.id])
        visited_at = {site.id: site.visited_at or 0.0 for site in sites}
        rests = [max(site.free_at, visited_at[site.id] + MIN_INTERVAL_S) for site in sites]
        free_at = min(rests, default=0.0)
        if checked_at is None or free_at <= now + SLACK_S or due_ids & visited_at.keys():
            continue
        if max(visited_at.values()) <= checked_at:
            next_at = max(stored_alert.next_at, free_at)
            store.alerts.record_check(stored_alert.id, now=checked_at, next_at=next_at)
            postponed.add(stored_alert.id)
    return postponed


def _finish_checks(
    store: AlertStore,
    alerts: Sequence[StoredAlert],
    summary: WatchRunSummary,
    *,
    started_at: float,
    now: float,
) -> None:
    """Store that these alerts were checked, and when they are due again.

    An interval counts from the start of the run and is slightly shortened: a run every minute would
    otherwise find an alert due only every second minute.
    """
    zones = store.users.load_zones()
    for stored_alert in alerts:
        parsed = schedule.parse(stored_alert.alert.schedule)
        after = now if parsed.every_s is None else started_at - SLACK_S
        next_at = parsed.next(after, find_zone(zones[stored_alert.user]))
        # A site that was down has a crawl without pages.
        has_pages = any(
            store.pages.latest_request(site.crawl)
            for site in store.sites.list_for_alerts([stored_alert.id])
        )
        with store.transaction():
            if has_pages and stored_alert.checked_at is None:
                summary.welcomed += matching.end_first_check(store, stored_alert, now=now)
            checked_at = now if has_pages else stored_alert.checked_at
            store.alerts.record_check(stored_alert.id, now=checked_at, next_at=next_at)
        failure_counts = [
            site.failures
            for site in store.sites.list_for_alerts([stored_alert.id])
            if site.failing_since
        ]
        if checked_at is None and failure_counts:
            failed = first_check_failure(stored_alert, next_at, find_zone(zones[stored_alert.user]))
            failures = summary.failures if max(failure_counts) == 1 else summary.repeated_failures
            failures.append(
                msg("alert {name!r}: {reason}", name=stored_alert.alert.name, reason=failed)
            )
        summary.alerts += 1
