"""Draws the links among the best pages of a crawl as SVG.

Columns are link depths, so that links read from left to right. Within a column a page stands near
the pages that link to it. Each row holds one page and its title. Lines never cross a title: they
arrive from the left, start behind the title, and pass other columns between two rows. The layout
uses no random numbers, so the same crawl gives the same drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from focus.i18n import say
from focus.report.page import display_url
from focus.storage.figures import LinkMap, MapNode
from focus.text.formatting import printable

COLUMN_WIDTH, ROW_HEIGHT, MARGIN = 250, 30, 16
COLUMN_GAP = 58  # pixels before the pages of a column, where lines bend
MAX_LABEL_WIDTH = COLUMN_WIDTH - COLUMN_GAP - 26  # pixels for a page's title
_MAX_COLUMNS = 6  # larger depths share the last column
_SORT_PASSES = 4
_FONT_SIZE = 12.0  # font size in pixels
_NARROW_SIGNS, _WIDE_SIGNS = frozenset(" !'(),-./:;I[]fijlrt|"), frozenset("%@GMOQWm—w")

Point = tuple[float, float]


def draw_links(links: LinkMap) -> Markup:
    """Return an SVG element in its natural size, or an empty text if there are no pages."""
    if not links.nodes:
        return Markup()
    columns = _order_columns(links)
    positions = _node_positions(columns)
    width = MARGIN + COLUMN_WIDTH * len(columns)
    height = 2 * MARGIN + ROW_HEIGHT * max(map(len, columns))
    nodes_by_id = {node.id: node for node in links.nodes}
    labels = {number: _page_label(node) for number, node in nodes_by_id.items()}
    link_paths = _LinkPaths(
        columns, positions, {number: _text_width(text) for number, text in labels.items()}
    )
    title = escape(say("The best pages and the links among them"))
    parts = [
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{title}">',
        *(link_paths.path_svg("edge", a, b) for a, b in links.links),
        *(link_paths.path_svg("way", a, b) for a, b in links.discovery_links),
        *(
            _node_svg(nodes_by_id[number], place, labels[number])
            for number, place in positions.items()
        ),
        "</svg>",
    ]
    return Markup("\n".join(parts))


def _order_columns(links: LinkMap) -> list[list[int]]:
    """Return node ids by depth, each column ordered by its neighbours' positions (Sugiyama)."""
    depths = sorted({node.depth for node in links.nodes})
    rank = {depth: min(at, _MAX_COLUMNS - 1) for at, depth in enumerate(depths)}
    columns: list[list[int]] = [[] for _ in range(max(rank.values()) + 1)]
    for node in sorted(links.nodes, key=lambda node: node.id):
        columns[rank[node.depth]].append(node.id)
    neighbours: dict[int, list[int]] = {}
    for a, b in (*links.discovery_links, *links.links):
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    for sweep in range(_SORT_PASSES):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            _sort_column(column, columns, neighbours)
    return columns


def _sort_column(
    column: list[int], columns: Sequence[Sequence[int]], neighbours: Mapping[int, Sequence[int]]
) -> None:
    """Order a column by the mean height of its pages' neighbours in the other columns."""
    heights = {
        number: (at + 0.5) / len(any_column)
        for any_column in columns
        for at, number in enumerate(any_column)
    }
    column_ids = set(column)

    def height(number: int) -> float:
        neighbour_heights = [
            heights[neighbour]
            for neighbour in neighbours.get(number, ())
            if neighbour not in column_ids
        ]
        return (
            sum(neighbour_heights) / len(neighbour_heights)
            if neighbour_heights
            else heights[number]
        )

    column.sort(key=lambda number: (height(number), number))


def _node_positions(columns: Sequence[Sequence[int]]) -> dict[int, Point]:
    tallest = max(map(len, columns))
    positions: dict[int, Point] = {}
    for column_index, column in enumerate(columns):
        first = MARGIN + ROW_HEIGHT * (tallest - len(column)) / 2 + ROW_HEIGHT / 2
        for row_index, number in enumerate(column):
            positions[number] = (
                COLUMN_GAP + column_index * COLUMN_WIDTH,
                first + row_index * ROW_HEIGHT,
            )
    return positions


