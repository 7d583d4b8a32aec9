"""Sends cookies, headers and passwords only to the hosts that they belong to.

They come from a Netscape cookies.txt, from a file of credentials and from `--cookie`; with a cookie
jar, cookies of responses are sent back as well during the run. None of this is part of a
configuration, so that it reaches no database, log or export.
"""

from __future__ import annotations

import base64
import os
import re
import tomllib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from focus.errors import ConfigError, refuse_deep_nesting
from focus.urls.normal_form import normalise_host, registrable_domain, strip_port

if TYPE_CHECKING:
    from http.cookiejar import Cookie, CookieJar

MAX_COOKIES, MAX_COOKIE_CHARS = 50, 4096
"""Cookies that one domain may set, and characters of each (RFC 6265, 6.1)."""

MAX_DOMAINS = 10_000
"""Domains with stored cookies at most."""

Headers = tuple[tuple[str, str], ...]

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_VALID_ATTRIBUTES = {
    "max-age": re.compile(r"-?\d+"),
    "path": re.compile("/.*"),
    "domain": re.compile(".+"),
}
_DATE_PART = re.compile(
    r"(?<!\d)(?P<time>\d{1,2}:\d{1,2}:\d{1,2})(?!\d)|(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep"
    r"|oct|nov|dec)\w*|(?<![\d:])(?P<number>\d{1,4})(?![\d:])",
    re.I,
)


class Credentials(msgspec.Struct, frozen=True):
    """Headers of requests to a host and its subdomains; `allows_http` also sends them over http."""

    host: str
    headers: Headers
    allows_http: bool = False

    def applies_to(self, scheme: str, host: str) -> bool:
        """Return whether a URL belongs to the host and has the required protection."""
        is_host = host == self.host or host.endswith("." + self.host)
        return is_host and (self.allows_http or scheme == "https")


class Sessions:
    """The cookies, headers and passwords of one run.

    store_cookies  whether to send back cookies of responses
    """

    def __init__(
        self,
        credentials: Iterable[Credentials] = (),
        cookies: Iterable[Cookie] = (),
        *,
        store_cookies: bool = False,
    ) -> None:
        self._credentials = tuple(credentials)
        self._stores_cookies = store_cookies
        self._cookie_domains = frozenset(cookie.domain.lstrip(".") for cookie in cookies)
        for cookie in cookies:
            self._jar.set_cookie(cookie)

    @cached_property
    def _jar(self) -> CookieJar:
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        strict = DefaultCookiePolicy.DomainStrictNonDomain  # without Domain: for its host alone
        return CookieJar(DefaultCookiePolicy(strict_ns_domain=strict))

    def __bool__(self) -> bool:
        return bool(self._credentials or self._stores_cookies or self._cookie_domains)

    def request_headers(self, url: str) -> dict[str, str]:
        """Return the headers of a request for this URL, with the cookies of all sources in one."""
        if not self:
            return {}
        scheme, host = _scheme_and_host(url)
        headers: dict[str, str] = {}
        cookies: list[str] = []
        for credentials in self._credentials:
            if credentials.applies_to(scheme, host):
                for name, value in credentials.headers:
                    if name.lower() == "cookie":
                        cookies.append(value)
                    else:
                        headers[name] = value
        if self._cookie_domains or self._stores_cookies:
            request = _CookieRequest(url)
            self._jar.add_cookie_header(request)  # type: ignore[arg-type]
            cookies += [value for name, value in request.added if name == "Cookie"]
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        return headers

    def store_cookies(self, url: str, values: Iterable[str]) -> bool:
        """Store the Set-Cookie values of a response; return whether any is new.

        Without `store_cookies` nothing is stored.
        """
        if not self._stores_cookies:
            return False
        scheme, host = _scheme_and_host(url)
        values = [
            _repair_attributes(value, is_secure=scheme == "https")
            for value in values
            if len(value) <= MAX_COOKIE_CHARS and not _CONTROL.search(value)
        ]
        site, has_new = registrable_domain(host), False
        for value in values[:MAX_COOKIES]:  # one by one: a later one may delete an earlier one
            response, request = _CookieResponse([value]), _CookieRequest(url)
            for cookie in self._jar.make_cookies(response, request):  # type: ignore[arg-type]
                domain = cookie.domain.lstrip(".")
                if domain in (host, site) or domain.endswith("." + site):
                    has_new |= self._store_cookie(cookie)
        return has_new

    def _store_cookie(self, cookie: Cookie) -> bool:
        """Store a cookie unless there are too many; return whether it is new or changed."""
        by_domain = self._jar._cookies  # type: ignore[attr-defined]
        by_path = by_domain.get(cookie.domain, {})
        known = by_path.get(cookie.path, {}).get(cookie.name)
        if known is None and (
            sum(map(len, by_path.values())) >= MAX_COOKIES
            or (not by_path and len(by_domain) >= MAX_DOMAINS)
        ):
            return False
        self._jar.set_cookie(cookie)
        return known is None or known.value != cookie.value


