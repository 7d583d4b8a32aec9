"""Creates the secrets that identify users: sessions, invitations, links."""

from __future__ import annotations

import secrets
from typing import Any

from focus.storage.alerts.store import AlertStore

LIFETIMES_S: dict[str, float | None] = {
    "session": 14 * 86400.0, "device": 180 * 86400.0, "forgot": 600.0, "reset": 3600.0,
    "invite": 7 * 86400.0, "mail": 86400.0, "phone": 900.0, "log_in": 600.0, "totp_setup": 900.0,
    "totp": None, "recovery": None, "feed": None,
}  # fmt: skip
"""Kind -> lifetime in seconds; None means until it is revoked."""

_BYTES = 32


def create_token(
    store: AlertStore,
    kind: str,
    *,
    now: float,
    user: int | None = None,
    alert: int | None = None,
    data: dict[str, Any] | None = None,
    secret: str | None = None,
) -> str:
    """Store a token and return its secret, a long random one unless given."""
    secret = secret or secrets.token_urlsafe(_BYTES)
    lifetime_s = LIFETIMES_S[kind]
    expires_at = None if lifetime_s is None else now + lifetime_s
    store.tokens.add(
        kind, secret, now=now, expires_at=expires_at, user=user, alert=alert, data=data
    )
    return secret
