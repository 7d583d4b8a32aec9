"""Shows and changes the pages in a person's inbox: the matches of all their alerts."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from focus.storage.alerts.database import Statements
from focus.storage.alerts.matches import MATCH, match_of
from focus.storage.alerts.records import MARK, InboxEntry, InboxFilter, KnownPage

_MINE = "alert IN (SELECT id FROM alert WHERE user = :user)"
_ACTS = {
    "read": "read_at = ifnull(read_at, :now)",
    "unread": "read_at = NULL",
    "delete": "deleted = 1",
    "restore": "deleted = 0",
    "relevant": "vote = iif(vote = 1, NULL, 1)",
    "irrelevant": "vote = iif(vote = 0, NULL, 0)",
}
ACTS = tuple(_ACTS)
_EXPORTED = "alert url title published_at found_at relevance read_at vote".split()


class Inbox(Statements):
    """The table `alert_match`, by person."""

    def entries(self, user: int, wish: InboxFilter, *, per_page: int) -> list[InboxEntry]:
        """The pages wished for, newest first; one more than `per_page` when there are more."""
        tests, values = _tests(user, wish)
        rows = self._db.rows(
            f"SELECT {MATCH}, a.name, (SELECT count(*) FROM alert_match t "
            "WHERE t.duplicate_of = m.id AND t.deleted = 0) "
            f"FROM alert_match m JOIN alert a ON a.id = m.alert WHERE {tests} "
            "ORDER BY m.found_at DESC, m.relevance DESC, m.id LIMIT :limit OFFSET :offset",
            {**values, "limit": per_page + 1, "offset": wish.page * per_page},
        )
        return [InboxEntry(match_of(row[:-2]), row[-2], row[-1]) for row in rows]

    def unread(self, user: int) -> int:
        """Pages that a person has not read."""
        sql = (
            f"SELECT count(*) FROM alert_match WHERE {_MINE} "
            "AND deleted = 0 AND duplicate_of IS NULL AND baseline = 0 AND read_at IS NULL"
        )
        return int(self._db.value(sql, {"user": user}))

    def act(self, user: int, matches: Collection[int], act: str, *, now: float) -> int:
        """Do one of `ACTS` to pages of a person's own; of how many, others' are left alone."""
        sql = (
            f"UPDATE alert_match SET {_ACTS[act]} "
            f"WHERE id IN (SELECT value FROM json_each(:matches)) AND {_MINE}"
        )
        values = {"now": now, "matches": json.dumps(list(matches)), "user": user}
        return self._db.change(sql, values)

    def url(self, user: int, match: int) -> str | None:
        """Where a person's own page is; None when it is none of theirs."""
        sql = f"SELECT url FROM alert_match WHERE id = :match AND {_MINE}"
        found = self._db.rows(sql, {"match": match, "user": user})
        return str(found[0][0]) if found else None

    def known(self, user: int, urls: Collection[str]) -> dict[str, KnownPage]:
        """What a person's alerts know of these pages: URL -> the best match and its alerts."""
        rows = self._db.rows(
            "SELECT m.url, a.name, m.published_at, m.relevance FROM alert a "
            "JOIN alert_match m ON m.alert = a.id WHERE a.user = :user AND m.deleted = 0 "
            "AND m.url IN (SELECT value FROM json_each(:urls)) ORDER BY m.relevance DESC, a.name",
            {"user": user, "urls": json.dumps(list(urls))},
        )
        found: dict[str, KnownPage] = {}
        for url, name, published_at, relevance in rows:
            if url in found:
                found[url].alerts.append(name)
            else:
                found[url] = KnownPage([name], published_at, relevance)
        return found

    def read_all(self, user: int, alert: int | None, *, now: float) -> None:
        """Mark all of a person's pages as read, or those of one alert."""
        self._db.change(
            f"UPDATE alert_match SET read_at = :now WHERE {_MINE} AND read_at IS NULL "
            "AND found_at <= :now AND (:alert IS NULL OR alert = :alert)",
            {"now": now, "user": user, "alert": alert},
        )

    def exported(self, user: int) -> list[dict[str, Any]]:
        """All pages that were found for a person."""
        columns = ", ".join(f"m.{name}" for name in _EXPORTED[1:])
        rows = self._db.rows(
            f"SELECT a.name, {columns} FROM alert_match m JOIN alert a ON a.id = m.alert "
            "WHERE a.user = ? AND NOT m.deleted",
            (user,),
        )
        return [dict(zip(_EXPORTED, row, strict=True)) for row in rows]


def _tests(user: int, wish: InboxFilter) -> tuple[str, dict[str, object]]:
    tests: list[str] = [f"m.{_MINE}", "m.deleted = 0", "m.duplicate_of IS NULL"]
    values: dict[str, object] = {"user": user, "alert": wish.alert, "since": wish.since}
    if wish.alert is not None:
        tests.append("m.alert = :alert")
    if wish.since:
        tests.append("m.found_at >= :since")
    if wish.unread:
        tests.append("m.read_at IS NULL")
    if not wish.existing:
        tests.append("m.baseline = 0")
    for number, word in enumerate(wish.words.split()[:10]):
        sign = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        tests.append(
            f"(m.title || ' ' || replace(m.snippet, '{MARK}', '') || ' ' || m.url) "
            f"LIKE :word{number} ESCAPE '\\'"
        )
        values[f"word{number}"] = f"%{sign}%"
    return " AND ".join(tests), values
