"""Reads results and status of crawls, and explains the state of a URL.

The reader has its own read-only connection and makes only short reads, because a long read would
prevent SQLite from merging the WAL into the database. All reads can run beside a crawl.
"""

from __future__ import annotations

import heapq
import math
import os
import re
import sqlite3
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from focus.config import CrawlConfig
from focus.errors import ConfigError, StoreError
from focus.i18n import decode_message
from focus.records import Rendering, UrlState
from focus.storage import file_check, results, revisited_pages, schema, url_log, writer
from focus.storage.computed_fields import StoredSource, compute_field, published_at
from focus.storage.lock import database_lock, lock_holder_pid
from focus.storage.request_uses import read_request_uses
from focus.storage.results import (
    COMPUTED_FIELDS,
    FIELDS,
    MAX_RANK_AND_RELEVANCE,
    PAGERANK,
    Selection,
    field_types,
)
from focus.storage.schema import LAST_ID, id_range, row_id
from focus.storage.term_uses import read_term_uses
from focus.storage.views import (
    CrawlStatus,
    CrawlSummary,
    HostYield,
    PathStep,
    ReasonCount,
    Why,
    WhyPage,
)
from focus.storage.writer import LAST_CRAWL, identity_digest, prepare_database
from focus.text.formatting import format_duration

ROWS_PER_READ = 256  # rows per read of an export
SOURCES_PER_READ = 16  # the same with the source of each page
READ_TIMEOUT_S = 900.0  # maximum time of one read
STEPS_PER_CHECK = 1_000_000  # steps of SQLite's virtual machine between two checks of the time
MAX_ENTRIES = 10  # hosts and reasons in a status
T = TypeVar("T")

MAX_NEAREST = 3  # similar URLs to show for an unknown one


