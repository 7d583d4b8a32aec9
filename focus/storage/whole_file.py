"""Writes a file that appears whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from focus.errors import ExportError


@contextmanager
def open_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of `path` when it is completely on disk."""
    part = path.with_name(f".{path.name[:60]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all; ExportError if that fails."""
    try:
        with open_whole(path) as file:
            file.write(data)
    except OSError as error:
        raise ExportError("{path}: cannot be written: {error}", path=path, error=error) from None
