"""Keeps databases to their owner: files of mode 0600, whatever the umask.

SQLite gives a WAL, its index (SHM) and a journal the mode of their database, so it is the
database that has to be made with it. Where a file system knows no modes, nothing is done.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path

from focus.errors import StoreError

MODE = 0o600
_BESIDE = ("", "-wal", "-shm", "-journal")


def make_folder(path: Path) -> None:
    """The folder that a database is to stand in; StoreError if it cannot be made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            "cannot make the folder {parent}: {error}; choose another --db",
            parent=path.parent,
            error=error,
        ) from error


def make(path: Path) -> None:
    """An empty file for a database, its owner's alone; one that is there stays as it is."""
    with suppress(OSError):  # the program that opens it says what is wrong
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
        try:
            _narrow(fd, MODE)
        finally:
            os.close(fd)


def narrow(path: Path) -> None:
    """Take a database and what SQLite keeps beside it away from everybody but the owner.

    By name: opening and closing a file would drop the locks that this process has on it.
    """
    for tail in _BESIDE:
        beside = path.with_name(path.name + tail)
        with suppress(OSError):  # not there, or another's: who may read it rules it
            mode = stat.S_IMODE(beside.stat().st_mode)
            if mode & ~MODE:
                beside.chmod(mode & MODE)


def aside(path: Path) -> Path:
    """A free name beside a file, for what another takes the place of: `focus.db.old1`."""
    names = (path.with_name(f"{path.name}.old{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def _narrow(fd: int, mode: int) -> None:
    if hasattr(os, "fchmod"):
        os.fchmod(fd, mode)
