"""Unsubscription from a channel with one click, without logging in (RFC 8058).

A link contains a token for one person and one channel. The token is derived from the
installation's key, so that a repeated message is identical, and stored as its SHA-256 like every
token. Using it again has no further effect.
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


class Unsubscription(NamedTuple):
    """Person and channel of an unsubscription, and the names of the alerts that use the channel."""

    user: int
    channel: str
    alerts: list[str]


def unsubscribe_url(
    store: AlertStore, settings: DeliverySettings, *, user: int, channel: str, now: float
) -> str:
    """Return the URL for one person and channel; an empty string without a base URL."""
    if not settings.base_url:
        return ""
    secret = settings.derive_secret(f"{_KIND}:{user}:{channel}")[:_BYTES]
    token = base64.urlsafe_b64encode(secret).decode()
    data = {"channel": channel}
    store.tokens.add(_KIND, token, now=now, expires_at=None, user=user, data=data)
    return f"{settings.base_url}{PATH}{token}"


def find_unsubscription(store: AlertStore, token: str, *, now: float) -> Unsubscription | None:
    """Return what a token unsubscribes from; None for an unknown or revoked token."""
    token_data = store.tokens.find(_KIND, token, now=now)
    if token_data is None or token_data.user is None:
        return None
    channel: str = token_data.data["channel"]
    alerts = [
        stored_alert
        for stored_alert in store.alerts.list_alerts(token_data.user)
        if channel in stored_alert.alert.channels
    ]
    return Unsubscription(
        token_data.user, channel, [stored_alert.alert.name for stored_alert in alerts]
    )


def unsubscribe(store: AlertStore, token: str, *, now: float) -> Unsubscription | None:
    """Remove the channel from all alerts of the token's owner; None for an unknown token.

    Pending messages of the channel are abandoned. The pages stay in the inbox.
    """
    with store.transaction():
        unsubscription = find_unsubscription(store, token, now=now)
        if unsubscription is None:
            return None
        user, channel, names = unsubscription
        for stored_alert in store.alerts.list_alerts(user):
            if channel in stored_alert.alert.channels:
                remaining = tuple(
                    other_channel
                    for other_channel in stored_alert.alert.channels
                    if other_channel != channel
                )
                store.alerts.update_definition(
                    stored_alert.id, replace(stored_alert.alert, channels=remaining or ("inbox",))
                )
        detail = f"{channel}: {', '.join(names)}"
        store.audit.add(msg("user {id}", id=user), msg("unsubscribe"), detail, now=now)
    return unsubscription
