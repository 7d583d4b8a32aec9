"""Secrets that sign messages, so that receivers can verify them, and their rotation.

A secret is derived from the installation's key, the person, the channel and the number of
rotations, so that it is not stored. The previous secret signs for another day beside the new one:
in that time the receiver can be reconfigured.
"""

from __future__ import annotations

import base64

from focus.alerts.settings import DeliverySettings
from focus.storage.alerts.store import AlertStore

PREFIX = "whsec_"
OVERLAP_S = 86400.0


def current_secrets(
    store: AlertStore, settings: DeliverySettings, user: int, channel: str, *, now: float
) -> list[str]:
    """Return the secrets that sign now, as `whsec_…`, the newest first."""
    purpose = f"webhook:{user}:{channel}"
    number, changed_at = _read_rotation(store, settings, purpose)
    numbers = [number]
    if number and now - changed_at < OVERLAP_S:
        numbers.append(number - 1)
    return [_derive_secret(settings, purpose, number) for number in numbers]


def rotate_secret(
    store: AlertStore, settings: DeliverySettings, user: int, channel: str, *, now: float
) -> str:
    """Replace the secret and return the new one."""
    purpose = f"webhook:{user}:{channel}"
    with store.transaction():
        number, _ = _read_rotation(store, settings, purpose)
        store.settings.set(_setting_name(settings, purpose), [number + 1, now])
    return _derive_secret(settings, purpose, number + 1)


def _read_rotation(
    store: AlertStore, settings: DeliverySettings, purpose: str
) -> tuple[int, float]:
    """Return the number of rotations and the time of the last one."""
    name = _setting_name(settings, purpose)
    number, changed_at = store.settings.read(name).get(name, (0, 0.0))
    return int(number), float(changed_at)


def _setting_name(settings: DeliverySettings, purpose: str) -> str:
    """Return the key of the setting; it contains neither the person nor the address."""
    return "secret:" + settings.derive_secret(f"name:{purpose}").hex()[:32]


def _derive_secret(settings: DeliverySettings, purpose: str, number: int) -> str:
    derived = settings.derive_secret(f"{purpose}:{number}" if number else purpose)
    return PREFIX + base64.b64encode(derived).decode()
