"""File of a search index beside its database: opening, tables, errors."""

from __future__ import annotations

import os
import sqlite3
import time
from functools import partial
from pathlib import Path

from focus.errors import StoreError
from focus.storage import file_check, private
from focus.storage.writer import transaction

INDEX_ID = 0x666F6378  # "focx"
FORMAT_VERSION = 3  # an index of another format is rebuilt
LOCK_TIMEOUT_S = 60.0  # another process can be writing a batch
CACHE_KIB = 64 * 1024
MAX_WAL_ATTEMPTS = 100  # times 50 ms

_SCHEMA = """
-- Spelling is folded; `words` has the pairs of ideographs that are words. Row ids equal doc.id.
CREATE VIRTUAL TABLE text_index USING fts5(title, text, words, content = '', tokenize = 'ascii');
-- The pages of the rows of text_index; NULL if the page has changed since or is gone.
CREATE TABLE doc (
    id        INTEGER PRIMARY KEY,
    page      INTEGER UNIQUE,
    published REAL             -- Unix seconds; NULL: unknown
);
-- The indexed part of each crawl.
CREATE TABLE crawl_seen (
    crawl      INTEGER PRIMARY KEY,
    begun      TEXT NOT NULL,     -- digest and start of the crawl, to recognise a replaced crawl
    nth        INTEGER NOT NULL,  -- last request whose page is indexed
    stamp      TEXT NOT NULL,     -- state of the crawl when the next two were computed
    pagerank   REAL NOT NULL,     -- largest PageRank of its pages
    relevance  REAL NOT NULL      -- largest relevance of its pages
);
"""


def index_path(database: Path) -> Path:
    """Return the path of the index of a database: `crawl.db-search` for `crawl.db`."""
    return database.with_name(database.name + "-search")


def open_index(path: Path, database: Path, cache_kib: int) -> tuple[sqlite3.Connection, bool]:
    """Open the index at `path`, create it if needed, and attach the database as `web`.

    Returns the connection, and whether the index can be written. `cache_kib` applies to each of the
    two files. Raises StoreError or an SQLite error if the index cannot be used.
    """
    db, is_writable = _connect(path)
    try:
        _create_tables(db, path, is_writable)
        _attach_database(db, database)
        for name in ("main", "web"):
            db.execute(f"PRAGMA {name}.cache_size = -{cache_kib}")
    except BaseException:
        db.close()
        raise
    return db, is_writable


def _connect(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open or create the index; return the connection and whether it can be written.

    Any thread may use the connection, but only one at a time.
    """
    connect = partial(sqlite3.connect, uri=True, isolation_level=None, check_same_thread=False)
    uri = path.resolve().as_uri()
    if not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        private.create_private_file(path)
        db = connect(f"{uri}?mode=rwc", timeout=LOCK_TIMEOUT_S)
        try:
            _enable_wal(db)
        except BaseException:
            db.close()
            raise
        return db, True
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"
    return connect(f"{uri}?{mode}"), False


def _enable_wal(db: sqlite3.Connection) -> None:
    """Switch to a WAL. SQLite does not wait if two processes do that to a new file at once."""
    db.execute("PRAGMA synchronous = NORMAL")
    for remaining in reversed(range(MAX_WAL_ATTEMPTS)):
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or not remaining:
                raise
            time.sleep(0.05)


def _create_tables(db: sqlite3.Connection, path: Path, is_writable: bool) -> None:
    """Create the tables, or replace those of another format."""
    if _file_marks(db) == (INDEX_ID, FORMAT_VERSION):
        return
    if not is_writable:
        raise StoreError(
            "{path} has the format of another version and cannot be written; check its permissions",
            path=path,
        )
    with transaction(db):
        marks, (tables,) = (
            _file_marks(db),
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone(),
        )
        if marks == (INDEX_ID, FORMAT_VERSION):  # another process was faster
            return
        if tables and marks[0] != INDEX_ID:
            raise StoreError("{path} is not a search index of focus; move it away", path=path)
        for table in ("text_index", "doc", "crawl_seen"):
            db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _SCHEMA.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {INDEX_ID}")
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def _file_marks(db: sqlite3.Connection) -> tuple[int, int]:
    names = ("application_id", "user_version")
    application, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return application, version


def _attach_database(db: sqlite3.Connection, path: Path) -> None:
    """Attach the database read-only as `web`."""
    uri = path.resolve().as_uri()
    try:
        db.execute("ATTACH ? AS web", (f"{uri}?mode=ro",))
        db.execute("SELECT 1 FROM web.sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        if (
            error.sqlite_errorname != "SQLITE_CANTOPEN"
            or path.with_name(path.name + "-wal").exists()
        ):
            raise
        db.execute("ATTACH ? AS web", (f"{uri}?immutable=1",))


def to_index_error(error: sqlite3.Error, path: Path) -> Exception:
    """Return an SQLite error about an index as StoreError; a mistake in the SQL unchanged."""
    if "no such module: fts5" in str(error):
        return StoreError("this Python's SQLite has no FTS5, which searching needs; use another")
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreError(
            "the search index {path} is damaged; delete it, and the next search creates it again",
            path=path,
        )
    return file_check.to_store_error(error, path) or error
