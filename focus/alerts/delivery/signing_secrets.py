"""Gives the secrets by which receivers know that a message is ours, and changes them.

A secret is derived from the installation's key, its person, its channel and how often it was
changed, so that nothing secret is stored. The one before goes on to sign for a day, beside the
new one, so that a receiver can be changed meanwhile.
"""

from __future__ import annotations

import base64

from focus.alerts.settings import DeliverySettings
from focus.storage.alerts.store import AlertStore

PREFIX = "whsec_"
OVERLAP_S = 86400.0


def current(
    store: AlertStore, settings: DeliverySettings, user: int, channel: str, *, now: float
) -> list[str]:
    """The secrets that sign now, as `whsec_…`; the newest, which is to be shown, first."""
    purpose = f"webhook:{user}:{channel}"
    number, changed_at = _state(store, settings, purpose)
    numbers = [number]
    if number and now - changed_at < OVERLAP_S:
        numbers.append(number - 1)
    return [_secret(settings, purpose, each) for each in numbers]


def rotate(
    store: AlertStore, settings: DeliverySettings, user: int, channel: str, *, now: float
) -> str:
    """Change the secret; the new one."""
    purpose = f"webhook:{user}:{channel}"
    with store.transaction():
        number, _ = _state(store, settings, purpose)
        store.settings.put(_name(settings, purpose), [number + 1, now])
    return _secret(settings, purpose, number + 1)


def _state(store: AlertStore, settings: DeliverySettings, purpose: str) -> tuple[int, float]:
    """How often it was changed, and when last."""
    name = _name(settings, purpose)
    number, changed_at = store.settings.read(name).get(name, (0, 0.0))
    return int(number), float(changed_at)


def _name(settings: DeliverySettings, purpose: str) -> str:
    """Under which it is kept: it tells neither person nor address."""
    return "secret:" + settings.derived(f"name:{purpose}").hex()[:32]


def _secret(settings: DeliverySettings, purpose: str, number: int) -> str:
    derived = settings.derived(f"{purpose}:{number}" if number else purpose)
    return PREFIX + base64.b64encode(derived).decode()
