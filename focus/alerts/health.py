"""State of an alert: its last and next check, its sites, and its problems."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import msgspec

from focus.alerts import schedule
from focus.alerts.message import format_time
from focus.alerts.page_match import alert_topic
from focus.alerts.schedule import MIN_INTERVAL_S, MIN_REVISIT_S, SLACK_S, find_zone
from focus.errors import ConfigError, FocusError
from focus.i18n import chain_messages, msg, plural
from focus.storage.alerts.records import (
    FAILED,
    LOCAL_USER,
    SENT,
    WAITING,
    Alert,
    MatchCount,
    SiteFigures,
    StoredAlert,
    WatchedSite,
)
from focus.storage.alerts.store import AlertStore
from focus.text.formatting import printable, scripts_needed_message

SILENCE_S = 3 * 86400.0  # without news, after which a remark says so


STATES: dict[str | int, str] = {
    "active": msg("active"),
    "paused": msg("paused"),
    "expired": msg("ended"),
    WAITING: msg("will be retried"),
    SENT: msg("sent"),
    FAILED: msg("gave up"),
}
"""Names of the states of alerts and of their messages."""


class SiteHealth(msgspec.Struct, frozen=True):
    """Site of an alert.

    unmatched    Pages that were not matched against any alert yet.
    slow_reason  Why it is visited less often than the alert asks; empty if it is not.
    script_hint  That its pages seem to need scripts, which are not run; empty if they do not.
    """

    site: WatchedSite
    figures: SiteFigures
    unmatched: int
    slow_reason: str = ""
    script_hint: str = ""

    @property
    def is_failing(self) -> bool:
        """Whether its last visit failed."""
        return self.site.failing_since is not None


class Health(msgspec.Struct, frozen=True):
    """State of an alert.

    state     `active`, `paused` or `expired`.
    silent_s  Seconds since its last news, or since it was added.
    remarks   Lines about what its owner may want to change.
    """

    id: int
    alert: Alert
    state: str
    created_at: float
    checked_at: float | None
    next_at: float | None
    match_count: MatchCount
    sites: list[SiteHealth]
    silent_s: float
    remarks: list[str]

    @property
    def is_in_trouble(self) -> bool:
        """Whether a site fails or forbids everything, or a first check never succeeded."""
        return self.state == "active" and any(
            site.site.trouble or (site.figures.blocked and not site.figures.pages)
            for site in self.sites
        )


def alert_health(store: AlertStore, stored_alert: StoredAlert, *, now: float) -> Health:
    """Return the state of an alert."""
    sites = [
        _site_health(store, stored_alert.alert, site)
        for site in store.sites.list_for_alerts([stored_alert.id])
    ]
    match_count = store.matches.count_matches(stored_alert.id)
    state = "paused" if stored_alert.paused else "active"
    if stored_alert.alert.is_over(now):
        state = "expired"
    zone = find_zone(store.users.load_zones().get(stored_alert.user, "UTC"))
    silent_s = now - (match_count.last_at or stored_alert.created_at)
    return Health(
        id=stored_alert.id,
        alert=stored_alert.alert,
        state=state,
        created_at=stored_alert.created_at,
        checked_at=stored_alert.checked_at,
        next_at=stored_alert.next_at if state == "active" else None,
        match_count=match_count,
        sites=sites,
        silent_s=silent_s,
        remarks=_health_remarks(stored_alert, state, sites, silent_s, zone),
    )


def _site_health(store: AlertStore, alert: Alert, site: WatchedSite) -> SiteHealth:
    figures, unmatched = store.pages.load_figures(site.crawl), store.pages.count_unmatched(site)
    script_hint = scripts_needed_message(figures.shells) if figures.shells else ""
    return SiteHealth(site, figures, unmatched, _slow_reason(alert, site), script_hint)


UNCHECKED = msg("not checked yet; `focus watch run` checks it")
BEGUN = msg("its first check has begun; `focus watch run` continues it")


def first_check_failure(stored_alert: StoredAlert, next_at: float, zone: ZoneInfo) -> str:
    """Return a line about a failed first check, with the time of the next."""
    return msg(
        "its first check failed; the next is at {when}, or now by `focus watch run --now {name}`",
        when=format_time(next_at, zone),
        name=printable(stored_alert.alert.name),
    )


def _failure_prefix(site: WatchedSite, zone: ZoneInfo) -> str:
    """Return `failing since 2026-11-21 08:30, 12 visits: `, or an empty string."""
    if site.failing_since is None:
        return ""
    since = format_time(site.failing_since, zone)
    return plural(
        "failing since {since}, {n} visit: ",
        "failing since {since}, {n} visits: ",
        n=site.failures,
        since=since,
    )


def _slow_reason(alert: Alert, site: WatchedSite) -> str:
    """Return why a site is visited less often than a quick schedule asks."""
    try:
        parsed = schedule.parse(alert.schedule)
    except ConfigError:
        return ""
    if not parsed.is_quick or site.visited_at is None or site.trouble:
        return ""
    rest_s = site.free_at - site.visited_at
    if rest_s >= MIN_REVISIT_S - SLACK_S:
        return msg(
            "visited every 15 minutes at most, because none of its pages tells by ETag, "
            "Last-Modified or a feed whether it has changed"
        )
    if rest_s > (parsed.every_s or MIN_INTERVAL_S) + SLACK_S:
        return msg("visited every {n:.0f} seconds at most, because of its Crawl-delay", n=rest_s)
    return ""


def _site_remark(site: WatchedSite, what: str) -> str:
    return chain_messages(site.host, what)


def _health_remarks(
    stored_alert: StoredAlert, state: str, sites: list[SiteHealth], silent_s: float, zone: ZoneInfo
) -> list[str]:
    remarks = []
    for site_health in sites:
        if site_health.slow_reason:
            remarks.append(_site_remark(site_health.site, site_health.slow_reason))
        if site_health.site.trouble:
            since, trouble = _failure_prefix(site_health.site, zone), site_health.site.trouble
            what = msg("{since}{trouble}", since=since, trouble=trouble)
            remarks.append(_site_remark(site_health.site, what))
        elif site_health.figures.blocked and not site_health.figures.pages:
            what = msg("robots.txt forbids this site, so no page can be read.")
            remarks.append(_site_remark(site_health.site, what))
        if site_health.script_hint:
            remarks.append(_site_remark(site_health.site, site_health.script_hint))
    try:
        alert_topic(stored_alert.alert, trusted=stored_alert.user == LOCAL_USER)
    except FocusError as error:
        remarks.append(error.message)
    if state == "active" and stored_alert.checked_at is None:
        failed = any(site_health.is_failing for site_health in sites)
        begun = any(item.figures.pages and item.site.visited_at is None for item in sites)
        first = first_check_failure(stored_alert, stored_alert.next_at, zone)
        remarks.append(first if failed else BEGUN if begun else UNCHECKED)
    elif state == "active" and silent_s >= SILENCE_S:
        days = round(silent_s / 86400.0)
        remarks.append(plural("nothing new for {n} day", "nothing new for {n} days", n=days))
    return remarks
