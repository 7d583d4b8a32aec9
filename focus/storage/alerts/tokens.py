"""Keeps the secrets that people carry, by their SHA-256 alone."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import Token

_FIND = (
    "SELECT user, alert, data FROM token WHERE hash = ? AND kind = ? "
    "AND (expires_at IS NULL OR expires_at > ?)"
)


class Tokens(Statements):
    """The table `token`."""

    def add(
        self,
        kind: str,
        secret: str,
        *,
        now: float,
        expires_at: float | None,
        user: int | None = None,
        alert: int | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Note a secret, if it is not known; those whose time is over go."""
        with self._db.transaction():
            self._db.change("DELETE FROM token WHERE expires_at < ?", (now,))
            text = msgspec.json.encode(data or {}).decode()
            self._db.change(
                "INSERT OR IGNORE INTO token (hash, kind, user, alert, made_at, expires_at, data) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (hashed(secret), kind, user, alert, now, expires_at, text),
            )

    def find(self, kind: str, secret: str, *, now: float) -> Token | None:
        """What a secret of a kind stands for; None for a stranger's or one whose time is over."""
        row = self._db.row(_FIND, (hashed(secret), kind, now))
        return None if row is None else Token(row[0], row[1], msgspec.json.decode(row[2]))

    def use(self, kind: str, secret: str, *, now: float) -> Token | None:
        """The same, once: it is taken back."""
        with self._db.transaction():
            found = self.find(kind, secret, now=now)
            if found is not None:
                self.remove(kind, secret)
            return found

    def of_user(self, kind: str, user: int, *, now: float) -> Token | None:
        """What a person's secret of a kind stands for; None: they have none."""
        sql = "SELECT alert, data FROM token WHERE kind = ? AND user = ? AND expires_at > ?"
        row = self._db.row(sql, (kind, user, now))
        return None if row is None else Token(user, row[0], msgspec.json.decode(row[1]))

    def remove(self, kind: str, secret: str) -> None:
        """Take one secret back."""
        sql = "DELETE FROM token WHERE hash = ? AND kind = ?"
        self._db.change(sql, (hashed(secret), kind))

    def drop(self, kind: str, *, user: int, alert: int | None = None) -> None:
        """Take back a person's secrets of a kind; with `alert` None those of no alert."""
        sql = "DELETE FROM token WHERE kind = ? AND user = ? AND alert IS ?"
        self._db.change(sql, (kind, user, alert))

    def drop_all(self, kind: str) -> None:
        """Take back everybody's secrets of a kind."""
        self._db.change("DELETE FROM token WHERE kind = ?", (kind,))

    def log_out(self, user: int) -> None:
        """End all of a person's sessions, and links to set another password."""
        sql = "DELETE FROM token WHERE user = ? AND kind IN ('session', 'reset')"
        self._db.change(sql, (user,))


def hashed(secret: str) -> bytes:
    """As it is kept."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
