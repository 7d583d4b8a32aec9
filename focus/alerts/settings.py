"""Settings of delivery: mail server, SMS gateway, public address and key; secrets are masked.

Values of the command line (FOCUS_SMTP_URL, FOCUS_MAIL_FROM, FOCUS_BASE_URL) take precedence over
those that an administrator stored in the table `setting`:

    smtp      {"url": "smtp://user:pass@mail.example.org:587", "from": "focus@example.org"}, sealed
    sms       "twilio://SID:TOKEN@FROM/{phone}", sealed     see delivery.sms
    base_url  "https://focus.example.org"   address of the web pages, used in links

The key that seals them is in a file of its own (`keyfile`).
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

import msgspec

from focus.alerts import keyfile
from focus.alerts.addresses import is_mail_address, is_web_address
from focus.config import FetchConfig
from focus.errors import ConfigError
from focus.i18n import msg
from focus.storage.alerts.store import AlertStore

MASK = "***"
EXAMPLE = "smtp://user:password@mail.example.org:587"

_PORTS = {"smtp": 587, "smtps": 465}
_OPTIONS = ("starttls", "ca")
_SEALED = ("smtp", "sms")
_STORED = (*_SEALED, "base_url")


class MailSettings(msgspec.Struct, frozen=True):
    """Mail server and the account used there.

    tls     `always` (smtps), `starttls`, or `none`.
    sender  Address in From, without a name.
    ca      File of trusted certificates; None trusts those of the system.
    """

    host: str
    port: int
    tls: str
    sender: str
    user: str = ""
    password: str = ""
    ca: str | None = None

    def __repr__(self) -> str:  # without the password: it may be logged
        login = f"{self.user}:{MASK}@" if self.user else ""
        return f"MailSettings({login}{self.host}:{self.port}, {self.tls}, from {self.sender})"


class DeliverySettings(msgspec.Struct, frozen=True):
    """Settings of delivery.

    mail      None if no mail server is configured.
    base_url  Without a trailing slash; an empty string if there are no web pages to link to.
    key       Secrets are derived from it; never shown.
    sms       Gateway of short messages; an empty string if there is none.
    options   Options of channels on the command line: name -> value.
    fetch     SSRF guard, proxy and User-Agent of webhooks.
    """

    mail: MailSettings | None = None
    base_url: str = ""
    key: bytes = b""
    sms: str = ""
    options: dict[str, str] = {}
    fetch: FetchConfig = FetchConfig()

    def __repr__(self) -> str:  # without the key
        return f"Settings({self.mail!r}, base_url={self.base_url!r})"

    def derive_secret(self, purpose: str) -> bytes:
        """Return 32 secret bytes for one purpose: HMAC-SHA256 of its name under the key."""
        if len(self.key) < keyfile.KEY_BYTES:
            raise ConfigError("settings have no key; read them with settings.read")
        return keyfile.derive_secret(self.key, purpose)


# -- reading and writing ------------------------------------------------------------


def read(
    store: AlertStore,
    *,
    options: Mapping[str, str] | None = None,
    base_url: str | None = None,
    fetch: FetchConfig | None = None,
    key_file: Path | None = None,
) -> DeliverySettings:
    """Return the settings in effect. Raises ConfigError for an invalid one, or if unsealing fails.

    options  Options of channels on the command line; they take precedence over stored values.
    """
    key_path = keyfile.key_path(store.path, key_file)
    key = keyfile.read_key(key_path)
    stored = store.settings.read(*_STORED)
    channel_options = dict(options or {})
    smtp = (
        {} if "smtp_url" in channel_options else _read_sealed(stored, "smtp", key, key_path) or {}
    )
    url = channel_options.get("smtp_url") or smtp.get("url", "")
    sender = channel_options.get("mail_from") or smtp.get("from", "")
    return DeliverySettings(
        mail=parse_mail_url(url, sender) if url else None,
        base_url=normalise_base_url(base_url or stored.get("base_url", "")),
        key=key,
        sms=_read_sealed(stored, "sms", key, key_path) or "",
        options=channel_options,
        fetch=fetch or FetchConfig(),
    )


def store_sealed(store: AlertStore, name: str, value: Any, key: bytes) -> None:
    """Store one setting encrypted with the key."""
    store.settings.set(name, keyfile.seal(key, name, msgspec.json.encode(value).decode()))


def delete_sealed(store: AlertStore) -> None:
    """Delete the settings that were sealed with a key that is lost."""
    store.settings.remove(*_SEALED)


def _read_sealed(stored: dict[str, Any], name: str, key: bytes, key_path: Path) -> Any:
    """Return a sealed setting or None. Raises ConfigError if another key sealed it."""
    if not stored.get(name):
        return None
    text = keyfile.unseal(key, name, str(stored[name]))
    if text is None:
        raise ConfigError(
            "FOCUS_KEY_FILE {place}: does not decrypt the passwords in the database; give the file "
            "that encrypted them, or remove them with `focus serve --forget-passwords`",
            place=key_path,
        )
    return msgspec.json.decode(text)


def masked_settings(store: AlertStore, key: bytes) -> dict[str, Any]:
    """Return the stored settings that can be unsealed; passwords are masked."""
    stored = store.settings.read(*_STORED)
    for name in _SEALED:
        text = keyfile.unseal(key, name, str(stored.pop(name, "")))
        if text is not None:
            stored[name] = msgspec.json.decode(text)
    if "smtp" in stored:
        stored["smtp"] = {**stored["smtp"], "url": mask_url(stored["smtp"].get("url", ""))}
    return stored


# -- mail servers -------------------------------------------------------------------


def parse_mail_url(url: str, sender: str) -> MailSettings:
    """Return the mail server of `smtp[s]://[user:password@]host[:port][?starttls=off][&ca=FILE]`.

    An unencrypted connection is allowed to this machine, or with `starttls=off` without a password.
    `sender` may be empty: then the user name must be an address, or without a user name it is
    `focus@` and the name of this machine. Raises ConfigError, which never contains the password.
    """
    where = msg("mail server {address!r}", address=mask_url(url))
    parts, port = _split_server_url(url, where)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise ConfigError(
            "{where}: unknown {unknown!r}; known: {options}",
            where=where,
            unknown=unknown[0],
            options=", ".join(_OPTIONS),
        )
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    host = parts.hostname or ""
    tls = _tls(where, parts.scheme, host, options.get("starttls"))
    if user and tls == "none" and not _is_local(host):
        raise ConfigError(
            "{where}: the password would be sent unencrypted; remove starttls=off", where=where
        )
    sender = sender or user or f"focus@{platform.node()}"
    if not is_mail_address(sender):
        raise ConfigError(
            "{where}: {sender!r} is not a sender address; set FOCUS_MAIL_FROM",
            where=where,
            sender=sender,
        )
    return MailSettings(host, port, tls, sender, user, password, options.get("ca"))


def _split_server_url(url: str, where: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        raise ConfigError(
            "{where}: write it like {example}", where=where, example=EXAMPLE
        ) from None
    if not port or not parts.hostname or parts.path not in ("", "/"):
        raise ConfigError("{where}: write it like {example}", where=where, example=EXAMPLE)
    return parts, port


def _tls(where: str, scheme: str, host: str, starttls: str | None) -> str:
    if starttls not in (None, "on", "off"):
        raise ConfigError(
            "{where}: starttls is on or off, not {starttls!r}", where=where, starttls=starttls
        )
    if scheme == "smtps":
        return "always"
    off = starttls == "off" or (starttls is None and _is_local(host))
    return "none" if off else "starttls"


def _is_local(host: str) -> bool:
    """Return whether a server runs on this machine, so that nobody can listen in between."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def normalise_base_url(url: str) -> str:
    """Return a base URL without its trailing slash. Raises ConfigError."""
    if not url:
        return ""
    is_quoted = url == quote(url, safe="%/:[]@!$&'()*+,;=~-._")
    if not is_quoted or not is_web_address(url) or urlsplit(url).username:
        raise ConfigError("base URL {url!r}: write it like https://focus.example.org", url=url)
    return url.rstrip("/")


# -- masks --------------------------------------------------------------------------


def mask_url(url: str) -> str:
    """Return a URL without its password."""
    head, at, tail = url.rpartition("@")
    if not at:
        return url
    scheme, slashes, login = head.partition("://")
    if not slashes:
        return f"{MASK}@{tail}"
    user, colon, _ = login.partition(":")
    return f"{scheme}://{user}{colon}{MASK if colon else ''}@{tail}"
