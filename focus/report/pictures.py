"""Converts a chart of a report to PNG with resvg.

Needs the extra `png`. resvg uses the first of FONTS that this machine has, and any other font for
letters that this one lacks, so that Chinese text is displayed wherever any font contains it. A
picture always has the light colours.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from focus.errors import ExportError
from focus.report.charts import Frame, Series, line_chart, stroke_attributes
from focus.report.page import COLOURS_LIGHT, DRAWING_STYLE

SCALE = 2.0  # pixels of the picture per pixel of the chart
FONTS = (
    "Arial, Helvetica, 'Segoe UI', 'Noto Sans', 'Liberation Sans', 'DejaVu Sans', Ubuntu, "
    "Cantarell, FreeSans, 'Noto Sans CJK SC', 'Source Han Sans SC', 'WenQuanYi Micro Hei', "
    "'Microsoft YaHei', 'PingFang SC', sans-serif"
)
_PADDING, _TITLE_HEIGHT, _LEGEND_LINE_HEIGHT = 16, 34, 20  # pixels
_VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_COLOUR_VARIABLE = re.compile(r"var\(--([a-z0-9]+)\)")
_SVG_TAG = re.compile(r"<svg [^>]*>")


def chart_document(frame: Frame, series: Sequence[Series], *, title: str) -> str:
    """Return a line chart with title and legend as an SVG document."""
    legend = "".join(
        f'<line class="line" x1="0" x2="26" y1="{y}" y2="{y}" '
        f'{stroke_attributes(line.number)}/><text class="name" x="34" y="{y + 4}">'
        f"{escape(line.name)}</text>"
        for line, y in zip(series, itertools.count(0, _LEGEND_LINE_HEIGHT), strict=False)
    )
    return svg_document(
        line_chart(frame, series, title=title), title=title, legend=legend, legend_lines=len(series)
    )


def svg_document(drawing: str, *, title: str, legend: str = "", legend_lines: int = 0) -> str:
    """Return a chart as an SVG document with a title, in the light colours."""
    view_box = _VIEW_BOX.search(drawing)
    assert view_box is not None
    width, height = float(view_box[1]), float(view_box[2])
    inner = _SVG_TAG.sub(
        f'<svg x="{_PADDING}" y="{_PADDING + _TITLE_HEIGHT}" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}">',
        drawing,
        count=1,
    )
    total_width, floor = width + 2 * _PADDING, height + 2 * _PADDING + _TITLE_HEIGHT
    total_height = floor + legend_lines * _LEGEND_LINE_HEIGHT
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_width:g} {total_height:g}" '
        f'width="{total_width:g}" height="{total_height:g}" font-family="{FONTS}">'
        f"<style>{DRAWING_STYLE}</style>"
        '<rect width="100%" height="100%" style="fill:var(--paper)"/>'
        '<text class="name" style="font-size:17px;font-weight:bold" '
        f'x="{_PADDING}" y="{_PADDING + 16}">{escape(title)}</text>'
        f'{inner}<g transform="translate({_PADDING + 8} {floor + 2:g})">{legend}'
        "</g></svg>"
    )
    return _COLOUR_VARIABLE.sub(lambda name: COLOURS_LIGHT[name[1]], text)


def check_png_support() -> None:
    """Raise ExportError if resvg or a font for it is missing; call it before hours of work."""
    blank, letter = (_rasterize(_PROBE_SVG.format(text), 1.0) for text in (" ", "X"))
    if blank == letter:  # resvg silently leaves out letters for which it has no font
        raise ExportError("--png finds no font for its letters; install DejaVu Sans or Noto Sans")


def render_png(svg: str) -> bytes:
    """Return an SVG document as PNG."""
    return _rasterize(svg, SCALE)


def _rasterize(svg: str, zoom: float) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise ExportError("--png needs resvg: pip install 'focus-crawler[png]'") from None
    return bytes(svg_to_bytes(svg_string=svg, zoom=zoom))


def picture_path(report: Path, name: str) -> Path:
    """Return the path of a picture of a report: `report.html` and NAME give `report-NAME.png`."""
    return report.with_name(f"{report.stem}-{name}.png")


_PROBE_SVG = (
    f'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" font-family="{FONTS}">'
    '<text x="2" y="16">{}</text></svg>'
)
