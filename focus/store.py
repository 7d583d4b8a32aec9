"""Stores a crawl in one SQLite file, a whole batch per transaction.

    async with Store.open(path, now=…, pid=…) as store:   lock, check, migrate
        crawl = await store.begin_crawl(…)                new, or continued
        store.urls(…); store.graph(…)                     what is known, in parts
        await store.write(crawl.id, batch)                one transaction, one thread hop
        await store.finish(crawl.id, …)

One connection writes, owned by the `async with`; readers (`query`) have their
own. Each public method runs as one function in aiosqlite's thread, with its own
BEGIN … COMMIT inside: a cancelled caller stops waiting, the transaction still
ends whole. Commits reach the WAL at once (a killed process loses nothing) and
the disk at least every `SYNC_EVERY_S` (what a power cut may take).
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

from focus.records import Batch
from focus.scheduling.url_table import UrlColumns
from focus.storage import columns, file_check, private, writer
from focus.storage.columns import LoggedEvidence
from focus.storage.lock import held
from focus.storage.schema import id_range, row_id
from focus.storage.writer import CrawlInfo, Saved

SYNC_EVERY_S = 1.0
CHUNK = 20_000  # rows per thread hop when reading a crawl back
SWITCH_S = 0.0001
"""How long the loop may keep the store's thread from running Python (5 ms by default).
A busy loop that polls its sockets every millisecond would starve it for seconds."""

__all__ = ["CrawlInfo", "CrawlWriter", "Saved", "Store"]

T = TypeVar("T")


class Store:
    """The writer's side of one database. Made by `Store.open` only."""

    def __init__(self, connection: aiosqlite.Connection, path: Path, now: float) -> None:
        self._connection = connection
        self._path = path
        self._synced_at = now

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: Path, *, now: float, pid: int, busy_s: float = 5.0
    ) -> AsyncIterator[Store]:
        """Take the database for this process; made, checked and brought up to date.

        StoreLocked when another crawl has it; StoreError when it is not ours, of
        a newer version, or cannot be written. `busy_s` is how long a write waits
        for another program that is writing.
        """
        private.make_folder(path)
        file_check.check_file(path)  # what is refused is left as it was, without a lock beside it
        with held(path, pid=pid), _switching():
            file_check.check_file(path)
            private.make(path)
            connection = aiosqlite.connect(
                path, isolation_level=None, timeout=busy_s, cached_statements=256
            )
            with file_check.explaining(path):
                await connection
            try:
                store = cls(connection, path, now)
                await store.run(partial(writer.prepare, path=path))
                yield store
            finally:
                with file_check.explaining(path):
                    await connection.close()

    async def begin_crawl(
        self,
        identity: dict[str, Any],
        config_json: str,
        *,
        fresh: bool,
        now: float,
        revive: Sequence[str] = (),
    ) -> CrawlInfo:
        """Continue the last crawl of this identity, or start one (always if `fresh`).

        identity  seeds, "topic" (a name, or an object with a "name"), "strategy"
                  and whatever else tells crawls apart; JSON values, order of keys
                  does not matter
        revive    URLs that failed for these reasons wait again
        The crawl counts as under way afterwards. What was in flight when it broke off waits
        again, and so does what failed because its host was given up: that holds for one run.
        """
        return await self.run(
            partial(
                writer.begin,
                identity=identity,
                config=config_json,
                fresh=fresh,
                now=now,
                revive=revive,
            )
        )

    async def write(self, crawl: int, batch: Batch, *, also: writer.Also | None = None) -> None:
        """Store a batch: all of it or, on any error, nothing. `also` is done with it.

        The batch belongs to the store until this returns (or is cancelled: it is
        then written all the same); it must not be changed meanwhile.
        """
        synced = 0 <= batch.now - self._synced_at < SYNC_EVERY_S  # clocks may be put back
        work = partial(writer.write, crawl=crawl, batch=batch, durable=not synced, also=also)
        await self.run(work)
        if not synced:
            self._synced_at = batch.now

    async def urls(self, crawl: int, *, chunk: int = columns.URLS) -> AsyncIterator[UrlColumns]:
        """All URLs of a crawl in order of id, `chunk` or a few more at a time."""
        first = 0
        while part := await self.run(partial(columns.urls, crawl=crawl, first=first, most=chunk)):
            yield part
            first = part.first + len(part.states)

    async def evidence(self, crawl: int) -> AsyncIterator[LoggedEvidence]:
        """Better evidence for URLs than they were found with, in order of writing."""
        first = 0
        work = partial(columns.evidence, crawl=crawl)
        while found := await self.run(partial(work, first=first)):
            first, part = found
            yield part

    async def addresses(self, crawl: int, ids: Sequence[int]) -> list[tuple[int, str]]:
        """(id, url) of URLs, in any order."""
        found: list[tuple[int, str]] = []
        for start in range(0, len(ids), CHUNK):
            values = (str([row_id(crawl, each) for each in ids[start : start + CHUNK]]),)
            found += await self.run(partial(writer.select, sql=writer.ADDRESSES, values=values))
        return found

    async def graph(
        self, crawl: int, *, chunk: int = 2_000
    ) -> AsyncIterator[list[tuple[int, array[int]]]]:
        """(URL id, ids of its link targets) of what links were followed from, by `nth`."""
        async for each in self._pages(writer.GRAPH, crawl, chunk):
            yield [(source, array("I", targets)) for _, source, targets in each]

    async def update_ranks(
        self, crawl: int, values: Iterable[tuple[int, float, float, float]]
    ) -> None:
        """Write the (URL id, PageRank, hub, authority) of pages, see score/graph/.

        In several transactions: each value stands for itself.
        """
        left = iter(values)
        while part := list(islice(left, CHUNK)):
            await self.run(partial(writer.write_ranks, crawl=crawl, values=part))

    async def finish(
        self,
        crawl: int,
        *,
        reason: str,
        report_json: str,
        ranks: Iterable[tuple[int, float, float, float]] = (),
        now: float,
    ) -> None:
        """Close the crawl's run: ranks, why it ended, its report; on disk."""
        await self.update_ranks(crawl, ranks)
        values = (now, reason, report_json, crawl)
        await self.run(partial(writer.change, sql=writer.FINISH, values=values, durable=True))

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function of `focus.storage` whole in aiosqlite's thread.

        aiosqlite's public methods would change threads once per statement.
        """
        with file_check.explaining(self._path):
            result: T = await self._connection._execute(work, self._connection._conn)  # type: ignore[no-untyped-call]
            return result

    async def _pages(self, sql: str, crawl: int, chunk: int) -> AsyncIterator[list[Any]]:
        """Rows that begin with their number in the crawl; no cursor left open between lists."""
        first, last = id_range(crawl)

        def read(first: int) -> asyncio.Task[list[Any]]:
            values = (first, last, chunk)
            return asyncio.create_task(self.run(partial(writer.select, sql=sql, values=values)))

        reading = read(first)
        try:
            while part := await reading:
                reading = read(row_id(crawl, part[-1][0] + 1))  # while the caller is at work
                yield part
        finally:
            reading.cancel()


class CrawlWriter:
    """The store of one crawl, as `focus.crawler` uses it."""

    def __init__(self, store: Store, crawl: int) -> None:
        self._store, self._crawl = store, crawl

    async def write(self, batch: Batch) -> None:
        """Store a batch (`Store.write`)."""
        await self._store.write(self._crawl, batch)

    async def addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        """Return ids and addresses of URLs (`Store.addresses`)."""
        return await self._store.addresses(self._crawl, ids)


@contextmanager
def _switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, SWITCH_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
