"""Says how an alert fares: its last and next check, its sites, and what is wrong."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import msgspec

from focus.alerts.message import clock_time
from focus.alerts.page_match import topic_of
from focus.alerts.schedule import zone_of
from focus.errors import FocusError
from focus.storage.alerts.records import (
    LOCAL,
    Alert,
    MatchCount,
    SiteFigures,
    StoredAlert,
    WatchedSite,
)
from focus.storage.alerts.store import AlertStore
from focus.text.formatting import count, printable

SILENT_S = 3 * 86400.0  # without news: worth a word


class SiteHealth(msgspec.Struct, frozen=True):
    """A site of an alert.

    unmatched  pages that came in and were held against no alert yet
    """

    site: WatchedSite
    figures: SiteFigures
    unmatched: int

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
    sites = [
        SiteHealth(site, store.pages.figures(site.crawl), store.pages.unmatched(site))
        for site in store.sites.of([owned.id])
    ]
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


UNCHECKED = "never checked yet; `focus watch run` does it"


def first_failed(owned: StoredAlert, next_at: float, zone: ZoneInfo) -> str:
    """That an alert's first check came to nothing, when the next is, and how to ask now."""
    again = f"`focus watch run --now {printable(owned.alert.name)}`"
    return f"its first check failed; the next is at {clock_time(next_at, zone)}, or now by {again}"


def _failing(site: WatchedSite, zone: ZoneInfo) -> str:
    """`failing since 2026-11-21 08:30, 12 visits: ` before what is wrong."""
    if site.failing_since is None:
        return ""
    return (
        f"failing since {clock_time(site.failing_since, zone)}, {count(site.failures, 'visit')}: "
    )


def _remarks(
    owned: StoredAlert, state: str, sites: list[SiteHealth], silent_s: float, zone: ZoneInfo
) -> list[str]:
    remarks = []
    for each in sites:
        if each.site.trouble:
            remarks.append(f"{each.site.host}: {_failing(each.site, zone)}{each.site.trouble}")
        elif each.figures.blocked and not each.figures.pages:
            remarks.append(f"{each.site.host}: robots.txt forbids it, so that nothing is seen")
    try:
        topic_of(owned.alert, trusted=owned.user == LOCAL)
    except FocusError as error:
        remarks.append(str(error))
    if state == "active" and owned.checked_at is None:
        failed = any(each.is_failing for each in sites)
        remarks.append(first_failed(owned, owned.next_at, zone) if failed else UNCHECKED)
    elif state == "active" and silent_s >= SILENT_S:
        remarks.append(f"nothing new for {silent_s / 86400.0:.0f} days")
    return remarks
