"""Secrets of users, such as sessions and links; only their SHA-256 is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import Token

_ID = "substr(lower(hex(hash)), 1, 16)"
_COLUMNS = f"{_ID}, user, alert, data"
_VALID = "(expires_at IS NULL OR expires_at > ?)"


class Tokens(Statements):
    """Table `token`."""

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
        """Store a new secret, and delete expired ones."""
        with self._db.transaction():
            self._db.execute("DELETE FROM token WHERE expires_at < ?", (now,))
            text = msgspec.json.encode(data or {}).decode()
            self._db.execute(
                "INSERT OR IGNORE INTO token (hash, kind, user, alert, made_at, expires_at, data) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (hash_secret(secret), kind, user, alert, now, expires_at, text),
            )

    def find(self, kind: str, secret: str, *, now: float) -> Token | None:
        """Return the token of a secret; None if it is unknown or expired."""
        sql = f"SELECT {_COLUMNS} FROM token WHERE hash = ? AND kind = ? AND {_VALID}"
        row = self._db.fetch_row(sql, (hash_secret(secret), kind, now))
        return None if row is None else _make_token(row)

    def use(self, kind: str, secret: str, *, now: float) -> Token | None:
        """Return the token of a secret and delete it, so that it can be used once only."""
        with self._db.transaction():
            token = self.find(kind, secret, now=now)
            if token is not None:
                self.remove(kind, secret)
            return token

    def find_for_user(self, kind: str, user: int, *, now: float) -> Token | None:
        """Return the token of this kind of a user; None if they have none."""
        tokens = self.list_for_user(kind, user, now=now)
        return tokens[0][1] if tokens else None

    def remove(self, kind: str, secret: str) -> None:
        """Delete one secret."""
        sql = "DELETE FROM token WHERE hash = ? AND kind = ?"
        self._db.execute(sql, (hash_secret(secret), kind))

    def remove_for_user(self, kind: str, *, user: int, alert: int | None = None) -> None:
        """Delete the secrets of a kind of a user; with `alert` None those without an alert."""
        sql = "DELETE FROM token WHERE kind = ? AND user = ? AND alert IS ?"
        self._db.execute(sql, (kind, user, alert))

    def remove_all(self, kind: str) -> None:
        """Delete all secrets of a kind."""
        self._db.execute("DELETE FROM token WHERE kind = ?", (kind,))

    def list_for_user(self, kind: str, user: int, *, now: float) -> list[tuple[float, Token]]:
        """Return (time of creation, token) for each valid secret of a kind of a user."""
        rows = self._db.fetch_rows(
            f"SELECT made_at, {_COLUMNS} FROM token WHERE kind = ? AND user = ? AND {_VALID} "
            "ORDER BY made_at DESC, hash",
            (kind, user, now),
        )
        return [(made_at, _make_token(row)) for made_at, *row in rows]

    def set_data(self, kind: str, secret: str, data: dict[str, Any]) -> None:
        """Replace the data of a secret."""
        self._db.execute(
            "UPDATE token SET data = ? WHERE hash = ? AND kind = ?",
            (msgspec.json.encode(data).decode(), hash_secret(secret), kind),
        )

    def has_any(self, kind: str) -> bool:
        """Return whether there is a secret of a kind."""
        return self._db.fetch_row("SELECT 1 FROM token WHERE kind = ? LIMIT 1", (kind,)) is not None

    def take_all(self, kind: str, *, now: float) -> list[dict[str, Any]]:
        """Return the data of all valid secrets of a kind in order of creation, and delete them."""
        with self._db.transaction():
            rows = self._db.fetch_rows(
                "SELECT data FROM token WHERE kind = ? AND expires_at > ? ORDER BY made_at, hash",
                (kind, now),
            )
            self.remove_all(kind)
        return [msgspec.json.decode(row[0]) for row in rows]

    def end_sessions(self, user: int, *, except_secret: str, token_id: str = "") -> None:
        """Delete the session of a user with this id, by default all; one secret remains."""
        self._db.execute(
            "DELETE FROM token WHERE user = ? AND kind = 'session' AND hash <> ? "
            f"AND ? IN ('', {_ID})",
            (user, hash_secret(except_secret), token_id),
        )

    def revoke_access(self, user: int) -> None:
        """Delete all sessions, remembered browsers, invitations, links and codes of a user."""
        self._db.execute(
            "DELETE FROM token WHERE user = ? AND kind IN "
            "('session', 'device', 'log_in', 'reset', 'mail', 'phone', 'totp_setup', 'invite')",
            (user,),
        )


def _make_token(row: Sequence[Any]) -> Token:
    """Return the token of a row of `_COLUMNS`."""
    return Token._make((*row[:3], msgspec.json.decode(row[3])))


def hash_secret(secret: str) -> bytes:
    """Return the hash of a secret as stored in the database."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
