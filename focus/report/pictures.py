"""Turns a drawing of a report into a PNG, by resvg.

Needs the extra `png`. resvg takes the letters from the fonts of this machine: the first of
FONTS that it has, and any other for what that one lacks, so that Chinese shows wherever
any font has it. The picture has the light colours whatever the reader's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from focus.errors import ExportError
from focus.report.charts import Frame, Series, chart, stroke
from focus.report.page import COLOURS_LIGHT, DRAWING

SCALE = 2.0  # pixels of the picture per pixel of the drawing
FONTS = (
    "Arial, Helvetica, 'Segoe UI', 'Noto Sans', 'Liberation Sans', 'DejaVu Sans', Ubuntu, "
    "Cantarell, FreeSans, 'Noto Sans CJK SC', 'Source Han Sans SC', 'WenQuanYi Micro Hei', "
    "'Microsoft YaHei', 'PingFang SC', sans-serif"
)
_PAD, _HEAD, _LINE = 16, 34, 20  # around it, for its title, per line of its legend
_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_NAME = re.compile(r"var\(--([a-z0-9]+)\)")
_OPENING = re.compile(r"<svg [^>]*>")


def curves(frame: Frame, series: Sequence[Series], *, title: str) -> str:
    """A chart with its title and legend, as an SVG document."""
    legend = "".join(
        f'<line class="line" x1="0" x2="26" y1="{at * _LINE}" y2="{at * _LINE}" '
        f'{stroke(each.number)}/><text class="name" x="34" y="{at * _LINE + 4}">'
        f"{escape(each.name)}</text>"
        for at, each in enumerate(series)
    )
    return document(chart(frame, series, title=title), title=title, below=legend, lines=len(series))


def document(drawing: str, *, title: str, below: str = "", lines: int = 0) -> str:
    """A drawing of a page as a document of its own, in the light colours."""
    found = _SIZE.search(drawing)
    assert found is not None
    width, height = float(found[1]), float(found[2])
    inner = _OPENING.sub(
        f'<svg x="{_PAD}" y="{_PAD + _HEAD}" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">',
        drawing,
        count=1,
    )
    wide, floor = width + 2 * _PAD, height + 2 * _PAD + _HEAD
    high = floor + lines * _LINE
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" '
        f'width="{wide:g}" height="{high:g}" font-family="{FONTS}">'
        f'<style>{DRAWING}</style><rect width="100%" height="100%" style="fill:var(--paper)"/>'
        f'<text class="name" style="font-size:17px;font-weight:bold" x="{_PAD}" y="{_PAD + 16}">'
        f'{escape(title)}</text>{inner}<g transform="translate({_PAD + 8} {floor + 2:g})">{below}'
        "</g></svg>"
    )
    return _NAME.sub(lambda name: COLOURS_LIGHT[name[1]], text)


def check() -> None:
    """ExportError when there is no resvg, or no font for it: before hours of work."""
    blank, letter = (_drawn(_PROBE.format(text), 1.0) for text in (" ", "X"))
    if blank == letter:  # resvg leaves out what it has no font for, without a word
        raise ExportError("--png finds no font for its letters; install DejaVu Sans or Noto Sans")


def png(svg: str) -> bytes:
    """The picture of an SVG document."""
    return _drawn(svg, SCALE)


def _drawn(svg: str, zoom: float) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise ExportError("--png needs resvg: pip install 'focus-crawler[png]'") from None
    return bytes(svg_to_bytes(svg_string=svg, zoom=zoom))


def beside(report: Path, name: str) -> Path:
    """Where a picture of a report goes: `report.html` -> `report-NAME.png`."""
    return report.with_name(f"{report.stem}-{name}.png")


_PROBE = (
    f'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" font-family="{FONTS}">'
    '<text x="2" y="16">{}</text></svg>'
)
