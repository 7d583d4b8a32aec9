"""Where does a crawl stay when the process is gone? In one SQLite file, whole batches at a time.

    async with Store.open(path, now=…, pid=…) as store:   lock, check, migrate
        crawl = await store.begin_crawl(…)                new, or continued
        saved = await store.load(crawl.id); store.urls(…); store.graph(…)
        await store.write(crawl.id, batch)                one transaction, one thread hop
        await store.finish(crawl.id, …)

One connection writes, owned by the `async with`; readers (`query`) have their
own. Each public method runs as one function in aiosqlite's thread, with its own
BEGIN … COMMIT inside: a cancelled caller stops waiting, the transaction still
ends whole. Commits reach the WAL at once (a killed process loses nothing) and
the disk at least every `SYNC_EVERY_S` (what a power cut may take).
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from array import array
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import aiosqlite
import msgspec

from focus import rows, schema
from focus.errors import StoreError
from focus.lock import held
from focus.records import Batch, HostRow, QueueRow
from focus.schema import id_range, row_id

SYNC_EVERY_S = 1.0
WAL_PAGES = 8000  # 32 MiB: then the WAL is folded into the file and begun again
CACHE_KIB = 32 * 1024
CHUNK = 20_000  # rows per thread hop when reading a crawl back
SWITCH_S = 0.0001
"""How long the loop may keep the store's thread from running Python (5 ms by default).
A busy loop that polls its sockets every millisecond would starve it for seconds."""

T = TypeVar("T")


class CrawlInfo(NamedTuple):
    """What `begin_crawl` found.

    resumed   an earlier crawl of the same identity is continued
    finished  that one had come to an end of its own (`reason`), it was not killed
    counters  totals as of its last batch; {} for a new crawl
    next_url, next_queue, next_host   first free ids
    """

    id: int
    resumed: bool
    finished: bool
    reason: str
    counters: dict[str, float]
    next_url: int
    next_queue: int
    next_host: int


class Saved(NamedTuple):
    """A crawl's queues and hosts, each in order of id."""

    queues: list[QueueRow]
    hosts: list[HostRow]


