"""Keeps an installation's key in a file of its own, and seals by it what the database holds.

The key is 32 random bytes, in hex, in a file of mode 0600 that is made on first use: beside the
database (`focus.db.key`), or where --key-file says. Whoever has the database alone, say a backup,
has neither the passwords of the mail server and the SMS gateway, which are sealed by it
(AES-256-GCM), nor addresses with tokens in them (`sealed_channels`), nor the secrets of webhooks
and links to unsubscribe, which are derived from it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from focus.errors import ConfigError
from focus.storage import private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12
_MARK = "sealed:1:"


def place(database: Path, chosen: Path | None = None) -> Path:
    """Where the key of a database is kept."""
    return (chosen or database.with_name(database.name + ".key")).expanduser()


def key_of(path: Path) -> bytes:
    """The key in a file, which is made if there is none; ConfigError if that cannot be."""
    try:
        if not path.exists():
            _make(path)
        private.narrow(path)
        key = bytes.fromhex(path.read_text("ascii"))
    except OSError as error:
        raise ConfigError(
            "--key-file {path}: {error}; name another file", path=path, error=error
        ) from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError("--key-file {path}: is no key of ours; name another file", path=path)
    return key


def _make(path: Path) -> None:
    """A new key under this name, whole or not at all; another process may be quicker."""
    with suppress(FileExistsError):
        _write(path, secrets.token_bytes(KEY_BYTES))


def _write(path: Path, key: bytes) -> None:
    """A key under a name that is free; FileExistsError if it is not."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    private.make(draft)
    try:
        draft.write_text(key.hex() + "\n", "ascii")
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def taken_along(source: Path, target: Path, *, replace: bool) -> Iterator[None]:
    """Copy a key to another place once what is done inside has been done.

    replace  whether another key there may make room: it stays beside, as `focus.db.key.old1`
    ConfigError before anything is done if there is no key, or another one is in the way.
    """
    if not source.exists():
        raise ConfigError("--with-key: there is no key {path}", path=source)
    key = key_of(source)
    is_there = target.exists()
    if is_there and key_of(target) != key and not replace:
        raise ConfigError("--with-key: {path} is another key; --force keeps it beside", path=target)
    yield
    if is_there and key_of(target) == key:
        return
    try:
        if is_there:
            target.replace(private.aside(target))
        _write(target, key)
    except OSError as error:
        raise ConfigError("--with-key {path}: {error}", path=target, error=error) from None


def derived(key: bytes, purpose: str) -> bytes:
    """32 secret bytes for one purpose: HMAC-SHA256 of it under the key."""
    return hmac.new(key, purpose.encode(), hashlib.sha256).digest()


def sealed(key: bytes, name: str, text: str) -> str:
    """A text that only `opened` with the same key and name gives back."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    box = _aes(key).encrypt(nonce, text.encode(), name.encode())
    return _MARK + base64.b64encode(nonce + box).decode()


def opened(key: bytes, name: str, box: str) -> str | None:
    """The text; None for what was not sealed by this key under this name."""
    if not box.startswith(_MARK):
        return None
    cipher = _aes(key)
    from cryptography.exceptions import InvalidTag

    try:
        data = base64.b64decode(box.removeprefix(_MARK), validate=True)
        nonce, inner = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        return cipher.decrypt(nonce, inner, name.encode()).decode()
    except (InvalidTag, ValueError):
        return None


def _aes(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError:
        raise ConfigError(
            "passwords in the database need cryptography; run `pip install 'focus-crawler[serve]'`"
        ) from None
    return AESGCM(derived(key, "seal"))
