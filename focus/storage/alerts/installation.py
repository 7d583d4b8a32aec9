"""Data of the installation: settings, audit log, failed attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from focus.i18n import decode_message, encode_message
from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import AuditLine


class Settings(Statements):
    """Table `setting` with JSON values by name."""

    def read(self, *names: str) -> dict[str, Any]:
        """Return the settings of these names that are set."""
        sql = f"SELECT name, value FROM setting WHERE name IN ({', '.join('?' * len(names))})"
        return {name: msgspec.json.decode(value) for name, value in self._db.fetch_rows(sql, names)}

    def set(self, name: str, value: Any) -> None:
        """Store a setting."""
        sql = "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)"
        self._db.execute(sql, (name, msgspec.json.encode(value).decode()))

    def remove(self, *names: str) -> None:
        """Delete settings."""
        self._db.execute_many("DELETE FROM setting WHERE name = ?", [(name,) for name in names])


class Audit(Statements):
    """Table `audit`: actions of administrators and users."""

    def add(self, actor: str, act: str, detail: str, *, now: float, maximum: int = -1) -> None:
        """Add a line, and delete the earliest with this act if there are more than `maximum`."""
        texts = [encode_message(text) for text in (actor, act, detail)]
        with self._db.transaction():
            self._db.execute(
                "INSERT INTO audit (at, actor, act, detail) VALUES (?, ?, ?, ?)", (now, *texts)
            )
            if maximum >= 0:
                self._db.execute(
                    "DELETE FROM audit WHERE act = ? AND id NOT IN "
                    "(SELECT id FROM audit WHERE act = ? ORDER BY id DESC LIMIT ?)",
                    (texts[1], texts[1], maximum),
                )

    def list_latest(self, limit: int) -> list[AuditLine]:
        """Return the last lines, latest first."""
        sql = "SELECT at, actor, act, detail FROM audit ORDER BY id DESC LIMIT ?"
        return [
            AuditLine(at, *map(decode_message, texts))
            for at, *texts in self._db.fetch_rows(sql, (limit,))
        ]


class Attempts(Statements):
    """Table `attempt`: consecutive failed attempts by account or address."""

    def load(self, keys: Sequence[str]) -> list[tuple[str, int, float]]:
        """Return (key, number of attempts, time of the last) for the keys that have any."""
        sql = f"SELECT who, n, last FROM attempt WHERE who IN ({', '.join('?' * len(keys))})"
        return [(who, n, last) for who, n, last in self._db.fetch_rows(sql, keys)]

    def add(self, keys: Sequence[str], *, now: float) -> None:
        """Add one attempt for each key."""
        self._db.execute_many(
            "INSERT INTO attempt (who, n, last) VALUES (?, 1, ?) "
            "ON CONFLICT (who) DO UPDATE SET n = n + 1, last = excluded.last",
            [(key, now) for key in keys],
        )

    def remove_one(self, key: str) -> None:
        """Subtract one attempt."""
        self._db.execute("UPDATE attempt SET n = max(0, n - 1) WHERE who = ?", (key,))

    def clear(self, key: str) -> None:
        """Set the attempts of a key to zero."""
        self._db.execute("DELETE FROM attempt WHERE who = ?", (key,))

    def delete_before(self, *, before: float) -> None:
        """Delete keys whose last attempt was earlier."""
        self._db.execute("DELETE FROM attempt WHERE last < ?", (before,))

    def correct_future_times(self, now: float) -> None:
        """Set attempts that were stored while the clock was ahead to `now`."""
        self._db.execute("UPDATE attempt SET last = :now WHERE last > :now", {"now": now})
