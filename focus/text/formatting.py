"""Formats plain text: printable text from the web, durations, sizes, tables.

Text from the web may contain terminal commands; `printable` removes them before it is shown.
Widths are in terminal cells: 足 takes two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from focus.errors import ConfigError
from focus.i18n import Msg, plural, translate

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+|\d+(?:\.\d+)?")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kmgt]?)(?:i?b)?", re.IGNORECASE)
_SIZE_UNITS = ("", "K", "M", "G", "T")


def printable(text: str, width: int | None = None) -> str:
    """Return a text from the web as one line without control characters, at most `width` cells.

    Every run of characters that do not print (escapes, line breaks, bidirectional marks, lone
    surrogates) becomes one space.
    """
    text = " ".join(replace_unprintable(text).split())
    return text if width is None else truncate(text, width)


def replace_unprintable(line: str) -> str:
    """Return a line with a space in place of each character that does not print.

    For lines with columns: they are safe even if a cell was not passed through `printable`.
    """
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else " " for char in line)


def escape_json_controls(text: bytes) -> bytes:
    """Return equivalent JSON in which no character controls a terminal or ends a line.

    JSON escapes the control characters of ASCII itself; this adds DEL, those of Latin-1 (some
    terminals read U+009B as an escape), LS and PS, and the bidirectional marks.
    """
    return _JSON_CONTROLS.sub(_escape_json, text)


def _escape_json(match: re.Match[bytes]) -> bytes:
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
# East Asian spreadsheets accept the full-width forms, too.
_FORMULA_START = re.compile('(\\A|[;\t\r\n]"*)(?=[=+\\-@＝＋－＠])')

_JSON_CONTROLS = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])"
)


def cell_width(text: str) -> int:
    """Return the width of a text in terminal cells: wide characters count 2, accents 0."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def truncate(text: str, width: int) -> str:
    """Return the text, or its beginning and "…", in at most `width` cells."""
    if cell_width(text) <= width:
        return text
    used, chars = 1, []
    for char in text:
        used += _char_width(char)
        if used > width:
            break
        chars.append(char)
    return "".join(chars) + "…"


_WRAP_PIECES = (  # compiled when needed
    r"\s+|[\u2e80-\uffdc][，。；：、！？）》”]*|[^\s\u2e80-\uffdc]+[，。；：、！？）》”]*"
)


def wrap_lines(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells, between words and between ideographs."""
    lines, line = [], ""
    for piece in re.findall(_WRAP_PIECES, text):
        if cell_width(line) + cell_width(piece.rstrip()) > width and line.strip():
            lines.append(line.strip())
            line = ""
        line += piece
    return [*lines, line.strip()] if line.strip() else lines


def format_table(
    rows: Iterable[Sequence[str]], *, indent: str = "  ", right_aligned: Collection[int] = ()
) -> list[str]:
    """Return rows as lines with aligned columns; columns in `right_aligned` align to the right."""
    body = [tuple(row) for row in rows]
    widths = [max(map(cell_width, column)) for column in zip(*body, strict=True)]
    lines = []
    for row in body:
        gaps = [" " * (width - cell_width(text)) for text, width in zip(row, widths, strict=True)]
        padded = [
            gap + text if at in right_aligned else text + gap
            for at, (text, gap) in enumerate(zip(row, gaps, strict=True))
        ]
        lines.append((indent + "  ".join(padded)).rstrip())
    return lines


def format_count(number: int, noun: str) -> str:
    """Return `1,234 pages` or `1 page` in the language of the command line."""
    return translate(plural(*count_message_ids(noun), n=number))


def scripts_needed_message(pages: int) -> Msg:
    """Return the message `3 pages seem to need scripts: --render auto`."""
    return plural(
        "{n:,} page seems to need scripts; use --render auto",
        "{n:,} pages seem to need scripts; use --render auto",
        n=pages,
    )


def count_message_ids(noun: str) -> tuple[str, str]:
    """Return the message ids, singular and plural, for a number of things."""
    many = f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"
    return f"{{n:,}} {noun}", f"{{n:,}} {many}"


def format_percent(share: float) -> str:
    """Return a share as a percentage: 0.3127 gives `31.3%`."""
    return f"{100.0 * share:.1f}%"


def format_local_time(seconds: float) -> str:
    """Return a time (Unix seconds) in the local time zone, as `2026-01-31 18:00`."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def format_duration(seconds: float) -> str:
    """Return seconds in at most two units: `45s`, `2m05s`, `3h20m`, `2d04h`."""
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


def format_size(number: int) -> str:
    """Return a number of bytes in powers of 1,024: `10M`, `31.2M`, `900`."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(_SIZE_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = f"{value:.0f}" if value == int(value) else f"{value:.1f}"
    return digits + _SIZE_UNITS[unit]


def parse_duration(text: str) -> float:
    """Return the seconds in `90`, `30m`, `1h30m`, `500ms` or `2d`; raise ConfigError otherwise."""
    text = text.strip().lower()
    if not _DURATION.fullmatch(text):
        raise ConfigError(
            "{text!r} is not a time; write 90 (seconds), 30m, 1h30m or 2d", text=printable(text)
        )
    return sum(float(n) * _UNITS_S[unit or "s"] for n, unit in _DURATION_PART.findall(text))


def parse_size(text: str) -> int:
    """Return the bytes in `500M`, `1.5G` or `64k` (powers of 1,024); ConfigError if invalid."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ConfigError(
            "{text!r} is not a size; write 65536 (bytes), 64K, 500M or 2G", text=printable(text)
        )
    return int(float(match[1]) * 1024 ** _SIZE_UNITS.index(match[2].upper()))
