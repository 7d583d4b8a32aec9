"""Keeps the search index beside the database: which words stand on which page.

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
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from focus.html.main_content import main_text_from_html
from focus.storage import labels, search_file
from focus.storage.reader import DatabaseReader
from focus.storage.results import LARGEST
from focus.storage.schema import LAST_ID, id_range
from focus.storage.search_file import transaction
from focus.storage.search_terms import pairs_that_are_words, plain, spelt
from focus.text.tokenisation import Segmenter

BATCH = 512  # pages in a transaction: about 2 s
READ = 32  # pages with their sources in memory
MAX_CHARS = 100_000  # of a page's text
FEWEST_DEAD = 1_000

Watch = Callable[[float, float], None]


class Seen(NamedTuple):
    """A crawl as the index knows it."""

    crawl: int
    begun: str
    nth: int
    stamp: str
    pagerank: float
    relevance: float


class SearchIndex:
    """The index of a database, with the database to read. Close it, or use it in a `with`.

    Of one thread at a time. Opening takes milliseconds, but what the first searches read is
    read again by those of the next one: a server keeps some.
    """

    def __init__(self, path: Path, *, cache_kib: int = search_file.CACHE_KIB) -> None:
        """StoreError when there is no database at `path`, or its index cannot be used."""
        self.path, self._database = search_file.index_path(path), path
        self.reader = DatabaseReader(path)
        self.segmenter = _segmenter()
        try:
            with self.explaining():
                self.db, self.writable = search_file.opened(self.path, path, cache_kib)
        except BaseException:
            self.reader.close()
            raise
        self._files = self._present()

    def __enter__(self) -> SearchIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of both files."""
        self.db.close()
        self.reader.close()

    def is_current(self) -> bool:
        """Whether the files at its paths are still those that were opened."""
        return self._files == self._present()

    def _present(self) -> list[tuple[int, int]]:
        found = []
        for path in (self.path, self._database):
            with suppress(OSError):
                status = path.stat()
                found.append((status.st_dev, status.st_ino))
        return found

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """SQLite's complaints about the index as StoreError."""
        try:
            yield
        except sqlite3.Error as error:
            raise search_file.explained(error, self.path) from error

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
            self._renew_if_stale()
            todo = self._behind()
            done, total = 0, sum(number for _, number in todo)

            def indexed(number: int) -> None:
                nonlocal done
                done += number
                watch(done, total)

            for crawl, _ in todo:
                while self._batch(crawl, indexed):
                    pass
            self._measure()
            return done

    def seen(self) -> list[Seen]:
        """The crawls that have pages in the index, or will."""
        with self.explaining():
            return [Seen(*row) for row in self.db.execute("SELECT * FROM crawl_seen")]

    def _behind(self) -> list[tuple[int, int]]:
        return [(crawl, n) for crawl, n in self.db.execute(_BEHIND) if n]

    def _follow_crawls(self) -> None:
        """Forget crawls that are gone, meet new ones."""
        if not any(self._moved()):
            return
        with transaction(self.db):  # somebody else may have done it since
            gone, new = self._moved()
            for crawl in gone:
                self.db.execute(_FORGET_PAGES, id_range(crawl))
                self.db.execute("DELETE FROM crawl_seen WHERE crawl = ?", (crawl,))
            for crawl, begun in new.items():
                self.db.execute(_MEET, (crawl, begun))

    def _moved(self) -> tuple[list[int], dict[int, str]]:
        """Crawls that the index knows and that are gone or others, and those it has to meet."""
        known = {each.crawl: each.begun for each in self.seen()}
        present: dict[int, str] = {row[0]: row[1] for row in self._read(_CRAWLS)}
        gone = [crawl for crawl, begun in known.items() if present.get(crawl) != begun]
        return gone, {n: begun for n, begun in present.items() if known.get(n) != begun}

    def _renew_if_stale(self) -> None:
        """Begin anew when a third of the documents are of no page."""
        if not self._is_stale():
            return
        with transaction(self.db):
            if self._is_stale():
                self.db.execute("INSERT INTO text_index (text_index) VALUES ('delete-all')")
                self.db.execute("DELETE FROM doc")
                self.db.execute("UPDATE crawl_seen SET nth = 0, stamp = ''")

    def _is_stale(self) -> bool:
        dead = self.db.execute("SELECT count(*) FROM doc WHERE page IS NULL").fetchone()[0]
        last = self.db.execute("SELECT ifnull(max(id), 0) FROM doc").fetchone()[0]
        return bool(dead >= FEWEST_DEAD and 3 * dead >= last)

    def _batch(self, crawl: int, indexed: Callable[[int], None]) -> int:
        """Index the next pages of a crawl, in one transaction; how many there were."""
        done = 0
        with transaction(self.db):
            row = self.db.execute("SELECT nth FROM crawl_seen WHERE crawl = ?", (crawl,)).fetchone()
            nth = row[0] if row else LAST_ID  # gone: somebody else keeps the index, too
            while done < BATCH and (rows := self._read(_PAGES, (crawl, nth, READ))):
                for page, _, noindex, *texts in rows:
                    self._put(page, bool(noindex), *texts)
                nth = rows[-1][1]
                done += len(rows)
                indexed(len(rows))
            self.db.execute("UPDATE crawl_seen SET nth = ? WHERE crawl = ?", (nth, crawl))
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
                rank, relevance = self._read(LARGEST, id_range(each.crawl))[0]
                values = (stamp, rank or 0.0, relevance or 0.0, each.crawl)
                self.db.execute(_MEASURED, values)

    def _read(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self.reader.run(lambda db: db.execute(sql, values).fetchall())


@lru_cache(maxsize=1)
def _segmenter() -> Segmenter:
    """The one of all indexes: to load its dictionary takes a quarter of a second."""
    return Segmenter()


def page_text(packed: bytes | None, description: str) -> str:
    """A page's own text out of its stored source; its description when that was not kept."""
    if packed is None:
        return description
    return main_text_from_html(labels.unpacked(packed))[:MAX_CHARS]


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
