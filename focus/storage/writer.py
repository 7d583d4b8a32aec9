"""Does to the database what each method of `focus.store` says: plain functions over sqlite3.

They run in the thread of `store`'s connection, each one transaction or one read.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from focus.errors import StoreError
from focus.records import Batch, FailureKind, HostRow, QueueRow, UrlState
from focus.scheduling.retries import TEMPORARY
from focus.storage import file_check, schema, statements
from focus.storage.schema import id_range

WAL_PAGES = 8000  # 32 MiB: then the WAL is folded into the file and begun again
CACHE_KIB = 8 * 1024  # rows are written once and hardly read: 32 MiB save no time at a million URLs


class CrawlInfo(NamedTuple):
    """The crawl that `begin_crawl` found.

    resumed   an earlier crawl of the same identity is continued
    finished  that one had come to an end of its own (`reason`), it was not killed
    counters  totals as of its last batch; {} for a new crawl
    next_url, next_host   first free ids
    seen_at   its last sign of life before this, by the clock of then
    """

    id: int
    resumed: bool
    finished: bool
    reason: str
    counters: dict[str, float]
    next_url: int
    next_host: int
    seen_at: float = 0.0


class Saved(NamedTuple):
    """A crawl's queues and hosts, each in order of id."""

    queues: list[QueueRow]
    hosts: list[HostRow]


@contextmanager
def transaction(db: sqlite3.Connection, *, durable: bool = False) -> Iterator[None]:
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


def prepare(db: sqlite3.Connection, path: Path) -> None:
    """Check the version, migrate, and set the connection up."""
    file_check.check_tables(db, path)
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    file_check.check_version(version, path)
    done = max(version - schema.UNRELEASED, 0)
    for number, script in enumerate(schema.MIGRATIONS[done:], schema.UNRELEASED + done + 1):
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
        raise StoreError(
            "{path}: its file system cannot lock it; put it on a local disk", path=path
        )
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    db.execute(f"PRAGMA journal_size_limit = {WAL_PAGES * 4096}")
    db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    db.execute("PRAGMA secure_delete = OFF")  # some builds overwrite what is freed with zeros


TitleRow = tuple[str, str, bool, int]
"""A page's URL, title, whether it is relevant, and the page that brought it (-1: a seed)."""


def select(db: sqlite3.Connection, sql: str, values: tuple[Any, ...]) -> list[Any]:
    return db.execute(sql, values).fetchall()


def titles(db: sqlite3.Connection, *, crawl: int, last: int) -> list[TitleRow]:
    rows = db.execute(_TITLES, (crawl, last)).fetchall()
    return [(url, title, bool(on), hub) for url, title, on, hub in reversed(rows)]


def simhashes(db: sqlite3.Connection, *, crawl: int) -> list[tuple[int, int]]:
    """(URL id, simhash) of relevant pages in the order of their requests."""
    rows = db.execute(_SIMHASHES, id_range(crawl)).fetchall()
    return [(number, high << 32 | low) for number, low, high in rows]


def hubs(db: sqlite3.Connection, *, crawl: int) -> list[tuple[int, int, float]]:
    """(URL id, links of it that were fetched, relevance they brought) of pages linked from."""
    return db.execute(_HUBS, id_range(crawl)).fetchall()


def relevant_requests(db: sqlite3.Connection, *, crawl: int, first: int) -> set[int]:
    """Return the numbers after `first` of the requests that brought a relevant page."""
    return {nth for (nth,) in db.execute(_RELEVANT_REQUESTS, (crawl, first))}


def change(db: sqlite3.Connection, sql: str, values: tuple[Any, ...], durable: bool = False) -> int:
    with transaction(db, durable=durable):
        return db.execute(sql, values).rowcount


def write_ranks(
    db: sqlite3.Connection, *, crawl: int, values: list[tuple[int, float, float, float]]
) -> None:
    with transaction(db):
        _execute_all(db, *statements.ranks(crawl, values))


