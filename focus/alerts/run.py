"""Does what is due: visits the sites of alerts whose time has come, matches, delivers.

    due alerts → their sites, each visited once → pages matched against all alerts there
    → the alerts' next times → the outbox

Killed anywhere, the next run goes on: what was not matched is behind the site's cursor, what
was not delivered is in the outbox, an alert whose check did not end is still due.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from focus.alerts import matching, schedule
from focus.alerts.health import first_failed
from focus.alerts.matching import Matched
from focus.alerts.outbox_relay import DeliverySummary
from focus.alerts.schedule import FLOOR_S, SLACK_S, zone_of
from focus.errors import FocusError, StoreLocked
from focus.i18n import msg, within
from focus.storage.alerts.records import StoredAlert, WatchedSite
from focus.storage.alerts.store import AlertStore
from focus.storage.lock import held

Visit = Callable[[WatchedSite], Awaitable[None]]
"""Looks a site up and stores what is new there, in the crawl that the site's row names.

Raises StoreLocked when another program crawls into the database, Offline when our own network is
away, FocusError for other failures; trouble of the site itself stands in its row afterwards.
"""


Deliver = Callable[[], Awaitable[DeliverySummary]]
"""Brings what is due. Raises StoreError only; what receivers do is in the summary."""


OFFLINE_SITES = 3
"""Sites in a row that we are offline for, and no other is tried in this run."""


class Offline(FocusError):
    """Our own network is away: a visit is put off."""


class AlreadyRunning(FocusError):
    """Another process is doing what is due."""

    exit_code = 6


class Ran(msgspec.Struct):
    """The outcome of a run.

    alerts  checked
    visited   sites that were looked up
    matched   what came of their pages, by site
    welcomed  pages sent of those that existed when an alert began
    failures  lines for whoever looks after the installation, that were not told before
    lasting   the same as the last time: no reason for another mail by cron
    is_busy   a crawl holds the database: nothing was visited, all stays due
    failed    sites whose visit brought nothing but trouble
    put_off   sites that our own network kept from being visited: their alerts stay due
    """

    alerts: int = 0
    visited: int = 0
    welcomed: int = 0
    is_busy: bool = False
    failed: int = 0
    put_off: list[int] = msgspec.field(default_factory=list)
    matched: list[Matched] = msgspec.field(default_factory=list)
    failures: list[str] = msgspec.field(default_factory=list)
    lasting: list[str] = msgspec.field(default_factory=list)
    delivered: DeliverySummary = msgspec.field(default_factory=DeliverySummary)

    @property
    def all_failed(self) -> bool:
        """Whether sites were to be visited and none brought anything."""
        return bool(self.failed) and self.failed == self.visited

    @property
    def news(self) -> int:
        """Pages that are to be told of."""
        return self.welcomed + sum(each.news for each in self.matched)


@contextmanager
def alone(database: Path) -> Iterator[None]:
    """Be the only one that does what is due; AlreadyRunning at once if another is at it."""
    try:
        with held(database.with_name(database.name + ".watch"), pid=os.getpid()):
            yield
    except StoreLocked:
        raise AlreadyRunning(
            "another `focus watch run` is at work on {database}", database=database
        ) from None


def due(store: AlertStore, *, now: float, wanted: Sequence[int] | None = None) -> list[StoredAlert]:
    """The alerts to be checked now; `wanted`: these, whether their time has come or not."""
    if wanted is None:
        return store.alerts.due(now)
    chosen = [each for each in store.alerts.all() if each.id in wanted and not each.paused]
    return [each for each in chosen if not each.alert.is_over(now)]


def to_visit(
    store: AlertStore, alerts: Sequence[StoredAlert], *, now: float, at_once: bool
) -> list[WatchedSite]:
    """The sites of these alerts that are to be looked up: those of alerts with a schedule
    of their own, the quickest first, and others when one of their pages is due; never sooner
    than a site gives leave to, however many alerts are due, or than a minute after the last
    time where somebody asked for it (`at_once`).
    """
    sites = store.sites.of([each.id for each in alerts])
    late = now + SLACK_S
    if at_once:
        return [each for each in sites if (each.visited_at or 0.0) + FLOOR_S <= late]
    every = {each.id: schedule.parse(each.alert.schedule) for each in alerts}
    quick, timed = (
        {site.id for site in store.sites.of(chosen)}
        for chosen in (
            [number for number in every if every[number].is_quick],
            [number for number in every if not every[number].is_auto],
        )
    )
    may = [
        each for each in sites if each.free_at <= late and (each.id in timed or each.next_at <= now)
    ]
    return sorted(may, key=lambda site: site.id not in quick)


async def run_due(
    store: AlertStore,
    visit: Visit,
    deliver: Deliver,
    *,
    clock: Callable[[], float],
    wanted: Sequence[int] | None = None,
) -> Ran:
    """Do what is due, or check the alerts `wanted` now; whoever calls has made sure to be
    `alone`.

    Raises StoreError only; everything else is in the result.
    """
    ran = Ran()
    begun = clock()
    alerts = due(store, now=begun, wanted=wanted)
    sites = to_visit(store, alerts, now=begun, at_once=wanted is not None)
    await _visit_all(store, sites, visit, ran, clock=clock)
    if alerts:
        _match(store, alerts, ran, now=clock())
        if not ran.is_busy:
            put_off = {owned.id for site in ran.put_off for owned in store.alerts.on(site)}
            ended = [each for each in alerts if each.id not in put_off]
            _end(store, ended, ran, begun=begun, now=clock())
    ran.delivered = await deliver()
    ran.failures += [within(kind, reason) for kind, reason in ran.delivered.failures.items()]
    return ran


async def _visit_all(
    store: AlertStore,
    sites: Sequence[WatchedSite],
    visit: Visit,
    ran: Ran,
    *,
    clock: Callable[[], float],
) -> None:
    """Visit sites, those that fail last. Once another site answers, one that we seem to be
    offline for is at fault itself; where several in a row are, the others need not be tried.
    """
    order = sorted(sites, key=lambda site: site.failing_since is not None)
    for number, site in enumerate(order):
        if not await _visited(store, site, visit, ran, now=clock()):
            return
        if ran.failed == ran.visited and len(ran.put_off) >= OFFLINE_SITES:
            ran.put_off += [each.id for each in order[number + 1 :]]
            return
    if ran.failed < ran.visited:
        ran.put_off.clear()


async def _visited(
    store: AlertStore, site: WatchedSite, visit: Visit, ran: Ran, *, now: float
) -> bool:
    """Whether the next site may be visited, too."""
    try:
        await visit(site)
    except StoreLocked:
        ran.is_busy = True
        return False
    except Offline:
        ran.put_off.append(site.id)
    except FocusError as error:
        store.sites.fared(site.id, error.line, now=now)
    ran.visited += 1
    after = store.sites.named(site.host)
    if after is not None and after.trouble:
        ran.failed += 1
        told = ran.lasting if after.trouble == site.trouble else ran.failures
        told.append(within(site.host, after.trouble))
    return True


def _match(store: AlertStore, alerts: Sequence[StoredAlert], ran: Ran, *, now: float) -> None:
    """Hold what the sites of these alerts have brought against all alerts on them."""
    ids = [each.id for each in alerts]
    names = {each.id: each.alert.name for each in alerts}
    for site in store.sites.of(ids):
        matched = matching.match(store, site, now=now, due=ids)
        if matched.pages:
            ran.matched.append(matched)
        ran.failures += [
            msg("alert {name!r}: {reason}", name=names[number], reason=reason)
            for number, reason in matched.failures.items()
            if number in names
        ]


def _end(
    store: AlertStore, alerts: Sequence[StoredAlert], ran: Ran, *, begun: float, now: float
) -> None:
    """Note that these alerts were checked, and when they are due again: of an interval, so long
    after the run began, and a little sooner, or a run every minute would find it due every other.
    """
    zones = store.users.zones()
    for owned in alerts:
        every = schedule.parse(owned.alert.schedule)
        after = now if every.every_s is None else begun - SLACK_S
        next_at = every.next(after, zone_of(zones[owned.user]))
        # A site that was down has a crawl without pages.
        has_pages = any(store.pages.latest_nth(site.crawl) for site in store.sites.of([owned.id]))
        with store.transaction():
            if has_pages and owned.checked_at is None:
                ran.welcomed += matching.welcome(store, owned, now=now)
            checked_at = now if has_pages else owned.checked_at
            store.alerts.checked(owned.id, now=checked_at, next_at=next_at)
        failing = [site.failures for site in store.sites.of([owned.id]) if site.failing_since]
        if checked_at is None and failing:
            failed = first_failed(owned, next_at, zone_of(zones[owned.user]))
            told = ran.failures if max(failing) == 1 else ran.lasting
            told.append(msg("alert {name!r}: {reason}", name=owned.alert.name, reason=failed))
        ran.alerts += 1
