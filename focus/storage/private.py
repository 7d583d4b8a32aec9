"""Restricts database files to their owner: mode 0600, regardless of the umask.

SQLite gives the WAL, its index (SHM) and the journal the mode of the database, so the database has
to be created with it. On file systems without modes nothing is done.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path

from focus.errors import StoreError

OWNER_ONLY = 0o600
_SUFFIXES = ("", "-wal", "-shm", "-journal")


def create_folder(path: Path) -> None:
    """Create the folder of a database; StoreError if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            "cannot create the folder {parent}: {error}; choose another --db",
            parent=path.parent,
            error=error,
        ) from error


def create_private_file(path: Path) -> None:
    """Create an empty file that only its owner can access; an existing file stays unchanged."""
    with suppress(OSError):  # opening the file raises the proper error
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        try:
            os.fchmod(fd, OWNER_ONLY)
        finally:
            os.close(fd)


def restrict_to_owner(path: Path) -> None:
    """Restrict a database and its WAL, SHM and journal files to their owner.

    Files are not opened, because closing one would drop the locks of this process on it.
    """
    for tail in _SUFFIXES:
        beside = path.with_name(path.name + tail)
        with suppress(OSError):  # the file is missing or belongs to another user
            mode = stat.S_IMODE(beside.stat().st_mode)
            if mode & ~OWNER_ONLY:
                beside.chmod(mode & OWNER_ONLY)


def free_name_beside(path: Path) -> Path:
    """Return an unused name beside a file that will be replaced, such as `focus.db.old1`."""
    names = (path.with_name(f"{path.name}.old{number}") for number in count(1))
    return next(name for name in names if not name.exists())
