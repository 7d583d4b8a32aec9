"""Writes rows to a file as JSON lines, CSV, Parquet or SQLite.

Rows are tuples, `columns` names their fields with a type each: str, int, float,
bool or dict (which comes as `msgspec.Raw` JSON). Memory stays flat. A file
appears whole or not at all; on stdout a reader that goes away ends it quietly.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import msgspec

from focus.errors import ConfigError, ExportError
from focus.storage.table_file import write_table
from focus.text.formatting import inert_json, spreadsheet_text

ExportRow = tuple[Any, ...]
Columns = Mapping[str, Any]

CHUNK = 512  # rows per write
PARQUET_CHUNK = 10_000  # rows per row group
CHUNK_CHARS = 32 * 1024 * 1024  # of text, whichever is reached first


def export(
    rows: Iterable[ExportRow], columns: Columns, *, format: str, out: Path | None, bom: bool = False
) -> int:
    """Write all rows to a file, or to stdout for None; how many they were.

    format  "jsonl", "csv", "parquet" or "sqlite"; ConfigError for another
    bom     CSV begins with a byte order mark, for spreadsheets that would guess
    ExportError when the file cannot be written; nothing of it is left then.
    """
    if format not in FORMATS:
        raise ConfigError(
            "unknown format {format!r}; the formats are: {formats}",
            format=format,
            formats=", ".join(FORMATS),
        )
    write = FORMATS[format]
    with _to_stdout() if out is None else _to_file(out) as file:
        if bom and format == "csv":
            file.write(b"\xef\xbb\xbf")
        count = 0

        def counted() -> Iterator[ExportRow]:
            nonlocal count
            for row in rows:
                yield row
                count += 1

        write(counted(), columns, file)
    return count


def write_bytes(data: bytes, out: Path | None) -> None:
    """Write a file, whole or not at all, or to stdout for None; ExportError if that fails."""
    with _to_stdout() if out is None else _to_file(out) as file:
        file.write(data)


# -- formats ----------------------------------------------------------------------------------


def write_jsonl(rows: Iterable[ExportRow], columns: Columns, file: IO[bytes]) -> None:
    """One JSON object per line, UTF-8 as it is.

    Other characters that some readers take for the end of a line (NEL, LS, PS) and what
    may act on a terminal are escaped, so that it is one line per record for everybody.
    """
    names, encode = tuple(columns), msgspec.json.Encoder(enc_hook=str).encode_lines
    for part in _chunks(rows, CHUNK):
        text = encode([dict(zip(names, row, strict=True)) for row in part])
        file.write(inert_json(text))


def write_csv(rows: Iterable[ExportRow], columns: Columns, file: IO[bytes]) -> None:
    """RFC 4180 with a header line; no cell that a spreadsheet takes for a formula."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(columns)
    for part in _chunks(rows, CHUNK):
        writer.writerows([[_cell(value) for value in row] for row in part])
        file.write(buffer.getvalue().encode())
        buffer.seek(0)
        buffer.truncate()
    file.write(buffer.getvalue().encode())


def _cell(value: Any) -> Any:
    """A value as a spreadsheet may safely open it: numbers as they are, text as text."""
    if type(value) is msgspec.Raw:
        value = bytes(value).decode()
    if type(value) is bool:
        return "true" if value else "false"
    return spreadsheet_text(value) if type(value) is str else value


def write_parquet(rows: Iterable[ExportRow], columns: Columns, file: IO[bytes]) -> None:
    """Columns in zstd, instants as timestamps, `dict` fields as maps.

    Maps and no structs, as their keys hang on the relevance model of each crawl. Needs the extra
    `parquet` (pyarrow).
    """
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ExportError(
            "the format parquet needs pyarrow: pip install 'focus-crawler[parquet]'"
        ) from error
    texts = arrow.string()
    kinds = {str: texts, int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    kinds[datetime] = arrow.timestamp("ms", tz="UTC")
    kinds[dict[str, float]] = arrow.map_(texts, arrow.float64())
    kinds[dict[str, list[str]]] = arrow.map_(texts, arrow.list_(texts))
    schema = arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for part in _chunks(rows, PARQUET_CHUNK):
            arrays = [
                arrow.array([_of_type(value, kind) for value in values], schema.field(name).type)
                for values, (name, kind) in zip(
                    zip(*part, strict=True), columns.items(), strict=True
                )
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _of_type(value: Any, kind: Any) -> Any:
    """A value as arrow takes it."""
    if value is None:
        return None
    if kind is datetime:
        return datetime.fromisoformat(value)
    return [*msgspec.json.decode(value).items()] if type(value) is msgspec.Raw else value


def write_sqlite(rows: Iterable[ExportRow], columns: Columns, file: IO[bytes]) -> None:
    """A database with the table `pages`, made beside the file (SQLite writes here and there)."""
    parts = ([tuple(map(_of_sqlite, row)) for row in part] for part in _chunks(rows, CHUNK))
    target = Path(str(file.name))  # "<stdout>" or a device has no place beside it
    beside = target.parent if target.is_absolute() and target.is_file() else None
    with tempfile.TemporaryDirectory(dir=beside) as folder:
        path = Path(folder, "pages.db")
        try:
            write_table(parts, columns, path)
        except sqlite3.Error as error:
            raise ExportError("SQLite cannot write the file: {error}", error=error) from error
        with path.open("rb") as made:
            shutil.copyfileobj(made, file)


def _of_sqlite(value: Any) -> Any:
    """A value as SQLite takes it; lone surrogates, which no file has, are replaced."""
    if type(value) is msgspec.Raw:
        return bytes(value).decode()
    return value.encode("utf-8", "replace").decode() if type(value) is str else value


FORMATS: dict[str, Callable[[Iterable[ExportRow], Columns, IO[bytes]], None]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
    "sqlite": write_sqlite,
}


def _chunks(rows: Iterable[ExportRow], size: int) -> Iterator[list[ExportRow]]:
    """So many rows at a time, fewer where they hold long texts."""
    part: list[ExportRow] = []
    chars = 0
    for row in rows:
        part.append(row)
        chars += sum(len(value) for value in row if type(value) is str)
        if len(part) >= size or chars > CHUNK_CHARS:
            yield part
            part, chars = [], 0
    if part:
        yield part


# -- where to ---------------------------------------------------------------------------------


@contextmanager
def _to_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name only when it is whole and on the disk."""
    try:
        path = path.resolve()
        if not path.parent.is_dir():
            raise ExportError(
                "cannot write {path}: there is no folder {parent}; make it first",
                path=path,
                parent=path.parent,
            )
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as file:  # a device or a pipe: there is nothing to rename
                yield file
            return
        new = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with new.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)
    except OSError as error:
        raise ExportError(
            "cannot write {path}: {error}; make room or choose another -o FILE",
            path=path,
            error=error,
        ) from error


@contextmanager
def _to_stdout() -> Iterator[IO[bytes]]:
    """The standard output; whoever closes it early (`| head`) has had enough."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        with suppress(OSError, ValueError):  # else the interpreter complains again at its exit
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
        if not isinstance(error, BrokenPipeError):
            raise ExportError(
                "cannot write to the standard output: {error}", error=error
            ) from error
