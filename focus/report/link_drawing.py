"""Draws the links among the best pages of a crawl as SVG.

Columns are depths, so that links read from left to right; within a column a page stands
near those that led to it. Nothing is left to chance: the same crawl, the same drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from focus.i18n import say
from focus.report.page import shown
from focus.storage.figures import LinkMap, MapNode
from focus.text.formatting import cut, printable

COLUMN, ROW, MARGIN = 250, 30, 16
_LETTER = 6.3  # width of a terminal cell in pixels, about
_CELLS = int((COLUMN - 44) / _LETTER)
_COLUMNS = 6  # depths beyond share the last one
_SWEEPS = 4

Coordinates = tuple[float, float]


def drawing(links: LinkMap) -> str:
    """An SVG element with its natural size; "" when there is nothing to draw."""
    if not links.nodes:
        return ""
    columns = _columns(links)
    places = _places(columns)
    width = 2 * MARGIN + COLUMN * len(columns)
    height = 2 * MARGIN + ROW * max(map(len, columns))
    named = {each.id: each for each in links.nodes}
    parts = [
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" aria-label="The best pages and the links among them">',
        *(_line("edge", places[a], places[b]) for a, b in links.links),
        *(_line("way", places[a], places[b]) for a, b in links.ways),
        *(_node(named[number], place) for number, place in places.items()),
        "</svg>",
    ]
    return "\n".join(parts)


def _columns(links: LinkMap) -> list[list[int]]:
    """Node ids by depth, each column ordered by where the neighbours stand (Sugiyama)."""
    depths = sorted({each.depth for each in links.nodes})
    rank = {depth: min(at, _COLUMNS - 1) for at, depth in enumerate(depths)}
    columns: list[list[int]] = [[] for _ in range(max(rank.values()) + 1)]
    for node in sorted(links.nodes, key=lambda each: each.id):
        columns[rank[node.depth]].append(node.id)
    neighbours: dict[int, list[int]] = {}
    for a, b in (*links.ways, *links.links):
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    for sweep in range(_SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            _sort(column, columns, neighbours)
    return columns


def _sort(
    column: list[int], columns: Sequence[Sequence[int]], neighbours: Mapping[int, Sequence[int]]
) -> None:
    """Order a column by the mean height of its pages' neighbours in the other columns."""
    heights = {
        number: (at + 0.5) / len(other) for other in columns for at, number in enumerate(other)
    }
    own = set(column)

    def height(number: int) -> float:
        found = [heights[each] for each in neighbours.get(number, ()) if each not in own]
        return sum(found) / len(found) if found else heights[number]

    column.sort(key=lambda number: (height(number), number))


def _places(columns: Sequence[Sequence[int]]) -> dict[int, Coordinates]:
    tallest = max(map(len, columns))
    places: dict[int, Coordinates] = {}
    for across, column in enumerate(columns):
        first = MARGIN + ROW * (tallest - len(column)) / 2 + ROW / 2
        for down, number in enumerate(column):
            places[number] = (MARGIN + 8 + across * COLUMN, first + down * ROW)
    return places


def _line(kind: str, start: Coordinates, end: Coordinates) -> str:
    """From one page to another: a curve, which swings out to the left within a column."""
    (x1, y1), (x2, y2) = start, end
    if x1 == x2:
        bend = min(60.0, 14 + abs(y2 - y1) / 6)
        curve = f"C{x1 - bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f}"
    else:
        half = (x1 + x2) / 2
        curve = f"C{half:.0f} {y1:.0f} {half:.0f} {y2:.0f}"
    return f'<path class="{kind}" d="M{x1:.0f} {y1:.0f}{curve} {x2:.0f} {y2:.0f}"/>'


def _node(node: MapNode, place: Coordinates) -> str:
    x, y = place
    kind = "node" + (" hit" if node.relevant else "") + (" best" if node.best else "")
    title = printable(node.title)
    number = say("not a page")
    if node.relevance is not None:
        number = say("relevance {relevance:.2f}", relevance=node.relevance)
    told = f"{title}\n{shown(node.url)}\n{number}, {say('links deep')} {node.depth}"
    return (
        f"<g><title>{escape(told)}</title>"
        f'<circle class="{kind}" cx="{x:.0f}" cy="{y:.0f}" r="{7 if node.best else 5}"/>'
        f'<text class="name" x="{x + 12:.0f}" y="{y + 4:.0f}">'
        f"{escape(cut(title or shown(node.url), _CELLS))}</text></g>"
    )
