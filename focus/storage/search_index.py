"""Search index of a database: the words of each page.

The index of `crawl.db` is `crawl.db-search`, a file that can be deleted at any time: the next
search creates it again. It is separate so that a running crawl never waits for it, and costs
nothing without searches. The texts are in the database only (FTS5 without content). `update` adds
new pages, a batch in each transaction:

    For each crawl the index stores the last request (`page.nth`) whose page it contains; later
    ones are new or revisited pages.
    A revisited page becomes a new document, and its old document has no page any more. The same
    holds for documents of deleted or replaced crawls. FTS5 cannot delete documents without content
    (before SQLite 3.43), so the index is rebuilt when a third of the documents have no page.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from focus.html.parser import main_text_from_html
from focus.records import ReportProgress, ignore_progress
from focus.storage import labels, search_file
from focus.storage.reader import DatabaseReader
from focus.storage.results import MAX_RANK_AND_RELEVANCE
from focus.storage.schema import LAST_ID, id_range
from focus.storage.search_terms import fold_spelling, index_words, two_character_words
from focus.storage.writer import transaction
from focus.text.tokenisation import Segmenter

PAGES_PER_BATCH = 512  # pages per transaction, which takes about 2 s
PAGES_PER_READ = 32  # pages with their sources in memory
MAX_CHARS = 100_000  # indexed characters of a page
MIN_STALE_DOCUMENTS = 1_000


class IndexedCrawl(NamedTuple):
    """State of a crawl in the index; see the table `crawl_seen`."""

    crawl: int
    begun: str
    nth: int
    stamp: str
    pagerank: float
    relevance: float


class SearchIndex:
    """Search index of a database, with a reader of the database.

    It is to be closed, or used in a `with` statement, and used by one thread at a time. Opening
    takes milliseconds, but each new index starts with an empty cache, so a server keeps some open.
    """

    def __init__(self, path: Path, *, cache_kib: int = search_file.CACHE_KIB) -> None:
        """Open the index; StoreError if there is no database, or its index cannot be used."""
        self.path, self._database = search_file.index_path(path), path
        self.reader = DatabaseReader(path)
        self.segmenter = _shared_segmenter()
        try:
            with self.index_errors():
                self.db, self.is_writable = search_file.open_index(self.path, path, cache_kib)
        except BaseException:
            self.reader.close()
            raise
        self._files = self._file_ids()

    def __enter__(self) -> SearchIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close both files."""
        self.db.close()
        self.reader.close()

    def is_current(self) -> bool:
        """Return whether the files at its paths are still those that were opened."""
        return self._files == self._file_ids()

    def _file_ids(self) -> list[tuple[int, int]]:
        ids = []
        for path in (self.path, self._database):
            with suppress(OSError):
                status = path.stat()
                ids.append((status.st_dev, status.st_ino))
        return ids

    @contextmanager
    def index_errors(self) -> Iterator[None]:
        """Convert SQLite errors about the index to StoreError."""
        try:
            yield
        except sqlite3.Error as error:
            raise search_file.to_index_error(error, self.path) from error

    # -- updating --------------------------------------------------------------------

    def update(self, progress: ReportProgress = ignore_progress) -> int:
        """Index new pages; return their number. Finished batches stay if it is interrupted.

        progress  called with (indexed pages, all new pages)

        An index that cannot be written is not changed.
        """
        if not self.is_writable:
            return 0
        with self.index_errors():
            self._sync_crawls()
            self._rebuild_if_stale()
            todo = [(crawl, n) for crawl, n in self.db.execute(_PENDING) if n]
            done, total = 0, sum(number for _, number in todo)

            def indexed(number: int) -> None:
                nonlocal done
                done += number
                progress(done, total)

            for crawl, _ in todo:
                while self._index_batch(crawl, indexed):
                    pass
            self._update_score_maxima()
            return done

    def indexed_crawls(self) -> list[IndexedCrawl]:
        """Return the crawls of the index, including those without pages so far."""
        with self.index_errors():
            return [IndexedCrawl(*row) for row in self.db.execute("SELECT * FROM crawl_seen")]

    def _sync_crawls(self) -> None:
        """Remove deleted or replaced crawls from the index and add new ones."""
        if not any(self._changed_crawls()):
            return
        with transaction(self.db):  # another process may have done it meanwhile
            gone, new = self._changed_crawls()
            for crawl in gone:
                self.db.execute(_FORGET_PAGES, id_range(crawl))
                self.db.execute("DELETE FROM crawl_seen WHERE crawl = ?", (crawl,))
            for crawl, begun in new.items():
                self.db.execute(_INSERT_CRAWL, (crawl, begun))

    def _changed_crawls(self) -> tuple[list[int], dict[int, str]]:
        """Return ids of deleted or replaced crawls, and the new crawls with their identity."""
        known = {crawl_row.crawl: crawl_row.begun for crawl_row in self.indexed_crawls()}
        present: dict[int, str] = {row[0]: row[1] for row in self._read(_CRAWLS)}
        gone = [crawl for crawl, begun in known.items() if present.get(crawl) != begun]
        return gone, {n: begun for n, begun in present.items() if known.get(n) != begun}

    def _rebuild_if_stale(self) -> None:
        """Rebuild the index when a third of its documents have no page."""
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
        return bool(dead >= MIN_STALE_DOCUMENTS and 3 * dead >= last)

    def _index_batch(self, crawl: int, report: Callable[[int], None]) -> int:
        """Index the next pages of a crawl in one transaction; return their number."""
        done = 0
        with transaction(self.db):
            row = self.db.execute("SELECT nth FROM crawl_seen WHERE crawl = ?", (crawl,)).fetchone()
            nth = row[0] if row else LAST_ID  # another process has removed the crawl
            while done < PAGES_PER_BATCH and (
                rows := self._read(_PAGES, (crawl, nth, PAGES_PER_READ))
            ):
                for page, _, noindex, published, *texts in rows:
                    self._index_page(page, bool(noindex), published, *texts)
                nth = rows[-1][1]
                done += len(rows)
                report(len(rows))
            self.db.execute("UPDATE crawl_seen SET nth = ? WHERE crawl = ?", (nth, crawl))
        return done

    def _index_page(
        self,
        page: int,
        noindex: bool,
        published: float | None,
        title: str,
        description: str,
        packed: bytes | None,
    ) -> None:
        self.db.execute("UPDATE doc SET page = NULL WHERE page = ?", (page,))
        if noindex:
            return
        text = fold_spelling(source_text(packed, description))
        head = fold_spelling(title)
        words = two_character_words(f"{head}\n{text}", self.segmenter)
        values = (page, published)
        number = self.db.execute(_INSERT_DOC, values).lastrowid
        self.db.execute(
            "INSERT INTO text_index (rowid, title, text, words) VALUES (?, ?, ?, ?)",
            (number, " ".join(index_words(head)), " ".join(index_words(text)), " ".join(words)),
        )

    def _update_score_maxima(self) -> None:
        """Update the largest PageRank and relevance of crawls that have changed."""
        stamps: dict[int, str] = {row[0]: row[2] for row in self._read(_CRAWLS)}
        for indexed in self.indexed_crawls():
            stamp = stamps.get(indexed.crawl, "")
            if stamp != indexed.stamp:
                rank, relevance = self._read(MAX_RANK_AND_RELEVANCE, id_range(indexed.crawl))[0]
                values = (stamp, rank or 0.0, relevance or 0.0, indexed.crawl)
                self.db.execute(_UPDATE_MAXIMA, values)

    def _read(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self.reader.read(lambda db: db.execute(sql, values).fetchall())


@lru_cache(maxsize=1)
def _shared_segmenter() -> Segmenter:
    """Return one segmenter for all indexes, because its dictionary takes 0.25 s to load."""
    return Segmenter()


def source_text(packed: bytes | None, description: str) -> str:
    """Return the main text of a page from its source, or its description without a source."""
    if packed is None:
        return description
    return main_text_from_html(labels.decompress_source(packed))[:MAX_CHARS]


_CRAWLS = """
SELECT id, hex(digest) || ' ' || started_at, heartbeat_at || ' ' || ifnull(finished_at, '')
FROM crawl JOIN progress ON progress.crawl = crawl.id ORDER BY id"""
_INSERT_CRAWL = "INSERT INTO crawl_seen VALUES (?, ?, 0, '', 0.0, 0.0)"
_UPDATE_MAXIMA = "UPDATE crawl_seen SET stamp = ?, pagerank = ?, relevance = ? WHERE crawl = ?"
_INSERT_DOC = "INSERT INTO doc (page, published) VALUES (?, ?)"
_FORGET_PAGES = "UPDATE doc SET page = NULL WHERE page BETWEEN ? AND ?"
_PENDING = """
SELECT s.crawl, (SELECT count(*) FROM web.page p WHERE p.crawl = s.crawl AND p.nth > s.nth)
FROM crawl_seen s ORDER BY s.crawl"""
_PAGES = """
SELECT p.id, p.nth, p.noindex, published_at(b.zstd, x.url, p.fetched_at), x.title, x.description,
    b.zstd
FROM page p JOIN page_text x ON x.id = p.id LEFT JOIN body b ON b.id = p.id
WHERE p.crawl = ? AND p.nth > ? ORDER BY p.nth LIMIT ?"""
