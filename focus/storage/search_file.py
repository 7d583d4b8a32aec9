"""Opens the file of a search index beside its database, and describes its tables."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from focus.errors import StoreError
from focus.storage import file_check, private

INDEX_ID = 0x666F6378  # "focx"
FORMAT = 1  # another one is made anew
BUSY_S = 60.0  # another indexer ends its batch
CACHE_KIB = 64 * 1024
SWITCHES = 100  # times 50 ms

_SCHEMA = """
-- Spelt as in `spelling`; `words`: pairs that are words. Its rows are numbered as in doc.
CREATE VIRTUAL TABLE text_index USING fts5(title, text, words, content = '', tokenize = 'ascii');
-- What a row of text_index is: a page; NULL: the page is another by now, or gone.
CREATE TABLE doc (id INTEGER PRIMARY KEY, page INTEGER UNIQUE);
-- How much of a crawl is in the index.
CREATE TABLE crawl_seen (
    crawl      INTEGER PRIMARY KEY,
    begun      TEXT NOT NULL,     -- digest and begin of the crawl: another one is not it
    nth        INTEGER NOT NULL,  -- the last request whose page is here
    stamp      TEXT NOT NULL,     -- of the crawl when the next two were found
    pagerank   REAL NOT NULL,     -- largest of its pages
    relevance  REAL NOT NULL      -- the same
);
"""


def index_path(database: Path) -> Path:
    """`crawl.db` is indexed in `crawl.db-search`."""
    return database.with_name(database.name + "-search")


def opened(path: Path, database: Path, cache_kib: int) -> tuple[sqlite3.Connection, bool]:
    """The index at `path`, made if need be, with the database attached as `web`.

    Also whether it can be written. StoreError, or SQLite's, when it cannot be used.
    `cache_kib` is for each of the two files.
    """
    db, writable = _connected(path)
    try:
        _prepare(db, path, writable)
        _attach(db, database)
        for name in ("main", "web"):
            db.execute(f"PRAGMA {name}.cache_size = -{cache_kib}")
    except BaseException:
        db.close()
        raise
    return db, writable


def _connected(path: Path) -> tuple[sqlite3.Connection, bool]:
    """The index, made if need be, and whether it can be written. Of one thread at a time."""
    connect = partial(sqlite3.connect, uri=True, isolation_level=None, check_same_thread=False)
    uri = path.resolve().as_uri()
    if not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        private.make(path)
        db = connect(f"{uri}?mode=rwc", timeout=BUSY_S)
        try:
            _write_ahead(db)
        except BaseException:
            db.close()
            raise
        return db, True
    how = "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"
    return connect(f"{uri}?{how}"), False


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to a WAL. SQLite does not wait where two do that to a new file at once."""
    db.execute("PRAGMA synchronous = NORMAL")
    for left in reversed(range(SWITCHES)):
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or not left:
                raise
            time.sleep(0.05)


def _prepare(db: sqlite3.Connection, path: Path, writable: bool) -> None:
    """Make the tables, or make them again if they are of another format."""
    if _marks(db) == (INDEX_ID, FORMAT):
        return
    if not writable:
        raise StoreError(
            "{path} is not of this focus and cannot be written; check permissions", path=path
        )
    with transaction(db):
        found, (tables,) = _marks(db), db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if found == (INDEX_ID, FORMAT):  # somebody else was quicker
            return
        if tables and found[0] != INDEX_ID:
            raise StoreError("{path} is no search index of ours; move it out of the way", path=path)
        for table in ("text_index", "doc", "crawl_seen"):
            db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _SCHEMA.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {INDEX_ID}")
        db.execute(f"PRAGMA user_version = {FORMAT}")


def _marks(db: sqlite3.Connection) -> tuple[int, int]:
    names = ("application_id", "user_version")
    application, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return application, version


def _attach(db: sqlite3.Connection, path: Path) -> None:
    """The database beside the index, read-only, as `web`."""
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


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Whole or not at all."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def explained(error: sqlite3.Error, path: Path) -> Exception:
    """SQLite's complaint about an index as a line for people; a mistake of ours as it is."""
    if "no such module: fts5" in str(error):
        return StoreError("this Python's SQLite has no FTS5, which searching needs; use another")
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreError(
            "the search index {path} is damaged; delete it, and the next search makes it anew",
            path=path,
        )
    return file_check.explained(error, path) or error
