"""Says how this installation reaches people: mail server, public address, key; secrets masked.

What is given at the command line (FOCUS_SMTP_URL, FOCUS_MAIL_FROM, FOCUS_BASE_URL) goes
before what an administrator has stored in the table `setting`:

    smtp      {"url": "smtp://user:pass@mail.example.org:587", "from": "focus@example.org"}, sealed
    sms       "twilio://SID:TOKEN@FROM/{phone}", sealed     see delivery.sms
    base_url  "https://focus.example.org"   where the web pages are reached; links point there

The key that seals, and from which webhook secrets and links to unsubscribe are derived, is in a
file of its own (`keyfile`).
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

import msgspec

from focus.alerts import keyfile
from focus.alerts.addresses import is_mail
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
    """A mail server and who we are to it.

    tls     `always` from the first byte (smtps), `starttls` before anything is said, `none`
    sender  bare address, as in From
    ca      file of certificates to trust instead of the system's; None: the system's
    """

    host: str
    port: int
    tls: str
    sender: str
    user: str = ""
    password: str = ""
    ca: str | None = None

    def __repr__(self) -> str:
        """Without the password: this may land in a log."""
        login = f"{self.user}:{MASK}@" if self.user else ""
        return f"MailSettings({login}{self.host}:{self.port}, {self.tls}, from {self.sender})"


class DeliverySettings(msgspec.Struct, frozen=True):
    """The settings of delivery.

    mail      None: no mail server is set
    base_url  no slash at the end; "": there are no web pages, so no links to them
    key       derives secrets; never shown
    sms       the gateway of short messages, an apprise URL; "": there is none
    options   of channels, as the command line gave them: name -> value
    fetch     guard, proxy and User-Agent of webhooks
    """

    mail: MailSettings | None = None
    base_url: str = ""
    key: bytes = b""
    sms: str = ""
    options: dict[str, str] = {}
    fetch: FetchConfig = FetchConfig()

    def __repr__(self) -> str:
        """Without the key."""
        return f"Settings({self.mail!r}, base_url={self.base_url!r})"

    def derived(self, purpose: str) -> bytes:
        """32 secret bytes for one purpose: HMAC-SHA256 of it under the key."""
        if len(self.key) < keyfile.KEY_BYTES:
            raise ConfigError("settings have no key; read them with settings.read")
        return keyfile.derived(self.key, purpose)


# -- reading and writing ------------------------------------------------------------


def read(
    store: AlertStore,
    *,
    options: Mapping[str, str] | None = None,
    base_url: str | None = None,
    fetch: FetchConfig | None = None,
    key_file: Path | None = None,
) -> DeliverySettings:
    """The settings that hold; ConfigError for one that makes no sense, or cannot be unsealed.

    options  of channels, as the command line gave them; they go before what is stored
    """
    place = keyfile.place(store.path, key_file)
    key = keyfile.key_of(place)
    stored = store.settings.read(*_STORED)
    given = dict(options or {})
    smtp = {} if "smtp_url" in given else _unsealed(stored, "smtp", key, place) or {}
    url = given.get("smtp_url") or smtp.get("url", "")
    sender = given.get("mail_from") or smtp.get("from", "")
    return DeliverySettings(
        mail=mail_settings(url, sender) if url else None,
        base_url=checked_base_url(base_url or stored.get("base_url", "")),
        key=key,
        sms=_unsealed(stored, "sms", key, place) or "",
        options=given,
        fetch=fetch or FetchConfig(),
    )


def put_sealed(store: AlertStore, name: str, value: Any, key: bytes) -> None:
    """Store one setting that nobody else may read."""
    store.settings.put(name, keyfile.sealed(key, name, msgspec.json.encode(value).decode()))


def forget_sealed(store: AlertStore) -> None:
    """Take out what only a key file opens that is no longer there."""
    store.settings.remove(*_SEALED)


def _unsealed(stored: dict[str, Any], name: str, key: bytes, place: Path) -> Any:
    """What was stored sealed; None for nothing. ConfigError if another key sealed it."""
    if not stored.get(name):
        return None
    text = keyfile.opened(key, name, str(stored[name]))
    if text is None:
        raise ConfigError(
            "--key-file {place}: does not open the passwords in the database; name the file "
            "that sealed them, or forget them with `focus serve --forget-passwords`",
            place=place,
        )
    return msgspec.json.decode(text)


def shown(store: AlertStore, key: bytes) -> dict[str, Any]:
    """What is stored, and can be unsealed; the mail server's password is masked."""
    stored = store.settings.read(*_STORED)
    for name in _SEALED:
        text = keyfile.opened(key, name, str(stored.pop(name, "")))
        if text is not None:
            stored[name] = msgspec.json.decode(text)
    if "smtp" in stored:
        stored["smtp"] = {**stored["smtp"], "url": masked_url(stored["smtp"].get("url", ""))}
    return stored


# -- mail servers -------------------------------------------------------------------


def mail_settings(url: str, sender: str) -> MailSettings:
    """The mail server of `smtp[s]://[user:password@]host[:port][?starttls=off][&ca=FILE]`.

    Without TLS only to the own machine, or when `starttls=off` says so, and a password
    never. `sender` may be left out if the user name is an address. ConfigError otherwise,
    which never repeats the password.
    """
    where = msg("mail server {address!r}", address=masked_url(url))
    parts, port = _split(url, where)
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
            "{where}: a password would go unencrypted; drop starttls=off", where=where
        )
    sender = sender or user
    if not is_mail(sender):
        raise ConfigError(
            "{where}: {sender!r} is no address to send from; set FOCUS_MAIL_FROM",
            where=where,
            sender=sender,
        )
    return MailSettings(host, port, tls, sender, user, password, options.get("ca"))


def _split(url: str, where: str) -> tuple[SplitResult, int]:
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
    """Whether a server runs on this machine: nobody listens in between."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def checked_base_url(url: str) -> str:
    """Where our web pages are reached, without the slash at the end; ConfigError if nowhere."""
    if not url:
        return ""
    parts = urlsplit(url)
    clean = url == quote(url, safe="%/:[]@!$&'()*+,;=~-._") and not parts.username
    if parts.scheme not in ("http", "https") or not parts.hostname or not clean:
        raise ConfigError("base URL {url!r}: write it like https://focus.example.org", url=url)
    return url.rstrip("/")


# -- masks --------------------------------------------------------------------------


def masked_url(url: str) -> str:
    """A URL without its password."""
    head, at, tail = url.rpartition("@")
    if not at:
        return url
    scheme, slashes, login = head.partition("://")
    if not slashes:
        return f"{MASK}@{tail}"
    user, colon, _ = login.partition(":")
    return f"{scheme}://{user}{colon}{MASK if colon else ''}@{tail}"