def digested(identity: dict[str, Any]) -> tuple[bytes, bytes]:
    """An identity as canonical JSON, and the digest by which a crawl is found again."""
    canonical = msgspec.json.encode(identity, order="sorted")
    return canonical, hashlib.sha256(canonical).digest()


def begin(
    db: sqlite3.Connection,
    *,
    identity: dict[str, Any],
    config: str,
    fresh: bool,
    now: float,
    revive: Sequence[str] = (),
) -> CrawlInfo:
    canonical, digest = digested(identity)
    with transaction(db, durable=True):
        row = None if fresh else db.execute(LAST_CRAWL, (digest,)).fetchone()
        if row is None:
            topic = identity.get("topic", "")
            name = topic.get("name", "") if isinstance(topic, dict) else topic
            strategy = str(identity.get("strategy", ""))
            values = (str(name), strategy, now, now, digest, canonical.decode(), config)
            crawl = db.execute(_NEW_CRAWL, values).lastrowid or 0
            db.execute("INSERT INTO progress VALUES (?, ?, '{}')", (crawl, now))
        else:
            crawl = row[0]
            db.execute(_REOPEN_CRAWL, (now, config, crawl))
            db.execute(ALIVE, (now, None, crawl))
            db.execute(_FORGET_FETCHING, id_range(crawl))  # it waits again, or is a page still
            _revive(db, crawl, revive)
        free = next_ids(db, crawl)
    _, ended, reason, counters, seen_at = row or (crawl, None, None, "{}", now)
    return CrawlInfo(
        id=crawl,
        resumed=row is not None,
        finished=ended is not None,
        reason=reason or "",
        counters=msgspec.json.decode(counters),
        next_url=free[0],
        next_host=free[2],
        seen_at=seen_at,
    )


def _revive(db: sqlite3.Connection, crawl: int, wanted: Sequence[str]) -> None:
    """Let what failed wait again: for the reasons wanted, with its host, and for reasons that
    may be over by now seeds, and all of hosts that did nothing but fail in the end.
    """
    asked = msgspec.json.encode(sorted({*wanted, FailureKind.HOST_ABANDONED})).decode()
    may_be_over = msgspec.json.encode(sorted(TEMPORARY)).decode()
    if db.execute(_HAS_FAILED, (crawl, asked, may_be_over)).fetchone() is not None:
        span = id_range(crawl)
        db.execute(_FAILED_AGAIN, (*span, asked, may_be_over, *span, *span))


def next_ids(db: sqlite3.Connection, crawl: int) -> list[int]:
    """The first free ids of a crawl's URLs, queues and hosts."""
    free = []
    for table in ("url_found", "queue", "host"):
        sql = f"SELECT max(id) FROM {table} WHERE id BETWEEN ? AND ?"
        (last,) = db.execute(sql, id_range(crawl)).fetchone()
        free.append(0 if last is None else (last & schema.LAST_ID) + 1)
    return free


def load(db: sqlite3.Connection, crawl: int) -> Saved:
    span = id_range(crawl)
    hosts = [
        HostRow(number, name, next_at, failures, bool(given_up), _robots(robots), address)
        for number, name, next_at, failures, given_up, robots, address in db.execute(_HOSTS, span)
    ]
    queues = [
        QueueRow(number, host, pattern, fetched, yielded, bonus, tuple(recent))
        for number, host, pattern, fetched, yielded, bonus, *recent in db.execute(_QUEUES, span)
    ]
    return Saved(queues, hosts)


_robots_decoder = msgspec.msgpack.Decoder(dict[str, tuple[bytes, int, float]])


def _robots(packed: bytes | None) -> dict[str, tuple[bytes, int, float]]:
    return _robots_decoder.decode(packed) if packed else {}


Also = Callable[[sqlite3.Connection], object]


def write(
    db: sqlite3.Connection,
    *,
    crawl: int,
    batch: Batch,
    durable: bool,
    also: Also | None = None,
) -> None:
    try:
        _write_batch(db, crawl, batch, durable, also)
    except UnicodeEncodeError:  # half of a surrogate pair, which is no text
        _write_batch(db, crawl, statements.encodable(batch), durable, also)


