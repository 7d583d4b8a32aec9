"""Writes rows to a file as JSON lines, CSV, Parquet or SQLite.

Rows are tuples; `columns` maps their field names to types: str, int, float, bool, datetime (as
ISO text) or dict (as JSON in `msgspec.Raw`). Memory use does not depend on the number of rows. A
file is written completely or not at all; a reader that closes standard output early ends the
export without an error.
"""

from __future__ import annotations

import csv
import heapq
import io
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import IO, Any

import msgspec

from focus.errors import ConfigError, ExportError
from focus.storage.table_file import write_table
from focus.storage.whole_file import open_whole
from focus.text.formatting import escape_json_controls, spreadsheet_text

ExportRow = tuple[Any, ...]
Columns = Mapping[str, Any]

CHUNK_ROWS = 512  # rows per write
PARQUET_CHUNK_ROWS = 10_000  # rows per row group
CHUNK_CHARS = 32 * 1024 * 1024  # of text in a chunk, if reached before the number of rows


def merge_rows(sources: Sequence[Iterable[ExportRow]], *, by_last: bool) -> Iterator[ExportRow]:
    """Yield the rows of several sources one source after the other, or merged by their last field.

    `by_last` merges rows that are in descending order of the last field, None last, and removes it.

    Example: `[("a", 9), ("b", 1)]` and `[("c", 5)]` become `("a",), ("c",), ("b",)`.
    """
    if not by_last:
        return chain.from_iterable(sources)
    rows = heapq.merge(*sources, key=lambda row: (row[-1] is not None, row[-1]), reverse=True)
    return (row[:-1] for row in rows)


def write_rows(
    rows: Iterable[ExportRow], columns: Columns, *, format: str, out: Path | None, bom: bool = False
) -> int:
    """Write all rows to a file, or to standard output if `out` is None, and return their number.

    Args:
        format: "jsonl", "csv", "parquet" or "sqlite".
        bom: Begin CSV with a byte order mark, by which spreadsheets recognise UTF-8.

    Raises:
        ConfigError: The format is unknown.
        ExportError: The file cannot be written; no part of it remains.
    """
    if format not in FORMATS:
        raise ConfigError(
            "unknown format {format!r}; the formats are: {formats}",
            format=format,
            formats=", ".join(FORMATS),
        )
    write = FORMATS[format]
    with _open_stdout() if out is None else _open_atomically(out) as file:
        if bom and format == "csv":
            file.write(b"\xef\xbb\xbf")
        count = 0

        def counted_rows() -> Iterator[ExportRow]:
            nonlocal count
            for row in rows:
                yield row
                count += 1

        write(counted_rows(), columns, file)
    return count


def choose_format(chosen: str | None, out: Path | None) -> str:
    """Return the chosen format, else that of the file's extension, else JSON lines.

    Raises ConfigError if the extension is that of another format than the chosen one, or of one
    that cannot be written.
    """
    by_name = None
    if out is not None:
        check_extension(out, _EXTENSIONS)
        by_name = _EXTENSIONS.get(out.suffix.lower())
    if chosen and by_name and chosen != by_name:
        raise ConfigError(
            "--format {chosen} contradicts the name of {file}; leave one of them out",
            chosen=chosen,
            file=out,
        )
    return chosen or by_name or "jsonl"


def check_extension(out: Path, allowed: Collection[str]) -> None:
    """Raise ConfigError if the file's extension is that of a well-known format not in `allowed`."""
    extension = out.suffix.lower()
    if extension not in allowed and extension in _OTHER_EXTENSIONS | _EXTENSIONS.keys():
        raise ConfigError(
            "{file}: cannot be written as {extension}; choose a name that ends in {allowed}",
            file=out,
            extension=extension,
            allowed=", ".join(allowed),
        )


def write_bytes(data: bytes, out: Path | None) -> None:
    """Write a file completely or not at all, or write to standard output if `out` is None.

    Raises ExportError if the file cannot be written.
    """
    with _open_stdout() if out is None else _open_atomically(out) as file:
        file.write(data)


# -- formats ----------------------------------------------------------------------------------


def write_jsonl(rows: Iterable[ExportRow], columns: Columns, file: IO[bytes]) -> None:
    """Write one JSON object per line, in UTF-8.

    Characters that some readers treat as line ends (NEL, LS, PS) or that control a terminal are
    escaped, so that each record is one line for every reader.
    """
    names, encode = tuple(columns), msgspec.json.Encoder(enc_hook=str).encode_lines
    for chunk in _iter_chunks(rows, CHUNK_ROWS):
        text = encode([dict(zip(names, row, strict=True)) for row in chunk])
        file.write(escape_json_controls(text))


