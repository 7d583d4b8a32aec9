"""Draws line charts as SVG: curves with bands, and text that stays text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from markupsafe import Markup, escape

COLOURS = 8
"""Colours of the page's style (`--c0` …); beyond that they repeat, with dashes."""

_DASHES = ("", "6 3", "2 3", "8 3 2 3")


class Series(msgspec.Struct, frozen=True):
    """A line: y in 0…`Frame.y_top` at even steps over the x axis, perhaps with a band.

    number  gives colour and dashes, the same in all charts of a page; -1 is grey
    strong  band shown at once, not only when the line is pointed at
    """

    name: str
    number: int
    values: Sequence[float]
    band: Sequence[tuple[float, float]] = ()
    strong: bool = False


class Frame(msgspec.Struct, frozen=True):
    """Measures of a chart in pixels, and the ends of its axes.

    y_top  the largest y that is drawn
    wide  the chart spans the page: larger letters on a narrow screen
    """

    width: int
    height: int
    x_label: str
    x_ticks: Sequence[tuple[float, str]]  # share of the axis, text
    y_label: str = ""
    left: int = 44
    bottom: int = 34
    top: int = 8
    right: int = 10
    y_top: float = 1.0
    wide: bool = False

    def x(self, share: float) -> float:
        """Pixels from the left."""
        return self.left + share * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        return self.top + (1 - value / self.y_top) * (self.height - self.top - self.bottom)


def stroke(number: int) -> str:
    """Colour and dashes of a series, as SVG attributes."""
    if number < 0:
        return 'style="stroke:var(--soft)" stroke-dasharray="3 4"'
    dashes = _DASHES[number // COLOURS % len(_DASHES)]
    style = f'style="stroke:var(--c{number % COLOURS})"'
    return f'{style} stroke-dasharray="{dashes}"' if dashes else style


def chart(frame: Frame, series: Sequence[Series], *, title: str) -> Markup:
    """An SVG element. The title is read to those who cannot see it."""
    parts = [
        opening(frame, title),
        *axes(frame),
        *(_band(frame, each) for each in series if each.band),
        *(_line(frame, each) for each in series),
        "</svg>",
    ]
    return Markup("\n".join(parts))


def opening(frame: Frame, title: str) -> str:
    """The tag that begins a chart."""
    kind = "chart wide" if frame.wide else "chart"
    return (
        f'<svg viewBox="0 0 {frame.width} {frame.height}" role="img" '
        f'aria-label="{escape(title)}" class="{kind}">'
    )


def ticks(low: float, high: float, wanted: int) -> list[float]:
    """Round numbers from `low` to `high`, about so many: 1, 2 or 5 times a power of ten apart.

    Worked: 0.3 to 2.2, wanted 4 -> 0.5, 1, 1.5, 2.
    """
    rough = (high - low) / max(1, wanted)
    if not rough > 0 or not math.isfinite(rough):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [at * step for at in range(first, last + 1)]


def axes(frame: Frame) -> list[str]:
    """Grid, ticks and their texts."""
    left, right, floor = frame.x(0), frame.x(1), frame.y(0)
    parts = []
    for value in ticks(0.0, frame.y_top, 5):
        y = frame.y(value)
        parts.append(
            f'<line class="grid" x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_text(left - 6, y + 4, number(value), "end"))
    for share, text in frame.x_ticks:
        x = frame.x(share)
        parts.append(
            f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{floor:.1f}" y2="{floor + 4:.1f}"/>'
        )
        anchor = "end" if share == 1 else "middle"
        parts.append(_text(x, floor + (22 if frame.wide else 16), text, anchor))
    parts.append(_text(right, frame.height - 4, frame.x_label, "end"))
    if frame.wide:
        parts.append(_text(left, frame.top - 14, frame.y_label, "start"))
    else:
        parts.append(_text(left + 6, frame.top + 11, frame.y_label, "start"))
    return parts


def number(value: float) -> str:
    """A number at an axis."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    if not text:
        return ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="tick" {place}>{escape(text)}</text>'


def _points(frame: Frame, values: Sequence[float]) -> list[str]:
    last = max(1, len(values) - 1)
    return [f"{frame.x(i / last):.1f},{frame.y(value):.1f}" for i, value in enumerate(values)]


def _line(frame: Frame, series: Series) -> str:
    points = " ".join(_points(frame, series.values))
    name = escape(series.name)
    return (
        f'<polyline class="line" vector-effect="non-scaling-stroke" '
        f'data-series="{series.number}" points="{points}" '
        f"{stroke(series.number)}><title>{name}</title></polyline>"
    )


def _band(frame: Frame, series: Series) -> str:
    lower = _points(frame, [low for low, _ in series.band])
    upper = _points(frame, [high for _, high in series.band])
    kind = "band strong" if series.strong else "band"
    return (
        f'<polygon class="{kind}" data-series="{series.number}" '
        f'points="{" ".join(lower + upper[::-1])}" '
        f'style="fill:var(--c{series.number % COLOURS})"/>'
    )


def key(series: Sequence[Series]) -> Markup:
    """The legend: one button per series, which hides and shows its line."""
    return Markup(f'<p class="key">{"".join(map(_key_item, series))}</p>')


def _key_item(series: Series) -> str:
    line = f'<line class="line" x1="2" x2="26" y1="5" y2="5" {stroke(series.number)}/>'
    return (
        f'<button type="button" data-series="{series.number}">'
        f'<svg width="28" height="10" aria-hidden="true">{line}</svg>'
        f"{escape(series.name)}</button>"
    )
