"""Locks a database for one crawl at a time, known by its process id.

An advisory lock on a file of its own beside the database. The kernel drops it
with the process, so nothing stale is left behind by `kill -9`; the file itself
stays (removing it would race with the next holder) and keeps the last pid.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from focus.errors import StoreError, StoreLocked

if sys.platform == "win32":
    import msvcrt

    # Locks are mandatory there: a byte far behind the pid keeps that readable.
    _FAR = 1 << 30

    def _try_lock(fd: int, *, shared: bool) -> None:
        del shared  # there is no such thing
        os.lseek(fd, _FAR, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(fd: int, *, shared: bool) -> None:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


ATTEMPTS, PAUSE_S = 4, 0.03
"""A look by `holder` takes the lock for microseconds; a start outlasts that."""

_held: set[int] = set()


def _forget() -> None:
    """In a forked child: the lock belongs to the parent alone, and dies with it."""
    for fd in _held:
        with suppress(OSError):
            os.close(fd)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def lock_path(database: Path) -> Path:
    """`crawl.db` is guarded by `crawl.db.lock`."""
    return database.with_name(database.name + ".lock")


@contextmanager
def held(database: Path, *, pid: int) -> Iterator[None]:
    """Hold the lock of `database`; StoreLocked at once (0.1 s) if another has it."""
    path = lock_path(database)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    except OSError as error:
        raise StoreError(
            "cannot write {path}: {error}; choose another --db",
            path=path,
            error=error,
        ) from error
    _held.add(fd)
    try:
        _acquire(fd, database)
        with suppress(OSError):  # a full disk: the pid is a courtesy, the lock is held
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, str(pid).encode())
        yield
    finally:
        if fd in _held:  # not so in a forked child
            _held.discard(fd)
            os.close(fd)


def _acquire(fd: int, database: Path) -> None:
    for attempt in range(ATTEMPTS):
        try:
            return _try_lock(fd, shared=False)
        except OSError:
            if attempt < ATTEMPTS - 1:
                time.sleep(PAUSE_S)
    raise StoreLocked(
        "another focus crawl (pid {pid}) is using {database}; wait for it, stop it, or "
        "choose another --db",
        pid=_pid(fd),
        database=database,
    )


def _pid(fd: int) -> int:
    os.lseek(fd, 0, os.SEEK_SET)
    text = os.read(fd, 20)
    return int(text) if text.isdigit() else 0


def holder(database: Path) -> int | None:
    """Process id of the crawl that holds `database` now; None when nobody does."""
    try:
        fd = os.open(lock_path(database), os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        _try_lock(fd, shared=True)
    except OSError:
        return _pid(fd)
    finally:
        os.close(fd)
    return None
