"""Lets somebody stop messages with one click, without logging in.

By a link with a token that stands for one person and one channel (RFC 8058). It is derived
from the installation's key, so that a message sent again is the same, and kept as its
SHA-256 like every token. Using it twice does nothing more.
"""

from __future__ import annotations

import base64
from typing import NamedTuple

from msgspec.structs import replace

from focus.alerts.settings import DeliverySettings
from focus.i18n import msg
from focus.storage.alerts.store import AlertStore

PATH = "/unsubscribe/"
_KIND = "unsubscribe"
_BYTES = 24


class Stopped(NamedTuple):
    """An unsubscription: whose messages, by which channel; the alerts that have it, or had it."""

    user: int
    channel: str
    alerts: list[str]


def link(
    store: AlertStore, settings: DeliverySettings, *, user: int, channel: str, now: float
) -> str:
    """The URL for one person and channel; "" when there are no web pages to reach."""
    if not settings.base_url:
        return ""
    secret = settings.derived(f"{_KIND}:{user}:{channel}")[:_BYTES]
    token = base64.urlsafe_b64encode(secret).decode()
    data = {"channel": channel}
    store.tokens.add(_KIND, token, now=now, expires_at=None, user=user, data=data)
    return f"{settings.base_url}{PATH}{token}"


def look(store: AlertStore, token: str, *, now: float) -> Stopped | None:
    """What a token would stop; None for one that we have not given, or took back."""
    found = store.tokens.find(_KIND, token, now=now)
    if found is None or found.user is None:
        return None
    channel: str = found.data["channel"]
    having = [each for each in store.alerts.all(found.user) if channel in each.alert.channels]
    return Stopped(found.user, channel, [each.alert.name for each in having])


def stop(store: AlertStore, token: str, *, now: float) -> Stopped | None:
    """Take the channel off all alerts of the token's owner; what waits for it is given up.

    The pages stay in the inbox. None for a token that is none.
    """
    with store.transaction():
        found = look(store, token, now=now)
        if found is None:
            return None
        user, channel, names = found
        for each in store.alerts.all(user):
            if channel in each.alert.channels:
                left = tuple(other for other in each.alert.channels if other != channel)
                store.alerts.redefine(each.id, replace(each.alert, channels=left or ("inbox",)))
        detail = f"{channel}: {', '.join(names)}"
        store.audit.note(msg("user {id}", id=user), msg("unsubscribe"), detail, now=now)
    return found
