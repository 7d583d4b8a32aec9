"""Draws the links among the best pages of a crawl as SVG.

Columns are depths, so that links read from left to right; within a column a page stands
near those that led to it. A row holds a page and its words, and no line crosses them: lines
come in from the left, leave behind the words, and pass the columns between between two rows.
Nothing is left to chance: the same crawl, the same drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from focus.i18n import say
from focus.report.page import shown
from focus.storage.figures import LinkMap, MapNode
from focus.text.formatting import printable

COLUMN, ROW, MARGIN = 250, 30, 16
BETWEEN = 58  # of a column, before its pages: where lines bend
WORDS = COLUMN - BETWEEN - 26  # pixels for a page's words
_COLUMNS = 6  # depths beyond share the last one
_SWEEPS = 4
_EM = 12.0  # letters, in pixels
_NARROW, _BROAD = frozenset(" !'(),-./:;I[]fijlrt|"), frozenset("%@GMOQWm—w")

Coordinates = tuple[float, float]


def drawing(links: LinkMap) -> Markup:
    """An SVG element with its natural size; "" when there is nothing to draw."""
    if not links.nodes:
        return Markup()
    columns = _columns(links)
    places = _places(columns)
    width = MARGIN + COLUMN * len(columns)
    height = 2 * MARGIN + ROW * max(map(len, columns))
    named = {each.id: each for each in links.nodes}
    words = {number: _words(each) for number, each in named.items()}
    lines = _Lines(columns, places, {number: _width(text) for number, text in words.items()})
    title = escape(say("The best pages and the links among them"))
    parts = [
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{title}">',
        *(lines.drawn("edge", a, b) for a, b in links.links),
        *(lines.drawn("way", a, b) for a, b in links.ways),
        *(_node(named[number], place, words[number]) for number, place in places.items()),
        "</svg>",
    ]
    return Markup("\n".join(parts))


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
            places[number] = (BETWEEN + across * COLUMN, first + down * ROW)
    return places


class _Lines:
    """The lines between pages, none of which crosses a page's words.

    widths  of the words, in pixels
    """

    def __init__(
        self,
        columns: Sequence[Sequence[int]],
        places: Mapping[int, Coordinates],
        widths: Mapping[int, float],
    ) -> None:
        self._places, self._widths = places, widths
        self._across = {number: at for at, column in enumerate(columns) for number in column}
        self._tops = [places[column[0]][1] - ROW / 2 for column in columns]

    def drawn(self, kind: str, a: int, b: int) -> str:
        """The path between two pages, whichever way the link goes."""
        first, last = sorted((a, b), key=lambda each: self._across[each])
        (x1, y1), (x2, y2) = self._places[first], self._places[last]
        begins, ends = self._across[first], self._across[last]
        if begins == ends:
            bend = min(BETWEEN - 14.0, 10 + abs(y2 - y1) / 6)
            path = f"M{x1 - 7:.0f} {y1:.0f}{_curve(x1 - bend, y1, x2 - bend, y2, x2 - 7, y2)}"
            return f'<path class="{kind}" d="{path}"/>'
        x, y = x1 + COLUMN - BETWEEN, y1
        path = f"M{x1 + 16 + self._widths[first]:.0f} {y:.0f}H{x:.0f}"
        for column in range(begins + 1, ends):
            share = (column - begins) / (ends - begins)
            lane = self._lane(column, y1 + share * (y2 - y1))
            left = BETWEEN + column * COLUMN - 8
            path += _bend(x, y, left, lane) + f"H{left + COLUMN - BETWEEN + 8:.0f}"
            x, y = left + COLUMN - BETWEEN + 8, lane
        return f'<path class="{kind}" d="{path}{_bend(x, y, x2 - 7, y2)}"/>'

    def _lane(self, column: int, wanted: float) -> float:
        """The height between two rows of a column that is nearest to the wanted one."""
        top = self._tops[column]
        return top + ROW * round((wanted - top) / ROW)


def _bend(x1: float, y1: float, x2: float, y2: float) -> str:
    half = (x1 + x2) / 2
    return _curve(half, y1, half, y2, x2, y2)


def _curve(*points: float) -> str:
    return "C" + " ".join(f"{each:.0f}" for each in points)


def _words(node: MapNode) -> str:
    """What names a page, cut to its place with a sign that it is."""
    text = printable(node.title) or shown(node.url)
    if _width(text) <= WORDS:
        return text
    while text and _width(text + "…") > WORDS:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _width(text: str) -> float:
    """Pixels that letters take at most, in the broad fonts of today's systems (DejaVu Sans)."""
    return sum(
        _EM * (1.0 if each in _BROAD or ord(each) > 0x1100 else 0.4 if each in _NARROW else 0.7)
        for each in text
    )


def _node(node: MapNode, place: Coordinates, words: str) -> str:
    x, y = place
    kind = "node" + (" hit" if node.relevant else "") + (" best" if node.best else "")
    number = say("not a page")
    if node.relevance is not None:
        number = say("relevance {relevance:.2f}", relevance=node.relevance)
    told = f"{printable(node.title)}\n{shown(node.url)}\n{number}, {say('links deep')} {node.depth}"
    return (
        f"<g><title>{escape(told)}</title>"
        f'<circle class="{kind}" cx="{x:.0f}" cy="{y:.0f}" r="{7 if node.best else 5}"/>'
        f'<text class="name" x="{x + 12:.0f}" y="{y + 4:.0f}">{escape(words)}</text></g>'
    )