def _write_batch(
    db: sqlite3.Connection, crawl: int, batch: Batch, durable: bool, also: Also | None
) -> None:
    totals = msgspec.json.encode(batch.counters).decode() if batch.counters else None
    with transaction(db, durable=durable):
        for statement, values in statements.statements(crawl, batch):
            _execute_all(db, statement, values)
        if also is not None:
            also(db)
        db.execute(ALIVE, (batch.now, totals, crawl))


def _execute_all(db: sqlite3.Connection, statement: str, values: list[statements.Row]) -> None:
    for sql, flat in statements.blocks(statement, values):
        db.execute(sql, flat)


LAST_CRAWL = """
SELECT id, finished_at, reason, counters, heartbeat_at
FROM crawl JOIN progress ON progress.crawl = crawl.id
WHERE digest = ? ORDER BY id DESC LIMIT 1"""
_NEW_CRAWL = """
INSERT INTO crawl (topic, strategy, started_at, opened_at, digest, identity, config)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_REOPEN_CRAWL = """
UPDATE crawl SET opened_at = ?, config = ?, finished_at = NULL, reason = NULL WHERE id = ?"""
ALIVE = "UPDATE progress SET heartbeat_at = ?, counters = ifnull(?, counters) WHERE crawl = ?"
FINISH = "UPDATE crawl SET finished_at = ?, reason = ?, report = ? WHERE id = ?"

_QUEUES = f"""
SELECT id & {schema.LAST_ID}, host, pattern, fetched, yielded, bonus,
recent_fetched, recent_yielded, recent_at FROM queue
WHERE id BETWEEN ? AND ? ORDER BY id"""
_HOSTS = f"""
SELECT id & {schema.LAST_ID}, name, next_at, failures, given_up, robots, address FROM host
WHERE id BETWEEN ? AND ? ORDER BY id"""
GRAPH = f"""
SELECT id & {schema.LAST_ID}, source, targets FROM link
WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"""
ADDRESSES = f"""
SELECT f.id & {schema.LAST_ID}, url FROM json_each(?) AS wanted
JOIN url_found f ON f.id = wanted.value"""
_FORGET_FETCHING = "DELETE FROM fetching WHERE id BETWEEN ? AND ?"
_HAS_FAILED = f"""
SELECT 1 FROM tally WHERE crawl = ? AND state = {int(UrlState.FAILED)} AND n > 0 AND (reason IN
(SELECT value FROM json_each(?)) OR reason IN (SELECT value FROM json_each(?))) LIMIT 1"""
_FAILED_AGAIN = f"""
UPDATE url_state SET state = {int(UrlState.WAITING)}, tries = 0, retry_at = NULL
FROM url_found f WHERE f.id = url_state.id
AND url_state.id BETWEEN ? AND ? AND state = {int(UrlState.FAILED)} AND (
    reason IN (SELECT value FROM json_each(?))
    OR reason IN (SELECT value FROM json_each(?)) AND (depth = 0 OR queue IN (
        SELECT id & {schema.LAST_ID} FROM queue WHERE id BETWEEN ? AND ? AND host IN (
            SELECT id & {schema.LAST_ID} FROM host
            WHERE id BETWEEN ? AND ? AND (given_up OR failures > 0)))))"""
_SIMHASHES = f"""
SELECT id & {schema.LAST_ID}, simhash & 0xffffffff, (simhash >> 32) & 0xffffffff FROM page
WHERE id BETWEEN ? AND ? AND relevant AND simhash <> 0 ORDER BY nth"""
_RELEVANT_REQUESTS = "SELECT nth FROM page WHERE crawl = ? AND nth > ? AND relevant"
_TITLES = """
SELECT page_text.url, title, relevant, ifnull(parent, -1)
FROM (SELECT id, relevant, nth FROM page WHERE crawl = ? ORDER BY nth DESC LIMIT ?)
JOIN page_text USING (id) JOIN url USING (id) ORDER BY nth DESC"""
_HUBS = f"""
SELECT id & {schema.LAST_ID}, fetched, yielded FROM hub WHERE id BETWEEN ? AND ? ORDER BY id"""
