"""Seals the addresses of channels that hold secrets, as tokens in a webhook's URL, in the database.

By the installation's key (`keyfile`) and AES-SIV (RFC 5297): the same address is sealed to the same
text, so that the database can tell whether two channels are one. What another key has sealed
stays sealed: it is shown masked, and cannot be sent to until its address is typed anew.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from focus.alerts import keyfile
from focus.alerts.delivery import CHANNELS, SEALED, split_channel

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV


class SealedChannels:
    """Seals and opens channels; the key is asked for when it is first needed.

    Without the package `cryptography` (extra `serve`) nothing is sealed, and nothing opened.
    """

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._key = key

    @classmethod
    def by_file(cls, database: Path, chosen: Path | None = None) -> SealedChannels:
        """By the key beside a database, or in a chosen file; it is made when there is none."""
        return cls(lambda: keyfile.key_of(keyfile.place(database, chosen)))

    def seal(self, channel: str) -> str:
        """A channel as it is kept: `webhook:sealed:2:…`; `mail:a@b.org` as it is."""
        kind, address = split_channel(channel)
        if not address or address.startswith(SEALED) or not _is_secret(kind):
            return channel
        if (cipher := self._cipher) is None:
            return channel
        box = cipher.encrypt(address.encode(), [kind.encode()])
        return f"{kind}:{SEALED}{base64.urlsafe_b64encode(box).decode()}"

    def open(self, kept: str) -> str:
        """The channel; what cannot be opened as it is kept."""
        kind, address = split_channel(kept)
        if not address.startswith(SEALED) or (cipher := self._cipher) is None:
            return kept
        from cryptography.exceptions import InvalidTag

        try:
            box = base64.urlsafe_b64decode(address.removeprefix(SEALED))
            return f"{kind}:{cipher.decrypt(box, [kind.encode()]).decode()}"
        except (InvalidTag, ValueError):
            return kept

    @cached_property
    def _cipher(self) -> AESSIV | None:
        if not can_seal():
            return None
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        key = self._key()
        halves = (keyfile.derived(key, f"channel:{half}") for half in ("mac", "stream"))
        return AESSIV(b"".join(halves))


def can_seal() -> bool:
    """Whether the package that seals is installed."""
    try:
        from cryptography.hazmat.primitives.ciphers import aead
    except ModuleNotFoundError:
        return False
    return hasattr(aead, "AESSIV")


def _is_secret(kind: str) -> bool:
    return kind not in CHANNELS or CHANNELS[kind].has_secret_address
