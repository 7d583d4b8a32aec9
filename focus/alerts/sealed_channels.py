"""Encryption of channel addresses that contain secrets, such as tokens in a webhook's URL.

They are encrypted with the installation's key (`keyfile`) and AES-SIV (RFC 5297): equal addresses
have equal ciphertexts, so that the database can compare channels. An address that another key
sealed is shown masked and cannot be delivered to until it is entered again.
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
    """Encrypts and decrypts channels; the key is read when it is first needed.

    Without the package `cryptography` (extra `serve`) channels stay as they are.
    """

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._key = key

    @classmethod
    def from_key_file(cls, database: Path, chosen: Path | None = None) -> SealedChannels:
        """Return the cipher with the key beside a database, or in a chosen file."""
        return cls(lambda: keyfile.read_key(keyfile.key_path(database, chosen)))

    def seal(self, channel: str) -> str:
        """Return a channel as it is stored: `webhook:sealed:2:…`, or `mail:a@b.org` unchanged."""
        kind, address = split_channel(channel)
        if not address or address.startswith(SEALED) or not _has_secret_address(kind):
            return channel
        if (cipher := self._cipher) is None:
            return channel
        box = cipher.encrypt(address.encode(), [kind.encode()])
        return f"{kind}:{SEALED}{base64.urlsafe_b64encode(box).decode()}"

    def open(self, stored_channel: str) -> str:
        """Return the channel; a channel that cannot be decrypted is returned unchanged."""
        kind, address = split_channel(stored_channel)
        if not address.startswith(SEALED) or (cipher := self._cipher) is None:
            return stored_channel
        from cryptography.exceptions import InvalidTag

        try:
            box = base64.urlsafe_b64decode(address.removeprefix(SEALED))
            return f"{kind}:{cipher.decrypt(box, [kind.encode()]).decode()}"
        except (InvalidTag, ValueError):
            return stored_channel

    @cached_property
    def _cipher(self) -> AESSIV | None:
        if not can_seal():
            return None
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        key = self._key()
        halves = (keyfile.derive_secret(key, f"channel:{half}") for half in ("mac", "stream"))
        return AESSIV(b"".join(halves))


def can_seal() -> bool:
    """Return whether the package `cryptography` with AES-SIV is installed."""
    try:
        from cryptography.hazmat.primitives.ciphers import aead
    except ModuleNotFoundError:
        return False
    return hasattr(aead, "AESSIV")


def _has_secret_address(kind: str) -> bool:
    return kind not in CHANNELS or CHANNELS[kind].has_secret_address
