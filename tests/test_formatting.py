"""Plain text is plain, aligned, and read back as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.errors import ConfigError
from focus.text.formatting import (
    cell_width,
    format_count,
    format_duration,
    format_size,
    format_table,
    parse_duration,
    parse_size,
    printable,
    replace_unprintable,
    truncate,
)
from tests.support.cases import cases


@given(st.text())
def test_printable_any_text_has_no_control_characters(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown


@cases(
    "text, shown",
    ("\x1b[2J\x1b]0;owned\x07title", "[2J ]0;owned title"),
    ("two\r\nlines\tand\u2028more", "two lines and more"), ("pay\u202egnp.exe", "pay gnp.exe"),
    ("half \ud83d of it", "half of it"), ("足球　新闻", "足球 新闻"),
)  # fmt: skip
def test_printable_control_sequences_are_replaced(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(), st.integers(1, 40))
def test_truncate_any_text_fits_width(text: str, width: int) -> None:
    assert cell_width(truncate(text, width)) <= width


def test_truncate_ideographs_count_double() -> None:
    assert truncate("足球新闻", 8) == "足球新闻"
    assert truncate("足球新闻", 7) == "足球新…"
    assert truncate("足球新闻", 6) == "足球…"


def test_format_table_wide_characters_and_numbers_are_aligned() -> None:
    rows = [("足球", "7", "x"), ("abc", "1,234", "")]
    assert format_table(rows, right_aligned={1}) == ["  足球      7  x", "  abc   1,234"]


@cases(
    "seconds, text",
    (0, "0s"), (1.0, "1s"), (1.25, "1.2s"), (59.6, "1m00s"), (125, "2m05s"),
    (3600, "1h00m"), (3599.9, "1h00m"), (12_000, "3h20m"), (86_399, "1d00h"),
    (187_200, "2d04h"),
)  # fmt: skip
def test_format_duration_uses_two_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("30m", 1800), ("1h30m", 5400), ("500ms", 0.5), ("1.5h", 5400), (" 2D ", 172_800)],
)
def test_parse_duration_valid_text(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "1x", "-5", "1m30", "1e9", "inf", "nan", "五分"])
def test_parse_duration_invalid_text_raises_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a time; write 90"):
        parse_duration(text)


@given(st.integers(0, 200))
def test_parse_duration_formatted_whole_seconds_round_trip(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [("65536", 65536), ("64k", 65536), ("500M", 500 << 20), ("1.5GiB", 3 << 29), ("2 TB", 2 << 40)],
)
def test_parse_size_valid_text(text: str, number: int) -> None:
    assert parse_size(text) == number


@pytest.mark.parametrize("text", ["", "M", "1X", "-1", "1,000"])
def test_parse_size_invalid_text_raises_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a size; write 65536"):
        parse_size(text)


def test_format_size_and_format_count_common_numbers() -> None:
    assert [format_size(n) for n in (0, 900, 1536, 10 << 20)] == ["0", "900", "1.5K", "10M"]
    assert [format_count(n, "page") for n in (0, 1, 1234)] == ["0 pages", "1 page", "1,234 pages"]


@given(st.text())
def test_replace_unprintable_any_line_keeps_length(text: str) -> None:
    line = replace_unprintable(text)
    assert line.isprintable()
    assert len(line) == len(text)
    assert not text.isprintable() or line == text
