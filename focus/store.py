"""Stores a crawl in one SQLite file, a whole batch per transaction.

    async with Store.open(path, now=…, pid=…) as store:   lock, check, migrate
        crawl = await store.begin_crawl(…)                new, or continued
        store.iter_urls(…); store.iter_graph(…)           stored state, in parts
        await store.write(crawl.id, batch)                one transaction in one thread call
        await store.finish_crawl(crawl.id, …)

The `async with` owns the only connection that writes; readers have their own. Each public method
runs as one function in the thread of aiosqlite, with its own BEGIN … COMMIT: if the caller is
cancelled, the transaction is still completed. Commits are in the WAL at once, so that a killed
process loses nothing, and on the disk at least every `SYNC_INTERVAL_S`, so that a power cut loses
no more than that.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from array import array
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from focus.http.zstd import decompress_bounded
from focus.records import Batch
from focus.scheduling.url_table import UrlColumns
from focus.storage import columns, file_check, private, writer
from focus.storage.columns import LoggedEvidence
from focus.storage.labels import MAX_SOURCE_BYTES
from focus.storage.lock import database_lock
from focus.storage.schema import id_range, row_id
from focus.storage.writer import CrawlInfo, QueuesAndHosts

SYNC_INTERVAL_S = 1.0
ROWS_PER_CALL = 20_000  # rows per thread hop when reading a crawl back
THREAD_SWITCH_S = 0.0001
"""Longest time that the event loop keeps the GIL while the thread of the store waits for it (5 ms
by default). A busy loop that polls its sockets every millisecond would block the thread for
seconds."""

__all__ = ["CrawlInfo", "CrawlWriter", "QueuesAndHosts", "Store"]

T = TypeVar("T")


class Store:
    """Writer of one database; created by `Store.open` only."""

    def __init__(self, connection: aiosqlite.Connection, path: Path, now: float) -> None:
        self._connection = connection
        self._path = path
        self._synced_at = now

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: Path, *, now: float, pid: int, lock_timeout_s: float = 5.0
    ) -> AsyncIterator[Store]:
        """Open the database for this process; create or migrate it if needed.

        Args:
            path: The file.
            now: Unix seconds.
            pid: The process id that the lock file names.
            lock_timeout_s: How long a write waits for another program that is writing.

        Raises:
            StoreLocked: Another crawl uses the database.
            StoreError: It belongs to another program or a newer version, or cannot be written.
        """
        private.create_folder(path)
        file_check.check_file(path)  # a refused file stays unchanged, without a lock file
        with database_lock(path, pid=pid), _short_thread_switches():
            file_check.check_file(path)
            private.create_private_file(path)
            connection = aiosqlite.connect(
                path, isolation_level=None, timeout=lock_timeout_s, cached_statements=256
            )
            with file_check.store_errors(path):
                await connection
            try:
                store = cls(connection, path, now)
                await store.run_in_thread(partial(writer.prepare_database, path=path))
                yield store
            finally:
                with file_check.store_errors(path):
                    await connection.close()

    async def begin_crawl(
        self,
        identity: dict[str, Any],
        config_json: str,
        *,
        fresh: bool,
        now: float,
        retry_reasons: Sequence[str] = (),
    ) -> CrawlInfo:
        """Continue the last crawl of this identity, or start a new one (always if `fresh`).

        Args:
            identity: Seeds, "topic" (a name, or an object with a "name"), "strategy" and all
                other values that distinguish crawls, as JSON values in any order.
            config_json: The settings of the run.
            fresh: Whether to start a new crawl.
            now: Unix seconds.
            retry_reasons: URLs that failed for these reasons are queued again.

        The crawl counts as running afterwards. URLs that were in flight when the last run was
        interrupted are queued again; so are those that failed because their host was abandoned,
        as this holds for one run only.
        """
        return await self.run_in_thread(
            partial(
                writer.begin_crawl,
                identity=identity,
                config=config_json,
                fresh=fresh,
                now=now,
                retry_reasons=retry_reasons,
            )
        )

    async def write(
        self, crawl: int, batch: Batch, *, extra_write: writer.ExtraWrite | None = None
    ) -> None:
        """Write a batch in one transaction; on an error nothing is written.

        `extra_write` runs in the same transaction. The batch must not be changed before this
        returns. If the call is cancelled, the batch is still written.
        """
        is_synced = 0 <= batch.now - self._synced_at < SYNC_INTERVAL_S  # clocks can be set back
        write_batch = partial(
            writer.write_batch,
            crawl=crawl,
            batch=batch,
            durable=not is_synced,
            extra_write=extra_write,
        )
        await self.run_in_thread(write_batch)
        if not is_synced:
            self._synced_at = batch.now

    async def iter_urls(
        self, crawl: int, *, chunk: int = columns.URLS_PER_READ
    ) -> AsyncIterator[UrlColumns]:
        """Yield all URLs of a crawl in order of id, about `chunk` at a time."""
        first = 0
        while part := await self.run_in_thread(
            partial(columns.read_urls, crawl=crawl, first=first, limit=chunk)
        ):
            yield part
            first = part.first + len(part.states)

    async def iter_evidence(self, crawl: int) -> AsyncIterator[LoggedEvidence]:
        """Yield link evidence added to URLs after their discovery, in order of writing."""
        first = 0
        work = partial(columns.read_evidence, crawl=crawl)
        while result := await self.run_in_thread(partial(work, first=first)):
            first, part = result
            yield part

    async def load_addresses(self, crawl: int, ids: Sequence[int]) -> list[tuple[int, str]]:
        """Return (id, url) of URLs, in any order."""
        addresses: list[tuple[int, str]] = []
        for start in range(0, len(ids), ROWS_PER_CALL):
            values = (
                str([row_id(crawl, url_id) for url_id in ids[start : start + ROWS_PER_CALL]]),
            )
            addresses += await self.run_in_thread(
                partial(writer.fetch_rows, sql=writer.SELECT_URLS, values=values)
            )
        return addresses

    async def iter_refused(self, crawl: int) -> AsyncIterator[list[tuple[int, str, int, str]]]:
        """Yield (URL id, URL, depth, reason) of URLs that the scope dropped, in lists."""
        async for rows in self._iter_row_chunks(writer.SELECT_REFUSED, crawl, ROWS_PER_CALL):
            yield rows

    async def iter_graph(
        self, crawl: int, *, chunk: int = 2_000
    ) -> AsyncIterator[list[tuple[int, array[int]]]]:
        """Yield (URL id, ids of its link targets) of pages in order of request, in lists."""
        async for rows in self._iter_row_chunks(writer.SELECT_LINKS, crawl, chunk):
            yield [(source, array("I", targets)) for _, source, targets in rows]

    async def write_ranks(
        self, crawl: int, values: Iterable[tuple[int, float, float, float]]
    ) -> None:
        """Write (URL id, PageRank, hub score, authority) of pages, in several transactions."""
        remaining = iter(values)
        while part := list(islice(remaining, ROWS_PER_CALL)):
            await self.run_in_thread(partial(writer.write_ranks, crawl=crawl, values=part))

    async def finish_crawl(
        self,
        crawl: int,
        *,
        reason: str,
        report_json: str,
        ranks: Iterable[tuple[int, float, float, float]] = (),
        now: float,
    ) -> None:
        """Store the end of a run: graph scores, its reason and report; synced to the disk."""
        await self.write_ranks(crawl, ranks)
        values = (now, reason, report_json, crawl)
        await self.run_in_thread(
            partial(writer.execute, sql=writer.FINISH_CRAWL, values=values, durable=True)
        )

    async def run_in_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function with the connection in the thread of aiosqlite; return its result.

        The public methods of aiosqlite would change threads for each statement.
        """
        with file_check.store_errors(self._path):
            result: T = await self._connection._execute(work, self._connection._conn)  # type: ignore[no-untyped-call]
            return result

    async def _iter_row_chunks(self, sql: str, crawl: int, chunk: int) -> AsyncIterator[list[Any]]:
        """Yield lists of rows whose first column is the id; no cursor is open between lists."""
        first, last = id_range(crawl)

        def read(first: int) -> asyncio.Task[list[Any]]:
            values = (first, last, chunk)
            return asyncio.create_task(
                self.run_in_thread(partial(writer.fetch_rows, sql=sql, values=values))
            )

        reading = read(first)
        try:
            while part := await reading:
                reading = read(row_id(crawl, part[-1][0] + 1))  # while the caller uses the rows
                yield part
        finally:
            reading.cancel()


class CrawlWriter:
    """Store of one crawl for `focus.crawler`."""

    def __init__(self, store: Store, crawl: int) -> None:
        self._store, self._crawl = store, crawl

    async def write(self, batch: Batch) -> None:
        """Store a batch (`Store.write`)."""
        await self._store.write(self._crawl, batch)

    async def load_addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        """Return (id, url) of URLs (`Store.load_addresses`)."""
        return await self._store.load_addresses(self._crawl, ids)

    async def load_sources(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the stored sources of pages by id."""
        values = (str([row_id(self._crawl, url_id) for url_id in ids]),)
        rows = await self._store.run_in_thread(
            partial(writer.fetch_rows, sql=writer.SELECT_SOURCES, values=values)
        )
        return {url_id: decompress_bounded(packed, MAX_SOURCE_BYTES) for url_id, packed in rows}


@contextmanager
def _short_thread_switches() -> Iterator[None]:
    interval_before = sys.getswitchinterval()
    sys.setswitchinterval(min(interval_before, THREAD_SWITCH_S))
    try:
        yield
    finally:
        sys.setswitchinterval(interval_before)
