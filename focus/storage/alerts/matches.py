"""Keeps the pages that match alerts, and what their owners say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import Match, MatchCount, Vote

COMPARED = 5_000  # earlier matches of an alert that new ones are compared with
_MASK = (1 << 64) - 1
_COLUMNS = Match.__struct_fields__
_NEW = _COLUMNS[: _COLUMNS.index("id")]
MATCH = ", ".join(f"m.{name}" for name in _COLUMNS)
"""The columns of `alert_match m`, in the order of a `Match`."""


class Matches(Statements):
    """The table `alert_match`, by alert."""

    def add(self, match: Match) -> int | None:
        """Keep a match; its id, None when the alert has the page already."""
        values = msgspec.structs.asdict(match)
        values["why"] = msgspec.json.encode(match.why).decode()
        values["simhash"] -= (match.simhash >> 63) << 64  # SQLite's integers are signed
        number: int | None = self._db.value(
            f"INSERT OR IGNORE INTO alert_match ({', '.join(_NEW)}) "
            f"VALUES ({', '.join('?' * len(_NEW))}) RETURNING id",
            [values[name] for name in _NEW],
        )
        return number

    def texts(self, alert: int) -> list[tuple[int, int, str]]:
        """(match, simhash, URL) of an alert's latest matches that repeat no other, in order."""
        sql = (
            "SELECT id, simhash, url FROM alert_match WHERE alert = ? AND duplicate_of IS NULL "
            "AND simhash <> 0 ORDER BY id DESC LIMIT ?"
        )
        rows = self._db.rows(sql, (alert, COMPARED))
        return [(number, simhash & _MASK, url) for number, simhash, url in reversed(rows)]

    def best_of_baseline(self, alert: int, most: int) -> list[int]:
        """The best of what existed when an alert began, dated pages first: those are articles.
        From here on they count as news.
        """
        with self._db.transaction():
            rows = self._db.rows(
                "UPDATE alert_match SET baseline = 0 WHERE id IN (SELECT id FROM alert_match "
                "WHERE alert = ? AND baseline AND duplicate_of IS NULL AND deleted = 0 "
                "ORDER BY published_at IS NULL, relevance DESC, published_at DESC, id DESC "
                "LIMIT ?) RETURNING id",
                (alert, most),
            )
        return sorted(number for (number,) in rows)

    # -- reading ----------------------------------------------------------------------

    def of(self, alert: int, *, limit: int) -> list[Match]:
        """What was found for an alert, newest first, without repetitions and deleted ones."""
        return self._latest("", alert, limit)

    def news(self, alert: int, *, limit: int) -> list[Match]:
        """The same without what existed when the alert began."""
        return self._latest("AND baseline = 0", alert, limit)

    def _latest(self, which: str, alert: int, limit: int) -> list[Match]:
        sql = (
            f"SELECT {MATCH} FROM alert_match m WHERE alert = ? AND deleted = 0 "
            f"AND duplicate_of IS NULL {which} ORDER BY found_at DESC, relevance DESC, id LIMIT ?"
        )
        return [match_of(row) for row in self._db.rows(sql, (alert, limit))]

    def named(self, alert: int, url: str) -> int | None:
        """The match of an alert's page; None when the alert has no such page."""
        sql = "SELECT id FROM alert_match WHERE alert = ? AND url = ? AND deleted = 0"
        number: int | None = self._db.value(sql, (alert, url))
        return number

    def count(self, alert: int) -> MatchCount:
        """How much was found for an alert."""
        told = "baseline = 0 AND duplicate_of IS NULL"
        sql = (
            f"SELECT total({told}), total(duplicate_of IS NOT NULL), "
            f"total({told} AND read_at IS NULL), max(CASE WHEN baseline = 0 THEN found_at END) "
            "FROM alert_match WHERE alert = ? AND deleted = 0"
        )
        [(news, folded, unread, last_at)] = self._db.rows(sql, (alert,))
        return MatchCount(int(news), int(folded), int(unread), last_at)

    # -- votes ----------------------------------------------------------------------------

    def vote(self, alert: int, url: str, relevant: bool | None) -> bool:
        """Note what an alert's owner says of a page; None: nothing any more.

        False when the alert has no such page.
        """
        sql = "UPDATE alert_match SET vote = ? WHERE alert = ? AND url = ?"
        return self._db.change(sql, (relevant, alert, url)) == 1

    def votes(self, alert: int, *, most: int, with_source: bool) -> list[Vote]:
        """The latest votes of an alert, the last first."""
        source = "b.zstd" if with_source else "NULL"
        sql = (
            f"SELECT m.url, m.title, m.relevance, m.why, {source}, m.vote FROM alert_match m "
            "LEFT JOIN body b ON b.id = m.page WHERE m.alert = ? AND m.vote IS NOT NULL "
            "ORDER BY m.id DESC LIMIT ?"
        )
        return [
            Vote(url, title, relevance, msgspec.json.decode(why), zstd, bool(vote))
            for url, title, relevance, why, zstd, vote in self._db.rows(sql, (alert, most))
        ]

    def count_votes(self, alert: int) -> tuple[int, int]:
        """How many pages an alert's owner found relevant, and how many not."""
        sql = (
            "SELECT total(vote), count(vote) FROM alert_match WHERE alert = ? AND vote IS NOT NULL"
        )
        [(relevant, every)] = self._db.rows(sql, (alert,))
        return int(relevant), int(every - relevant)


def match_of(row: Sequence[Any]) -> Match:
    """A match of its columns (`MATCH`)."""
    values = dict(zip(_COLUMNS, row, strict=True))
    why, baseline = msgspec.json.decode(values["why"]), bool(values["baseline"])
    return Match(**{**values, "why": why, "baseline": baseline})