def read_cookies(path: Path) -> list[Cookie]:
    """Return the cookies of a Netscape cookies.txt.

    Raises ConfigError, without any content of the file, if it is not one.
    """
    _check_private(path)
    try:
        first, *lines = path.read_text("utf-8").splitlines() or [""]
        if not re.match(r"\ufeff?#( Netscape)? HTTP Cookie File", first):
            raise ValueError("no header")
        cookies = [_parse_cookie_line(line) for line in lines]
    except (OSError, ValueError) as error:
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else "no cookies.txt"
        )
        raise ConfigError(
            "{path}: {reason}; a cookies.txt begins with '# Netscape HTTP Cookie File'",
            path=path,
            reason=reason,
        ) from None
    return [cookie for cookie in cookies if cookie is not None]


def _parse_cookie_line(line: str) -> Cookie | None:
    """Return the cookie of a line as curl reads it; None for a comment or an unsendable cookie.

    Expiry 0 or "" is a session cookie. Only the second field says whether subdomains get it, and
    those of a public suffix never do.
    """
    from http.cookiejar import Cookie

    line = line.removeprefix("#HttpOnly_")
    if not line.strip() or line.startswith("#"):
        return None
    domain, covers_subdomains, path, secure, expiry, name, *values = line.split("\t")
    if _CONTROL.search("".join([name, *values])):
        return None
    domain = domain.lstrip(".").lower()
    is_suffix = registrable_domain(f"x.{domain}") == f"x.{domain}"  # such as com or co.uk
    has_subdomains = covers_subdomains.upper() == "TRUE" and not is_suffix
    domain = f".{domain}" if has_subdomains else domain if "." in domain else f"{domain}.local"
    expires = int(float(expiry or 0)) or None
    is_secure, is_session = secure.upper() == "TRUE", expires is None
    return Cookie(
        *(0, name, "".join(values), None, False, domain, has_subdomains, has_subdomains),
        *(path, True, is_secure, expires, is_session, None, None, {}),
    )


def _repair_attributes(value: str, *, is_secure: bool) -> str:
    """Return a Set-Cookie value whose attributes cookiejar reads as browsers do (RFC 6265bis).

    Of repeated attributes the last counts, and invalid ones are left out. The result is empty if
    the name promises what the cookie does not have (`__Secure-`, `__Host-`).
    """
    pair, *parts = value.split(";")
    attributes: dict[str, str] = {}
    for part in parts:
        name, _, text = (piece.strip() for piece in part.partition("="))
        pattern = _VALID_ATTRIBUTES.get(name.lower())
        if pattern is None or pattern.fullmatch(text):
            attributes[name.lower()] = _fix_date(text) if name.lower() == "expires" else text
    name = pair.strip().lower()
    is_host_only = "domain" not in attributes and attributes.get("path") == "/"
    if name.startswith(("__secure-", "__host-")) and not (
        is_secure and "secure" in attributes and (is_host_only or name.startswith("__secure-"))
    ):
        return ""
    return "; ".join(
        [pair, *(f"{key}={text}" if text else key for key, text in attributes.items())]
    )


