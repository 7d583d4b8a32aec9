"""Says how an alert fares: its last and next check, its sites, and what is wrong."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import msgspec

from focus.alerts import schedule
from focus.alerts.message import format_time
from focus.alerts.page_match import topic_of
from focus.alerts.schedule import FLOOR_S, SHORTEST_S, SLACK_S, zone_of
from focus.errors import ConfigError, FocusError
from focus.i18n import msg, plural, within
from focus.storage.alerts.records import (
    DEAD,
    LOCAL,
    SENT,
    WAITING,
    Alert,
    MatchCount,
    SiteFigures,
    StoredAlert,
    WatchedSite,
)
from focus.storage.alerts.store import AlertStore
from focus.text.formatting import needing_scripts, printable

SILENT_S = 3 * 86400.0  # without news: worth a word


STATES: dict[str | int, str] = {
    "active": msg("active"),
    "paused": msg("paused"),
    "expired": msg("ended"),
    WAITING: msg("will be tried again"),
    SENT: msg("sent"),
    DEAD: msg("given up"),
}
"""What the states of alerts and of their messages are called."""


class SiteHealth(msgspec.Struct, frozen=True):
    """A site of an alert.

    unmatched  pages that came in and were held against no alert yet
    slowed     why it is visited less often than the alert asks for; "": it is not
    lacking    that its pages seem to need scripts, which nobody runs; "": they do not
    """

    site: WatchedSite
    figures: SiteFigures
    unmatched: int
    slowed: str = ""
    lacking: str = ""

    @property
    def is_failing(self) -> bool:
        """Whether its last visit brought no answer."""
        return self.site.failing_since is not None


class Health(msgspec.Struct, frozen=True):
    """An alert as it stands.

    state     `active`, `paused` or `expired`
    silent_s  seconds without news, since its last or since it began
    remarks   what its owner may want to act on, a line each
    """

    id: int
    alert: Alert
    state: str
    created_at: float
    checked_at: float | None
    next_at: float | None
    found: MatchCount
    sites: list[SiteHealth]
    silent_s: float
    remarks: list[str]


def health(store: AlertStore, owned: StoredAlert, *, now: float) -> Health:
    """How an alert fares."""
    sites = [_site(store, owned.alert, site) for site in store.sites.of([owned.id])]
    found = store.matches.count(owned.id)
    state = "paused" if owned.paused else "active"
    if owned.alert.is_over(now):
        state = "expired"
    zone = zone_of(store.users.zones().get(owned.user, "UTC"))
    silent_s = now - (found.last_at or owned.created_at)
    return Health(
        id=owned.id,
        alert=owned.alert,
        state=state,
        created_at=owned.created_at,
        checked_at=owned.checked_at,
        next_at=owned.next_at if state == "active" else None,
        found=found,
        sites=sites,
        silent_s=silent_s,
        remarks=_remarks(owned, state, sites, silent_s, zone),
    )


def _site(store: AlertStore, alert: Alert, site: WatchedSite) -> SiteHealth:
    figures, unmatched = store.pages.figures(site.crawl), store.pages.unmatched(site)
    lacking = needing_scripts(figures.shells) if figures.shells else ""
    return SiteHealth(site, figures, unmatched, _slowed(alert, site), lacking)


UNCHECKED = msg("never checked yet; `focus watch run` does it")


def first_failed(owned: StoredAlert, next_at: float, zone: ZoneInfo) -> str:
    """That an alert's first check came to nothing, when the next is, and how to ask now."""
    return msg(
        "its first check failed; the next is at {when}, or now by `focus watch run --now {name}`",
        when=format_time(next_at, zone),
        name=printable(owned.alert.name),
    )


def _failing(site: WatchedSite, zone: ZoneInfo) -> str:
    """`failing since 2026-11-21 08:30, 12 visits: ` before what is wrong."""
    if site.failing_since is None:
        return ""
    since = format_time(site.failing_since, zone)
    return plural(
        "failing since {since}, {n} visit: ",
        "failing since {since}, {n} visits: ",
        n=site.failures,
        since=since,
    )


def _slowed(alert: Alert, site: WatchedSite) -> str:
    """Why a site is visited less often than a schedule of some minutes says."""
    try:
        every = schedule.parse(alert.schedule)
    except ConfigError:
        return ""
    if not every.is_quick or site.visited_at is None or site.trouble:
        return ""
    rest_s = site.free_at - site.visited_at
    if rest_s >= SHORTEST_S - SLACK_S:
        return msg(
            "visited every 15 minutes at most: no page there that is looked at again says cheaply "
            "whether it has changed (by ETag, Last-Modified or a feed)"
        )
    if rest_s > (every.every_s or FLOOR_S) + SLACK_S:
        return msg("visited every {n:.0f} seconds at most, for its Crawl-delay", n=rest_s)
    return ""


def _at(site: WatchedSite, what: str) -> str:
    return within(site.host, what)


def _remarks(
    owned: StoredAlert, state: str, sites: list[SiteHealth], silent_s: float, zone: ZoneInfo
) -> list[str]:
    remarks = []
    for each in sites:
        if each.slowed:
            remarks.append(_at(each.site, each.slowed))
        if each.site.trouble:
            since, trouble = _failing(each.site, zone), each.site.trouble
            what = msg("{since}{trouble}", since=since, trouble=trouble)
            remarks.append(_at(each.site, what))
        elif each.figures.blocked and not each.figures.pages:
            what = msg("robots.txt forbids this site, so that nothing is seen.")
            remarks.append(_at(each.site, what))
        if each.lacking:
            remarks.append(_at(each.site, each.lacking))
    try:
        topic_of(owned.alert, trusted=owned.user == LOCAL)
    except FocusError as error:
        remarks.append(error.line)
    if state == "active" and owned.checked_at is None:
        failed = any(each.is_failing for each in sites)
        remarks.append(first_failed(owned, owned.next_at, zone) if failed else UNCHECKED)
    elif state == "active" and silent_s >= SILENT_S:
        days = round(silent_s / 86400.0)
        remarks.append(plural("nothing new for {n} day", "nothing new for {n} days", n=days))
    return remarks
