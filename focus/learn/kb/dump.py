"""Reading of the lines of a knowledge dump; malformed ones are counted.

A dump has three columns, entity TAB attribute TAB value (CN-DBpedia's public form). A list of
aliases has two, alias TAB entity. The first valid line decides. Files may be plain, .gz or .zst.
Memory stays constant for files of any length.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from focus.errors import KnowledgeError
from focus.http.zstd import DecompressionParameter, ZstdError, ZstdFile
from focus.records import ReportProgress
from focus.text.formatting import printable

Fact = tuple[str, str, str]

ALIAS = "别名"
MAX_LINE = 1 << 20  # bytes; longer lines are malformed
MAX_COMPLAINTS = 10  # malformed lines that are reported one by one
_PROGRESS_LINES = 20_000  # lines between two reports of progress
_WINDOW_LOG = 27  # zstd --long=27; a larger one would not fit into memory


class FactReader:
    """Reads a dump once, by `read_facts`, and counts its lines.

    lines, fact_count, malformed   numbers of lines, facts and malformed lines so far
    complaints   the first malformed lines, each with its number and the fault
    damage       why the file ended early, None if it did not
    """

    def __init__(self, path: Path, report_progress: ReportProgress) -> None:
        self.lines = self.fact_count = self.malformed = 0
        self.complaints: list[str] = []
        self.damage: str | None = None
        self._path = path
        self._report_progress = report_progress
        self._columns = 0

    def read_facts(self) -> Iterator[Fact]:
        """Yield the facts in order. Raises KnowledgeError if the file cannot be opened."""
        with ExitStack() as stack:
            try:
                raw = stack.enter_context(self._path.open("rb"))
                self._size = self._path.stat().st_size
            except OSError as error:
                raise KnowledgeError(
                    "{path}: cannot be read: {error}", path=self._path, error=error
                ) from None
            plain = stack.enter_context(decompress(raw))
            try:
                yield from self._read(raw, plain)
            except (EOFError, OSError, zlib.error, ZstdError) as error:
                self.damage = f"{self._path}: breaks off after line {self.lines:,}: {error}"
            self._report_progress(raw.tell(), self._size)

    def _read(self, raw: BinaryIO, plain: BinaryIO) -> Iterator[Fact]:
        while line := plain.readline(MAX_LINE):
            self.lines += 1
            if self.lines % _PROGRESS_LINES == 0:
                self._report_progress(raw.tell(), self._size)
            if len(line) == MAX_LINE and not line.endswith(b"\n"):
                while (rest := plain.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                self._complain(f"longer than {MAX_LINE >> 20} MiB")
                continue
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                self._complain(f"is not UTF-8 (byte {error.start})")
                continue
            fact = self._parse_line(text.removeprefix("\ufeff") if self.lines == 1 else text)
            if fact is not None:
                self.fact_count += 1
                yield fact

    def _parse_line(self, line: str) -> Fact | None:
        columns = self._columns
        parts = [part.strip() for part in line.split("\t", columns - 1 if columns == 3 else -1)]
        if not columns and len(parts) > 1 and all(parts):
            columns = self._columns = min(len(parts), 3)
            parts = [*parts[: columns - 1], "\t".join(parts[columns - 1 :])]
        if len(parts) == columns and all(parts):
            return (parts[0], parts[1], parts[2]) if columns == 3 else (parts[1], ALIAS, parts[0])
        if len(parts) > 1 or parts[0]:  # empty lines are ignored
            self._complain(_describe_fault(parts, columns or 3))
        return None

    def _complain(self, what: str) -> None:
        self.malformed += 1
        if len(self.complaints) < MAX_COMPLAINTS:
            self.complaints.append(f"{self._path}:{self.lines}: {what}")


def _describe_fault(parts: list[str], columns: int) -> str:
    line = printable("\t".join(parts), 60)
    if len(parts) == columns:
        return f"an empty column: {line!r}"
    expected = "entity, attribute, value" if columns == 3 else "alias, entity"
    return f"{len(parts)} columns where {columns} belong ({expected}): {line!r}"


def decompress(raw: BinaryIO) -> BinaryIO:
    """Return the content of a file that may be compressed, by its first bytes."""
    magic = cast(io.BufferedReader, raw).peek(4)[:4]
    if magic.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if magic == b"\x28\xb5\x2f\xfd":
        options: dict[int, int] = {DecompressionParameter.window_log_max: _WINDOW_LOG}
        return cast(BinaryIO, ZstdFile(raw, options=options))
    return raw