class DatabaseReader:
    """Read-only access to a database; to be closed, or used in a `with` statement."""

    def __init__(self, path: Path) -> None:
        """Open the database; StoreError if `path` is no database of focus."""
        self._deadline = math.inf
        if not file_check.check_file(path):
            raise StoreError(
                "there is no database at {path}; `focus crawl` creates one (or use --db)", path=path
            )
        self._path = path
        with self._store_errors():
            self._db = connect_read_only(path)
        try:
            self._db.set_progress_handler(self._has_timed_out, STEPS_PER_CHECK)
            with self._store_errors():
                file_check.check_views(self._db, path)
                version: int = self._db.execute("PRAGMA user_version").fetchone()[0]
            file_check.check_version(version, path)
            if version < schema.VERSION:
                self.close()
                with self._store_errors():
                    _migrate_file(path)
                    self._db = connect_read_only(path)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> DatabaseReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    # -- crawls -------------------------------------------------------------------

    def crawls(self) -> list[CrawlSummary]:
        """Return all crawls, oldest first."""
        running = self._running_crawl()
        return [CrawlSummary(*(*row, row[0] == running)) for row in self._fetch_all(_CRAWLS)]

    def crawl_ids(self, crawl: str, topic: str | None = None) -> list[int]:
        """Return the ids for "latest", "all" or an id; ConfigError if there is no such crawl."""
        rows = self._fetch_all(_TOPICS)
        ids = [number for number, name in rows if topic is None or name == topic]
        if crawl == "latest":
            ids = ids[-1:]
        elif crawl != "all":
            ids = [number for number in ids if str(number) == crawl]
        if not ids and rows:
            known = ", ".join(f"{number} ({name})" for number, name in sorted(rows)[-20:])
            description = f"crawl {crawl}" + (f" on the topic {topic}" if topic else "")
            raise ConfigError(
                "no {wanted} in {path}; there are: {known}",
                wanted=description,
                path=self._path,
                known=known,
            )
        return ids

    def crawl_id(self, crawl: str) -> int:
        """Return the last id of `crawl_ids`; ConfigError for a database without a crawl."""
        if not (ids := self.crawl_ids(crawl)):
            raise ConfigError("{db} has no crawl yet; `focus crawl` starts one", db=self._path)
        return ids[-1]

    def status(self, crawl: int, summaries: Sequence[CrawlSummary] = ()) -> CrawlStatus:
        """Return the status of a crawl; ConfigError if it does not exist.

        Takes a pass over the latest URLs for `request_uses` (about a second for 50,000), and one
        over the pages if they are revisited. `summaries` is the result of `crawls`, if it has been
        read already.
        """
        summary = next((row for row in summaries or self.crawls() if row.id == crawl), None)
        if summary is None:
            raise ConfigError(
                "no crawl {crawl} in {path}; `focus status` lists them",
                crawl=crawl,
                path=self._path,
            )
        row = self._fetch_one(_CONFIG, (crawl,))
        config, counters, report = (msgspec.json.decode(text or "null") for text in row)
        counters = counters or {}
        revisits = counters.get("looked", 0) + counters.get("unanswered", 0)
        requests = int(counters.get("requests", 0) - revisits)
        settings = config if isinstance(config, dict) else {}
        topic = settings.get("analysis", {}).get("topic", {})
        tally = self._fetch_all(
            "SELECT state, reason, n FROM tally WHERE crawl = ? AND n > 0", (crawl,)
        )
        return CrawlStatus(
            crawl=summary,
            states=self._count_states(crawl, tally),
            harvest_rate=summary.harvest_rate,
            harvest_all=summary.relevant / max(1, requests),
            harvest_last_100=self._harvest_rate(summary, requests, 100),
            harvest_last_500=self._harvest_rate(summary, requests, 500),
            hosts=[
                HostYield(*row) for row in self._fetch_all(_HOSTS, (*id_range(crawl), MAX_ENTRIES))
            ],
            failures=_most_frequent(tally, UrlState.FAILED),
            drops=_most_frequent(tally, UrlState.DROPPED),
            limits=settings.get("limits") or {},
            counters=counters,
            report=report,
            duplicates=self._fetch_one(_DUPLICATES, id_range(crawl))[0],
            gone=self._fetch_one(_GONE, id_range(crawl))[0],
            due=self._count_due(crawl, settings.get("refresh_s")),
            request_uses=self.read(lambda db: read_request_uses(db, crawl)),
            term_uses=self.read(lambda db: read_term_uses(db, crawl, topic)),
        )

    def _count_due(self, crawl: int, age_s: float | None) -> int | None:
        """Return the number of pages due for a revisit; None if the last run had no `--refresh`."""
        if age_s is None:
            return None
        return self.read(lambda db: revisited_pages.count_due_pages(db, crawl, age_s, time.time()))

    def _count_states(self, crawl: int, tally: list[Any]) -> dict[str, int]:
        """Count the URLs by state. Ids are consecutive, so the last one is the number of URLs."""
        last = self._fetch_one(_LAST, id_range(crawl))[0]
        known = 0 if last is None else (last & LAST_ID) + 1
        counts = dict.fromkeys(UrlState, 0)
        for state, _, n in tally:
            counts[UrlState(state)] += n
        counts[UrlState.FETCHING] = self._fetch_one(_FETCHING, id_range(crawl))[0]
        counts[UrlState.WAITING] = known - sum(counts.values())
        return {state.name.lower(): n for state, n in counts.items()}

    def _harvest_rate(self, crawl: CrawlSummary, requests: int, last: int) -> float:
        """Return the share of the last requests, of `requests` in all, that found a relevant page.

        Pages that a revisit has replaced were found by an earlier request.
        """
        if requests <= last:
            return crawl.relevant / max(1, requests)
        relevant: int = self._fetch_one(_RELEVANT_SINCE, (crawl.id, requests - last))[0]
        return relevant / last

    def _running_crawl(self) -> int | None:
        """Return the id of the running crawl; None if no process has locked the database."""
        if lock_holder_pid(self._path) is None:
            return None
        rows = self._fetch_all(_RUNNING)
        return rows[0][0] if rows else None

    # -- one URL ------------------------------------------------------------------

    def why(self, crawl: int, url: str, *, key: bytes = b"") -> Why:
        """Explain the state of a URL, found by its text or duplicate key.

        It takes one pass over the URLs of the crawl. For an unknown URL `state` is empty and
        `nearest` has known URLs of its host with a similar beginning.
        """
        rows = self._fetch_all(_FIND, (*id_range(crawl), key, url, key))
        if not rows:
            return Why(url=url, nearest=self._similar_urls(crawl, url))
        number: int = rows[0][0]
        row = self._fetch_one(_URL, (number,))
        state, known_as, depth, priority, reason, detail, tries, bonus = row
        page = next(map(_why_page, self._fetch_all(_PAGE, (number,))), None)
        better = self.read(partial(url_log.load_latest_evidence, row=number))
        if better is not None:
            priority, link_evidence = better.priority, better.link_evidence
        else:
            link_evidence = self.read(partial(url_log.load_first_evidence, row=number))
        return Why(
            url=known_as,
            state=UrlState(state).name.lower(),
            reason=reason or "",
            detail=decode_message(detail or ""),
            depth=depth,
            priority=priority,
            tries=tries,
            path=self._discovery_path(number, better),
            page=page,
            duplicate_of=next((url for (url,) in self._fetch_all(_ORIGINAL_URL, (number,))), ""),
            link_evidence=link_evidence,
            place=page.bonus if page else bonus if state == UrlState.WAITING else 0.0,
        )

    def latest_titles(self, crawl: int, last: int) -> list[writer.TitleRow]:
        """Return the titles of the last `last` pages of a crawl, in order of request."""
        return writer.load_titles(self._db, crawl=crawl, last=last)

    def load_config(self, crawl: int) -> CrawlConfig:
        """Return the settings of the last run of a crawl."""
        return msgspec.json.decode(self._fetch_one(_CONFIG, (crawl,))[0], type=CrawlConfig)

    def _discovery_path(self, number: int, better: url_log.LatestEvidence | None) -> list[PathStep]:
        """Return the steps from a seed to the URL; a cycle of parents ends the path."""
        steps: list[PathStep] = []
        seen: set[int] = set()
        while number not in seen and (rows := self._fetch_all(_STEP, (number,))):
            seen.add(number)
            *fields, parent = rows[0]
            if not steps and better is not None and better.parent not in (None, parent):
                parent, fields[1] = better.parent, better.anchor
            steps.append(PathStep(*fields))
            if parent is None:
                break
            number = row_id(number >> schema.ID_BITS, parent)
        path = enumerate(reversed(steps))
        return [msgspec.structs.replace(step, depth=links) for links, step in path]

    def _similar_urls(self, crawl: int, url: str) -> list[str]:
        """Return known URLs of the same host, those with the longest common prefix first."""
        host = re.sub(r"^[a-z]+://(?:[^/?#@]*@)?", "", url.strip().lower())
        host = re.split(r"[/?#]", host, maxsplit=1)[0]
        span = id_range(crawl)
        with self._store_errors():
            urls = (row[0] for row in self._db.execute(_URLS_ON_HOST, (*span, *span, host)))
            return heapq.nlargest(
                MAX_NEAREST,
                urls,
                key=lambda known: len(os.path.commonprefix([known, url])),  # noqa: RUF071
            )

    # -- results ------------------------------------------------------------------

    def iter_rows(
        self, selection: Selection, fields: Sequence[str] = FIELDS
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the results of a selection as tuples of these fields.

        Takes 8 bytes of memory per result. Pages with noindex and dropped URLs (duplicates) are
        left out. `parts` and `matched` are JSON as `msgspec.Raw`, times are ISO 8601 in UTC. Fields
        computed from the stored source (`computed_fields`) are None if it is not stored.
        """
        types = field_types(fields)
        crawls = self.crawl_ids(selection.crawl, selection.topic)
        quality = results.quality_sql(
            {crawl: self._max_rank_and_relevance(crawl) for crawl in crawls}
        )
        with self._store_errors():
            selected = self._db.execute(*results.select_sql(selection, crawls, quality))
            ids = array("q", (row[0] for row in selected))
        sql = results.rows_sql(fields, quality)
        convert = [
            (index, _CONVERT[types[name]])
            for index, name in enumerate(fields, 1)
            if types[name] in _CONVERT
        ]
        computed = [
            (index, name) for index, name in enumerate(fields, 1) if name in COMPUTED_FIELDS
        ]
        step = SOURCES_PER_READ if computed else ROWS_PER_READ
        for start in range(0, len(ids), step):
            chunk = ids[start : start + step].tolist()
            rows_by_id = {
                row[0]: row for row in self._fetch_all(sql, (msgspec.json.encode(chunk).decode(),))
            }
            for number in filter(rows_by_id.__contains__, chunk):
                values = list(rows_by_id[number])
                for index, function in convert:
                    values[index] = function(values[index])
                if computed:
                    source = StoredSource(*values[-3:])
                    for index, name in computed:
                        values[index] = compute_field(name, source)
                yield tuple(values[1 : len(fields) + 1])

    def _max_rank_and_relevance(self, crawl: int) -> tuple[float, float]:
        """Return the largest PageRank and relevance of the pages of a crawl."""
        rank, relevance = self._fetch_one(MAX_RANK_AND_RELEVANCE, id_range(crawl))
        return rank or 0.0, relevance or 0.0

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function that reads from the connection, and return its result."""
        with self._store_errors():
            return work(self._db)

    # -- inside -------------------------------------------------------------------

    def _fetch_all(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._store_errors():
            return self._db.execute(sql, values).fetchall()

    def _fetch_one(self, sql: str, values: Sequence[Any]) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self._fetch_all(sql, values)[0]
        return row

    def _has_timed_out(self) -> bool:
        """Return whether the read takes too long. SQLite calls this; signals are handled then."""
        return time.monotonic() > self._deadline

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        self._deadline = time.monotonic() + READ_TIMEOUT_S
        try:
            with file_check.store_errors(self._path):
                yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":
                raise
            if not self._has_timed_out():  # SQLite discards the exception of a signal handler
                raise KeyboardInterrupt from error
            raise StoreError(
                "reading {path} took more than {read_s}; is it a database of focus, and "
                "is its disk as fast as usual?",
                path=self._path,
                read_s=format_duration(READ_TIMEOUT_S),
            ) from error


def find_last_crawl(path: Path, identity: dict[str, Any]) -> int | None:
    """Return the id of the crawl that `Store.begin_crawl` would continue for this identity."""
    if not file_check.check_file(path):
        return None
    with DatabaseReader(path) as reader:
        row = reader.read(
            lambda db: db.execute(LAST_CRAWL, (identity_digest(identity)[1],)).fetchone()
        )
    return None if row is None else int(row[0])


def _migrate_file(path: Path) -> None:
    """Migrate the file of an older version; StoreError if it is in use or read-only."""
    with (
        database_lock(path, pid=os.getpid()),
        closing(sqlite3.connect(path, isolation_level=None)) as db,
    ):
        prepare_database(db, path)


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a read-only connection, without a lock if the folder cannot be written.

    Any thread may use it, but only one at a time.
    """
    uri, how = path.resolve().as_uri(), {"uri": True, "check_same_thread": False}
    try:
        db = sqlite3.connect(f"{uri}?mode=ro", isolation_level=None, **how)
        db.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        if (
            not error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
            or path.with_name(path.name + "-wal").exists()
        ):
            raise
        db = sqlite3.connect(f"{uri}?immutable=1", isolation_level=None, **how)
    db.create_function("published_at", 3, published_at, deterministic=True)
    return db


def _most_frequent(tally: list[Any], state: UrlState) -> list[ReasonCount]:
    """Return the most frequent reasons of a state."""
    reasons = [ReasonCount(reason, n) for row_state, reason, n in tally if row_state == state]
    return sorted(reasons, key=lambda entry: (-entry.urls, entry.reason))[:MAX_ENTRIES]


def _why_page(row: Sequence[Any]) -> WhyPage:
    *numbers, parts, matched, bonus, noted, is_list = row
    # A later version can have stored a value that is unknown here.
    rendering = noted if noted in set(Rendering) else Rendering.NONE
    decode = msgspec.json.decode
    values = [*numbers, decode(parts), decode(matched), bonus, rendering, bool(is_list)]
    named = dict(zip(WhyPage.__struct_fields__, values, strict=True))
    return msgspec.convert(named, WhyPage, strict=False)


_CONVERT: dict[Any, Callable[[Any], Any]] = {
    bool: bool,
    dict[str, float]: lambda text: msgspec.Raw(text.encode()),
    dict[str, list[str]]: lambda text: msgspec.Raw(text.encode()),
}

# Visits of alerts are the latest crawl only where there is no other.
_TOPICS = "SELECT id, topic FROM crawl ORDER BY strategy <> 'watch', opened_at, id"
_CONFIG = """
SELECT config, counters, report FROM crawl JOIN progress ON progress.crawl = crawl.id
WHERE id = ?"""
_CRAWLS = """
SELECT id, topic, strategy, started_at, heartbeat_at, finished_at, ifnull(reason, ''),
ifnull(n, 0), ifnull(hits, 0) FROM crawl JOIN progress ON progress.crawl = crawl.id
LEFT JOIN (SELECT crawl, count(*) AS n, sum(relevant) AS hits FROM page GROUP BY crawl) AS found
ON found.crawl = crawl.id ORDER BY id"""
_RUNNING = """
SELECT id FROM crawl WHERE finished_at IS NULL ORDER BY opened_at DESC LIMIT 1"""
_DUPLICATES = "SELECT count(*) FROM near_duplicate WHERE id BETWEEN ? AND ?"
_GONE = "SELECT count(*) FROM page_check WHERE id BETWEEN ? AND ? AND gone_at NOT NULL"
_ORIGINAL_URL = f"""
SELECT f.url FROM near_duplicate n JOIN url_found f ON f.id = (n.id & ~{LAST_ID}) + n.of
WHERE n.id = ?"""
_LAST = "SELECT max(id) FROM url_found WHERE id BETWEEN ? AND ?"
# A page that is being revisited still counts as done.
_FETCHING = """
SELECT count(*) FROM fetching LEFT JOIN url_state USING (id)
WHERE id BETWEEN ? AND ? AND NOT ifnull(state, 0)"""
_RELEVANT_SINCE = """
SELECT count(*) FROM page LEFT JOIN page_check c USING (id)
WHERE crawl = ? AND nth > ? AND relevant AND ifnull(c.first_at >= fetched_at, 1)"""
_HOSTS = f"""
SELECT name, sum(fetched), sum(yielded) FROM queue
JOIN host ON host.id = (queue.id & ~{LAST_ID}) + queue.host
WHERE queue.id BETWEEN ? AND ? GROUP BY host.id HAVING sum(yielded) > 0
ORDER BY sum(yielded) DESC, sum(fetched), name LIMIT ?"""

_FIND = """
SELECT id FROM url_found WHERE id BETWEEN ? AND ? AND (key = ? OR url = ?)
ORDER BY key = ? DESC LIMIT 1"""
_URL = f"""
SELECT state, url, depth, priority, reason, detail, tries, ifnull(queue.bonus, 0)
FROM url LEFT JOIN queue ON queue.id = (url.id & ~{LAST_ID}) + url.queue WHERE url.id = ?"""
_STEP = """
SELECT url, ifnull(anchor, ''), depth, relevance, parent
FROM url LEFT JOIN page USING (id) WHERE id = ?"""
_PAGE = f"""
SELECT nth, waiting, priority, status, fetched_at, relevance, relevant, noindex, {PAGERANK}, title,
parts, matched, bonus, rendering, index_page FROM page p JOIN page_text USING (id) WHERE id = ?"""
_URLS_ON_HOST = f"""
SELECT url FROM url_found WHERE id BETWEEN ? AND ? AND queue IN (
    SELECT queue.id & {LAST_ID} FROM queue
    JOIN host ON host.id = (queue.id & ~{LAST_ID}) + queue.host
    WHERE queue.id BETWEEN ? AND ? AND host.name = ?)"""
