"""Sends cookies, headers and passwords to the hosts that they are meant for, and no others.

They come from a Netscape cookies.txt, from a file of credentials and from `--cookie`; with a jar,
cookies of answers are sent back as well, as long as the run lasts. Nothing of it is part of a
configuration, so that it reaches no database, log or export.
"""

from __future__ import annotations

import base64
import os
import tomllib
from collections.abc import Iterable
from email.message import Message
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from focus.errors import ConfigError
from focus.urls.normal_form import registrable_domain, strip_port

if TYPE_CHECKING:
    from http.cookiejar import Cookie, CookieJar

MAX_COOKIES, MAX_COOKIE_CHARS = 50, 4096
"""Cookies that one domain may set, and characters of each (RFC 6265, 6.1)."""

MAX_DOMAINS = 10_000
"""Domains whose cookies are kept: a crawl meets many."""

Fields = tuple[tuple[str, str], ...]


class Credentials(msgspec.Struct, frozen=True):
    """Headers of requests to a host and its subdomains. `plain`: over http, too."""

    host: str
    fields: Fields
    plain: bool = False

    def fits(self, scheme: str, host: str) -> bool:
        """Whether an address is of this host, and as well protected as was asked for."""
        inside = host == self.host or host.endswith("." + self.host)
        return inside and (self.plain or scheme == "https")


class Sessions:
    """The cookies, headers and passwords of one run."""

    def __init__(
        self,
        credentials: Iterable[Credentials] = (),
        cookies: Iterable[Cookie] = (),
        *,
        jar: bool = False,
    ) -> None:
        self._credentials = tuple(credentials)
        self._learns = jar
        self._given = frozenset(each.domain.lstrip(".") for each in cookies)
        for cookie in cookies:
            self._jar.set_cookie(cookie)

    @cached_property
    def _jar(self) -> CookieJar:
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        policy = DefaultCookiePolicy(strict_ns_domain=DefaultCookiePolicy.DomainStrictNoDots)
        return CookieJar(policy)

    def __bool__(self) -> bool:
        return bool(self._credentials or self._learns or self._given)

    def headers(self, url: str) -> dict[str, str]:
        """What a request for this address carries; cookies of all sources in one header."""
        if not self:
            return {}
        scheme, host = _parts(url)
        found: dict[str, str] = {}
        crumbs: list[str] = []
        for each in self._credentials:
            if each.fits(scheme, host):
                for name, value in each.fields:
                    if name.lower() == "cookie":
                        crumbs.append(value)
                    else:
                        found[name] = value
        if self._given or self._learns:
            request = _Request(url)
            self._jar.add_cookie_header(request)  # type: ignore[arg-type]
            crumbs += [value for name, value in request.added if name == "Cookie"]
        if crumbs:
            found["Cookie"] = "; ".join(crumbs)
        return found

    def learn(self, url: str, values: Iterable[str]) -> bool:
        """Keep the cookies (Set-Cookie) of an answer, if there is a jar; whether any is new."""
        values = [value for value in values if len(value) <= MAX_COOKIE_CHARS]
        if not self._learns or not values:
            return False
        told = Message()
        for value in values[:MAX_COOKIES]:
            told["Set-Cookie"] = value
        host = _parts(url)[1]
        whole, new = registrable_domain(host), False
        for cookie in self._jar.make_cookies(_Answer(told), _Request(url)):  # type: ignore[arg-type]
            domain = cookie.domain.lstrip(".")
            if domain in (host, whole) or domain.endswith("." + whole):
                new |= self._keep(cookie)
        return new

    def _keep(self, cookie: Cookie) -> bool:
        """Add a cookie unless it is one too many; whether it says something new."""
        kept = self._jar._cookies  # type: ignore[attr-defined]
        own = kept.get(cookie.domain, {})
        known = own.get(cookie.path, {}).get(cookie.name)
        if known is None and (
            sum(map(len, own.values())) >= MAX_COOKIES or (not own and len(kept) >= MAX_DOMAINS)
        ):
            return False
        self._jar.set_cookie(cookie)
        return known is None or known.value != cookie.value


