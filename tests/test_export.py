"""export: every line a record, no cell a formula, no half file."""

import csv
import io
import json
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import CaptureFixture, MonkeyPatch

from focus.errors import ConfigError, ExportError
from focus.report.export import (
    FORMATS,
    choose_format,
    merge_rows,
    write_csv,
    write_jsonl,
    write_rows,
)
from focus.storage.whole_file import write_whole
from tests.support.cases import cases
from tests.test_reader import make

ROOT = Path(__file__).parents[1]
COLUMNS: dict[str, Any] = {
    "url": str, "parts": dict[str, float], "relevance": float, "relevant": bool, "nth": int
}  # fmt: skip
ROWS: list[tuple[Any, ...]] = [
    ("https://a.example/球", msgspec.Raw(b'{"title":0.5}'), 0.1 + 0.2, True, 1),
    ("https://b.example/", msgspec.Raw(b"{}"), 2.0, False, 2),
    ("https://c.example/", None, None, False, 3),
]
text = st.text(st.characters(exclude_categories=["Cs"]))


def jsonl(rows: list[tuple[Any, ...]], columns: dict[str, type]) -> bytes:
    file = io.BytesIO()
    write_jsonl(rows, columns, file)
    return file.getvalue()


def cells(values: list[Any]) -> list[str]:
    """One column of CSV, read back as a spreadsheet would."""
    file = io.BytesIO()
    write_csv([(value,) for value in values], {"x": str}, file)
    rows = list(csv.reader(io.StringIO(file.getvalue().decode(), newline=""), strict=True))
    assert rows[0] == ["x"]
    return [row[0] if row else "" for row in rows[1:]]


# -- JSON lines -------------------------------------------------------------------------------


def test_jsonl_preserves_text_nested_values_and_digits() -> None:
    lines = jsonl(ROWS, COLUMNS).splitlines()
    assert lines[0].decode() == (
        '{"url":"https://a.example/球","parts":{"title":0.5},'
        '"relevance":0.30000000000000004,"relevant":true,"nth":1}'
    )
    assert json.loads(lines[2]) == {
        "url": "https://c.example/", "parts": None, "relevance": None, "relevant": False, "nth": 3,
    }  # fmt: skip


@given(values=st.lists(text, max_size=5))
def test_jsonl_has_one_line_per_record_for_every_reader(values: list[str]) -> None:
    written = jsonl([(value,) for value in values], {"x": str})
    assert [json.loads(line)["x"] for line in written.decode().splitlines()] == values


# -- CSV --------------------------------------------------------------------------------------


def test_csv_has_header_and_rfc_4180_line_ends() -> None:
    file = io.BytesIO()
    write_csv(ROWS, COLUMNS, file)
    assert file.getvalue().decode() == (
        "url,parts,relevance,relevant,nth\r\n"
        'https://a.example/球,"{""title"":0.5}",0.30000000000000004,true,1\r\n'
        "https://b.example/,{},2.0,false,2\r\n"
        "https://c.example/,,,false,3\r\n"
    )


