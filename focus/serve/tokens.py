"""Gives out the secrets by which people are known: sessions, invitations, links."""

from __future__ import annotations

import secrets
from typing import Any

from focus.storage.alerts.store import AlertStore

LIVES_S: dict[str, float | None] = {
    "session": 14 * 86400.0,
    "reset": 3600.0,
    "invite": 7 * 86400.0,
    "mail": 86400.0,
    "phone": 900.0,
    "reset_code": 900.0,
    "feed": None,
}
"""Kind -> seconds that it is good for; None: until it is taken back."""

_BYTES = 32


def make(
    store: AlertStore,
    kind: str,
    *,
    now: float,
    user: int | None = None,
    alert: int | None = None,
    data: dict[str, Any] | None = None,
    secret: str | None = None,
) -> str:
    """A new secret (None: a long one)."""
    secret = secret or secrets.token_urlsafe(_BYTES)
    lives = LIVES_S[kind]
    ends = None if lives is None else now + lives
    store.tokens.add(kind, secret, now=now, expires_at=ends, user=user, alert=alert, data=data)
    return secret
