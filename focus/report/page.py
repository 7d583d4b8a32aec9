"""The HTML page around every report: its style, its script, and tables that sort.

Nothing in a page is fetched from anywhere: style, script and SVG are inline, and fonts are
the reader's own, so that Chinese text shows as text. A content policy says so once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import unquote

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
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(printable(title))}</title><style>{_style()}</style></head>\n"
        f"<body>{body}\n<script>{_SCRIPT}</script></body></html>\n"
    )


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
        f"@media(prefers-color-scheme:dark){{:root{{{dark}}}}}{DRAWING}{_RULES}"
    )


DRAWING = """
.grid{stroke:var(--rule)}.mark{stroke:var(--soft)}.tick{fill:var(--soft);font-size:12px}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.band{opacity:0;pointer-events:none}.band.strong{opacity:.14}
.bar{fill:var(--pale)}.bar.hit{fill:var(--c2)}.value{fill:var(--ink);font-size:12px}
.way{fill:none;stroke:var(--soft);stroke-width:1.4}
.edge{fill:none;stroke:var(--c0);stroke-width:1;opacity:.2}
.node{stroke-width:2;stroke:var(--soft);fill:var(--paper)}
.node.hit{stroke:var(--c2)}.node.best{fill:var(--c2);stroke:var(--c2)}
.name{fill:var(--ink);font-size:12px;paint-order:stroke;stroke:var(--paper);stroke-width:4px;
stroke-linejoin:round}
"""
"""Looks of the drawings, which a picture of its own needs as well."""

_RULES = """
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1120px;
margin:0 auto;padding:24px 20px 60px;overflow-wrap:break-word}
h1{font-size:26px;line-height:1.25;margin:0 0 4px}
h2{font-size:20px;margin:36px 0 8px;border-top:1px solid var(--rule);padding-top:20px}
h3{font-size:16px;margin:24px 0 6px}
a{color:var(--c0)}
.note{color:var(--soft);font-size:13px;margin:6px 0}
.warn{border-left:4px solid var(--c1);background:var(--tint);padding:6px 12px;margin:6px 0}
.chart{width:100%;height:auto;display:block}.chart .line{vector-effect:non-scaling-stroke}
.map svg{display:block;max-width:none}
.band.on{opacity:.22}.line.on{stroke-width:4}.off{display:none}
.key{display:flex;flex-wrap:wrap;gap:2px 6px;margin:6px 0}
button{font:inherit;color:inherit;background:none;border:0;cursor:pointer;padding:2px 4px}
.key button,.key span{display:inline-flex;align-items:center;gap:6px;border-radius:4px}
.key button:hover,.key button:focus-visible{background:var(--tint)}.key button.hidden{opacity:.4}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(250px,1fr));gap:14px}
.halves{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:14px}
figure{margin:0;border:1px solid var(--rule);border-radius:6px;padding:8px;min-width:0}
figcaption{font-size:13px;color:var(--soft)}figcaption b{color:var(--ink)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(112px,1fr));gap:10px;margin:16px 0}
.tiles div{background:var(--tint);border-radius:6px;padding:8px 12px}
.tiles span{display:block;font-size:12.5px;color:var(--soft)}.tiles b{font-size:20px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;font-size:14px;margin:8px 0}
dt{color:var(--soft)}dd{margin:0;min-width:0;overflow-wrap:anywhere}
.scroll{overflow:auto;max-height:560px;margin:6px 0}.scroll.map{max-height:none}
thead{position:sticky;top:0;background:var(--paper)}
table{border-collapse:separate;border-spacing:0;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:4px 8px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap;
vertical-align:top}
th:first-child,td:first-child,.text{text-align:left}
th button{font-weight:600;padding:0}
th[aria-sort=ascending] button::after{content:" ↑"}
th[aria-sort=descending] button::after{content:" ↓"}
tbody tr:hover{background:var(--tint)}
.long{display:block;max-width:460px;white-space:normal;overflow-wrap:anywhere}
small{display:block;color:var(--soft)}
@media(max-width:640px){body{padding:16px 12px 40px}h1{font-size:22px}
.wide .tick,.wide .value{font-size:21px}.long{max-width:60vw;min-width:190px}
dl{grid-template-columns:1fr}dd{margin-bottom:6px}}
@media print{body{max-width:none}.scroll{overflow:visible;max-height:none}}
"""

_SCRIPT = """
const SHAPE = /^[-+]?[\\d,]*\\.?\\d+(e[-+]?\\d+)?( ?%| –.*| \\(.*\\))?$/i;
const EMPTY = new Set(['', '–']);
const number = s => SHAPE.test(s) ? parseFloat(s.replace(/,/g, '')) : null;
const text = (row, column) => row.cells[column].textContent.trim();
for (const table of document.querySelectorAll('table')) {
  const rows = [...table.tBodies[0].rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const isWord = cell => !EMPTY.has(cell) && number(cell) === null;
    const words = rows.some(row => isWord(text(row, column)));
    if (words)
      for (const row of [table.tHead.rows[0], ...rows]) row.cells[column].classList.add('text');
    head.firstChild.addEventListener('click', () => {
      const now = head.getAttribute('aria-sort');
      const up = words ? now !== 'ascending' : now === 'descending';
      for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      rows.sort((a, b) => {
        const x = text(a, column), y = text(b, column);
        if (EMPTY.has(x) || EMPTY.has(y)) return EMPTY.has(x) - EMPTY.has(y);
        const order = words ? x.localeCompare(y) : number(x) - number(y);
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
for (const section of document.querySelectorAll('section')) {
  const of = n => section.querySelectorAll(`svg.chart [data-series="${n}"]`);
  for (const button of section.querySelectorAll('.key button')) {
    const n = button.dataset.series;
    button.addEventListener('click', () => {
      const hidden = button.classList.toggle('hidden');
      of(n).forEach(each => each.classList.toggle('off', hidden));
    });
    for (const [event, on] of [['pointerenter', true], ['pointerleave', false]])
      button.addEventListener(event, () => of(n).forEach(each => each.classList.toggle('on', on)));
  }
}
"""
