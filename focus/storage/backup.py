"""Copies a database while crawls and watches write to it, and puts a copy back.

A copy is what one reader sees at one moment: all batches up to then, none in part. It is made
by SQLite's backup interface under a read transaction, so that writers neither wait for it nor
make it begin anew; it is a single file, its owner's alone, and appears under its name once it
has been checked. What a database has beside it is left out: its index (`FILE-search`), which
`focus search` makes again, and the key that seals what is secret in it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from focus.errors import StoreError
from focus.storage import file_check, private
from focus.storage.lock import held
from focus.storage.search_file import index_path

PAGES = 4096
"""Of 4 KiB, copied between two calls of `progress`."""

WAIT_S = 5.0  # for another program that is just leaving

_TAILS = ("-wal", "-shm")

Progress = Callable[[float, float], None]


class Copied(NamedTuple):
    """The contents of a copy; `replaced` is where the database is now that it took the place of."""

    crawls: int
    pages: int
    alerts: int
    bytes: int
    replaced: Path | None = None


def backup(database: Path, copy: Path, *, replace: bool, progress: Progress) -> Copied:
    """Copy a database into a file; another one of that name stays unless `replace`.

    progress  is told (done, all) in pages, now and then
    StoreError if the database is none of ours or damaged, or the copy cannot be written.
    """
    _check_there(database)
    if not replace and copy.exists():
        raise StoreError("{path} is there; choose another name, or --force", path=copy)
    if copy.exists() and copy.samefile(database):
        raise StoreError("{path} is the database itself; choose another name", path=copy)
    with _draft(database, copy, progress) as (draft, copied):
        with _written(copy):
            draft.replace(copy)
            _sync(copy.parent)
        return copied


def restore(copy: Path, database: Path, *, replace: bool, pid: int, progress: Progress) -> Copied:
    """Put a copy back as the database; what it replaces stays beside it (`Copied.replaced`).

    replace  whether it may take the place of one that is there
    Killed at any moment, there is the old one or the new one, whole, under the name. StoreError
    if the copy is damaged, none of ours or newer than this focus, if something is in the way, or
    another process has the database open; StoreLocked if that is a crawl.
    """
    _check_there(copy)
    if database.exists() and copy.samefile(database):
        raise StoreError("{path} is the database itself; choose another name", path=copy)
    if database.exists() and not replace:
        raise StoreError(
            "{path} is there; choose another --db, or --force, which keeps it beside",
            path=database,
        )
    private.make_folder(database)
    with held(database, pid=pid), _draft(copy, database, progress) as (draft, copied):
        with ExitStack() as stack, _written(database):
            replaced = None
            if database.exists():
                stack.enter_context(_alone(database))
                replaced = _kept_beside(database)
            for tail in ("", *_TAILS):
                _beside(index_path(database), tail).unlink(missing_ok=True)
            draft.replace(database)
            _sync(database.parent)
        return copied._replace(replaced=replaced)


# -- copying ------------------------------------------------------------------------


def _check_there(path: Path) -> None:
    if not file_check.check_file(path):
        raise StoreError("there is no database at {path}", path=path)


@contextmanager
def _draft(source: Path, target: Path, progress: Progress) -> Iterator[tuple[Path, Copied]]:
    """A checked copy beside `target`; whatever is left of it at the end goes."""
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with file_check.explaining(source):
            private.make(draft)
            with closing(_connected(draft, "rw")) as into:
                with closing(_connected(source, "ro")) as out:
                    _copy(out, into, progress)
                copied = _checked(into, source)
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
        yield draft, copied._replace(bytes=draft.stat().st_size)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        for tail in ("", "-journal", *_TAILS):
            with suppress(OSError):
                _beside(draft, tail).unlink(missing_ok=True)


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}", timeout=WAIT_S, uri=True, isolation_level=None
    )


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, progress: Progress) -> None:
    """All pages as of now. The transaction holds them fast: without it every batch that another
    process writes meanwhile would make SQLite begin anew.
    """
    target.execute("PRAGMA synchronous = OFF")  # it is brought to the disk once, when it is whole
    source.execute("BEGIN")
    source.execute("SELECT 1 FROM sqlite_schema").fetchone()  # only now is the moment chosen

    def told(_: int, left: int, total: int) -> None:
        progress(total - left, total)

    source.backup(target, pages=PAGES, progress=told)
    target.execute("PRAGMA journal_mode = DELETE")  # one file, nothing beside it


def _checked(db: sqlite3.Connection, path: Path) -> Copied:
    """What a copy holds; StoreError unless every page and index of it is sound."""
    file_check.check_tables(db, path)
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise StoreError(
            "{path} is damaged ({found}); keep it, and try `sqlite3 FILE .recover`",
            path=path,
            found=found,
        )
    sql = "SELECT (SELECT count(*) FROM crawl), (SELECT count(*) FROM page), count(*) FROM alert"
    crawls, pages, alerts = db.execute(sql).fetchone()
    return Copied(crawls, pages, alerts, bytes=0)


# -- putting back -------------------------------------------------------------------


@contextmanager
def _alone(database: Path) -> Iterator[None]:
    """Nobody else has the database open, and its journal is folded into it.

    An open connection to a database with a WAL holds a lock on it even when it does nothing, so
    that leaving that mode fails beside one. A database that is damaged can be replaced, too.
    """
    with closing(_connected(database, "rw")) as db:
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("PRAGMA journal_mode = DELETE")
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise StoreError(
                    "another program has {path} open (focus serve?); end it, then restore",
                    path=database,
                ) from error
        except sqlite3.DatabaseError:
            pass
        yield


def _kept_beside(database: Path) -> Path:
    """Give the database a second name, so that the first can be taken over in one step."""
    kept = private.aside(database)
    for tail in _TAILS:  # there if it is damaged only: a journal must not meet another database
        with suppress(FileNotFoundError):
            _beside(database, tail).replace(_beside(kept, tail))
    try:
        os.link(database, kept)
    except OSError:  # a file system without links
        database.replace(kept)
    return kept


def _beside(path: Path, tail: str) -> Path:
    return path.with_name(path.name + tail)


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError("{path}: cannot be written: {error}", path=path, error=error)


def _sync(folder: Path) -> None:
    """The new name itself on the disk."""
    with suppress(OSError):  # some systems cannot open folders
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
