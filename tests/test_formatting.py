"""Plain text is plain, aligned, and read back as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.errors import ConfigError
from focus.text.formatting import (
    cells,
    count,
    cut,
    inert,
    printable,
    read_size,
    read_span,
    size,
    span,
    table,
)


@given(st.text())
def test_printable_never_lets_a_control_character_through(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;owned\x07title", "[2J ]0;owned title"),
        ("two\r\nlines\tand\u2028more", "two lines and more"),
        ("pay\u202egnp.exe", "pay gnp.exe"),
        ("half \ud83d of it", "half of it"),
        ("足球　新闻", "足球 新闻"),
    ],
)
def test_printable_neutralises(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(), st.integers(1, 40))
def test_cut_keeps_within_the_width(text: str, width: int) -> None:
    assert cells(cut(text, width)) <= width


def test_cut_counts_ideographs_double() -> None:
    assert cut("足球新闻", 8) == "足球新闻"
    assert cut("足球新闻", 7) == "足球新…"
    assert cut("足球新闻", 6) == "足球…"


def test_table_aligns_wide_characters_and_numbers() -> None:
    rows = [("足球", "7", "x"), ("abc", "1,234", "")]
    assert table(rows, right={1}) == ["  足球      7  x", "  abc   1,234"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"), (1.0, "1s"), (1.25, "1.2s"), (59.6, "1m00s"), (125, "2m05s"),
        (3600, "1h00m"), (3599.9, "1h00m"), (12_000, "3h20m"), (86_399, "1d00h"),
        (187_200, "2d04h"),
    ],
)  # fmt: skip
def test_span_is_spelled_in_two_units(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("30m", 1800), ("1h30m", 5400), ("500ms", 0.5), ("1.5h", 5400), (" 2D ", 172_800)],
)
def test_span_is_read(text: str, seconds: float) -> None:
    assert read_span(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "1x", "-5", "1m30", "1e9", "inf", "nan", "五分"])
def test_no_span_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match="is no time; write 90"):
        read_span(text)


@given(st.integers(0, 200))
def test_span_of_whole_seconds_is_read_back(seconds: int) -> None:
    assert read_span(span(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [("65536", 65536), ("64k", 65536), ("500M", 500 << 20), ("1.5GiB", 3 << 29), ("2 TB", 2 << 40)],
)
def test_size_is_read(text: str, number: int) -> None:
    assert read_size(text) == number


@pytest.mark.parametrize("text", ["", "M", "1X", "-1", "1,000"])
def test_no_size_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match="is no size; write 65536"):
        read_size(text)


def test_sizes_and_numbers_are_spelled() -> None:
    assert [size(n) for n in (0, 900, 1536, 10 << 20)] == ["0", "900", "1.5K", "10M"]
    assert [count(n, "page") for n in (0, 1, 1234)] == ["0 pages", "1 page", "1,234 pages"]


@given(st.text())
def test_a_line_is_inert_and_as_wide_as_before(text: str) -> None:
    line = inert(text)
    assert line.isprintable()
    assert len(line) == len(text)
    assert not text.isprintable() or line == text