def read_cookies(path: Path) -> list[Cookie]:
    """The cookies of a Netscape cookies.txt; ConfigError, without a word of it, if it is none."""
    from http.cookiejar import LoadError, MozillaCookieJar

    _check_private(path)
    jar = MozillaCookieJar()
    try:
        jar.load(str(path), ignore_discard=True)
    except (LoadError, OSError, UnicodeDecodeError) as error:
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else "no cookies.txt"
        )
        raise ConfigError(
            "{path}: {reason}; a cookies.txt begins with '# Netscape HTTP Cookie File'",
            path=path,
            reason=reason,
        ) from None
    return list(jar)


def read_credentials(path: Path) -> list[Credentials]:
    """Headers and passwords by host, from a TOML file that only its owner may read.

        ["example.com"]                   # and its subdomains, over https
        user = "li"
        password = "…"
        headers = { X-Token = "…" }
        ["http://intranet.example"]       # over plain http, too
        cookie = "sid=…"

    ConfigError, without a word of what is secret, for what makes no sense.
    """
    _check_private(path)
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        line = str(error).rpartition("(at ")[2].rstrip(")") if "(at " in str(error) else ""
        raise ConfigError(
            "{path}: cannot be read{value}", path=path, value=f" ({line})" if line else ""
        ) from None
    return [_credentials(path, name, said) for name, said in data.items()]


def cookie_for(hosts: Iterable[str], text: str) -> list[Credentials]:
    """`NAME=VALUE; NAME=VALUE` for these hosts (host[:port]); ConfigError if it is not that."""
    if not all("=" in part for part in text.split(";")) or not text.isprintable():
        raise ConfigError("--cookie is NAME=VALUE, or several separated by ';'")
    names = {strip_port(host).strip("[]") for host in hosts}
    return [Credentials(name, (("Cookie", text.strip()),), plain=True) for name in sorted(names)]


def _credentials(path: Path, name: str, said: Any) -> Credentials:
    scheme, mark, host = name.rpartition("://")
    known = {"user", "password", "headers", "cookie"}
    where = f"{path}: [{name!r}]"
    if not isinstance(said, dict) or (mark and scheme not in ("http", "https")) or not host:
        raise ConfigError('{where}: write a host and what it is sent, ["example.com"]', where=where)
    if unknown := sorted(set(said) - known):
        raise ConfigError(
            "{where}: {unknown!r} is not known; known: {known}",
            where=where,
            unknown=unknown[0],
            known=", ".join(sorted(known)),
        )
    fields = [(str(key), value) for key, value in dict(said.get("headers", {})).items()]
    if "user" in said:
        pair = f"{said['user']}:{said.get('password', '')}".encode()
        fields.append(("Authorization", f"Basic {base64.b64encode(pair).decode()}"))
    if "cookie" in said:
        fields.append(("Cookie", said["cookie"]))
    if not fields or not all(_sendable(*field) for field in fields):
        raise ConfigError("{where}: a header's value is one line of text", where=where)
    return Credentials(host.lower().strip("/"), tuple(fields), plain=scheme == "http")


def _sendable(name: str, value: object) -> bool:
    return isinstance(value, str) and name.isascii() and value.isprintable() and bool(name.strip())


def _check_private(path: Path) -> None:
    """ConfigError for a file of secrets that other users may read."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise ConfigError("{path}: {error}", path=path, error=error) from None
    if os.name == "posix" and mode & 0o077:
        raise ConfigError("{path}: other users may read it; run: chmod 600 {path}", path=path)


def _parts(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower()


class _Request:
    """A request as `http.cookiejar` wants to see it."""

    unverifiable = False

    def __init__(self, url: str) -> None:
        self._url = url
        self.type, self.host = _parts(url)
        self.origin_req_host = self.host
        self.added: list[tuple[str, str]] = []

    def get_full_url(self) -> str:
        return self._url

    def has_header(self, name: str) -> bool:
        return False

    def get_header(self, name: str, default: str | None = None) -> str | None:
        return default

    def header_items(self) -> list[tuple[str, str]]:
        return []

    def add_unredirected_header(self, name: str, value: str) -> None:
        self.added.append((name, value))


class _Answer:
    """An answer as `http.cookiejar` wants to see it."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def info(self) -> Message:
        return self._message
