"""Where is it written which words stand on which page? In an index beside the database.

`crawl.db` has its index in `crawl.db-search`, a file that can be deleted at any time: the
next search makes it anew. Apart, as a crawl under way holds the database, and never waits
here; and as who does not search pays nothing. Texts stand in the database alone (FTS5
without content). `update` brings the index up to date, a batch of pages in a transaction:

    of each crawl the index knows the last request (`page.nth`) whose page it has, so new
    pages and pages fetched again are those beyond it
    a page fetched again is a new document, its old one belongs to no page; so do those of
    crawls that are gone or are others by now. FTS5 cannot delete what it has not kept
    (before SQLite 3.43): when a third are such, the index is made anew
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from focus.db import labels, schema
from focus.db.query import Reader
from focus.db.schema import id_range
from focus.db.spelling import pairs_that_are_words, plain, spelt
from focus.errors import StoreError
from focus.parse import parse
from focus.score.content import main_text
from focus.segment import Segmenter

INDEX_ID = 0x666F6378  # "focx"
FORMAT = 1  # another one is made anew
BATCH = 512  # pages in a transaction: about 2 s
READ = 32  # pages with their sources in memory
MAX_CHARS = 100_000  # of a page's text
BUSY_S = 60.0  # another indexer ends its batch
FEWEST_DEAD = 1_000

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

Watch = Callable[[float, float], None]


class Seen(NamedTuple):
    """A crawl as the index knows it."""

    crawl: int
    begun: str
    nth: int
    stamp: str
    pagerank: float
    relevance: float


def index_path(database: Path) -> Path:
    """`crawl.db` is indexed in `crawl.db-search`."""
    return database.with_name(database.name + "-search")


class SearchIndex:
    """The index of a database, with the database to read. Close it, or use it in a `with`.

    Of one thread; each thread of a server has its own, and one at a time need update it.
    """

    def __init__(self, path: Path) -> None:
        """StoreError when there is no database at `path`, or its index cannot be used."""
        self.path = index_path(path)
        self.reader = Reader(path)
        self.segmenter = Segmenter()
        try:
            with self.explaining():
                self.db, self.writable = _connected(self.path)
            try:
                with self.explaining():
                    _prepare(self.db, self.path, self.writable)
                    _attach(self.db, path)
            except BaseException:
                self.db.close()
                raise
        except BaseException:
            self.reader.close()
            raise

    def __enter__(self) -> SearchIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of both files."""
        self.db.close()
        self.reader.close()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """SQLite's complaints about the index as StoreError."""
        try:
            yield
        except sqlite3.Error as error:
            raise _explained(error, self.path) from error

    # -- bringing it up to date ----------------------------------------------------

    def update(self, watch: Watch = lambda done, total: None) -> int:
        """Index what is new; how many pages that was. What is done stays when it is interrupted.

        watch  called with (pages done, pages to do)

        An index that cannot be written stays as it is.
        """
        if not self.writable:
            return 0
        with self.explaining():
            self._follow_crawls()
            todo = self._behind()
            done, total = 0, sum(number for _, number in todo)
            for crawl, _ in todo:
                while number := self._batch(crawl, lambda n, before=done: watch(before + n, total)):
                    done += number
            self._measure()
            return done

    def behind(self) -> int:
        """Pages that `update` would look at."""
        with self.explaining():
            if self.writable:
                self._follow_crawls()
            return sum(number for _, number in self._behind())

    def seen(self) -> list[Seen]:
        """The crawls that have pages in the index, or will."""
        with self.explaining():
            return [Seen(*row) for row in self.db.execute("SELECT * FROM crawl_seen")]

    def _behind(self) -> list[tuple[int, int]]:
        return [(crawl, n) for crawl, n in self.db.execute(_BEHIND) if n]

    def _follow_crawls(self) -> None:
        """Forget crawls that are gone, meet new ones."""
        present = {row[0]: row[1] for row in self._read(_CRAWLS)}
        known = {each.crawl: each.begun for each in self.seen()}
        gone = [crawl for crawl, begun in known.items() if present.get(crawl) != begun]
        new = [crawl for crawl in present if crawl in gone or crawl not in known]
        if not gone and not new:
            return
        with _transaction(self.db):
            for crawl in gone:
                self.db.execute(_FORGET_PAGES, id_range(crawl))
                self.db.execute("DELETE FROM crawl_seen WHERE crawl = ?", (crawl,))
            for crawl in new:
                self.db.execute(_MEET, (crawl, present[crawl]))
            self._renew_if_stale()

    def _renew_if_stale(self) -> None:
        """Begin anew when a third of the documents are of no page."""
        dead = self.db.execute("SELECT count(*) FROM doc WHERE page IS NULL").fetchone()[0]
        last = self.db.execute("SELECT ifnull(max(id), 0) FROM doc").fetchone()[0]
        if dead >= FEWEST_DEAD and 3 * dead >= last:
            self.db.execute("INSERT INTO text_index (text_index) VALUES ('delete-all')")
            self.db.execute("DELETE FROM doc")
            self.db.execute("UPDATE crawl_seen SET nth = 0, stamp = ''")

    def _batch(self, crawl: int, watch: Callable[[int], None]) -> int:
        """Index the next pages of a crawl; how many there were."""
        done = 0
        with _transaction(self.db):
            row = self.db.execute("SELECT nth FROM crawl_seen WHERE crawl = ?", (crawl,)).fetchone()
            if row is None:  # gone since: somebody else keeps the index, too
                return 0
            nth: int = row[0]
            while done < BATCH and (rows := self._read(_PAGES, (crawl, nth, READ))):
                for page, nth, noindex, *texts in rows:
                    self._put(page, bool(noindex), *texts)
                done += len(rows)
                watch(done)
            self.db.execute("UPDATE crawl_seen SET nth = ? WHERE crawl = ?", (nth, crawl))
            self._renew_if_stale()
        return done

    def _put(
        self, page: int, noindex: bool, title: str, description: str, packed: bytes | None
    ) -> None:
        self.db.execute("UPDATE doc SET page = NULL WHERE page = ?", (page,))
        if noindex:
            return
        text = plain(page_text(packed, description))
        head = plain(title)
        words = pairs_that_are_words(f"{head}\n{text}", self.segmenter)
        number = self.db.execute("INSERT INTO doc (page) VALUES (?)", (page,)).lastrowid
        self.db.execute(
            "INSERT INTO text_index (rowid, title, text, words) VALUES (?, ?, ?, ?)",
            (number, " ".join(spelt(head)), " ".join(spelt(text)), " ".join(words)),
        )

    def _measure(self) -> None:
        """What quality is measured against, of crawls that have moved."""
        stamps: dict[int, str] = {row[0]: row[2] for row in self._read(_CRAWLS)}
        for each in self.seen():
            stamp = stamps.get(each.crawl, "")
            if stamp != each.stamp:
                rank, relevance = self._read(_LARGEST, id_range(each.crawl))[0]
                values = (stamp, rank or 0.0, relevance or 0.0, each.crawl)
                self.db.execute(_MEASURED, values)

    def _read(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self.reader.run(lambda db: db.execute(sql, values).fetchall())


def page_text(packed: bytes | None, description: str) -> str:
    """A page's own text out of its stored source; its description when that was not kept."""
    if packed is None:
        return description
    return main_text(parse(labels.unpacked(packed)).blocks())[:MAX_CHARS]


def _connected(path: Path) -> tuple[sqlite3.Connection, bool]:
    """The index, made if need be, and whether it can be written."""
    uri = path.resolve().as_uri()
    try:
        db = sqlite3.connect(
            f"{uri}?mode=rwc", uri=True, isolation_level=None, timeout=BUSY_S
        )
        try:
            db.execute("PRAGMA journal_mode = WAL")  # a file that is only readable fails here
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
            return db, True
        except sqlite3.Error:
            db.close()
            raise
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorname", "")
        if not code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")) or not path.exists():
            raise
    how = "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"
    return sqlite3.connect(f"{uri}?{how}", uri=True, isolation_level=None), False


def _prepare(db: sqlite3.Connection, path: Path, writable: bool) -> None:
    """Make the tables, or make them again if they are of another format."""
    application, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS)
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    if (application, version) == (INDEX_ID, FORMAT):
        return
    if tables and application != INDEX_ID:
        raise StoreError(f"{path} is no search index of ours; move it out of the way")
    if not writable:
        raise StoreError(f"{path} is not of this focus and cannot be written; check permissions")
    with _transaction(db):
        for table in ("text_index", "doc", "crawl_seen"):
            db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _SCHEMA.split(";\n"):
            db.execute(statement)
        for name, value in zip(_MARKS, (INDEX_ID, FORMAT), strict=True):
            db.execute(f"PRAGMA {name} = {value}")


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
    for name in ("main", "web"):
        db.execute(f"PRAGMA {name}.cache_size = -{CACHE_KIB}")


