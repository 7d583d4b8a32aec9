"""Renders reports from their templates as single HTML pages with inline style and script.

A page loads nothing: style, script and SVG are inline, and it uses the reader's fonts, so that
Chinese text is displayed as text. A content security policy enforces this.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from markupsafe import Markup, escape

from focus.i18n import current_language, language_tag
from focus.report.charts import COLOUR_COUNT
from focus.text.formatting import printable
from focus.text.templates import make_environment

_LIGHT = ("#1f6fb4", "#d1581b", "#2b8a4b", "#b02a5b", "#6b4fb3", "#8a6d00", "#00808a", "#6b6b6b")
_DARK = ("#6db3f2", "#f59b63", "#68c98a", "#f083ab", "#b39df2", "#d9b93b", "#4fc7d1", "#b3b3b3")
_PLAIN_LIGHT = {"ink": "#1d1f21", "paper": "#fff", "soft": "#5f666d", "rule": "#dfe3e7"}
_PLAIN_DARK = {"ink": "#e6e8ea", "paper": "#15181b", "soft": "#9aa3ab", "rule": "#30363c"}
COLOURS_LIGHT = _PLAIN_LIGHT | {"tint": "#f4f6f8", "pale": "#c3cad1", "shade": "#0004"} | {
    f"c{number}": colour for number, colour in enumerate(_LIGHT[:COLOUR_COUNT])
}  # fmt: skip
COLOURS_DARK = _PLAIN_DARK | {"tint": "#1e2327", "pale": "#4a525a", "shade": "#fff4"} | {
    f"c{number}": colour for number, colour in enumerate(_DARK[:COLOUR_COUNT])
}  # fmt: skip
"""Names of colours in style and charts (`var(--ink)`) and their values."""

MAX_VISIBLE_ROWS = 20
"""Rows of a table that is shown completely; a longer table scrolls, and a note says so."""


def _read_file(name: str) -> str:
    return "\n" + Path(__file__).with_name(name).read_text(encoding="utf-8")


_CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


class PageLink(NamedTuple):
    """A table cell that links to a web page, by its title if it has one.

    URL and title come from the web: a URL of another scheme than http or https becomes no link.
    """

    url: str
    title: str = ""


Cell = str | PageLink


class Tile(NamedTuple):
    """A figure at the head of a report: its name and its value in large letters."""

    name: str
    value: str


def render_report(template: str, /, **values: Any) -> str:
    """Return a report as an HTML page, in the language of the command line."""
    context = {
        "lang": language_tag(current_language()),
        "policy": _CONTENT_POLICY,
        "style": Markup(_stylesheet()),
        "script": Markup(_read_file("page.js")),
        "max_visible_rows": MAX_VISIBLE_ROWS,
        **values,
    }
    return REPORT_TEMPLATES.get_template(template).render(context)


def display_url(url: str) -> str:
    """Return a URL for display: without scheme, and with percent escapes decoded."""
    return printable(unquote(url.partition("://")[2] or url, errors="replace"))


def _with_code(text: str) -> Markup:
    """Return HTML in which text in `backticks` is marked as code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def _stylesheet() -> str:
    light = "".join(f"--{name}:{colour};" for name, colour in COLOURS_LIGHT.items())
    dark = "".join(f"--{name}:{colour};" for name, colour in COLOURS_DARK.items())
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media(prefers-color-scheme:dark){{:root{{{dark}}}}}{_read_file('page.css')}"
    )


REPORT_TEMPLATES = make_environment("focus.report")
REPORT_TEMPLATES.filters.update(with_code=_with_code, display_url=display_url)
