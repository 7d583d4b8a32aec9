"""Formats plain text: safe words from the web, times, sizes, tables.

What comes off the web may hold terminal commands; `printable` takes them out before
anything scraped is shown. Widths count terminal cells: 足 is two of them wide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from focus.errors import ConfigError
from focus.i18n import Msg, plural, translate

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+|\d+(?:\.\d+)?")
_TIME_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kmgt]?)(?:i?b)?", re.IGNORECASE)
_SIZES = ("", "K", "M", "G", "T")


def printable(text: str, width: int | None = None) -> str:
    """A stranger's text as one line without control characters, at most `width` cells.

    Every run of characters that do not print (escapes, newlines, marks that turn the
    direction of writing, halves of surrogate pairs) becomes one space.
    """
    text = " ".join(inert(text).split())
    return text if width is None else cut(text, width)


def inert(line: str) -> str:
    """A line as it is, with a space for each character that does not print.

    For lines with columns; they are safe even where a cell was put in as it came.
    """
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else " " for char in line)


def inert_json(text: bytes) -> bytes:
    """JSON in which nothing acts on a terminal or ends a line early, and which means the same.

    JSON escapes the controls of ASCII itself; here follow DEL, those of Latin-1 (some
    terminals take U+009B for an escape), LS and PS, and the marks that turn the direction
    of writing.
    """
    return _ACTIVE.sub(_escaped, text)


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())


def spreadsheet_text(text: str) -> str:
    """Return a text for a CSV cell in which no spreadsheet finds a formula.

    An apostrophe goes before `=`, `+`, `-` and `@` where a cell may begin: at the start of the
    text, and after `;`, a tab or a line break, also with quotation marks in between: a spreadsheet
    whose separator is the semicolon reads neither commas nor our quotation marks. Control
    characters and bidirectional marks are removed.
    """
    return _FORMULA_START.sub(r"\1'", _CELL_CONTROL.sub("", text))


_CELL_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# The wide forms count as signs of a formula in East Asian spreadsheets.
_FORMULA_START = re.compile('(\\A|[;\t\r\n]"*)(?=[=+\\-@＝＋－＠])')

_ACTIVE = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])")


def cells(text: str) -> int:
    """The width of a text in terminal cells: wide characters count 2, accents 0."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


def _cells_of(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text, or its beginning with "…", within so many cells."""
    if cells(text) <= width:
        return text
    used, kept = 1, []
    for char in text:
        used += _cells_of(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept) + "…"


_PIECES = (  # compiled when needed
    r"\s+|[\u2e80-\uffdc][，。；：、！？）》”]*|[^\s\u2e80-\uffdc]+[，。；：、！？）》”]*"
)


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, at most `width` cells wide: between words, and between ideographs."""
    lines, line = [], ""
    for piece in re.findall(_PIECES, text):
        if cells(line) + cells(piece.rstrip()) > width and line.strip():
            lines.append(line.strip())
            line = ""
        line += piece
    return [*lines, line.strip()] if line.strip() else lines


def table(
    rows: Iterable[Sequence[str]], *, indent: str = "  ", right: Collection[int] = ()
) -> list[str]:
    """Rows as lines with aligned columns; those numbered in `right` by their ends."""
    body = [tuple(row) for row in rows]
    widths = [max(map(cells, column)) for column in zip(*body, strict=True)]
    lines = []
    for row in body:
        gaps = [" " * (width - cells(text)) for text, width in zip(row, widths, strict=True)]
        padded = [
            gap + text if at in right else text + gap
            for at, (text, gap) in enumerate(zip(row, gaps, strict=True))
        ]
        lines.append((indent + "  ".join(padded)).rstrip())
    return lines


def count(number: int, noun: str) -> str:
    """`1,234 pages`, `1 page`, in the command line's language."""
    return translate(plural(*of_noun(noun), n=number))


def needing_scripts(pages: int) -> Msg:
    """`3 pages seem to need scripts: --render auto`."""
    return plural(
        "{n:,} page seems to need scripts: --render auto",
        "{n:,} pages seem to need scripts: --render auto",
        n=pages,
    )


def of_noun(noun: str) -> tuple[str, str]:
    """The ids by which things are counted."""
    many = f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"
    return f"{{n:,}} {noun}", f"{{n:,}} {many}"


def percent(share: float) -> str:
    """0.3127 -> `31.3%`."""
    return f"{100.0 * share:.1f}%"


def local_time(seconds: float) -> str:
    """Return a time (Unix seconds) in the local time zone, as `2026-01-31 18:00`."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def span(seconds: float) -> str:
    """Seconds for people, two units at most: `45s`, `2m05s`, `3h20m`, `2d04h`."""
    whole = round(seconds)
    if seconds < 10 and seconds != whole:
        return f"{seconds:.1f}s"
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    minutes = round(seconds / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60}h{minutes % 60:02d}m"
    hours = round(seconds / 3600)
    return f"{hours // 24}d{hours % 24:02d}h"


def size(number: int) -> str:
    """Bytes for people, in powers of 1,024: `10M`, `31.2M`, `900`."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(_SIZES) - 1:
        value, unit = value / 1024, unit + 1
    digits = f"{value:.0f}" if value == int(value) else f"{value:.1f}"
    return digits + _SIZES[unit]


def read_span(text: str) -> float:
    """Seconds out of `90`, `30m`, `1h30m`, `500ms` or `2d`; ConfigError for anything else."""
    text = text.strip().lower()
    if not _TIME.fullmatch(text):
        raise ConfigError(
            "{text!r} is no time; write 90 (seconds), 30m, 1h30m or 2d", text=printable(text)
        )
    return sum(float(n) * _UNITS_S[unit or "s"] for n, unit in _TIME_PART.findall(text))


def read_size(text: str) -> int:
    """Bytes out of `500M`, `1.5G` or `64k`, in powers of 1,024; ConfigError otherwise."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ConfigError(
            "{text!r} is no size; write 65536 (bytes), 64K, 500M or 2G", text=printable(text)
        )
    return int(float(match[1]) * 1024 ** _SIZES.index(match[2].upper()))