def write_csv(rows: Iterable[ExportRow], columns: Columns, file: IO[bytes]) -> None:
    """Write RFC 4180 CSV with a header line; cells that would be formulas are escaped."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(columns)
    for chunk in _iter_chunks(rows, CHUNK_ROWS):
        writer.writerows([[_csv_cell(value) for value in row] for row in chunk])
        file.write(buffer.getvalue().encode())
        buffer.seek(0)
        buffer.truncate()
    file.write(buffer.getvalue().encode())


def _csv_cell(value: Any) -> Any:
    """Return a value that a spreadsheet can open safely, with no text as a formula."""
    if type(value) is msgspec.Raw:
        value = bytes(value).decode()
    if type(value) is bool:
        return "true" if value else "false"
    return spreadsheet_text(value) if type(value) is str else value


def write_parquet(rows: Iterable[ExportRow], columns: Columns, file: IO[bytes]) -> None:
    """Write columns in zstd, with dates as timestamps and `dict` fields as maps.

    They are maps instead of structs because their keys depend on the relevance model of each crawl.
    Needs the extra `parquet` (pyarrow).
    """
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ExportError(
            "the format parquet needs pyarrow: pip install 'focus-crawler[parquet]'"
        ) from error
    string_type = arrow.string()
    arrow_types = {
        str: string_type,
        int: arrow.int64(),
        float: arrow.float64(),
        bool: arrow.bool_(),
    }
    arrow_types[datetime] = arrow.timestamp("ms", tz="UTC")
    arrow_types[dict[str, float]] = arrow.map_(string_type, arrow.float64())
    arrow_types[dict[str, list[str]]] = arrow.map_(string_type, arrow.list_(string_type))
    schema = arrow.schema([(name, arrow_types[type_]) for name, type_ in columns.items()])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for chunk in _iter_chunks(rows, PARQUET_CHUNK_ROWS):
            arrays = [
                arrow.array(
                    [_arrow_value(value, type_) for value in values], schema.field(name).type
                )
                for values, (name, type_) in zip(
                    zip(*chunk, strict=True), columns.items(), strict=True
                )
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _arrow_value(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if kind is datetime:
        return datetime.fromisoformat(value)
    return [*msgspec.json.decode(value).items()] if type(value) is msgspec.Raw else value


def write_sqlite(rows: Iterable[ExportRow], columns: Columns, file: IO[bytes]) -> None:
    """Write a database with the table `pages`, prepared in a temporary folder beside the file."""
    chunks = (
        [tuple(map(_sqlite_value, row)) for row in chunk]
        for chunk in _iter_chunks(rows, CHUNK_ROWS)
    )
    target = Path(str(file.name))  # "<stdout>" and devices have no folder
    target_folder = target.parent if target.is_absolute() and target.is_file() else None
    with tempfile.TemporaryDirectory(dir=target_folder) as folder:
        path = Path(folder, "pages.db")
        try:
            write_table(chunks, columns, path)
        except sqlite3.Error as error:
            raise ExportError("SQLite cannot write the file: {error}", error=error) from error
        with path.open("rb") as database_file:
            shutil.copyfileobj(database_file, file)


def _sqlite_value(value: Any) -> Any:
    """Return a value that SQLite can store; lone surrogates are replaced."""
    if type(value) is msgspec.Raw:
        return bytes(value).decode()
    return value.encode("utf-8", "replace").decode() if type(value) is str else value


FORMATS: dict[str, Callable[[Iterable[ExportRow], Columns, IO[bytes]], None]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
    "sqlite": write_sqlite,
}


_EXTENSIONS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet",
    ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite",
}  # fmt: skip
_OTHER_EXTENSIONS = frozenset(
    ".7z .bz2 .docx .gz .htm .html .md .ods .pdf .tar .tsv .xls .xlsx .xml .xz .zip .zst".split()
)


def _iter_chunks(rows: Iterable[ExportRow], max_rows: int) -> Iterator[list[ExportRow]]:
    """Yield chunks of `size` rows, or fewer rows if their texts are long."""
    chunk: list[ExportRow] = []
    chars = 0
    for row in rows:
        chunk.append(row)
        chars += sum(len(value) for value in row if type(value) is str)
        if len(chunk) >= max_rows or chars > CHUNK_CHARS:
            yield chunk
            chunk, chars = [], 0
    if chunk:
        yield chunk


# -- where to ---------------------------------------------------------------------------------


@contextmanager
def _open_atomically(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces the target when it is completely on disk."""
    try:
        if not path.parent.is_dir():
            raise ExportError(
                "cannot write {path}: there is no folder {parent}; make it first",
                path=path,
                parent=path.parent,
            )
        with open_whole(path) as file:
            yield file
    except OSError as error:
        raise ExportError(
            "cannot write {path}: {error}; choose another -o FILE", path=path, error=error
        ) from error


@contextmanager
def _open_stdout() -> Iterator[IO[bytes]]:
    """Open standard output; a reader that closes it early (`| head`) is no error."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        with suppress(OSError, ValueError):  # without this Python reports the error again at exit
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
        if not isinstance(error, BrokenPipeError):
            raise ExportError(
                "cannot write to the standard output: {error}", error=error
            ) from error
