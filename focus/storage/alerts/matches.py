"""Pages that match alerts, and the votes of the owners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import Match, MatchCount, Vote

MAX_COMPARED = 5_000  # earlier matches of an alert to compare new ones with
_MASK = (1 << 64) - 1
_COLUMNS = Match.__struct_encode_fields__  # names of the columns of `alert_match`
_NEW_COLUMNS = _COLUMNS[: _COLUMNS.index("id")]
MATCH_COLUMNS = ", ".join(f"m.{name}" for name in _COLUMNS)
"""The columns of `alert_match m`, in the order of a `Match`."""


class Matches(Statements):
    """Table `alert_match` by alert."""

    def add(self, match: Match) -> int | None:
        """Store a match; return its id, or None if the alert has the page already."""
        values = dict(zip(_COLUMNS, msgspec.structs.astuple(match), strict=True))
        values["why"] = msgspec.json.encode(match.why).decode()
        values["simhash"] -= (match.simhash >> 63) << 64  # SQLite's integers are signed
        number: int | None = self._db.fetch_value(
            f"INSERT OR IGNORE INTO alert_match ({', '.join(_NEW_COLUMNS)}) "
            f"VALUES ({', '.join('?' * len(_NEW_COLUMNS))}) RETURNING id",
            [values[name] for name in _NEW_COLUMNS],
        )
        return number

    def load_texts(self, alert: int) -> list[tuple[int, int, str]]:
        """Return (match, simhash or 0, URL) of the latest matches that are no near-duplicates."""
        sql = (
            "SELECT id, simhash, url FROM alert_match WHERE alert = ? AND duplicate_of IS NULL "
            "ORDER BY id DESC LIMIT ?"
        )
        rows = self._db.fetch_rows(sql, (alert, MAX_COMPARED))
        return [(number, simhash & _MASK, url) for number, simhash, url in reversed(rows)]

    def promote_baseline(self, alert: int, limit: int) -> list[int]:
        """Mark the best matches that existed when the alert was created as examples of them.

        Returns their ids.

        Pages with a date come first, because they are articles.
        """
        with self._db.transaction():
            rows = self._db.fetch_rows(
                "UPDATE alert_match SET baseline = 2 WHERE id IN (SELECT id FROM alert_match "
                "WHERE alert = ? AND baseline = 1 AND duplicate_of IS NULL AND deleted = 0 "
                "ORDER BY published_at IS NULL, relevance DESC, published_at DESC, id DESC "
                "LIMIT ?) RETURNING id",
                (alert, limit),
            )
        return sorted(number for (number,) in rows)

    # -- reading ----------------------------------------------------------------------

    def list_for_alert(self, alert: int, *, limit: int) -> list[Match]:
        """Return the matches of an alert without near-duplicates and deleted ones, newest first."""
        return self._latest("", alert, limit)

    def list_new(self, alert: int, *, limit: int) -> list[Match]:
        """Return the same without matches that existed when the alert was created."""
        return self._latest("AND baseline <> 1", alert, limit)

    def _latest(self, which: str, alert: int, limit: int) -> list[Match]:
        sql = (
            f"SELECT {MATCH_COLUMNS} FROM alert_match m WHERE alert = ? AND deleted = 0 "
            f"AND duplicate_of IS NULL {which} ORDER BY found_at DESC, relevance DESC, id LIMIT ?"
        )
        return [match_from_row(row) for row in self._db.fetch_rows(sql, (alert, limit))]

    def find_id(self, alert: int, url: str) -> int | None:
        """Return the id of the match of a page; None if the alert has no such page."""
        sql = "SELECT id FROM alert_match WHERE alert = ? AND url = ? AND deleted = 0"
        number: int | None = self._db.fetch_value(sql, (alert, url))
        return number

    def count_matches(self, alert: int) -> MatchCount:
        """Return the numbers of matches of an alert."""
        is_new = "baseline = 0 AND duplicate_of IS NULL"
        sql = (
            f"SELECT total({is_new}), total(duplicate_of IS NOT NULL), "
            f"total({is_new} AND read_at IS NULL), max(CASE WHEN baseline = 0 THEN found_at END) "
            "FROM alert_match WHERE alert = ? AND deleted = 0"
        )
        [(news, folded, unread, last_at)] = self._db.fetch_rows(sql, (alert,))
        return MatchCount(int(news), int(folded), int(unread), last_at)

    # -- votes ----------------------------------------------------------------------------

    def set_vote(self, alert: int, url: str, relevant: bool | None) -> bool:
        """Store the vote of the owner on a page; None removes it.

        Returns False if the alert has no such page.
        """
        sql = "UPDATE alert_match SET vote = ? WHERE alert = ? AND url = ?"
        return self._db.execute(sql, (relevant, alert, url)) == 1

    def list_votes(self, alert: int, *, limit: int, with_source: bool) -> list[Vote]:
        """Return the latest votes of an alert, last one first."""
        source = "b.zstd" if with_source else "NULL"
        sql = (
            f"SELECT m.url, m.title, m.relevance, m.why, {source}, m.vote FROM alert_match m "
            "LEFT JOIN body b ON b.id = m.page WHERE m.alert = ? AND m.vote IS NOT NULL "
            "ORDER BY m.id DESC LIMIT ?"
        )
        return [
            Vote(url, title, relevance, msgspec.json.decode(why), zstd, bool(vote))
            for url, title, relevance, why, zstd, vote in self._db.fetch_rows(sql, (alert, limit))
        ]

    def count_votes(self, alert: int) -> tuple[int, int]:
        """Return how many pages of an alert have the vote relevant, and not relevant."""
        sql = (
            "SELECT total(vote), count(vote) FROM alert_match WHERE alert = ? AND vote IS NOT NULL"
        )
        [(relevant, every)] = self._db.fetch_rows(sql, (alert,))
        return int(relevant), int(every - relevant)


def match_from_row(row: Sequence[Any]) -> Match:
    """Return the match for a row of `MATCH_COLUMNS`."""
    values = dict(zip(Match.__struct_fields__, row, strict=True))
    return Match(**{**values, "why": msgspec.json.decode(values["why"])})
