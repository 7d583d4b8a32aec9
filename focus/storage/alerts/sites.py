"""Keeps the sites that alerts watch: their crawls, how far they were matched, their next visits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from focus.i18n import decode_message, encode_message
from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import WatchedSite

_SITE = ", ".join(f"s.{name}" for name in WatchedSite.__struct_fields__)


class Sites(Statements):
    """The table `site`, and what `alert_site` says of each."""

    def of(self, alerts: Iterable[int]) -> list[WatchedSite]:
        """The sites of these alerts, each once, in order of id."""
        marks = list(alerts)
        sql = (
            f"SELECT DISTINCT {_SITE} FROM site s JOIN alert_site c ON c.site = s.id "
            f"WHERE c.alert IN ({', '.join('?' * len(marks))}) ORDER BY s.id"
        )
        return [_site(row) for row in self._db.rows(sql, marks)]

    def named(self, host: str) -> WatchedSite | None:
        """A site by its host[:port]."""
        row = self._db.row(f"SELECT {_SITE} FROM site s WHERE s.host = ?", (host,))
        return _site(row) if row else None

    def sections(self, site: int) -> list[str]:
        """The URLs at which a site is looked into, as the alerts on it say."""
        sql = (
            "SELECT DISTINCT url FROM alert_site WHERE site = ? AND alert IN "
            "(SELECT id FROM alert WHERE paused = 0) ORDER BY url"
        )
        return [url for (url,) in self._db.rows(sql, (site,))]

    def begun(self, site: int) -> dict[int, bool]:
        """Alert -> whether what exists on a site is marked as seen for it."""
        sql = "SELECT alert, min(begun_at IS NOT NULL) FROM alert_site WHERE site = ? GROUP BY 1"
        return {alert: bool(is_begun) for alert, is_begun in self._db.rows(sql, (site,))}

    # -- writing ------------------------------------------------------------------------

    def begin(self, site: int, alerts: Iterable[int], *, now: float) -> None:
        """What exists on a site is marked as seen for these alerts."""
        self._db.change_all(
            "UPDATE alert_site SET begun_at = ? WHERE site = ? AND alert = ? AND begun_at IS NULL",
            [(now, site, alert) for alert in alerts],
        )

    def matched(self, site: int, nth: int) -> None:
        """Pages up to this one were held against the alerts on a site."""
        self._db.change("UPDATE site SET matched = max(matched, ?) WHERE id = ?", (nth, site))

    def news_begins(self, site: int, first: int) -> None:
        """From this URL on all is news until a visit has come to its end."""
        sql = "UPDATE site SET news_from = ifnull(news_from, ?) WHERE id = ?"
        self._db.change(sql, (first, site))

    def visited(
        self,
        site: int,
        crawl: int,
        *,
        visited_at: float | None,
        next_at: float,
        free_at: float,
        pages: int,
        is_whole: bool,
    ) -> None:
        """What came of a visit. `is_whole`: nothing is left of it for the next one."""
        self._db.change(
            "UPDATE site SET crawl = ?, visited_at = ?, next_at = ?, free_at = ?, pages = ?, "
            "news_from = iif(?, NULL, news_from) WHERE id = ?",
            (crawl, visited_at, next_at, free_at, pages, is_whole, site),
        )

    def fared(self, site: int, trouble: str, *, now: float) -> None:
        """What was wrong with a visit of a site; "": nothing, it fails no more."""
        self._db.change(
            "UPDATE site SET trouble = :trouble, failures = iif(:trouble = '', 0, failures + 1), "
            "failing_since = iif(:trouble = '', NULL, ifnull(failing_since, :now)) "
            "WHERE id = :site",
            {"trouble": encode_message(trouble), "now": now, "site": site},
        )


def _site(row: Sequence[Any]) -> WatchedSite:
    site = WatchedSite(*row)
    return replace(site, trouble=decode_message(site.trouble))
