"""Key of an installation in a file of its own, and encryption with it.

The key is 32 random bytes, in hexadecimal, in a file of mode 0600 that is created on first use:
beside the database (`focus.db.key`), or at FOCUS_KEY_FILE. A copy of the database alone, such as a
backup, therefore contains neither the passwords of mail server and SMS gateway, which are encrypted
with the key (AES-256-GCM), nor addresses with tokens (`sealed_channels`), nor the secrets of
webhooks and unsubscribe links, which are derived from it.
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
_PREFIX = "sealed:1:"


def key_path(database: Path, chosen: Path | None = None) -> Path:
    """Return the path of a database's key."""
    return (chosen or database.with_name(database.name + ".key")).expanduser()


def read_key(path: Path) -> bytes:
    """Return the key in a file, which is created if it is missing. Raises ConfigError."""
    try:
        if not path.exists():
            _create(path)
        private.restrict_to_owner(path)
        key = bytes.fromhex(path.read_text("ascii"))
    except OSError as error:
        raise ConfigError(
            "FOCUS_KEY_FILE {path}: {error}; give another file", path=path, error=error
        ) from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(
            "FOCUS_KEY_FILE {path}: is not a key file of focus; give another file", path=path
        )
    return key


def _create(path: Path) -> None:
    """Create a key atomically; another process may have been faster."""
    with suppress(FileExistsError):
        _write(path, secrets.token_bytes(KEY_BYTES))


def _write(path: Path, key: bytes) -> None:
    """Write a key under a new name. Raises FileExistsError if the name is taken."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    private.create_private_file(draft)
    try:
        draft.write_text(key.hex() + "\n", "ascii")
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def copying_key(source: Path, target: Path, *, replace: bool) -> Iterator[None]:
    """Copy a key to another place after the body of the `with` statement has succeeded.

    replace  Whether another key there may be moved aside, as `focus.db.key.old1`.

    Raises ConfigError beforehand if the key is missing or another key is in the way.
    """
    if not source.exists():
        raise ConfigError("--with-key: there is no key {path}", path=source)
    key = read_key(source)
    is_there = target.exists()
    if is_there and read_key(target) != key and not replace:
        raise ConfigError("--with-key: {path} is another key; --force keeps it beside", path=target)
    yield
    if is_there and read_key(target) == key:
        return
    try:
        if is_there:
            target.replace(private.free_name_beside(target))
        _write(target, key)
    except OSError as error:
        raise ConfigError("--with-key {path}: {error}", path=target, error=error) from None


def derive_secret(key: bytes, purpose: str) -> bytes:
    """Return 32 secret bytes for one purpose: HMAC-SHA256 of its name under the key."""
    return hmac.new(key, purpose.encode(), hashlib.sha256).digest()


def seal(key: bytes, name: str, text: str) -> str:
    """Return a text encrypted with a key; `unseal` needs the same key and name."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    sealed_text = _cipher(key).encrypt(nonce, text.encode(), name.encode())
    return _PREFIX + base64.b64encode(nonce + sealed_text).decode()


def unseal(key: bytes, name: str, sealed_text: str) -> str | None:
    """Return the text; None if it was not sealed with this key under this name."""
    if not sealed_text.startswith(_PREFIX):
        return None
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        data = base64.b64decode(sealed_text.removeprefix(_PREFIX), validate=True)
        nonce, inner = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        return cipher.decrypt(nonce, inner, name.encode()).decode()
    except (InvalidTag, ValueError):
        return None


def _cipher(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError:
        raise ConfigError(
            "passwords in the database need cryptography; run `pip install 'focus-crawler[serve]'`"
        ) from None
    return AESGCM(derive_secret(key, "seal"))
