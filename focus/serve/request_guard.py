"""Refuses requests from elsewhere, and tells browsers what they may do with an answer.

A page of ours loads nothing from elsewhere, stands in nobody's frame, and runs no script but on
the few pages of `SCRIPTED`, which show nothing that came from the web. A
request that changes something has to come from our own pages: browsers say so by
Sec-Fetch-Site, or at least by Origin; one that says neither is refused, too. Only the
one-click unsubscription (RFC 8058) comes from elsewhere: its token is its authority.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from focus.i18n import msg, supported_language, translate

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; manifest-src 'self'"
)
SCRIPTED = ("/login", "/settings")
"""Pages on which our own script, in a file of its own, has the browser notified."""
_WITH_SCRIPT = f"{POLICY}; script-src 'self'; worker-src 'self'"
_WORKER = "default-src 'none'; connect-src 'self'"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: with that, browsers send "Origin: null" along with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_HSTS = "max-age=31536000"
_SAFE = ("GET", "HEAD")
_OPEN = "/unsubscribe/"


class RequestGuard:
    """Stands before the application. `base_url` tells where our pages are reached now."""

    def __init__(self, app: ASGIApp, base_url: Callable[[], str]) -> None:
        self._app, self._base_url = app, base_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        base = self._base_url()
        secure = is_secure(scope["scheme"], base)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers["Content-Security-Policy"] = _policy(scope["path"])
                if secure:
                    headers["Strict-Transport-Security"] = _HSTS
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope, base)
        app = self._app if refusal is None else refusal
        await app(scope, receive, guarded)

    def _refusal(self, scope: Scope, base: str) -> ASGIApp | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        language = language_asked(headers)
        if not is_ours(host, base):
            return plain(msg("This is not the host that was asked for."), language, 421)
        if scope["method"] in _SAFE or scope["path"].startswith(_OPEN):
            return None
        if not is_same_origin(headers, host, base):
            line = msg("The request came from another site and was refused.")
            return plain(line, language, 403)
        return None


def _policy(path: str) -> str:
    """What a browser may do with the answer at a path."""
    if path == "/worker.js":
        return _WORKER
    is_scripted = any(path == page or path.startswith(f"{page}/") for page in SCRIPTED)
    return _WITH_SCRIPT if is_scripted else POLICY


def plain(line: str, language: str, status: int) -> PlainTextResponse:
    """An answer of one line, where there is no page."""
    return PlainTextResponse(translate(line, language) + "\n", status)


def language_asked(headers: Headers) -> str:
    """What the browser says it prefers."""
    return supported_language(headers.get("accept-language", "en").partition(",")[0].strip())


def is_ours(host: str, base: str) -> bool:
    """Whether a Host is one that we answer for: any other name may be an attacker's that leads
    here (DNS rebinding). Addresses are nobody's name.
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
    """Whether a request comes from a page of ours, as far as a browser tells."""
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


def is_secure(scheme: str, base: str) -> bool:
    """Whether people reach us by https, here or through a proxy."""
    return scheme == "https" or base.startswith("https://")
