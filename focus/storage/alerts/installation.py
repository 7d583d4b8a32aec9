"""Keeps what belongs to the installation: its settings, its audit, and tries that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from focus.i18n import decode_message, encode_message
from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import AuditLine


class Settings(Statements):
    """The table `setting`, JSON by name."""

    def read(self, *names: str) -> dict[str, Any]:
        """Those of these names that are set."""
        sql = f"SELECT name, value FROM setting WHERE name IN ({', '.join('?' * len(names))})"
        return {name: msgspec.json.decode(value) for name, value in self._db.rows(sql, names)}

    def put(self, name: str, value: Any) -> None:
        """Set one."""
        sql = "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)"
        self._db.change(sql, (name, msgspec.json.encode(value).decode()))

    def remove(self, *names: str) -> None:
        """Set some no more."""
        self._db.change_all("DELETE FROM setting WHERE name = ?", [(name,) for name in names])


class Audit(Statements):
    """The table `audit`: who did what."""

    def note(self, actor: str, act: str, detail: str, *, now: float) -> None:
        """Another line."""
        sql = "INSERT INTO audit (at, actor, act, detail) VALUES (?, ?, ?, ?)"
        self._db.change(
            sql, (now, encode_message(actor), encode_message(act), encode_message(detail))
        )

    def latest(self, limit: int) -> list[AuditLine]:
        """The last lines, latest first."""
        sql = "SELECT at, actor, act, detail FROM audit ORDER BY id DESC LIMIT ?"
        return [
            AuditLine(at, *map(decode_message, texts))
            for at, *texts in self._db.rows(sql, (limit,))
        ]


class Attempts(Statements):
    """The table `attempt`: tries by account or address, in a row, and when the last was."""

    def of(self, keys: Sequence[str]) -> list[tuple[str, int, float]]:
        """(key, tries, last) of these keys, where there were any."""
        sql = f"SELECT who, n, last FROM attempt WHERE who IN ({', '.join('?' * len(keys))})"
        return [(who, n, last) for who, n, last in self._db.rows(sql, keys)]

    def count(self, keys: Sequence[str], *, now: float) -> None:
        """One more of each key."""
        self._db.change_all(
            "INSERT INTO attempt (who, n, last) VALUES (?, 1, ?) "
            "ON CONFLICT (who) DO UPDATE SET n = n + 1, last = excluded.last",
            [(key, now) for key in keys],
        )

    def take_back(self, key: str) -> None:
        """One less."""
        self._db.change("UPDATE attempt SET n = max(0, n - 1) WHERE who = ?", (key,))

    def clear(self, key: str) -> None:
        """No try at all."""
        self._db.change("DELETE FROM attempt WHERE who = ?", (key,))

    def forget(self, *, before: float) -> None:
        """Those whose last try was earlier."""
        self._db.change("DELETE FROM attempt WHERE last < ?", (before,))
