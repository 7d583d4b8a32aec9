"""Which secrets have we given out? Sessions, invitations, links: only their SHA-256 is kept."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from typing import Any, NamedTuple

import msgspec

from focus.storage.alerts.store import AlertStore

LIVES_S: dict[str, float | None] = {
    "session": 14 * 86400.0,
    "reset": 3600.0,
    "invite": 7 * 86400.0,
    "mail": 86400.0,
    "phone": 900.0,
    "feed": None,
}
"""Kind -> seconds that it is good for; None: until it is taken back."""

_BYTES = 32


class Token(NamedTuple):
    """What a secret stands for."""

    user: int | None
    alert: int | None
    data: dict[str, Any]


def make(
    db: sqlite3.Connection,
    kind: str,
    *,
    now: float,
    user: int | None = None,
    alert: int | None = None,
    data: dict[str, Any] | None = None,
    secret: str | None = None,
) -> str:
    """A new secret (None: a long one), noted inside the caller's transaction."""
    secret = secret or secrets.token_urlsafe(_BYTES)
    lives = LIVES_S[kind]
    db.execute("DELETE FROM token WHERE expires_at < ?", (now,))
    db.execute(
        "INSERT INTO token (hash, kind, user, alert, made_at, expires_at, data) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            hashed(secret),
            kind,
            user,
            alert,
            now,
            None if lives is None else now + lives,
            msgspec.json.encode(data or {}).decode(),
        ),
    )
    return secret


def find(book: AlertStore, kind: str, secret: str, *, now: float) -> Token | None:
    """What a secret of a kind stands for; None for a stranger's or one whose time is over."""
    rows = book.rows(_FIND, (hashed(secret), kind, now))
    return _token(rows[0]) if rows else None


def use(db: sqlite3.Connection, kind: str, secret: str, *, now: float) -> Token | None:
    """The same, once: inside the caller's transaction it is taken back."""
    row = db.execute(_FIND, (hashed(secret), kind, now)).fetchone()
    if row is None:
        return None
    db.execute("DELETE FROM token WHERE hash = ?", (hashed(secret),))
    return _token(row)


def drop(db: sqlite3.Connection, kind: str, *, user: int, alert: int | None = None) -> None:
    """Take back a person's secrets of a kind; with `alert` None those of no alert."""
    db.execute("DELETE FROM token WHERE kind = ? AND user = ? AND alert IS ?", (kind, user, alert))


def hashed(secret: str) -> bytes:
    """As it is kept."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


_FIND = (
    "SELECT user, alert, data FROM token WHERE hash = ? AND kind = ? "
    "AND (expires_at IS NULL OR expires_at > ?)"
)


def _token(row: tuple[Any, ...]) -> Token:
    return Token(row[0], row[1], msgspec.json.decode(row[2]))