CACHE_KIB = 64 * 1024
_MARKS = ("application_id", "user_version")


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _explained(error: sqlite3.Error, path: Path) -> Exception:
    if "no such module: fts5" in str(error):
        return StoreError("this Python's SQLite has no FTS5, which searching needs; use another")
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreError(
            f"the search index {path} is damaged; delete it, and the next search makes it anew"
        )
    return schema.explained(error, path) or error


_CRAWLS = """
SELECT id, hex(digest) || ' ' || started_at, heartbeat_at || ' ' || ifnull(finished_at, '')
FROM crawl JOIN progress ON progress.crawl = crawl.id ORDER BY id"""
_MEET = "INSERT INTO crawl_seen VALUES (?, ?, 0, '', 0.0, 0.0)"
_MEASURED = "UPDATE crawl_seen SET stamp = ?, pagerank = ?, relevance = ? WHERE crawl = ?"
_FORGET_PAGES = "UPDATE doc SET page = NULL WHERE page BETWEEN ? AND ?"
_BEHIND = """
SELECT s.crawl, (SELECT count(*) FROM web.page p WHERE p.crawl = s.crawl AND p.nth > s.nth)
FROM crawl_seen s ORDER BY s.crawl"""
_PAGES = """
SELECT p.id, p.nth, p.noindex, x.title, x.description, b.zstd
FROM page p JOIN page_text x ON x.id = p.id LEFT JOIN body b ON b.id = p.id
WHERE p.crawl = ? AND p.nth > ? ORDER BY p.nth LIMIT ?"""
_LARGEST = "SELECT max(pagerank), max(relevance) FROM page WHERE id BETWEEN ? AND ?"
