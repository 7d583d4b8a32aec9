"""Handlers for the browser: installation as an app, and permission for notifications.

    /manifest.webmanifest, icons   let a telephone add the application to its home screen
    /worker.js                     service worker: shows notifications, and /offline when the
                                   server cannot be reached
    /static/browser.js             asks the user for permission, on the settings page

Worker and script may run only on the pages in `request_guard.SCRIPTED_PAGES`, which show nothing
from the web. A browser without scripts lacks only notifications and the offline page.
"""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

from focus.alerts.delivery import push
from focus.serve import backoff
from focus.serve.accounts import InvalidInput, require_attempt
from focus.serve.request import RequestContext
from focus.storage.alerts.records import User
from focus.storage.alerts.store import AlertStore

MAX_BROWSERS = 20
"""Maximum number of browsers of a user."""

STATIC = {
    "/static/style.css": ("style.css", "text/css"),
    "/static/browser.js": ("browser.js", "text/javascript"),
    "/static/icon-192.png": ("icon-192.png", "image/png"),
    "/static/icon-512.png": ("icon-512.png", "image/png"),
    "/favicon.svg": ("icon.svg", "image/svg+xml"),
    "/manifest.webmanifest": ("manifest.webmanifest", "application/manifest+json"),
    "/worker.js": ("worker.js", "text/javascript"),
}
"""Path -> its file and content type."""

_BROWSER_NAMES = ("Firefox", "Edg", "OPR", "Chrome", "Safari")
_SYSTEM_NAMES = ("Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux")
_DISPLAY_NAMES = {"Edg": "Edge", "OPR": "Opera", "Mac OS X": "macOS"}


class BrowserEntry(NamedTuple):
    """A browser in the list on its owner's settings page; `mark` lets it recognise itself."""

    id: int
    name: str
    made_at: float
    mark: str


def read_static_file(name: str) -> bytes:
    """Return a file of the folder static/."""
    return (files(__package__) / "static" / name).read_bytes()


def offline_page(request: RequestContext) -> Response:
    """Return the page that a service worker caches for when the server cannot be reached."""
    return request.render("offline.html", user=None)


def list_browsers(store: AlertStore, me: User) -> list[BrowserEntry]:
    """Return the browsers in which a user is notified."""
    return [
        BrowserEntry(
            browser.id, browser.name, browser.made_at, _mark(browser.subscription.endpoint)
        )
        for browser in store.browsers.list_for_user(me.id)
    ]


def _mark(endpoint: str) -> str:
    return hashlib.sha256(endpoint.encode()).hexdigest()


def add_browser(request: RequestContext) -> Response:
    """Store the permission that the user gave in this browser."""
    form, me = request.form, request.me
    require_attempt(request.store, [backoff.attempt_key("browser", str(me.id))], now=request.now)
    subscription = push.parse_subscription(
        *(form.get(name, "") for name in ("endpoint", "p256dh", "auth"))
    )
    if subscription is None:
        raise InvalidInput("This browser gave no valid address for notifications.")
    name = browser_name(request.user_agent)
    request.store.browsers.add(me.id, subscription, name, limit=MAX_BROWSERS, now=request.now)
    return request.redirect("/settings", saved=1)


def remove_browser(request: RequestContext) -> Response:
    """Stop notifications in a browser."""
    number = request.path_params["number"]
    if all(browser.id != number for browser in request.store.browsers.list_for_user(request.me.id)):
        raise InvalidInput("There is nothing here.")
    request.store.browsers.remove(number)
    return request.redirect("/settings", saved=1)


def browser_name(agent: str) -> str:
    """Return the browser and system of a User-Agent, as in `Chrome, Android`; "?" if unknown."""
    names = [
        next((name for name in known if re.search(rf"\b{name}\b", agent)), "")
        for known in (_BROWSER_NAMES, _SYSTEM_NAMES)
    ]
    return ", ".join(_DISPLAY_NAMES.get(name, name) for name in names if name) or "?"
