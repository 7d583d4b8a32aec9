"""Inbox of a user: the matches of all their alerts."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from focus.storage.alerts.database import Statements
from focus.storage.alerts.matches import MATCH_COLUMNS, match_from_row
from focus.storage.alerts.records import MATCH_MARK, InboxEntry, InboxFilter, KnownPage

_MINE = "alert IN (SELECT id FROM alert WHERE user = :user)"
_ACTION_SQL = {
    "read": "read_at = ifnull(read_at, :now)",
    "unread": "read_at = NULL",
    "delete": "deleted = 1",
    "restore": "deleted = 0",
    "relevant": "vote = 1",
    "irrelevant": "vote = 0",
    "unvoted": "vote = NULL",
}
ACTIONS = tuple(_ACTION_SQL)
_EXPORT_COLUMNS = "alert url title published_at found_at relevance read_at vote".split()


class Inbox(Statements):
    """Table `alert_match` by user."""

    def list_entries(
        self, user: int, inbox_filter: InboxFilter, *, per_page: int
    ) -> list[InboxEntry]:
        """Return the selected matches, newest first; `per_page` + 1 if there are more."""
        tests, values = _conditions(user, inbox_filter)
        rows = self._db.fetch_rows(
            f"SELECT {MATCH_COLUMNS}, a.name, (SELECT count(*) FROM alert_match t "
            "WHERE t.duplicate_of = m.id AND t.deleted = 0) "
            f"FROM alert_match m JOIN alert a ON a.id = m.alert WHERE {tests} "
            "ORDER BY m.found_at DESC, m.relevance DESC, m.id LIMIT :limit OFFSET :offset",
            {**values, "limit": per_page + 1, "offset": inbox_filter.page * per_page},
        )
        return [InboxEntry(match_from_row(row[:-2]), row[-2], row[-1]) for row in rows]

    def count_unread(self, user: int) -> int:
        """Return the number of unread matches of a user, without examples of existing pages."""
        sql = (
            f"SELECT count(*) FROM alert_match WHERE {_MINE} "
            "AND deleted = 0 AND duplicate_of IS NULL AND baseline = 0 AND read_at IS NULL"
        )
        return int(self._db.fetch_value(sql, {"user": user}))

    def apply_action(self, user: int, matches: Collection[int], action: str, *, now: float) -> int:
        """Apply one of `ACTIONS` to matches of a user; return how many were changed.

        Matches of other users are not changed.
        """
        sql = (
            f"UPDATE alert_match SET {_ACTION_SQL[action]} "
            f"WHERE id IN (SELECT value FROM json_each(:matches)) AND {_MINE}"
        )
        values = {"now": now, "matches": json.dumps(list(matches)), "user": user}
        return self._db.execute(sql, values)

    def find_url(self, user: int, match: int) -> str | None:
        """Return the URL of a match; None if it belongs to another user."""
        sql = f"SELECT url FROM alert_match WHERE id = :match AND {_MINE}"
        rows = self._db.fetch_rows(sql, {"match": match, "user": user})
        return str(rows[0][0]) if rows else None

    def find_known_pages(self, user: int, urls: Collection[str]) -> dict[str, KnownPage]:
        """Return URL -> alerts of the user that matched it, with values of the best match."""
        rows = self._db.fetch_rows(
            "SELECT m.url, a.name, m.published_at, m.relevance FROM alert a "
            "JOIN alert_match m ON m.alert = a.id WHERE a.user = :user AND m.deleted = 0 "
            "AND m.url IN (SELECT value FROM json_each(:urls)) ORDER BY m.relevance DESC, a.name",
            {"user": user, "urls": json.dumps(list(urls))},
        )
        pages: dict[str, KnownPage] = {}
        for url, name, published_at, relevance in rows:
            if url in pages:
                pages[url].alerts.append(name)
            else:
                pages[url] = KnownPage([name], published_at, relevance)
        return pages

    def mark_all_read(self, user: int, alert: int | None, *, now: float) -> None:
        """Mark all matches of a user as read, or those of one alert."""
        self._db.execute(
            f"UPDATE alert_match SET read_at = :now WHERE {_MINE} AND read_at IS NULL "
            "AND found_at <= :now AND (:alert IS NULL OR alert = :alert)",
            {"now": now, "user": user, "alert": alert},
        )

    def export_matches(self, user: int) -> list[dict[str, Any]]:
        """Return all matches of a user as dicts, for export."""
        columns = ", ".join(f"m.{name}" for name in _EXPORT_COLUMNS[1:])
        rows = self._db.fetch_rows(
            f"SELECT a.name, {columns} FROM alert_match m JOIN alert a ON a.id = m.alert "
            "WHERE a.user = ? AND NOT m.deleted",
            (user,),
        )
        return [dict(zip(_EXPORT_COLUMNS, row, strict=True)) for row in rows]


def _conditions(user: int, inbox_filter: InboxFilter) -> tuple[str, dict[str, object]]:
    tests: list[str] = [f"m.{_MINE}", "m.deleted = 0", "m.duplicate_of IS NULL"]
    values: dict[str, object] = {
        "user": user,
        "alert": inbox_filter.alert,
        "since": inbox_filter.since,
    }
    if inbox_filter.alert is not None:
        tests.append("m.alert = :alert")
    if inbox_filter.since:
        tests.append("m.found_at >= :since")
    if inbox_filter.unread:
        tests.append("m.read_at IS NULL AND m.baseline <> 2")
    if not inbox_filter.existing:
        tests.append("m.baseline <> 1")
    for number, word in enumerate(inbox_filter.words.split()[:10]):
        sign = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        tests.append(
            f"(m.title || ' ' || replace(m.snippet, '{MATCH_MARK}', '') || ' ' || m.url) "
            f"LIKE :word{number} ESCAPE '\\'"
        )
        values[f"word{number}"] = f"%{sign}%"
    return " AND ".join(tests), values
