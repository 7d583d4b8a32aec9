"""Draws bar charts as SVG, each bar with its relevant share in colour."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from markupsafe import Markup, escape

from focus.report.charts import Frame, axes, number, opening, ticks

_GAP = 0.14  # of a bar's width


class Bar(msgspec.Struct, frozen=True):
    """`hits` of `total` are relevant. `name`: told when pointed at; `value`: written above."""

    total: int
    hits: int
    name: str
    value: str = ""


def bars(
    drawn: Sequence[Bar], *, title: str, x_label: str, labels: Sequence[tuple[float, str]] = ()
) -> Markup:
    """An SVG element. `labels`: texts below, each at its share of the axis.

    One bar that towers over the others is cut off, with its number above, so that they
    can still be told apart.
    """
    top, cut = _scale([each.total for each in drawn])
    frame = Frame(
        width=520, height=230, x_label=x_label, x_ticks=labels, y_label="", y_top=top,
        left=50, top=22,
    )  # fmt: skip
    step = (frame.x(1) - frame.x(0)) / max(1, len(drawn))
    parts = [opening(frame, title), *axes(frame)]
    for at, bar in enumerate(drawn):
        parts.append(_bar(frame, bar, frame.x(0) + at * step, step, cut))
    return Markup("\n".join([*parts, "</svg>"]))


def _scale(totals: Sequence[int]) -> tuple[float, bool]:
    """The top of the axis, and whether it cuts the highest bar off."""
    highest, *others = sorted(totals, reverse=True) if totals else (0,)
    second = others[0] if others else 0
    if second and highest > 4 * second:
        return _top(1.6 * second), True
    return _top(highest), False


def _top(most: float) -> float:
    """The next tick at or above."""
    marks = ticks(0.0, max(1.0, most), 5)
    step = marks[1] if len(marks) > 1 else 1.0
    return marks[-1] if marks[-1] >= most else marks[-1] + step


def _bar(frame: Frame, bar: Bar, left: float, step: float, cut: bool) -> str:
    width, floor = step * (1 - _GAP), frame.y(0)
    is_cut = cut and bar.total > frame.y_top
    whole = frame.y(min(bar.total, frame.y_top))
    share = bar.hits / bar.total if bar.total else 0.0
    hit = floor - (floor - whole) * share if is_cut else frame.y(bar.hits)
    x = left + step * _GAP / 2
    parts = [
        f"<g><title>{escape(bar.name)}</title>"
        f'<rect class="bar" x="{x:.1f}" y="{whole:.1f}" width="{width:.1f}" '
        f'height="{floor - whole:.1f}"/>'
        f'<rect class="bar hit" x="{x:.1f}" y="{hit:.1f}" width="{width:.1f}" '
        f'height="{floor - hit:.1f}"/></g>'
    ]
    text = bar.value or (f"{number(bar.total)} ↑" if is_cut else "")
    if text:
        at = min(max(x + width / 2, frame.left + 14), frame.width - 14)
        parts.append(
            f'<text class="value" x="{at:.1f}" y="{whole - 5:.1f}" '
            f'text-anchor="middle">{escape(text)}</text>'
        )
    return "".join(parts)
