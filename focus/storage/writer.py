"""Functions over sqlite3 behind the methods of `focus.store`.

They run in the thread of the store, each as one transaction or one read.
"""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from focus.errors import StoreError
from focus.i18n import decode_message
from focus.records import Batch, DropReason, FailureKind, HostRow, QueueRow, UrlRuleRow, UrlState
from focus.scheduling.retries import TEMPORARY
from focus.storage import file_check, schema, statements
from focus.storage.schema import id_range

MAX_WAL_PAGES = 8000  # 32 MiB: then the WAL is merged into the file and restarted
CACHE_KIB = 8 * 1024  # rows are written once and hardly read; 32 MiB are no faster


class CrawlInfo(NamedTuple):
    """Crawl that `begin_crawl` started or continued.

    is_resumed   whether an earlier crawl of the same identity is continued
    is_finished  whether its last run ended normally (`end_reason`), and was not killed
    counters     totals of its last batch; {} for a new crawl
    next_url, next_host   first free ids
    last_seen_at  time of its last write before this run
    last_config   settings of its last run as JSON; "" for a new crawl
    """

    id: int
    is_resumed: bool
    is_finished: bool
    end_reason: str
    counters: dict[str, float]
    next_url: int
    next_host: int
    last_seen_at: float = 0.0
    last_config: str = ""


class QueuesAndHosts(NamedTuple):
    """Queues and hosts of a crawl, each in order of id."""

    queues: list[QueueRow]
    hosts: list[HostRow]


@contextmanager
def transaction(db: sqlite3.Connection, *, durable: bool = False) -> Iterator[None]:
    """Run statements in one transaction; with `durable` it is synced to the disk at the end."""
    if durable:
        db.execute("PRAGMA synchronous = FULL")
    try:
        db.execute("BEGIN IMMEDIATE")  # a read that becomes a write fails without waiting
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite rolls back by itself on some errors
            db.execute("ROLLBACK")
        raise
    finally:
        if durable:
            db.execute("PRAGMA synchronous = NORMAL")


