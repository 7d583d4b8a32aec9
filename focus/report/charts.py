"""Line charts as SVG: curves with optional bands, axes and a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from markupsafe import Markup, escape

COLOUR_COUNT = 8
"""Number of colours in the page's style (`--c0` …); further series repeat them with dashes."""

_DASHES = ("", "6 3", "2 3", "8 3 2 3")


class Series(msgspec.Struct, frozen=True):
    """A line: y values from 0 to `Frame.y_top` at equal steps on the x axis, and perhaps a band.

    number      selects colour and dashes, the same in all charts of a page; -1 is grey
    shows_band  whether the band is visible without the pointer on the line
    """

    name: str
    number: int
    values: Sequence[float]
    band: Sequence[tuple[float, float]] = ()
    shows_band: bool = False


class Frame(msgspec.Struct, frozen=True):
    """Size of a chart in pixels, and its axes.

    x_ticks  positions from 0 to 1 on the x axis, and their texts
    y_top    the largest y value of the axis
    is_wide  whether the chart spans the page, with larger text on a narrow screen
    """

    width: int
    height: int
    x_label: str
    x_ticks: Sequence[tuple[float, str]]
    y_label: str = ""
    margin_left: int = 44
    margin_bottom: int = 34
    margin_top: int = 8
    margin_right: int = 10
    y_top: float = 1.0
    is_wide: bool = False

    def x_at(self, share: float) -> float:
        """Return the pixels from the left edge of a position from 0 to 1 on the x axis."""
        return self.margin_left + share * (self.width - self.margin_left - self.margin_right)

    def y_at(self, value: float) -> float:
        """Return the pixels from the top edge of a y value."""
        return self.margin_top + (1 - value / self.y_top) * (
            self.height - self.margin_top - self.margin_bottom
        )


def stroke_attributes(number: int) -> str:
    """Return the SVG attributes for colour and dashes of a series."""
    if number < 0:
        return 'style="stroke:var(--soft)" stroke-dasharray="3 4"'
    dashes = _DASHES[number // COLOUR_COUNT % len(_DASHES)]
    style = f'style="stroke:var(--c{number % COLOUR_COUNT})"'
    return f'{style} stroke-dasharray="{dashes}"' if dashes else style


def line_chart(frame: Frame, series: Sequence[Series], *, title: str) -> Markup:
    """Return an SVG line chart. Screen readers read the title."""
    parts = [
        svg_open_tag(frame, title),
        *draw_axes(frame),
        *(_band_svg(frame, line) for line in series if line.band),
        *(_line_svg(frame, line) for line in series),
        "</svg>",
    ]
    return Markup("\n".join(parts))


def svg_open_tag(frame: Frame, title: str) -> str:
    """Return the opening `svg` tag of a chart."""
    kind = "chart wide" if frame.is_wide else "line_chart"
    return (
        f'<svg viewBox="0 0 {frame.width} {frame.height}" role="img" '
        f'aria-label="{escape(title)}" class="{kind}">'
    )


def round_ticks(low: float, high: float, count: int) -> list[float]:
    """Return about `count` round numbers from `low` to `high`.

    Their distance is 1, 2 or 5 times a power of ten.

    Example: 0.3 to 2.2 with a count of 4 gives 0.5, 1, 1.5, 2.
    """
    rough = (high - low) / max(1, count)
    if not rough > 0 or not math.isfinite(rough):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [multiple * step for multiple in range(first, last + 1)]


def draw_axes(frame: Frame) -> list[str]:
    """Return the SVG elements of grid, ticks and their texts."""
    x_left, x_right, floor = frame.x_at(0), frame.x_at(1), frame.y_at(0)
    parts = []
    for value in round_ticks(0.0, frame.y_top, 5):
        y = frame.y_at(value)
        parts.append(
            f'<line class="grid" x1="{x_left:.1f}" x2="{x_right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_tick_text(x_left - 6, y + 4, format_number(value), "end"))
    for share, text in frame.x_ticks:
        x = frame.x_at(share)
        parts.append(
            f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{floor:.1f}" y2="{floor + 4:.1f}"/>'
        )
        anchor = "end" if share == 1 else "middle"
        parts.append(_tick_text(x, floor + (22 if frame.is_wide else 16), text, anchor))
    parts.append(_tick_text(x_right, frame.height - 4, frame.x_label, "end"))
    if frame.is_wide:
        parts.append(_tick_text(x_left, frame.margin_top - 14, frame.y_label, "start"))
    else:
        parts.append(_tick_text(x_left + 6, frame.margin_top + 11, frame.y_label, "start"))
    return parts


def format_number(value: float) -> str:
    """Return a number as text for an axis."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _tick_text(x: float, y: float, text: str, anchor: str) -> str:
    if not text:
        return ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="tick" {place}>{escape(text)}</text>'


def _points(frame: Frame, values: Sequence[float]) -> list[str]:
    last = max(1, len(values) - 1)
    return [f"{frame.x_at(i / last):.1f},{frame.y_at(value):.1f}" for i, value in enumerate(values)]


def _line_svg(frame: Frame, series: Series) -> str:
    points = " ".join(_points(frame, series.values))
    name = escape(series.name)
    return (
        f'<polyline class="line" vector-effect="non-scaling-stroke" '
        f'data-series="{series.number}" points="{points}" '
        f"{stroke_attributes(series.number)}><title>{name}</title></polyline>"
    )


def _band_svg(frame: Frame, series: Series) -> str:
    lower = _points(frame, [low for low, _ in series.band])
    upper = _points(frame, [high for _, high in series.band])
    kind = "band strong" if series.shows_band else "band"
    return (
        f'<polygon class="{kind}" data-series="{series.number}" '
        f'points="{" ".join(lower + upper[::-1])}" '
        f'style="fill:var(--c{series.number % COLOUR_COUNT})"/>'
    )


def legend(series: Sequence[Series]) -> Markup:
    """Return the legend: one button per series, which hides and shows its line."""
    return Markup(f'<p class="key">{"".join(map(_legend_item, series))}</p>')


def _legend_item(series: Series) -> str:
    line = f'<line class="line" x1="2" x2="26" y1="5" y2="5" {stroke_attributes(series.number)}/>'
    return (
        f'<button type="button" data-series="{series.number}">'
        f'<svg width="28" height="10" aria-hidden="true">{line}</svg>'
        f"{escape(series.name)}</button>"
    )
