"""Checks that a file is a database of focus, and converts errors of SQLite to messages."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from focus.errors import StoreError
from focus.i18n import msg
from focus.storage import schema
from focus.text.formatting import printable

_ADVICE = {
    "SQLITE_BUSY": msg("another program is writing to it; close that and try again"),
    "SQLITE_LOCKED": msg("another program is writing to it; close that and try again"),
    "SQLITE_FULL": msg(
        "the disk is full; make room and run the same command again, nothing is lost"
    ),
    "SQLITE_READONLY": msg(
        "it cannot be written; check the permissions of the file and its folder"
    ),
    "SQLITE_PERM": msg("it cannot be opened; check the permissions of the file and its folder"),
    "SQLITE_CANTOPEN": msg("it cannot be opened; check that its folder exists and can be written"),
    "SQLITE_CORRUPT": msg("it is damaged; keep a copy, then try `sqlite3 FILE .recover`"),
    "SQLITE_NOTADB": msg("it is not a database; choose another --db"),
    "SQLITE_IOERR": msg("the disk reports an error; check it, then run the same command again"),
    "SQLITE_TOOBIG": msg("a value is too large for it"),
    "SQLITE_NOLFS": msg("its file system cannot hold a file of that size"),
    "SQLITE_PROTOCOL": msg("its locks do not work; put it on a local disk"),
}


def to_store_error(error: Exception, path: Path) -> StoreError | None:
    """Return an SQLite error as StoreError with advice; None if it is a mistake in the SQL."""
    name = getattr(error, "sqlite_errorname", "")
    advice = _ADVICE.get("_".join(name.split("_")[:2]))  # SQLITE_IOERR_WRITE → SQLITE_IOERR
    return (
        StoreError("{path}: {advice} ({error})", path=path, advice=advice, error=error)
        if advice
        else None
    )


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Convert SQLite errors about the file to StoreError; mistakes in the SQL are not converted."""
    try:
        yield
    except sqlite3.Error as error:
        if (store_error := to_store_error(error, path)) is None:
            raise
        raise store_error from error


def check_views(db: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError for a view that focus did not create: reading it could take forever."""
    views = db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'view' AND sql NOT IN (?, ?)",
        (schema.URL_VIEW, schema.PAGES_VIEW),
    )
    if (row := views.fetchone()) is not None:
        raise StoreError(
            "{path} has a view ({row}) that focus did not create; choose another --db",
            path=path,
            row=printable(str(row[0]), 40),
        )


def check_file(path: Path) -> bool:
    """Return whether `path` is a database of focus; False if it is missing or empty.

    Only the header is read, without the journal, so that the journal of another program is not
    merged. The application id is in the header before the first switch to WAL (`Store.open`). Only
    SQLite opens the file: closing it here would drop the POSIX locks of all connections of this
    process, and the next program that closes the database would then delete the WAL with its
    contents. Raises StoreError for a file of another program.
    """
    try:
        if not path.stat().st_size:
            return False
        if path.is_dir() or not os.access(path, os.R_OK):
            number = errno.EISDIR if path.is_dir() else errno.EACCES
            raise OSError(number, os.strerror(number))
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            application = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(
            "cannot read {path}: {error}; choose another --db", path=path, error=error
        ) from error
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname == "SQLITE_NOTADB":
            raise StoreError("{path} is not a database; choose another --db", path=path) from error
        return True  # locked or damaged: opening it will raise the proper error
    if application != schema.APPLICATION_ID:
        raise StoreError(
            "{path} is the database of another program; choose another --db", path=path
        )
    check_version(version, path)
    return True


def check_version(version: int, path: Path) -> None:
    """Raise StoreError if the file is of a newer version, or older than the first release."""
    if 0 < version <= schema.LAST_UNRELEASED_VERSION:
        raise StoreError(
            "{path} was written before the first release, in a format that cannot be read any "
            "more; delete it or choose another --db, and crawl again",
            path=path,
        )
    if version > schema.VERSION:
        raise StoreError(
            "{path} was written by a newer focus (format {version}, this one knows {known}); "
            "update focus or choose another --db",
            path=path,
            version=version,
            known=schema.VERSION,
        )
