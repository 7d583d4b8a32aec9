"""How does somebody stop messages with one click, without logging in?

By a link with a token that stands for one person and one channel (RFC 8058). It is derived
from the installation's key, so that a message sent again is the same, and kept as its
SHA-256 like every token. Using it twice does nothing more.
"""

from __future__ import annotations

import base64
import hashlib
from typing import NamedTuple

import msgspec

from focus.alerts.alert import Alert
from focus.alerts.settings import DeliverySettings
from focus.storage.alerts.store import AlertStore

PATH = "/unsubscribe/"
_BYTES = 24


class Stopped(NamedTuple):
    """Whose messages by which channel; the alerts that have it, or had it."""

    user: int
    channel: str
    alerts: list[str]


def link(
    book: AlertStore, settings: DeliverySettings, *, user: int, channel: str, now: float
) -> str:
    """The URL for one person and channel; "" when there are no web pages to reach."""
    if not settings.base_url:
        return ""
    secret = settings.derived(f"unsubscribe:{user}:{channel}")[:_BYTES]
    token = base64.urlsafe_b64encode(secret).decode()
    data = msgspec.json.encode({"channel": channel}).decode()
    with book.transaction() as db:
        db.execute(
            "INSERT OR IGNORE INTO token (hash, kind, user, made_at, data) "
            "VALUES (?, 'unsubscribe', ?, ?, ?)",
            (_hash(token), user, now, data),
        )
    return f"{settings.base_url}{PATH}{token}"


def look(book: AlertStore, token: str) -> Stopped | None:
    """What a token would stop; None for one that we have not given, or took back."""
    sql = "SELECT user, data FROM token WHERE hash = ? AND kind = 'unsubscribe'"
    found = book.rows(sql, (_hash(token),))
    if not found:
        return None
    user, data = found[0]
    channel: str = msgspec.json.decode(data)["channel"]
    having = [each for each in book.alerts(user) if channel in each.alert.channels]
    return Stopped(user, channel, [each.alert.name for each in having])


def stop(book: AlertStore, token: str, *, now: float) -> Stopped | None:
    """Take the channel off all alerts of the token's owner; what waits for it is given up.

    The pages stay in the inbox. None for a token that is none.
    """
    found = look(book, token)
    if found is None:
        return None
    user, channel, names = found
    with book.transaction() as db:
        sql = "SELECT id, definition FROM alert WHERE user = ?"
        for number, definition in db.execute(sql, (user,)).fetchall():
            alert = msgspec.json.decode(definition, type=Alert)
            if channel in alert.channels:
                left = tuple(each for each in alert.channels if each != channel) or ("inbox",)
                changed = msgspec.json.encode(msgspec.structs.replace(alert, channels=left))
                db.execute(
                    "UPDATE alert SET definition = ? WHERE id = ?", (changed.decode(), number)
                )
        db.execute(
            "INSERT INTO audit (at, actor, act, detail) VALUES (?, ?, 'unsubscribe', ?)",
            (now, f"user {user}", f"{channel}: {', '.join(names)}"),
        )
    return found


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