def _fix_date(text: str) -> str:
    """Return a cookie's date, read by RFC 6265 section 5.1.1, in the form that cookiejar reads.

    Years from 70 to 99 are 19xx, those below are 20xx. An unusable date is returned unchanged.
    """
    parts: dict[str, str] = {}
    for match in _DATE_PART.finditer(text):
        kind = match.lastgroup or ""
        if kind == "number":
            is_day = "day" not in parts and len(match[0]) <= 2
            kind = "day" if is_day else "year"
        parts.setdefault(kind, match[0])
    if len(parts) < len(("day", "month", "year", "time")):
        return text
    year = int(parts["year"])
    year += 1900 if 70 <= year <= 99 else 2000 if year < 70 else 0
    return f"{int(parts['day']):02} {parts['month'][:3].title()} {year} {parts['time']} GMT"


def read_credentials(path: Path) -> list[Credentials]:
    """Return headers and passwords by host from a TOML file that only its owner may read.

        ["example.com"]                   # and its subdomains, over https
        user = "li"
        password = "…"
        headers = { X-Token = "…" }
        ["http://intranet.example"]       # over plain http, too
        cookie = "sid=…"

    Raises ConfigError, without any secret, for invalid contents.
    """
    _check_private(path)
    try:
        with refuse_deep_nesting():
            data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        line = str(error).rpartition("(at ")[2].rstrip(")") if "(at " in str(error) else ""
        raise ConfigError(
            "{path}: cannot be read{value}", path=path, value=f" ({line})" if line else ""
        ) from None
    return [_parse_credentials(path, name, table) for name, table in data.items()]


def parse_cookie_option(hosts: Iterable[str], text: str) -> list[Credentials]:
    """Return credentials of `NAME=VALUE; NAME=VALUE` for hosts (host[:port]); raise ConfigError."""
    if not all("=" in part for part in text.split(";")) or not text.isprintable():
        raise ConfigError("--cookie is NAME=VALUE, or several separated by ';'")
    names = {strip_port(host).strip("[]") for host in hosts}
    return [
        Credentials(name, (("Cookie", text.strip()),), allows_http=True) for name in sorted(names)
    ]


def _parse_credentials(path: Path, name: str, table: Any) -> Credentials:
    scheme, mark, host = name.rpartition("://")
    known = {"user", "password", "headers", "cookie"}
    where = f"{path}: [{name!r}]"
    if not isinstance(table, dict) or (mark and scheme not in ("http", "https")) or not host:
        raise ConfigError('{where}: write a host and what it is sent, ["example.com"]', where=where)
    if unknown := sorted(set(table) - known):
        raise ConfigError(
            "{where}: {unknown!r} is not known; known: {known}",
            where=where,
            unknown=unknown[0],
            known=", ".join(sorted(known)),
        )
    headers = [(str(key), value) for key, value in dict(table.get("headers", {})).items()]
    if "user" in table:
        pair = f"{table['user']}:{table.get('password', '')}".encode()
        headers.append(("Authorization", f"Basic {base64.b64encode(pair).decode()}"))
    if "cookie" in table:
        headers.append(("Cookie", table["cookie"]))
    if not headers or not all(_is_valid_header(*field) for field in headers):
        raise ConfigError("{where}: a header's value is one line of text", where=where)
    host = strip_port(normalise_host(host)).strip("[]")
    return Credentials(host, tuple(headers), allows_http=scheme == "http")


def _is_valid_header(name: str, value: object) -> bool:
    return isinstance(value, str) and name.isascii() and value.isprintable() and bool(name.strip())


def _check_private(path: Path) -> None:
    """Raise ConfigError for a file of secrets that other users may read."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise ConfigError("{path}: {error}", path=path, error=error) from None
    if os.name == "posix" and mode & 0o077:
        raise ConfigError("{path}: other users may read it; run: chmod 600 {path}", path=path)


def _scheme_and_host(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower()


class _CookieRequest:
    """A request with the interface that `http.cookiejar` needs."""

    unverifiable = False

    def __init__(self, url: str) -> None:
        self._url = url
        self.type, self.host = _scheme_and_host(url)
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


class _CookieResponse:
    """A response with the interface that `http.cookiejar` needs."""

    def __init__(self, values: list[str]) -> None:
        self._values = values

    def info(self) -> _CookieResponse:
        return self

    def get_all(self, name: str, default: list[str]) -> list[str]:
        return self._values if name == "Set-Cookie" else default
