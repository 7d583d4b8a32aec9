"""Sites that alerts watch: their crawls, progress of matching, and next visits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from focus.i18n import decode_message, encode_message
from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import WatchedSite

_SITE = ", ".join(f"s.{name}" for name in WatchedSite.__struct_fields__)


class Sites(Statements):
    """Tables `site` and `alert_site`."""

    def list_for_alerts(self, alerts: Iterable[int]) -> list[WatchedSite]:
        """Return the sites of these alerts, each once, in order of id."""
        marks = list(alerts)
        sql = (
            f"SELECT DISTINCT {_SITE} FROM site s JOIN alert_site c ON c.site = s.id "
            f"WHERE c.alert IN ({', '.join('?' * len(marks))}) ORDER BY s.id"
        )
        return [_watched_site(row) for row in self._db.fetch_rows(sql, marks)]

    def find_by_host(self, host: str) -> WatchedSite | None:
        """Return a site by its host[:port]; None if it is not watched."""
        row = self._db.fetch_row(f"SELECT {_SITE} FROM site s WHERE s.host = ?", (host,))
        return _watched_site(row) if row else None

    def list_sections(self, site: int) -> list[str]:
        """Return the URLs of the sections of a site that active alerts watch."""
        sql = (
            "SELECT DISTINCT url FROM alert_site WHERE site = ? AND alert IN "
            "(SELECT id FROM alert WHERE paused = 0) ORDER BY url"
        )
        return [url for (url,) in self._db.fetch_rows(sql, (site,))]

    def load_baseline_states(self, site: int) -> dict[int, bool]:
        """Return alert -> whether the existing pages of the site are marked as seen for it."""
        sql = "SELECT alert, min(begun_at IS NOT NULL) FROM alert_site WHERE site = ? GROUP BY 1"
        return {alert: bool(is_begun) for alert, is_begun in self._db.fetch_rows(sql, (site,))}

    def find_baseline_time(self, site: int) -> float | None:
        """Return when the existing pages of a site were first marked as seen; None if never."""
        at: float | None = self._db.fetch_value(
            "SELECT min(begun_at) FROM alert_site WHERE site = ?", (site,)
        )
        return at

    # -- writing ------------------------------------------------------------------------

    def mark_baseline_seen(self, site: int, alerts: Iterable[int], *, now: float) -> None:
        """Mark the existing pages of a site as seen for these alerts."""
        self._db.execute_many(
            "UPDATE alert_site SET begun_at = ? WHERE site = ? AND alert = ? AND begun_at IS NULL",
            [(now, site, alert) for alert in alerts],
        )

    def record_matched(self, site: int, nth: int) -> None:
        """Store that the pages up to request `nth` were compared with the alerts of a site."""
        self._db.execute("UPDATE site SET matched = max(matched, ?) WHERE id = ?", (nth, site))

    def set_first_new_url(self, site: int, first: int) -> None:
        """Store that URLs from id `first` on are new until a visit is completed."""
        sql = "UPDATE site SET news_from = ifnull(news_from, ?) WHERE id = ?"
        self._db.execute(sql, (first, site))

    def record_visit(
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
        """Store the result of a visit; `is_whole` means that it was completed."""
        self._db.execute(
            "UPDATE site SET crawl = ?, visited_at = ?, next_at = ?, free_at = ?, pages = ?, "
            "news_from = iif(?, NULL, news_from) WHERE id = ?",
            (crawl, visited_at, next_at, free_at, pages, is_whole, site),
        )

    def record_trouble(self, site: int, trouble: str, *, now: float) -> None:
        """Store the error of a visit; an empty text means that it succeeded."""
        self._db.execute(
            "UPDATE site SET trouble = :trouble, failures = iif(:trouble = '', 0, failures + 1), "
            "failing_since = iif(:trouble = '', NULL, ifnull(failing_since, :now)) "
            "WHERE id = :site",
            {"trouble": encode_message(trouble), "now": now, "site": site},
        )


def _watched_site(row: Sequence[Any]) -> WatchedSite:
    site = WatchedSite(*row)
    return replace(site, trouble=decode_message(site.trouble))
