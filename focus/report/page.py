"""The HTML page around every report: its style, its script, and tables that sort.

Nothing in a page is fetched from anywhere: style, script and SVG are inline, and fonts are
the reader's own, so that Chinese text shows as text. A content policy says so once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from focus.i18n import spoken, tag
from focus.report.charts import COLOURS
from focus.text.formatting import printable

_LIGHT = ("#1f6fb4", "#d1581b", "#2b8a4b", "#b02a5b", "#6b4fb3", "#8a6d00", "#00808a", "#6b6b6b")
_DARK = ("#6db3f2", "#f59b63", "#68c98a", "#f083ab", "#b39df2", "#d9b93b", "#4fc7d1", "#b3b3b3")
_PLAIN_LIGHT = {"ink": "#1d1f21", "paper": "#fff", "soft": "#5f666d", "rule": "#dfe3e7"}
_PLAIN_DARK = {"ink": "#e6e8ea", "paper": "#15181b", "soft": "#9aa3ab", "rule": "#30363c"}
COLOURS_LIGHT = _PLAIN_LIGHT | {"tint": "#f4f6f8", "pale": "#c3cad1"} | {
    f"c{number}": colour for number, colour in enumerate(_LIGHT[:COLOURS])
}  # fmt: skip
COLOURS_DARK = _PLAIN_DARK | {"tint": "#1e2327", "pale": "#4a525a"} | {
    f"c{number}": colour for number, colour in enumerate(_DARK[:COLOURS])
}  # fmt: skip
"""Names of colours in style and drawings (`var(--ink)`) -> what they are."""


def _file(name: str) -> str:
    return "\n" + Path(__file__).with_name(name).read_text(encoding="utf-8")


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


class Html(str):
    """A cell or text that is HTML already; everything else is escaped."""


class Tile(NamedTuple):
    """A figure of the head: its name and, in large, its value."""

    name: str
    value: str


def page(title: str, parts: Iterable[str]) -> str:
    """The whole document around these pieces of HTML."""
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="{tag(spoken())}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(printable(title))}</title><style>{_style()}</style></head>\n"
        f"<body>{body}\n<script>{_file('page.js')}</script></body></html>\n"
    )


def h2(text: str) -> str:
    """The head of a section."""
    return f"<h2>{escape(text)}</h2>"


def h3(text: str) -> str:
    """The head of a part of one."""
    return f"<h3>{escape(text)}</h3>"


def note(text: str, kind: str = "note") -> str:
    """A paragraph; what stands in `back-ticks` is code."""
    html = re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))
    return f'<p class="{kind}">{html}</p>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that sorts by the column whose head is clicked."""
    top = "".join(f'<th><button type="button">{escape(head)}</button></th>' for head in heads)
    lines = ("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    return text if isinstance(text, Html) else escape(text)


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values, one below the other."""
    items = (f"<dt>{escape(name)}</dt><dd>{_cell(value)}</dd>" for name, value in rows)
    return f"<dl>{''.join(items)}</dl>"


def tiles(figures: Iterable[Tile]) -> str:
    """Figures in large, side by side."""
    items = (
        f"<div><span>{escape(each.name)}</span><b>{escape(each.value)}</b></div>"
        for each in figures
    )
    return f'<div class="tiles">{"".join(items)}</div>'


def shown(url: str) -> str:
    """A URL for people: no scheme, letters instead of percent signs."""
    return printable(unquote(url.partition("://")[2] or url, errors="replace"))


def link(url: str, title: str = "") -> Html:
    """A page of the web, by its title if it has one, to be followed by whoever wants to.

    Both come from strangers; what is not of the web becomes no link.
    """
    title = printable(title, 200)
    label = escape(title or shown(url))
    small = f"<small>{escape(shown(url))}</small>" if title else ""
    if not url.startswith(("http://", "https://")):
        return Html(f'<span class="long">{label}{small}</span>')
    return Html(
        f'<span class="long"><a href="{escape(url)}" target="_blank" '
        f'rel="noopener noreferrer nofollow">{label}</a>{small}</span>'
    )


def _style() -> str:
    light = "".join(f"--{name}:{colour};" for name, colour in COLOURS_LIGHT.items())
    dark = "".join(f"--{name}:{colour};" for name, colour in COLOURS_DARK.items())
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media(prefers-color-scheme:dark){{:root{{{dark}}}}}{DRAWING}{_file('page.css')}"
    )


DRAWING = _file("drawing.css")
"""Looks of the drawings, which a picture of its own needs as well."""
