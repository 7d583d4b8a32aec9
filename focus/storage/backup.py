"""Copies a database that is in use, and restores a database from a copy.

A copy is the state of one moment, with complete batches only. It is made with the backup interface
of SQLite in a read transaction, so that writers need not wait and do not restart the copy. The copy
is a single file, readable by its owner only, and receives its name after it was checked. It does
not include the files beside the database: the search index (`FILE-search`), which `focus search`
creates again, and the key for encrypted values.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from focus.errors import StoreError
from focus.records import ReportProgress
from focus.storage import file_check, private
from focus.storage.lock import database_lock
from focus.storage.search_file import index_path
from focus.storage.whole_file import follow_links

PAGES_PER_STEP = 4096
"""Database pages of 4 KiB that are copied between two calls of `progress`."""

LOCK_TIMEOUT_S = 5.0  # for another program that is about to close the database

_SUFFIXES = ("-wal", "-shm")


class CopySummary(NamedTuple):
    """Numbers of rows in a copy; `replaced` is the new path of the database that it replaced."""

    crawls: int
    pages: int
    alerts: int
    bytes: int
    replaced: Path | None = None


def backup(database: Path, copy: Path, *, replace: bool, progress: ReportProgress) -> CopySummary:
    """Copy a database to a file.

    Args:
        database: The database.
        copy: The new file.
        replace: Whether to replace an existing file.
        progress: Called with (pages copied, all pages) from time to time.

    Raises:
        StoreError: The database is damaged or of another program, or the copy cannot be written.
    """
    _require_database(database)
    if copy.exists() and not copy.is_file():
        raise StoreError("{path} is not a regular file; choose another name", path=copy)
    if not replace and copy.exists():
        raise StoreError("{path} already exists; choose another name, or give --force", path=copy)
    if copy.exists() and copy.samefile(database):
        raise StoreError("{path} is the database itself; choose another name", path=copy)
    copy = follow_links(copy)  # a link stays a link
    with _checked_copy(database, copy, progress) as (draft, summary):
        with _reporting_write_errors(copy):
            draft.replace(copy)
            _sync_folder(copy.parent)
        return summary


def restore(
    copy: Path, database: Path, *, replace: bool, pid: int, progress: ReportProgress
) -> CopySummary:
    """Restore a database from a copy; the replaced database is kept under another name.

    If the process is killed, the path has either the old or the new database.

    Args:
        copy: The copy.
        database: The path of the database.
        replace: Whether to replace an existing database.
        pid: The id of this process, for the lock.
        progress: Called with (pages copied, all pages) from time to time.

    Raises:
        StoreError: The copy is damaged, of another program or of a newer version; or the path is
            in use.
        StoreLocked: A crawl uses the database.
    """
    _require_database(copy)
    if database.exists() and copy.samefile(database):
        raise StoreError("{path} is the database itself; choose another name", path=copy)
    if database.exists() and not replace:
        raise StoreError(
            "{path} already exists; choose another --db, or give --force, which keeps the old one",
            path=database,
        )
    private.create_folder(database)
    file = follow_links(database)  # a link stays a link
    with database_lock(database, pid=pid), _checked_copy(copy, file, progress) as (draft, summary):
        with ExitStack() as stack, _reporting_write_errors(database):
            replaced = None
            if database.exists():
                stack.enter_context(_exclusive_access(database))
                replaced = _move_aside(file)
            for suffix in ("", *_SUFFIXES):
                _add_suffix(index_path(database), suffix).unlink(missing_ok=True)
            draft.replace(file)
            _sync_folder(file.parent)
        return summary._replace(replaced=replaced)


# -- copying ------------------------------------------------------------------------


def _require_database(path: Path) -> None:
    if not file_check.check_file(path):
        raise StoreError("there is no database at {path}", path=path)


@contextmanager
def _checked_copy(
    source: Path, target: Path, progress: ReportProgress
) -> Iterator[tuple[Path, CopySummary]]:
    """Make a checked copy beside `target`, and delete what is left of it at the end."""
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with file_check.store_errors(source):
            private.create_private_file(draft)
            with closing(_connect(draft, "rw")) as into:
                with closing(_connect(source, "ro")) as out:
                    _copy(out, into, progress)
                summary = _check_copy(into, source)
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
        yield draft, summary._replace(bytes=draft.stat().st_size)
    except OSError as error:
        raise _write_error(target, error) from error
    finally:
        for suffix in ("", "-journal", *_SUFFIXES):
            with suppress(OSError):
                _add_suffix(draft, suffix).unlink(missing_ok=True)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        timeout=LOCK_TIMEOUT_S,
        uri=True,
        isolation_level=None,
    )


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, progress: ReportProgress) -> None:
    """Copy all pages in their present state.

    Without the read transaction SQLite would restart the copy at each write of another process.
    """
    target.execute("PRAGMA synchronous = OFF")  # it is synced once, when it is complete
    source.execute("BEGIN")
    source.execute("SELECT 1 FROM sqlite_schema").fetchone()  # the transaction starts here

    def report_progress(_: int, remaining: int, total: int) -> None:
        progress(total - remaining, total)

    source.backup(target, pages=PAGES_PER_STEP, progress=report_progress)
    target.execute("PRAGMA journal_mode = DELETE")  # one file, nothing beside it


def _check_copy(db: sqlite3.Connection, path: Path) -> CopySummary:
    """Return a summary of the copy; StoreError if it is damaged."""
    file_check.check_views(db, path)
    (result,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise StoreError(
            "{path} is damaged ({found}); keep it and try `sqlite3 FILE .recover`",
            path=path,
            found=result,
        )
    sql = "SELECT (SELECT count(*) FROM crawl), (SELECT count(*) FROM page), count(*) FROM alert"
    crawls, pages, alerts = db.execute(sql).fetchone()
    return CopySummary(crawls, pages, alerts, bytes=0)


# -- restoring ----------------------------------------------------------------------


@contextmanager
def _exclusive_access(database: Path) -> Iterator[None]:
    """Lock the database for this process alone, and merge its WAL into it.

    Every open connection to a database with a WAL holds a lock, so switching that mode off fails
    while another program has the database open. A damaged database can be replaced as well.
    """
    with closing(_connect(database, "rw")) as db:
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("PRAGMA journal_mode = DELETE")
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise StoreError(
                    "another program (focus serve?) is using {path}; stop it first", path=database
                ) from error
        except sqlite3.DatabaseError:
            pass
        yield


def _move_aside(database: Path) -> Path:
    """Give the database a second name, so that its file can be replaced in one step."""
    old_path = private.free_name_beside(database)
    for suffix in _SUFFIXES:  # present only if damaged; a journal must not meet another database
        with suppress(FileNotFoundError):
            _add_suffix(database, suffix).replace(_add_suffix(old_path, suffix))
    try:
        os.link(database, old_path)
    except OSError:  # a file system without links
        database.replace(old_path)
    return old_path


def _add_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


@contextmanager
def _reporting_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError) -> StoreError:
    return StoreError("{path}: cannot be written: {error}", path=path, error=error)


def _sync_folder(folder: Path) -> None:
    """Write the entry of a renamed file to the disk."""
    with suppress(OSError):  # some systems cannot open folders
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
