"""Refuses forged requests, and sends security headers with each response.

Pages load nothing from other hosts, cannot be framed, and run no script except on the pages of
`SCRIPTED_PAGES`, which show nothing from the web. A request that changes data must come from a page
of this server: browsers say so in Sec-Fetch-Site, or at least in Origin; a request with neither is
refused. Only one-click unsubscription (RFC 8058) may come from elsewhere, as it has a secret token.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from focus.i18n import msg, supported_language, translate
from focus.serve.log import LOG
from focus.text.formatting import printable

CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; manifest-src 'self'"
)
SCRIPTED_PAGES = ("/login", "/register", "/settings")
"""Pages on which a script of this server reads the time zone of the browser."""
_SCRIPT_POLICY = f"{CONTENT_POLICY}; script-src 'self'"
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer, browsers would send "Origin: null" with forms of this server.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_HSTS = "max-age=31536000"
_SAFE_METHODS = ("GET", "HEAD")
_UNGUARDED_PREFIX = "/unsubscribe/"
MAX_REQUESTS = 500  # in progress; those of closed connections count until their handler returns


class RequestGuard:
    """Middleware in front of the application; `base_url` returns the current URL of the server."""

    def __init__(self, app: ASGIApp, base_url: Callable[[], str]) -> None:
        self._app, self._base_url = app, base_url
        self._requests_in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        base = self._base_url()
        https = uses_https(scope["scheme"], base)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                if message["status"] >= 400:
                    _log_refusal(scope, message["status"])
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
                headers["Content-Security-Policy"] = _content_policy(scope["path"])
                if https:
                    headers["Strict-Transport-Security"] = _HSTS
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        # A proxy may keep the path of the base URL or cut it off.
        prefix = urlsplit(base).path.rstrip("/")
        if prefix and f"{scope['path']}/".startswith(f"{prefix}/"):
            scope = {**scope, "path": scope["path"][len(prefix) :] or "/"}
            scope["raw_path"] = scope["path"].encode()
        refusal = self._refusal(scope, base)
        app = self._app if refusal is None else refusal
        self._requests_in_progress += 1
        try:
            await app(scope, receive, send_with_headers)
        finally:
            self._requests_in_progress -= 1

    def _refusal(self, scope: Scope, base: str) -> ASGIApp | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        language, prefix = preferred_language(headers), urlsplit(base).path.rstrip("/")
        if self._requests_in_progress >= MAX_REQUESTS:
            return plain_response(msg("The server is busy. Try again soon."), language, 503, prefix)
        if "transfer-encoding" in headers and "content-length" in headers:
            # Proxies disagree about where such a request ends (RFC 9112 6.1).
            response = plain_response(msg("This request has two lengths."), language, 400, prefix)
            response.headers["Connection"] = "close"
            return response
        if not is_own_host(host, base):
            return plain_response(
                msg("This server does not have that host name."), language, 421, prefix
            )
        if scope["method"] in _SAFE_METHODS or scope["path"].startswith(_UNGUARDED_PREFIX):
            return None
        if not is_same_origin(headers, host, base):
            line = msg("The request came from another site and was rejected.")
            return plain_response(line, language, 403, prefix)
        return None


def _log_refusal(scope: Scope, status: int) -> None:
    """Log who was refused what; only the first part of a path, as others may be secret."""
    address, *_ = scope["client"] or ("?",)
    page = printable("/" + scope["path"].split("/")[1], 40)
    LOG.warning("%s %s %s: %d", address, scope["method"], page, status)


def _content_policy(path: str) -> str:
    """Return the content security policy of a path."""
    is_scripted = any(path == page or path.startswith(f"{page}/") for page in SCRIPTED_PAGES)
    return _SCRIPT_POLICY if is_scripted else CONTENT_POLICY


def plain_response(line: str, language: str, status: int, prefix: str = "") -> HTMLResponse:
    """Return a page of one line. `prefix` is the path of the base URL without a trailing slash."""
    title, top = escape(translate(line, language)), escape(prefix)
    page = (
        f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}</title><link rel="stylesheet" href="{top}/static/style.css"></head>'
        f'<body><main><h1>{title}</h1><p><a href="{top}/">focus</a></p></main></body></html>\n'
    )
    return HTMLResponse(page, status)


def preferred_language(headers: Headers) -> str:
    """Return the supported language that the browser prefers most (RFC 9110 12.5.4)."""
    choices = []
    for place, choice in enumerate(headers.get("accept-language", "en").split(",")[:20]):
        tag, _, parameter = choice.partition(";")
        weight = re.fullmatch(r"\s*q=([01](?:\.[0-9]{0,3})?)\s*", parameter)
        quality = 1.0 if not parameter else float(weight[1]) if weight else 0.0
        if quality and tag.strip()[:2].lower() in ("zh", "en"):
            choices.append((-quality, place, tag.strip()))
    return supported_language(min(choices)[2] if choices else "en")


def is_own_host(host: str, base: str) -> bool:
    """Return whether a Host header names this server.

    Any other name may be an attacker's that points here (DNS rebinding); IP addresses cannot.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost" or (base and name == urlsplit(base).hostname):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_same_origin(headers: Headers, host: str, base: str) -> bool:
    """Return whether a request comes from a page of this server, according to the browser."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("origin")
    if not origin or origin == "null":
        return False
    try:
        netloc = urlsplit(origin).netloc.lower()
    except ValueError:
        return False
    return netloc == host.lower() or bool(base and netloc == urlsplit(base).netloc.lower())


def uses_https(scheme: str, base: str) -> bool:
    """Return whether users reach the server by https, directly or through a proxy."""
    return scheme == "https" or base.startswith("https://")