def prepare_database(db: sqlite3.Connection, path: Path) -> None:
    """Check the version, migrate, and configure the connection."""
    file_check.check_views(db, path)
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    file_check.check_version(version, path)
    done = max(version - schema.LAST_UNRELEASED_VERSION, 0)
    for number, script in enumerate(
        schema.MIGRATIONS[done:], schema.LAST_UNRELEASED_VERSION + done + 1
    ):
        try:
            db.executescript(
                f"BEGIN IMMEDIATE; {script} PRAGMA application_id = {schema.APPLICATION_ID}; "
                f"PRAGMA user_version = {number}; COMMIT"
            )
        except BaseException:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
    # Only now, because the application id must be in the file itself and not only in the WAL.
    (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(
            "{path}: its file system cannot lock it; put it on a local disk", path=path
        )
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(f"PRAGMA wal_autocheckpoint = {MAX_WAL_PAGES}")
    db.execute(f"PRAGMA journal_size_limit = {MAX_WAL_PAGES * 4096}")
    db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    db.execute("PRAGMA secure_delete = OFF")  # some builds overwrite freed pages with zeros


TitleRow = tuple[str, str, bool, int]
"""URL and title of a page, whether it is relevant, and the id of its parent (-1 for a seed)."""


def fetch_rows(db: sqlite3.Connection, sql: str, values: tuple[Any, ...]) -> list[Any]:
    return db.execute(sql, values).fetchall()


def load_titles(db: sqlite3.Connection, *, crawl: int, last: int) -> list[TitleRow]:
    rows = db.execute(_TITLES, (crawl, last)).fetchall()
    return [(url, title, bool(on), hub) for url, title, on, hub in reversed(rows)]


def load_simhashes(db: sqlite3.Connection, *, crawl: int) -> list[tuple[int, int]]:
    """Return (URL id, simhash) of relevant pages in order of request."""
    rows = db.execute(_SIMHASHES, id_range(crawl)).fetchall()
    return [(number, high << 32 | low) for number, low, high in rows]


def load_url_rules(db: sqlite3.Connection, *, crawl: int) -> list[UrlRuleRow]:
    """Return the records of URL rules of a crawl."""
    return [UrlRuleRow(*row) for row in db.execute(_URL_RULES, id_range(crawl))]


def load_aliases(db: sqlite3.Connection, *, crawl: int) -> list[tuple[int, str]]:
    """Return (id of a canonical URL, message that names the page fetched in its place)."""
    rows = db.execute(_ALIASES, (*id_range(crawl), crawl, str(DropReason.PAGE_VARIANT))).fetchall()
    return [(number, decode_message(detail)) for number, detail in rows]


def load_text_digests(db: sqlite3.Connection, *, crawl: int) -> list[tuple[int, int]]:
    """Return (URL id, text digest as a signed number) of pages in order of request."""
    return db.execute(_TEXT_DIGESTS, id_range(crawl)).fetchall()


def load_page_urls(db: sqlite3.Connection, *, crawl: int, last: int) -> list[tuple[int, str]]:
    """Return (URL id, URL) of the last pages that are no index pages, in order of request."""
    return db.execute(_PAGE_URLS, (crawl, last)).fetchall()[::-1]


def load_depths(db: sqlite3.Connection, *, crawl: int) -> array[int]:
    """Return the depths of all URLs of a crawl in order of id."""
    return array("H", (min(depth, 65535) for (depth,) in db.execute(_DEPTHS, id_range(crawl))))


def load_hubs(db: sqlite3.Connection, *, crawl: int) -> list[tuple[int, int, float]]:
    """Return (URL id, requests for its links, their rewards) of hub pages."""
    return db.execute(_HUBS, id_range(crawl)).fetchall()


def load_templates(db: sqlite3.Connection, *, crawl: int) -> list[tuple[int, bytes]]:
    """Return (host id, state) of what the pages of hosts repeat (`engine.templates`)."""
    return db.execute(_TEMPLATES, id_range(crawl)).fetchall()


def load_relevant_requests(db: sqlite3.Connection, *, crawl: int, first: int) -> set[int]:
    """Return the numbers after `first` of the requests that returned a relevant page."""
    return {nth for (nth,) in db.execute(_RELEVANT_REQUESTS, (crawl, first))}


def execute(
    db: sqlite3.Connection, sql: str, values: tuple[Any, ...], durable: bool = False
) -> int:
    with transaction(db, durable=durable):
        return db.execute(sql, values).rowcount


def write_ranks(
    db: sqlite3.Connection, *, crawl: int, values: list[tuple[int, float, float, float]]
) -> None:
    with transaction(db):
        _execute_all(db, *statements.rank_statement(crawl, values))


def identity_digest(identity: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return the identity of a crawl as canonical JSON, and its SHA-256."""
    canonical = msgspec.json.encode(identity, order="sorted")
    return canonical, hashlib.sha256(canonical).digest()


def load_config(db: sqlite3.Connection, *, identity: dict[str, Any]) -> str | None:
    """Return the stored settings of the crawl that has this identity; None if there is none."""
    row = db.execute(_CONFIG, (identity_digest(identity)[1],)).fetchone()
    return None if row is None else str(row[0])


def begin_crawl(
    db: sqlite3.Connection,
    *,
    identity: dict[str, Any],
    config: str,
    fresh: bool,
    now: float,
    retry_reasons: Sequence[str] = (),
) -> CrawlInfo:
    canonical, digest = identity_digest(identity)
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
            db.execute(UPDATE_PROGRESS, (now, None, crawl))
            db.execute(
                _FORGET_FETCHING, id_range(crawl)
            )  # they wait again, or keep their stored page
            _requeue_failed(db, crawl, retry_reasons)
        free = next_free_ids(db, crawl)
    _, ended, reason, counters, seen_at, last_config = row or (crawl, None, None, "{}", now, "")
    return CrawlInfo(
        id=crawl,
        is_resumed=row is not None,
        is_finished=ended is not None,
        end_reason=reason or "",
        counters=msgspec.json.decode(counters),
        next_url=free[0],
        next_host=free[2],
        last_seen_at=seen_at,
        last_config=last_config,
    )


def _requeue_failed(db: sqlite3.Connection, crawl: int, retry_reasons: Sequence[str]) -> None:
    """Queue failed URLs again: those that failed for these reasons or with their host.

    Of temporary failures it queues seeds, and the URLs of hosts that only failed in the end.
    """
    reasons_json = msgspec.json.encode(
        sorted({*retry_reasons, FailureKind.HOST_ABANDONED})
    ).decode()
    temporary_json = msgspec.json.encode(sorted(TEMPORARY)).decode()
    if db.execute(_HAS_FAILED, (crawl, reasons_json, temporary_json)).fetchone() is not None:
        span = id_range(crawl)
        db.execute(_FAILED_AGAIN, (*span, reasons_json, temporary_json, *span, *span))


def next_free_ids(db: sqlite3.Connection, crawl: int) -> list[int]:
    """Return the first free ids for URLs, queues and hosts of a crawl."""
    free = []
    for table in ("url_found", "queue", "host"):
        sql = f"SELECT max(id) FROM {table} WHERE id BETWEEN ? AND ?"
        (last,) = db.execute(sql, id_range(crawl)).fetchone()
        free.append(0 if last is None else (last & schema.LAST_ID) + 1)
    return free


def load_queues_and_hosts(db: sqlite3.Connection, crawl: int) -> QueuesAndHosts:
    span = id_range(crawl)
    hosts = [
        HostRow(number, name, next_at, failures, bool(given_up), _decode_robots(robots), *texts)
        for number, name, next_at, failures, given_up, robots, *texts in db.execute(_HOSTS, span)
    ]
    queues = [
        QueueRow(number, host, pattern, fetched, yielded, bonus, tuple(recent))
        for number, host, pattern, fetched, yielded, bonus, *recent in db.execute(_QUEUES, span)
    ]
    return QueuesAndHosts(queues, hosts)


_robots_decoder = msgspec.msgpack.Decoder(dict[str, tuple[bytes, int, float]])


def _decode_robots(packed: bytes | None) -> dict[str, tuple[bytes, int, float]]:
    return _robots_decoder.decode(packed) if packed else {}


ExtraWrite = Callable[[sqlite3.Connection], object]


def write_batch(
    db: sqlite3.Connection,
    *,
    crawl: int,
    batch: Batch,
    durable: bool,
    extra_write: ExtraWrite | None = None,
) -> None:
    try:
        _write_in_transaction(db, crawl, batch, durable, extra_write)
    except UnicodeEncodeError:  # a lone surrogate cannot be encoded
        _write_in_transaction(db, crawl, statements.replace_surrogates(batch), durable, extra_write)


def _write_in_transaction(
    db: sqlite3.Connection, crawl: int, batch: Batch, durable: bool, extra_write: ExtraWrite | None
) -> None:
    totals = msgspec.json.encode(batch.counters).decode() if batch.counters else None
    with transaction(db, durable=durable):
        for statement, values in statements.batch_statements(crawl, batch):
            _execute_all(db, statement, values)
        if extra_write is not None:
            extra_write(db)
        db.execute(UPDATE_PROGRESS, (batch.now, totals, crawl))


def _execute_all(db: sqlite3.Connection, statement: str, values: list[statements.Row]) -> None:
    for sql, flat in statements.iter_blocks(statement, values):
        db.execute(sql, flat)


LAST_CRAWL = """
SELECT id, finished_at, reason, counters, heartbeat_at, config
FROM crawl JOIN progress ON progress.crawl = crawl.id
WHERE digest = ? ORDER BY id DESC LIMIT 1"""
_CONFIG = "SELECT config FROM crawl WHERE digest = ? ORDER BY id DESC LIMIT 1"
_NEW_CRAWL = """
INSERT INTO crawl (topic, strategy, started_at, opened_at, digest, identity, config)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_REOPEN_CRAWL = """
UPDATE crawl SET opened_at = ?, config = ?, finished_at = NULL, reason = NULL WHERE id = ?"""
UPDATE_PROGRESS = (
    "UPDATE progress SET heartbeat_at = ?, counters = ifnull(?, counters) WHERE crawl = ?"
)
FINISH_CRAWL = "UPDATE crawl SET finished_at = ?, reason = ?, report = ? WHERE id = ?"

_QUEUES = f"""
SELECT id & {schema.LAST_ID}, host, pattern, fetched, yielded, bonus,
recent_fetched, recent_yielded, recent_at FROM queue
WHERE id BETWEEN ? AND ? ORDER BY id"""
_HOSTS = f"""
SELECT id & {schema.LAST_ID}, name, next_at, failures, given_up, robots, address, software FROM host
WHERE id BETWEEN ? AND ? ORDER BY id"""
SELECT_LINKS = f"""
SELECT id & {schema.LAST_ID}, source, targets FROM link
WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"""
_DEPTHS = "SELECT depth FROM url_found WHERE id BETWEEN ? AND ? ORDER BY id"
SELECT_REFUSED = f"""
SELECT s.id & {schema.LAST_ID}, url, depth, reason FROM url_state s JOIN url_found USING (id)
WHERE s.id BETWEEN ? AND ? AND state = {int(UrlState.DROPPED)} AND reason IN
('{DropReason.SCOPE}', '{DropReason.DENIED}', '{DropReason.URL_TOO_LONG}', '{DropReason.DEPTH}',
'{DropReason.NOT_HTML}')
ORDER BY s.id LIMIT ?"""
SELECT_URLS = f"""
SELECT f.id & {schema.LAST_ID}, url FROM json_each(?) AS wanted
JOIN url_found f ON f.id = wanted.value"""
SELECT_SOURCES = f"""
SELECT body.id & {schema.LAST_ID}, zstd FROM json_each(?) AS wanted
JOIN body ON body.id = wanted.value"""
SELECT_ANSWER = "SELECT answer, max(crawl = ?) FROM judge_answer WHERE judge = ? AND digest = ?"
STORE_ANSWER = "INSERT OR REPLACE INTO judge_answer VALUES (?, ?, ?, ?)"
COUNT_ANSWERS = "SELECT count(*) FROM judge_answer WHERE crawl = ?"
_TEMPLATES = f"""
SELECT id & {schema.LAST_ID}, packed FROM host_template WHERE id BETWEEN ? AND ?"""
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
WHERE id BETWEEN ? AND ? AND {schema.OVER_THRESHOLD_SQL} AND simhash <> 0 ORDER BY nth"""
_URL_RULES = f"""
SELECT host & {schema.LAST_ID}, kind, record FROM url_rule WHERE host BETWEEN ? AND ?"""
_ALIASES = f"""
SELECT id & {schema.LAST_ID}, detail FROM tally CROSS JOIN url_state
WHERE id BETWEEN ? AND ? AND crawl = ? AND tally.reason = ? AND n > 0
AND url_state.reason = tally.reason AND detail LIKE '%its page was fetched as%'"""
_TEXT_DIGESTS = f"""
SELECT id & {schema.LAST_ID}, digest FROM page WHERE id BETWEEN ? AND ? ORDER BY nth"""
_PAGE_URLS = f"""
SELECT id & {schema.LAST_ID}, page_text.url
FROM (SELECT id, nth FROM page WHERE crawl = ? AND NOT index_page ORDER BY nth DESC LIMIT ?)
JOIN page_text USING (id) ORDER BY nth DESC"""
_RELEVANT_REQUESTS = "SELECT nth FROM page WHERE crawl = ? AND nth > ? AND relevant"
_TITLES = f"""
SELECT page_text.url, title, relevant, ifnull(parent, -1)
FROM (SELECT id, {schema.OVER_THRESHOLD_SQL} AS relevant, nth FROM page WHERE crawl = ?
    ORDER BY nth DESC LIMIT ?)
JOIN page_text USING (id) JOIN url USING (id) ORDER BY nth DESC"""
_HUBS = f"""
SELECT id & {schema.LAST_ID}, fetched, yielded FROM hub WHERE id BETWEEN ? AND ? ORDER BY id"""
