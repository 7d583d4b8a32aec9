"""Bar charts as SVG; each bar shows its relevant share in colour."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from markupsafe import Markup, escape

from focus.report.charts import Frame, draw_axes, format_number, round_ticks, svg_open_tag

_GAP = 0.14  # of a bar's width


class Bar(msgspec.Struct, frozen=True):
    """A bar of `total` pages of which `hits` are relevant.

    tooltip  text that is shown when the pointer is on the bar
    caption  text above the bar
    """

    total: int
    hits: int
    tooltip: str
    caption: str = ""


def bar_chart(
    bars: Sequence[Bar], *, title: str, labels: Sequence[tuple[float, str]] = ()
) -> Markup:
    """Return an SVG bar chart.

    `labels` are the texts below the axis with their positions from 0 to 1. A bar that is more than
    four times as high as the second highest is cut off, with its number above, so that the other
    bars stay visible.
    """
    top, cut = _axis_scale([bar.total for bar in bars])
    frame = Frame(
        width=520, height=230, x_label="", x_ticks=labels, y_label="", y_top=top,
        margin_left=50, margin_top=22,
    )  # fmt: skip
    step = (frame.x_at(1) - frame.x_at(0)) / max(1, len(bars))
    parts = [svg_open_tag(frame, title), *draw_axes(frame)]
    for at, bar in enumerate(bars):
        parts.append(_bar_svg(frame, bar, frame.x_at(0) + at * step, step, cut))
    return Markup("\n".join([*parts, "</svg>"]))


def _axis_scale(totals: Sequence[int]) -> tuple[float, bool]:
    """Return the top of the y axis and whether it cuts off the highest bar."""
    highest, *others = sorted(totals, reverse=True) if totals else (0,)
    second = others[0] if others else 0
    if second and highest > 4 * second:
        return _next_tick(1.6 * second), True
    return _next_tick(highest), False


def _next_tick(value: float) -> float:
    """Return the smallest tick that is not below a value."""
    marks = round_ticks(0.0, max(1.0, value), 5)
    step = marks[1] if len(marks) > 1 else 1.0
    return marks[-1] if marks[-1] >= value else marks[-1] + step


def _bar_svg(frame: Frame, bar: Bar, x_left: float, step: float, cut: bool) -> str:
    width, floor = step * (1 - _GAP), frame.y_at(0)
    is_cut = cut and bar.total > frame.y_top
    y_total = frame.y_at(min(bar.total, frame.y_top))
    share = bar.hits / bar.total if bar.total else 0.0
    hit = floor - (floor - y_total) * share if is_cut else frame.y_at(bar.hits)
    x = x_left + step * _GAP / 2
    parts = [
        f"<g><title>{escape(bar.tooltip)}</title>"
        f'<rect class="bar" x="{x:.1f}" y="{y_total:.1f}" width="{width:.1f}" '
        f'height="{floor - y_total:.1f}"/>'
        f'<rect class="bar hit" x="{x:.1f}" y="{hit:.1f}" width="{width:.1f}" '
        f'height="{floor - hit:.1f}"/></g>'
    ]
    text = bar.caption or (f"{format_number(bar.total)} ↑" if is_cut else "")
    if text:
        at = min(max(x + width / 2, frame.margin_left + 14), frame.width - 14)
        parts.append(
            f'<text class="value" x="{at:.1f}" y="{y_total - 5:.1f}" '
            f'text-anchor="middle">{escape(text)}</text>'
        )
    return "".join(parts)
