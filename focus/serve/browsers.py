"""Answers for the browser itself: what installs it as an app, and leave to notify it.

    /manifest.webmanifest, icons   what a telephone needs to put us on its home screen
    /worker.js                     runs in the browser: shows notifications, and /offline when the
                                   server cannot be reached
    /static/browser.js             asks the reader for leave, on the settings page

A worker and a script may run on the pages named in `request_guard.SCRIPTED` alone, which show
nothing from the web; a browser without scripts loses notifications and the offline page.
"""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

from focus.alerts.delivery import push
from focus.serve import backoff
from focus.serve.accounts import Wrong, spend
from focus.serve.request import RequestContext
from focus.storage.alerts.records import User
from focus.storage.alerts.store import AlertStore

MOST = 20
"""Browsers of one person."""

STATIC = {
    "/static/style.css": ("style.css", "text/css"),
    "/static/browser.js": ("browser.js", "text/javascript"),
    "/static/icon-192.png": ("icon-192.png", "image/png"),
    "/static/icon-512.png": ("icon-512.png", "image/png"),
    "/favicon.svg": ("icon.svg", "image/svg+xml"),
    "/manifest.webmanifest": ("manifest.webmanifest", "application/manifest+json"),
    "/worker.js": ("worker.js", "text/javascript"),
}
"""Path -> its file, and of what type that is."""

_MAKERS = ("Firefox", "Edg", "OPR", "Chrome", "Safari")
_SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux")
_CALLED = {"Edg": "Edge", "OPR": "Opera", "Mac OS X": "macOS"}


class ShownBrowser(NamedTuple):
    """A browser as its reader's settings list it. mark: by what it knows itself there."""

    id: int
    name: str
    made_at: float
    mark: str


def static(name: str) -> bytes:
    """A file of ours."""
    return (files(__package__) / "static" / name).read_bytes()


def offline(request: RequestContext) -> Response:
    """The page that a worker keeps for when the server cannot be reached; it is nobody's."""
    return request.page("offline.html", user=None)


def shown(store: AlertStore, me: User) -> list[ShownBrowser]:
    """The browsers that a person has notified."""
    return [
        ShownBrowser(each.id, each.name, each.made_at, _mark(each.leave.endpoint))
        for each in store.browsers.of(me.id)
    ]


def _mark(endpoint: str) -> str:
    return hashlib.sha256(endpoint.encode()).hexdigest()


def add(request: RequestContext) -> Response:
    """Take down the leave that the reader of this browser gave."""
    form, me = request.form, request.me
    spend(request.store, [backoff.key("browser", me.name)], now=request.now)
    leave = push.parse_subscription(
        *(form.get(name, "") for name in ("endpoint", "p256dh", "auth"))
    )
    if leave is None:
        raise Wrong("This browser gave no address that can be notified.")
    name = name_of(request.agent)
    request.store.browsers.add(me.id, leave, name, most=MOST, now=request.now)
    return request.to("/settings", saved=1)


def remove(request: RequestContext) -> Response:
    """Notify one of them no more."""
    number = request.parts["number"]
    if all(each.id != number for each in request.store.browsers.of(request.me.id)):
        raise Wrong("There is nothing here.")
    request.store.browsers.remove(number)
    return request.to("/settings", saved=1)


def name_of(agent: str) -> str:
    """`Chrome, Android` of a User-Agent, as far as it tells."""
    found = [
        next((each for each in known if re.search(rf"\b{each}\b", agent)), "")
        for known in (_MAKERS, _SYSTEMS)
    ]
    return ", ".join(_CALLED.get(each, each) for each in found if each) or "?"