class _LinkPaths:
    """Paths of the lines between pages; no path crosses a page's title.

    `label_widths` are in pixels.
    """

    def __init__(
        self,
        columns: Sequence[Sequence[int]],
        positions: Mapping[int, Point],
        label_widths: Mapping[int, float],
    ) -> None:
        self._positions, self._label_widths = positions, label_widths
        self._column_indices = {
            number: at for at, column in enumerate(columns) for number in column
        }
        self._column_tops = [positions[column[0]][1] - ROW_HEIGHT / 2 for column in columns]

    def path_svg(self, kind: str, a: int, b: int) -> str:
        """Return the path between two pages, for a link in either direction."""
        first, last = sorted((a, b), key=lambda number: self._column_indices[number])
        (x1, y1), (x2, y2) = self._positions[first], self._positions[last]
        first_column, last_column = self._column_indices[first], self._column_indices[last]
        if first_column == last_column:
            bend = min(COLUMN_GAP - 14.0, 10 + abs(y2 - y1) / 6)
            path = f"M{x1 - 7:.0f} {y1:.0f}{_curve_path(x1 - bend, y1, x2 - bend, y2, x2 - 7, y2)}"
            return f'<path class="{kind}" d="{path}"/>'
        x, y = x1 + COLUMN_WIDTH - COLUMN_GAP, y1
        path = f"M{x1 + 16 + self._label_widths[first]:.0f} {y:.0f}H{x:.0f}"
        for column in range(first_column + 1, last_column):
            share = (column - first_column) / (last_column - first_column)
            lane = self._nearest_gap(column, y1 + share * (y2 - y1))
            x_left = COLUMN_GAP + column * COLUMN_WIDTH - 8
            path += (
                _bend_path(x, y, x_left, lane) + f"H{x_left + COLUMN_WIDTH - COLUMN_GAP + 8:.0f}"
            )
            x, y = x_left + COLUMN_WIDTH - COLUMN_GAP + 8, lane
        return f'<path class="{kind}" d="{path}{_bend_path(x, y, x2 - 7, y2)}"/>'

    def _nearest_gap(self, column: int, y: float) -> float:
        """Return the height between two rows of a column that is nearest to `y`."""
        top = self._column_tops[column]
        return top + ROW_HEIGHT * round((y - top) / ROW_HEIGHT)


def _bend_path(x1: float, y1: float, x2: float, y2: float) -> str:
    half = (x1 + x2) / 2
    return _curve_path(half, y1, half, y2, x2, y2)


def _curve_path(*coordinates: float) -> str:
    return "C" + " ".join(f"{coordinate:.0f}" for coordinate in coordinates)


def _page_label(node: MapNode) -> str:
    """Return the title of a page, or its URL, shortened with an ellipsis to the column's width."""
    text = printable(node.title) or display_url(node.url)
    if _text_width(text) <= MAX_LABEL_WIDTH:
        return text
    while text and _text_width(text + "…") > MAX_LABEL_WIDTH:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _text_width(text: str) -> float:
    """Return the maximum width of a text in pixels, for wide system fonts (DejaVu Sans)."""
    return sum(
        _FONT_SIZE
        * (
            1.0
            if sign in _WIDE_SIGNS or ord(sign) > 0x1100
            else 0.4
            if sign in _NARROW_SIGNS
            else 0.7
        )
        for sign in text
    )


def _node_svg(node: MapNode, position: Point, label: str) -> str:
    x, y = position
    kind = "node" + (" hit" if node.relevant else "") + (" best" if node.best else "")
    relevance_text = say("not a page")
    if node.relevance is not None:
        relevance_text = say("relevance {relevance:.2f}", relevance=node.relevance)
    depth_text = f"{say('links deep')} {node.depth}"
    page_text = f"{printable(node.title)}\n{display_url(node.url)}"
    tooltip = f"{page_text}\n{relevance_text}, {depth_text}"
    return (
        f"<g><title>{escape(tooltip)}</title>"
        f'<circle class="{kind}" cx="{x:.0f}" cy="{y:.0f}" r="{7 if node.best else 5}"/>'
        f'<text class="name" x="{x + 12:.0f}" y="{y + 4:.0f}">{escape(label)}</text></g>'
    )
