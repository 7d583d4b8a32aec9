"""Lock of a database for one crawl at a time.

It is an advisory lock on a separate file beside the database, which contains the process id of the
last owner. The kernel releases the lock when the process ends, so `kill -9` leaves no stale lock.
The file itself is not deleted, because that would race with the next owner.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from focus.errors import StoreError, StoreLocked
from focus.storage import private

ATTEMPTS, PAUSE_S = 4, 0.03
"""`lock_holder_pid` takes the lock for microseconds, so the lock is tried several times."""

_lock_descriptors: set[int] = set()


def _close_inherited_locks() -> None:
    """Close the lock files in a forked child: the lock belongs to the parent process alone."""
    for fd in _lock_descriptors:
        with suppress(OSError):
            os.close(fd)
    _lock_descriptors.clear()


os.register_at_fork(after_in_child=_close_inherited_locks)


def lock_path(database: Path) -> Path:
    """Return the lock file of a database: `crawl.db.lock` for `crawl.db`."""
    return database.with_name(database.name + ".lock")


def server_lock_path(database: Path) -> Path:
    """Return the path whose lock `focus serve` holds, so that crawls see that it is running."""
    return database.with_name(database.name + ".serve")


@contextmanager
def database_lock(database: Path, *, pid: int) -> Iterator[None]:
    """Hold the lock of `database`; StoreLocked within 0.1 s if another process has it."""
    path = lock_path(database)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        private.restrict_to_owner(path)  # whoever can open the file can hold its lock
    except OSError as error:
        raise StoreError(
            "cannot write {path}: {error}; choose another --db", path=path, error=error
        ) from error
    _lock_descriptors.add(fd)
    try:
        _acquire(fd, database)
        with suppress(OSError):  # on a full disk the lock works without the pid
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, str(pid).encode())
        yield
    finally:
        if fd in _lock_descriptors:  # false in a forked child
            _lock_descriptors.discard(fd)
            os.close(fd)


def _acquire(fd: int, database: Path) -> None:
    for attempt in range(ATTEMPTS):
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if attempt < ATTEMPTS - 1:
                time.sleep(PAUSE_S)
    raise StoreLocked(
        "another focus crawl (pid {pid}) is using {database}; set FOCUS_WAIT=8h to wait for its "
        "end, stop it, or choose another --db",
        pid=_read_pid(fd),
        database=database,
    )


def _read_pid(fd: int) -> int:
    os.lseek(fd, 0, os.SEEK_SET)
    text = os.read(fd, 20)
    return int(text) if text.isdigit() else 0


def lock_holder_pid(database: Path) -> int | None:
    """Return the process id of the crawl that has locked the database; None if none has."""
    try:
        fd = os.open(lock_path(database), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _read_pid(fd)
    finally:
        os.close(fd)
    return None
