"""The one writer of output files: whole or not at all, through links, never over a device."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from focus.errors import ExportError

_APPLICATION = slice(68, 72)  # of an SQLite file, https://sqlite.org/fileformat.html
_DATABASES = (b"focu", b"fokb")  # crawls and knowledge bases


@contextmanager
def open_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that changes completely or not at all.

    The bytes go to a temporary file, which takes the place of `path` when it is on disk. Symbolic
    links are followed, and an existing file keeps its permissions and, if possible, its owner. A
    device or a pipe is not replaced: it is written directly. Raises ExportError for a database of
    focus, and OSError.
    """
    path = follow_links(path)
    existing = path.stat() if path.exists() else None
    if existing is not None and not stat.S_ISREG(existing.st_mode):
        with path.open("wb") as file:
            yield file
        return
    if existing is not None and _is_database(path):
        raise ExportError("{path} is a database of focus; choose another file", path=path)
    part = path.with_name(f".{path.name[:60]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            if existing is not None:
                _copy_rights(file.fileno(), existing)
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def follow_links(path: Path) -> Path:
    """Return the file that a path names, which need not exist; OSError for links in a circle."""
    with suppress(FileNotFoundError):
        path.stat()
    return path.resolve()


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_APPLICATION.stop)[_APPLICATION] in _DATABASES


def _copy_rights(descriptor: int, existing: os.stat_result) -> None:
    with suppress(OSError):  # only root may give a file away
        os.fchown(descriptor, existing.st_uid, existing.st_gid)
    with suppress(OSError):
        os.fchmod(descriptor, stat.S_IMODE(existing.st_mode))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all; ExportError if that fails."""
    try:
        with open_whole(path) as file:
            file.write(data)
    except OSError as error:
        raise ExportError("{path}: cannot be written: {error}", path=path, error=error) from None