class UrlColumns(NamedTuple):
    """A URL as `Store.urls` reads it back: what the frontier keeps in memory.

    `carry` is packed float32 (`array("f").frombytes`), None when there is none;
    `retry_at` is None for "at any time". The rows are plain tuples in this order.
    """

    id: int
    key: bytes
    state: int
    priority: float
    carry: bytes | None
    depth: int
    queue: int
    hops: int
    tries: int
    retry_at: float | None
    parent: int | None


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
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot make the folder {path.parent}: {error.strerror}; choose another --db"
            ) from error
        with held(path, pid=pid), _switching():
            schema.check_file(path)
            connection = aiosqlite.connect(
                path, isolation_level=None, timeout=busy_s, cached_statements=256
            )
            with _explaining(path):
                await connection
            try:
                store = cls(connection, path, now)
                await store._run(partial(_prepare, path=path))
                yield store
            finally:
                with _explaining(path):
                    await connection.close()

    async def begin_crawl(
        self, identity: dict[str, Any], config_json: str, *, fresh: bool, now: float
    ) -> CrawlInfo:
        """Continue the last crawl of this identity, or start one (always if `fresh`).

        identity  seeds, "topic" (a name, or an object with a "name"), "strategy"
                  and whatever else tells crawls apart; JSON values, order of keys
                  does not matter
        The crawl counts as under way afterwards, and what was in flight when it
        broke off waits again.
        """
        return await self._run(
            partial(_begin, identity=identity, config=config_json, fresh=fresh, now=now)
        )

    async def write(self, crawl: int, batch: Batch) -> None:
        """Store a batch: all of it or, on any error, nothing.

        The batch belongs to the store until this returns (or is cancelled: it is
        then written all the same); it must not be changed meanwhile.
        """
        synced = 0 <= batch.now - self._synced_at < SYNC_EVERY_S  # clocks may be put back
        await self._run(partial(_write, crawl=crawl, batch=batch, durable=not synced))
        if not synced:
            self._synced_at = batch.now

    async def load(self, crawl: int) -> Saved:
        """The queues and hosts of a crawl."""
        return await self._run(partial(_load, crawl=crawl))

    async def urls(self, crawl: int, *, chunk: int = CHUNK) -> AsyncIterator[list[UrlColumns]]:
        """All URLs of a crawl in order of id, as lists of at most `chunk` `UrlColumns`."""
        async for each in self._pages(_URLS, crawl, chunk):
            yield each

    async def waiting(
        self, crawl: int, queue: int, *, below: tuple[float, int] | None = None, limit: int = 1000
    ) -> list[tuple[int, str, float]]:
        """The best waiting (id, url, priority) of a queue: priority down, then id up.

        `below` = (priority, id) of the last one had: only what comes after it.
        """
        priority, last = below or (float("inf"), 0)
        values = (queue, *id_range(crawl), priority, priority, row_id(crawl, last), limit)
        packed, priorities = (await self._run(partial(_select, sql=_WAITING, values=values)))[0]
        if priorities is None:
            return []
        numbers = map(float, priorities.split())
        return [
            (number, url, value)
            for (number, url), value in zip(_pairs.decode(packed), numbers, strict=True)
        ]

    async def graph(
        self, crawl: int, *, chunk: int = 2_000
    ) -> AsyncIterator[list[tuple[int, array[int]]]]:
        """Each stored page's (URL id, ids of its link targets), by `nth`, in lists."""
        async for each in self._pages(_GRAPH, crawl, chunk):
            yield [(source, array("I", targets)) for _, source, targets in each]

    async def fail_waiting(self, crawl: int, host: int, *, reason: str) -> int:
        """Fail all waiting URLs of a host (given up); how many they were."""
        span = id_range(crawl)
        values = (reason, *span, *span, host)
        return await self._run(partial(_change, sql=_FAIL_WAITING, values=values))

    async def heartbeat(self, crawl: int, *, now: float) -> None:
        """Say that the crawl is alive though nothing was written."""
        await self._run(partial(_change, sql=_ALIVE, values=(now, None, crawl)))

    async def update_pageranks(self, crawl: int, values: Iterable[tuple[int, float]]) -> None:
        """Write the (URL id, PageRank) of fetched pages; others are ignored.

        In several transactions: each value stands for itself.
        """
        left = iter(values)
        while part := list(islice(left, CHUNK)):
            await self._run(partial(_write_pageranks, crawl=crawl, values=part))

    async def finish(
        self,
        crawl: int,
        *,
        reason: str,
        report_json: str,
        pageranks: Iterable[tuple[int, float]] = (),
        now: float,
    ) -> None:
        """Close the crawl's run: final PageRanks, why it ended, its report; on disk."""
        await self.update_pageranks(crawl, pageranks)
        values = (now, now, reason, report_json, crawl)
        await self._run(partial(_change, sql=_FINISH, values=values, durable=True))

    async def _pages(self, sql: str, crawl: int, chunk: int) -> AsyncIterator[list[Any]]:
        """Rows that begin with their number in the crawl; no cursor left open between lists."""
        first, last = id_range(crawl)
        while part := await self._run(partial(_select, sql=sql, values=(first, last, chunk))):
            yield part
            first = row_id(crawl, part[-1][0] + 1)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` whole in aiosqlite's thread: its public methods hop once per statement."""
        with _explaining(self._path):
            result: T = await self._connection._execute(work, self._connection._conn)  # type: ignore[no-untyped-call]
            return result


# -- in the thread of the connection: plain functions over sqlite3 ----------------------------


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """SQLite's complaints about the file as StoreError; our own mistakes pass through."""
    try:
        yield
    except sqlite3.Error as error:
        if (known := schema.explained(error, path)) is None:
            raise
        raise known from error


@contextmanager
def _switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, SWITCH_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _transaction(db: sqlite3.Connection, *, durable: bool = False) -> Iterator[None]:
    """All or nothing. `durable`: on the disk itself when it returns (fsync of the WAL)."""
    if durable:
        db.execute("PRAGMA synchronous = FULL")
    try:
        db.execute("BEGIN IMMEDIATE")  # never upgrade a read: that fails without waiting
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite has rolled back by itself on some errors
            db.execute("ROLLBACK")
        raise
    finally:
        if durable:
            db.execute("PRAGMA synchronous = NORMAL")


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    """Check the version, migrate, and set the connection up."""
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    schema.check_version(version, path)
    for number, script in enumerate(schema.MIGRATIONS[version:], version + 1):
        try:
            db.executescript(
                f"BEGIN IMMEDIATE; {script} PRAGMA application_id = {schema.APPLICATION_ID}; "
                f"PRAGMA user_version = {number}; COMMIT"
            )
        except BaseException:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
    # Only now: the application id must stand in the file itself, not in the WAL alone.
    (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(f"{path}: its file system cannot lock it; put it on a local disk")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    db.execute(f"PRAGMA journal_size_limit = {WAL_PAGES * 4096}")
    db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    db.execute("PRAGMA secure_delete = OFF")  # some builds overwrite what is freed with zeros


def _select(db: sqlite3.Connection, sql: str, values: tuple[Any, ...]) -> list[Any]:
    return db.execute(sql, values).fetchall()


def _change(
    db: sqlite3.Connection, sql: str, values: tuple[Any, ...], durable: bool = False
) -> int:
    with _transaction(db, durable=durable):
        return db.execute(sql, values).rowcount


def _write_pageranks(
    db: sqlite3.Connection, *, crawl: int, values: list[tuple[int, float]]
) -> None:
    with _transaction(db):
        _execute_all(db, *rows.pageranks(crawl, values))


def _begin(
    db: sqlite3.Connection, *, identity: dict[str, Any], config: str, fresh: bool, now: float
) -> CrawlInfo:
    canonical = msgspec.json.encode(identity, order="sorted")
    digest = hashlib.sha256(canonical).digest()
    with _transaction(db, durable=True):
        row = None if fresh else db.execute(_LAST_CRAWL, (digest,)).fetchone()
        if row is None:
            topic = identity.get("topic", "")
            name = topic.get("name", "") if isinstance(topic, dict) else topic
            strategy = str(identity.get("strategy", ""))
            values = (digest, canonical.decode(), str(name), strategy, config, now, now)
            crawl = db.execute(_NEW_CRAWL, values).lastrowid or 0
        else:
            crawl = row[0]
            db.execute(_REOPEN_CRAWL, (config, now, crawl))
            db.execute(_FETCHING_AGAIN, id_range(crawl))
        free = [_next_id(db, table, crawl) for table in ("url", "queue", "host")]
    _, ended, reason, counters = row or (crawl, None, None, "{}")
    return CrawlInfo(
        id=crawl,
        resumed=row is not None,
        finished=ended is not None,
        reason=reason or "",
        counters=msgspec.json.decode(counters),
        next_url=free[0],
        next_queue=free[1],
        next_host=free[2],
    )


def _next_id(db: sqlite3.Connection, table: str, crawl: int) -> int:
    sql = f"SELECT max(id) FROM {table} WHERE id BETWEEN ? AND ?"
    (last,) = db.execute(sql, id_range(crawl)).fetchone()
    return 0 if last is None else (last & schema.LAST_ID) + 1


def _load(db: sqlite3.Connection, crawl: int) -> Saved:
    span = id_range(crawl)
    hosts = [
        HostRow(number, name, next_at, failures, bool(given_up), _robots(robots))
        for number, name, next_at, failures, given_up, robots in db.execute(_HOSTS, span)
    ]
    return Saved([QueueRow(*row) for row in db.execute(_QUEUES, span)], hosts)


_pairs = msgspec.json.Decoder(list[tuple[int, str]])
_robots_decoder = msgspec.msgpack.Decoder(dict[str, tuple[bytes, int, float]])


def _robots(packed: bytes | None) -> dict[str, tuple[bytes, int, float]]:
    return _robots_decoder.decode(packed) if packed else {}


def _write(db: sqlite3.Connection, *, crawl: int, batch: Batch, durable: bool) -> None:
    try:
        _write_batch(db, crawl, batch, durable)
    except UnicodeEncodeError:  # half of a surrogate pair, which is no text
        _write_batch(db, crawl, rows.encodable(batch), durable)


def _write_batch(db: sqlite3.Connection, crawl: int, batch: Batch, durable: bool) -> None:
    totals = msgspec.json.encode(batch.counters).decode() if batch.counters else None
    with _transaction(db, durable=durable):
        for statement, values in rows.statements(crawl, batch):
            _execute_all(db, statement, values)
        db.execute(_ALIVE, (batch.now, totals, crawl))


def _execute_all(db: sqlite3.Connection, statement: str, values: list[rows.Row]) -> None:
    for sql, flat in rows.blocks(statement, values):
        db.execute(sql, flat)


_LAST_CRAWL = (
    "SELECT id, finished_at, reason, counters FROM crawl WHERE digest = ? ORDER BY id DESC LIMIT 1"
)
_NEW_CRAWL = """
INSERT INTO crawl (digest, identity, topic, strategy, config, counters, started_at, heartbeat_at)
VALUES (?, ?, ?, ?, ?, '{}', ?, ?)"""
_REOPEN_CRAWL = """
UPDATE crawl SET config = ?, heartbeat_at = ?, finished_at = NULL, reason = NULL WHERE id = ?"""
_ALIVE = "UPDATE crawl SET heartbeat_at = ?, counters = ifnull(?, counters) WHERE id = ?"
_FINISH = """
UPDATE crawl SET heartbeat_at = ?, finished_at = ?, reason = ?, report = ? WHERE id = ?"""

_QUEUES = f"""
SELECT id & {schema.LAST_ID}, host, shape, fetched, yielded FROM queue
WHERE id BETWEEN ? AND ? ORDER BY id"""
_HOSTS = f"""
SELECT id & {schema.LAST_ID}, name, next_at, failures, given_up, robots FROM host
WHERE id BETWEEN ? AND ? ORDER BY id"""
_URLS = f"""
SELECT id & {schema.LAST_ID}, key, state, priority, carry, depth, queue, hops, tries,
retry_at, parent FROM url WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"""
_GRAPH = f"""
SELECT id & {schema.LAST_ID}, source, targets FROM link
WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"""
# One row in all, see rows.BLOCK. JSON would round a float, quote() does not.
_WAITING = f"""
SELECT json_group_array(json_array(best.id & {schema.LAST_ID}, url.url)),
group_concat(quote(best.priority), ' ') FROM (
    SELECT id, priority FROM url WHERE state = 0 AND queue = ? AND id BETWEEN ? AND ?
    AND (priority < ? OR priority = ? AND id > ?) ORDER BY priority DESC, id LIMIT ?
) AS best CROSS JOIN url ON url.id = best.id"""
_FETCHING_AGAIN = "UPDATE url SET state = 0 WHERE state = 1 AND id BETWEEN ? AND ?"
_FAIL_WAITING = f"""
UPDATE url SET state = 3, reason = ? WHERE state = 0 AND id BETWEEN ? AND ? AND queue IN
(SELECT id & {schema.LAST_ID} FROM queue WHERE id BETWEEN ? AND ? AND host = ?)"""
