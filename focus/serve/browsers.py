"""Files that browsers load: style, script, icons, and the manifest of an installed application.

    /manifest.webmanifest, icons   let a telephone add the application to its home screen
    /static/browser.js             proposes the time zone of the browser

The script may run only on the pages in `request_guard.SCRIPTED_PAGES`, which show nothing from the
web.
"""

from __future__ import annotations

import re
from importlib.resources import files

STATIC = {
    "/static/style.css": ("style.css", "text/css"),
    "/static/browser.js": ("browser.js", "text/javascript"),
    "/static/icon-192.png": ("icon-192.png", "image/png"),
    "/static/icon-512.png": ("icon-512.png", "image/png"),
    "/favicon.svg": ("icon.svg", "image/svg+xml"),
    "/manifest.webmanifest": ("manifest.webmanifest", "application/manifest+json"),
}
"""Path -> its file and content type."""

_BROWSER_NAMES = ("Firefox", "Edg", "OPR", "Chrome", "Safari")
_SYSTEM_NAMES = ("Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux")
_DISPLAY_NAMES = {"Edg": "Edge", "OPR": "Opera", "Mac OS X": "macOS"}


def read_static_file(name: str) -> bytes:
    """Return a file of the folder static/."""
    return (files(__package__) / "static" / name).read_bytes()


def browser_name(agent: str) -> str:
    """Return the browser and system of a User-Agent, as in `Chrome, Android`; "?" if unknown."""
    names = [
        next((name for name in known if re.search(rf"\b{name}\b", agent)), "")
        for known in (_BROWSER_NAMES, _SYSTEM_NAMES)
    ]
    return ", ".join(_DISPLAY_NAMES.get(name, name) for name in names if name) or "?"