@cases(
    "value, cell",
    ("=1+1", "'=1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("+86 10", "'+86 10"), ("-1", "'-1"),
    ("\t=1", "\t'=1"), ("\r=1", "\r'=1"), ("a;=1", "a;'=1"), ("a; b;-c", "a; b;'-c"),
    ('a;"=1', "a;\"'=1"), ("a\n+1", "a\n'+1"), ("a=1; b", "a=1; b"), ("＝1", "'＝1"),
    ("\x00=1", "'=1"), ("a\x1b[31mb\x9b", "a[31mb"), ("a\u202eb\u2066c", "abc"),
    ('say "球", 好\r\nthen', 'say "球", 好\r\nthen'), (-1.5, "-1.5"), ("", ""), (None, ""),
)  # fmt: skip
def test_csv_cell_values_and_formulas(value: Any, cell: str) -> None:
    assert cells([value]) == [cell]


@given(values=st.lists(text, min_size=1))
def test_csv_cells_begin_no_formula_and_lose_no_text(values: list[str]) -> None:
    for value, cell in zip(values, cells(values), strict=True):
        cleaned = "".join(c for c in value if c in "\t\n\r" or unicodedata.category(c) != "Cc")
        cleaned = cleaned.translate(dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
        assert cell.replace("'", "") == cleaned.replace("'", "")


@given(values=st.lists(st.text(st.sampled_from("=+-@;,\t\r\n\"'a")), min_size=1))
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_cell_with_any_separator_begins_no_formula(values: list[str], separator: str) -> None:
    file = io.BytesIO()
    write_csv([("a", value) for value in values], {"x": str, "y": str}, file)
    text = file.getvalue().decode()
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
        assert not [cell for cell in row if cell.startswith(tuple("=+-@"))]


# -- Several sources --------------------------------------------------------------------------


def test_merge_rows_by_last_field_removes_it() -> None:
    sources = [[("a", 9), ("b", 1), ("x", None)], [("c", 5), ("y", None)]]
    assert "".join(row[0] for row in merge_rows(sources, by_last=True)) == "acbxy"
    assert list(merge_rows(sources, by_last=False)) == [*sources[0], *sources[1]]


# -- SQLite -----------------------------------------------------------------------------------


def test_sqlite_table_supports_sums_and_json(tmp_path: Path) -> None:
    out = tmp_path / "x.db"
    assert write_rows(iter(ROWS * 500), COLUMNS, format="sqlite", out=out) == 1500
    with closing(sqlite3.connect(out)) as db:
        expected = [("https://a.example/球", '{"title":0.5}', 0.1 + 0.2, 1, 1)]
        assert db.execute("SELECT * FROM pages LIMIT 1").fetchall() == expected
        figures = "count(*), sum(relevance), max(parts ->> 'title')"
        (row,) = db.execute(f"SELECT {figures} FROM pages WHERE relevant").fetchall()
    assert row == (500, pytest.approx(150.0), 0.5)
    assert [item.name for item in tmp_path.iterdir()] == ["x.db"]


def test_sqlite_to_stdout_from_deleted_folder_works(
    tmp_path: Path, monkeypatch: MonkeyPatch, capfdbinary: CaptureFixture[bytes]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    write_rows(ROWS, COLUMNS, format="sqlite", out=None)
    assert capfdbinary.readouterr().out.startswith(b"SQLite format 3")


# -- Parquet ----------------------------------------------------------------------------------


def test_parquet_preserves_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra `parquet` is not installed")
    out = tmp_path / "x.parquet"
    assert write_rows(iter(ROWS * 5000), COLUMNS, format="parquet", out=out) == 15_000
    table = parquet.read_table(out)
    kinds = [str(field.type).replace(" ('parts')", "") for field in table.schema]  # as of old
    assert kinds == ["string", "map<string, double>", "double", "bool", "int64"]
    assert table.num_rows == 15_000
    first = dict(zip(COLUMNS, (ROWS[0][0], [("title", 0.5)], 0.1 + 0.2, True, 1), strict=True))
    assert table.slice(0, 1).to_pylist() == [first]
    times = [("2026-01-31T18:00:00.250Z", msgspec.Raw(b'{"url":["a","b"]}')), (None, None)]
    columns = {"fetched_at": datetime, "matched": dict[str, list[str]]}
    write_rows(times, columns, format="parquet", out=out)
    instant = datetime(2026, 1, 31, 18, 0, 0, 250_000, tzinfo=UTC)
    assert parquet.read_table(out).to_pylist() == [
        {"fetched_at": instant, "matched": [("url", ["a", "b"])]},
        {"fetched_at": None, "matched": None},
    ]
    assert write_rows([], COLUMNS, format="parquet", out=out) == 0
    assert parquet.read_table(out).num_rows == 0


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExportError, match=r"pip install 'focus-crawler\[parquet\]'"):
        write_rows(ROWS, COLUMNS, format="parquet", out=tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


# -- files ------------------------------------------------------------------------------------


def test_write_rows_creates_file_atomically(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert write_rows(ROWS, COLUMNS, format="csv", out=out, bom=True) == 3
    assert out.read_bytes().startswith("\ufeffurl,".encode())
    assert list(tmp_path.iterdir()) == [out]


def test_interrupted_export_leaves_old_file(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("old\n")

    def breaking() -> Iterator[tuple[Any, ...]]:
        yield from ROWS * 1000
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(breaking(), COLUMNS, format="jsonl", out=out)
    assert out.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [out]


@cases(
    "chosen, name, file_format",
    (None, None, "jsonl"), (None, "best.csv", "csv"), (None, "BEST.CSV", "csv"),
    (None, "a.json", "jsonl"), (None, "a.parquet", "parquet"), (None, "a.sqlite3", "sqlite"),
    (None, "a.txt", "jsonl"), ("csv", "a.txt", "csv"),
)  # fmt: skip
def test_choose_format_by_extension(chosen: str | None, name: str | None, file_format: str) -> None:
    assert choose_format(chosen, None if name is None else Path(name)) == file_format


@pytest.mark.parametrize("name", ["best.csv.gz", "best.XLSX", "a.tsv", "a.html"])
def test_choose_format_other_extension_raises(name: str) -> None:
    for chosen in (None, "csv"):
        with pytest.raises(ConfigError, match=f"^{name}: cannot be written as .* ends in .jsonl,"):
            choose_format(chosen, Path(name))


def test_choose_format_contradiction_raises() -> None:
    with pytest.raises(ConfigError, match=r"--format jsonl contradicts the name of best\.csv"):
        choose_format("jsonl", Path("best.csv"))


def _write_rows(path: Path) -> None:
    write_rows(ROWS, COLUMNS, format="jsonl", out=path)


def _write_whole(path: Path) -> None:
    write_whole(path, b"1\n2\n3\n")


@pytest.mark.parametrize("write", [_write_rows, _write_whole])
@pytest.mark.parametrize("exists", [True, False])
def test_write_through_links_preserves_links_and_rights(
    write: Callable[[Path], None], exists: bool, tmp_path: Path
) -> None:
    real, link, second = tmp_path / "real", tmp_path / "link", tmp_path / "second"
    if exists:
        real.write_text("old\n")
        real.chmod(0o640)
    link.symlink_to("real")
    second.symlink_to(link)
    write(second)
    assert second.is_symlink() and link.is_symlink()
    assert real.read_text().count("\n") == 3
    assert not exists or stat.S_IMODE(real.stat().st_mode) == 0o640
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("write", [_write_rows, _write_whole])
def test_write_over_database_or_circle_of_links_raises(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    circle, database = tmp_path / "circle", tmp_path / "x.db"
    circle.symlink_to(circle)
    make(database)
    content = database.read_bytes()
    for path, reason in ((circle, "links"), (database, "database of focus")):
        with pytest.raises(ExportError, match=reason):
            write(path)
    assert circle.is_symlink() and database.read_bytes() == content


@pytest.mark.skipif(os.name != "posix", reason="there are no FIFOs")
@pytest.mark.parametrize("write", [_write_rows, _write_whole])
def test_write_to_pipe_keeps_pipe(write: Callable[[Path], None], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe)
    assert os.read(reader, 1 << 16).count(b"\n") == 3
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_write_rows_unwritable_file_raises_one_line_error(tmp_path: Path) -> None:
    for out in (tmp_path / "none" / "x.csv", tmp_path):
        with pytest.raises(ExportError, match="cannot write") as caught:
            write_rows(ROWS, COLUMNS, format="csv", out=out)
        assert str(out) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_write_rows_on_full_disk_raises_one_line_error(format: str) -> None:
    with pytest.raises(ExportError, match="cannot write /dev/full: No space left"):
        write_rows(ROWS * 10_000, COLUMNS, format=format, out=Path("/dev/full"))


def test_write_rows_unknown_format_names_known_formats() -> None:
    with pytest.raises(ConfigError, match="the formats are: jsonl, csv, parquet, sqlite"):
        write_rows(ROWS, COLUMNS, format="xml", out=None)
    assert list(FORMATS) == ["jsonl", "csv", "parquet", "sqlite"]


STDOUT = """
    import sys
    sys.path.insert(0, sys.argv[1])
    from focus.report.export import write_rows
    rows = (("https://a.example/" + "x" * 100, n) for n in range(int(sys.argv[2])))
    print(write_rows(rows, {"url": str, "n": int}, format="jsonl", out=None), file=sys.stderr)
"""


def run_stdout(rows: int, **more: Any) -> subprocess.Popen[bytes]:
    code = [sys.executable, "-c", textwrap.dedent(STDOUT), str(ROOT), str(rows)]
    return subprocess.Popen(code, stderr=subprocess.PIPE, **more)


def test_write_rows_to_stdout_writes_all_rows() -> None:
    out, errors = run_stdout(3, stdout=subprocess.PIPE).communicate()
    assert out.count(b"\n") == 3
    assert errors == b"3\n"


def test_write_rows_to_closed_pipe_is_no_error() -> None:
    for rows in (3, 100_000):  # noticed at the last flush, and on the way
        read, write = os.pipe()
        process = run_stdout(rows, stdout=write)
        os.close(write)
        os.close(read)
        _, errors = process.communicate()
        assert process.returncode == 0
        assert errors.strip().isdigit()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_write_rows_to_full_stdout_raises_error() -> None:
    with Path("/dev/full").open("wb") as full:
        _, errors = run_stdout(100_000, stdout=full).communicate()
    said = b"cannot write to the standard output: No space left on device\n"
    assert errors.endswith(b"focus.errors.ExportError: " + said)
