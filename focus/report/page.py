"""Renders reports from their templates: one HTML page each, with its style and script inside.

Nothing in a page is fetched from anywhere: style, script and SVG are inline, and fonts are
the reader's own, so that Chinese text shows as text. A content policy says so once more.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from markupsafe import Markup, escape

from focus.i18n import spoken, tag
from focus.report.charts import COLOURS
from focus.text.formatting import printable
from focus.text.templates import environment

_LIGHT = ("#1f6fb4", "#d1581b", "#2b8a4b", "#b02a5b", "#6b4fb3", "#8a6d00", "#00808a", "#6b6b6b")
_DARK = ("#6db3f2", "#f59b63", "#68c98a", "#f083ab", "#b39df2", "#d9b93b", "#4fc7d1", "#b3b3b3")
_PLAIN_LIGHT = {"ink": "#1d1f21", "paper": "#fff", "soft": "#5f666d", "rule": "#dfe3e7"}
_PLAIN_DARK = {"ink": "#e6e8ea", "paper": "#15181b", "soft": "#9aa3ab", "rule": "#30363c"}
COLOURS_LIGHT = _PLAIN_LIGHT | {"tint": "#f4f6f8", "pale": "#c3cad1", "shade": "#0004"} | {
    f"c{number}": colour for number, colour in enumerate(_LIGHT[:COLOURS])
}  # fmt: skip
COLOURS_DARK = _PLAIN_DARK | {"tint": "#1e2327", "pale": "#4a525a", "shade": "#fff4"} | {
    f"c{number}": colour for number, colour in enumerate(_DARK[:COLOURS])
}  # fmt: skip
"""Names of colours in style and drawings (`var(--ink)`) -> what they are."""

LONGEST = 20
"""Rows of a table that is shown whole; one of more scrolls, and says so."""


def _file(name: str) -> str:
    return "\n" + Path(__file__).with_name(name).read_text(encoding="utf-8")


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


class PageLink(NamedTuple):
    """A cell that names a page of the web, by its title if it has one.

    Both come from strangers; what is not of the web becomes no link.
    """

    url: str
    title: str = ""


Cell = str | PageLink


class Tile(NamedTuple):
    """A figure of the head: its name and, in large, its value."""

    name: str
    value: str


def rendered(template: str, /, **values: Any) -> str:
    """A report, whole, in the command line's language."""
    context = {
        "lang": tag(spoken()),
        "policy": _POLICY,
        "style": Markup(_style()),
        "script": Markup(_file("page.js")),
        "longest": LONGEST,
        **values,
    }
    return REPORTS.get_template(template).render(context)


def shown(url: str) -> str:
    """A URL for people: no scheme, letters instead of percent signs."""
    return printable(unquote(url.partition("://")[2] or url, errors="replace"))


def _coded(text: str) -> Markup:
    """What stands in `back-ticks` is code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def _style() -> str:
    light = "".join(f"--{name}:{colour};" for name, colour in COLOURS_LIGHT.items())
    dark = "".join(f"--{name}:{colour};" for name, colour in COLOURS_DARK.items())
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media(prefers-color-scheme:dark){{:root{{{dark}}}}}{DRAWING}{_file('page.css')}"
    )


DRAWING = _file("drawing.css")
"""Looks of the drawings, which a picture of its own needs as well."""

REPORTS = environment("focus.report")
REPORTS.filters.update(coded=_coded, shown=shown)
