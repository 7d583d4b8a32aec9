"""Reads what a crawl has found, how it stands, and why a page is there (or not).

The reader's side of a database: its own connection, read-only, and no read that
lasts, so that a crawl under way is never held up (a reader that stays would keep
SQLite from folding the WAL). Everything here may run beside a crawl.
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

from focus.errors import ConfigError, StoreError
from focus.i18n import decode_message
from focus.records import Rendering, UrlState
from focus.storage import file_check, page_checks, results, schema, url_log, writer
from focus.storage.lock import held, holder
from focus.storage.made_fields import Source, make_field
from focus.storage.results import FIELDS, LARGEST, MADE, PAGERANK, Selection, columns
from focus.storage.schema import LAST_ID, id_range, row_id
from focus.storage.views import (
    CrawlSummary,
    HostYield,
    Reason,
    Status,
    Step,
    Why,
    WhyPage,
)
from focus.storage.writer import LAST_CRAWL, digested, prepare
from focus.text.formatting import format_duration

CHUNK = 256  # rows per read of an export
SOURCES = 16  # the same where each comes with its page's source
READ_S = 900.0  # of one read; what is read whole is read in parts
STEPS = 1_000_000  # of SQLite's machine between two looks at the clock
TOP = 10  # hosts and reasons in a status
T = TypeVar("T")

NEAREST = 3  # known URLs to name instead of one never seen


class DatabaseReader:
    """A database, read-only. Close it, or use it in a `with`."""

    def __init__(self, path: Path, *, running: bool | None = None) -> None:
        """StoreError when there is no database of ours at `path`.

        running  whether a process is at its crawl; None: as its lock says
        """
        self._is_running = running
        self._until = math.inf
        if not file_check.check_file(path):
            raise StoreError(
                "there is no database at {path}; `focus crawl` makes one (or use --db)", path=path
            )
        self._path = path
        with self._explaining():
            self._db = _connected(path)
        try:
            self._db.set_progress_handler(self._is_late, STEPS)
            with self._explaining():
                file_check.check_tables(self._db, path)
                version: int = self._db.execute("PRAGMA user_version").fetchone()[0]
            file_check.check_version(version, path)
            if version < schema.VERSION:
                self.close()
                with self._explaining():
                    _update(path)
                    self._db = _connected(path)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> DatabaseReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    # -- crawls -------------------------------------------------------------------

    def crawls(self) -> list[CrawlSummary]:
        """All crawls, oldest first."""
        running = self._running()
        return [CrawlSummary(*(*row, row[0] == running)) for row in self._all(_CRAWLS)]

    def ids(self, crawl: str, topic: str | None = None) -> list[int]:
        """The crawls that "latest", "all" or an id stands for; ConfigError for none."""
        rows = self._all(_TOPICS)
        found = [number for number, name in rows if topic is None or name == topic]
        if crawl == "latest":
            found = found[-1:]
        elif crawl != "all":
            found = [number for number in found if str(number) == crawl]
        if not found and rows:
            known = ", ".join(f"{number} ({name})" for number, name in sorted(rows)[-20:])
            wanted = f"crawl {crawl}" + (f" on the topic {topic}" if topic else "")
            raise ConfigError(
                "no {wanted} in {path}; there are: {known}",
                wanted=wanted,
                path=self._path,
                known=known,
            )
        return found

    def crawl_id(self, crawl: str) -> int:
        """Return the id of the last of `ids`; ConfigError for a database without a crawl."""
        if not (found := self.ids(crawl)):
            raise ConfigError("{db} holds no crawl yet; `focus crawl` begins one", db=self._path)
        return found[-1]

    def status(self, crawl: int, among: Sequence[CrawlSummary] = ()) -> Status:
        """How a crawl stands; costs no pass over its URLs (one over its pages, where they are
        looked at again). ConfigError when there is none.

        among  `crawls`, if they were asked for already: their pages are counted
        """
        summary = next((each for each in among or self.crawls() if each.id == crawl), None)
        if summary is None:
            raise ConfigError(
                "no crawl {crawl} in {path}; `focus status` lists them",
                crawl=crawl,
                path=self._path,
            )
        row = self._one(_CONFIG, (crawl,))
        config, counters, report = (msgspec.json.decode(text or "null") for text in row)
        requests = int((counters or {}).get("requests", 0))
        tally = self._all("SELECT state, reason, n FROM tally WHERE crawl = ? AND n > 0", (crawl,))
        return Status(
            crawl=summary,
            states=self._states(crawl, tally),
            harvest_rate=summary.harvest_rate,
            harvest_last_100=self._harvest(crawl, requests, 100),
            harvest_last_500=self._harvest(crawl, requests, 500),
            hosts=[HostYield(*each) for each in self._all(_HOSTS, (*id_range(crawl), TOP))],
            failures=_top(tally, UrlState.FAILED),
            drops=_top(tally, UrlState.DROPPED),
            limits=config.get("limits") or {} if isinstance(config, dict) else {},
            counters=counters or {},
            report=report,
            duplicates=self._one(_DUPLICATES, id_range(crawl))[0],
            gone=self._one(_GONE, id_range(crawl))[0],
            due=self._due(crawl, config.get("refresh_s") if isinstance(config, dict) else None),
        )

    def _due(self, crawl: int, age_s: float | None) -> int | None:
        """Pages that would be looked at again now; None where that is not wanted."""
        if age_s is None:
            return None
        return self.run(lambda db: page_checks.due(db, crawl, age_s, time.time()))

    def _states(self, crawl: int, tally: list[Any]) -> dict[str, int]:
        """URLs by state; ids are dense, so the last one tells how many are known."""
        last = self._one(_LAST, id_range(crawl))[0]
        known = 0 if last is None else (last & LAST_ID) + 1
        counts = dict.fromkeys(UrlState, 0)
        for state, _, n in tally:
            counts[UrlState(state)] += n
        counts[UrlState.FETCHING] = self._one(_FETCHING, id_range(crawl))[0]
        counts[UrlState.WAITING] = known - sum(counts.values())
        return {state.name.lower(): n for state, n in counts.items()}

    def _harvest(self, crawl: int, requests: int, last: int) -> float:
        """Return the share of a crawl's last requests that found a relevant page."""
        relevant: int = self._one(_RELEVANT_SINCE, (crawl, requests - last))[0]
        return relevant / min(requests, last) if requests else 0.0

    def _running(self) -> int | None:
        """The crawl that a process is at this moment; None if nobody holds the database."""
        is_running = self._is_running
        if not (holder(self._path) is not None if is_running is None else is_running):
            return None
        rows = self._all(_UNDER_WAY)
        return rows[0][0] if rows else None

    # -- one URL ------------------------------------------------------------------

    def why(self, crawl: int, url: str, *, key: bytes = b"") -> Why:
        """How a URL came to be where it is, by its text or its duplicate key.

        One pass over the crawl's URLs. If none is the URL, `state` is "" (never
        seen) and `nearest` has known URLs of its host that begin like it.
        """
        found = self._all(_FIND, (*id_range(crawl), key, url, key))
        if not found:
            return Why(url=url, nearest=self._nearest(crawl, url))
        number: int = found[0][0]
        row = self._one(_URL, (number,))
        state, known_as, depth, priority, reason, detail, tries, bonus = row
        page = next(map(_page_of, self._all(_PAGE, (number,))), None)
        better = self.run(partial(url_log.latest, row=number))
        if better is not None:
            priority, link_evidence = better.priority, better.link_evidence
        else:
            link_evidence = self.run(partial(url_log.first_evidence, row=number))
        return Why(
            url=known_as,
            state=UrlState(state).name.lower(),
            reason=reason or "",
            detail=decode_message(detail or ""),
            depth=depth,
            priority=priority,
            tries=tries,
            path=self._path_to(number, better),
            page=page,
            duplicate_of=next((url for (url,) in self._all(_DUPLICATE_OF, (number,))), ""),
            link_evidence=link_evidence,
            place=page.bonus if page else bonus if state == UrlState.WAITING else 0.0,
        )

    def titles(self, crawl: int, last: int) -> list[writer.TitleRow]:
        """The last so many pages of a crawl by their titles, in order of their requests."""
        return writer.titles(self._db, crawl=crawl, last=last)

    def config(self, crawl: int) -> bytes:
        """The configuration of a crawl, as JSON."""
        text: str = self._one(_CONFIG, (crawl,))[0]
        return text.encode()

    def _path_to(self, number: int, better: url_log.Latest | None) -> list[Step]:
        """From a seed to the URL; stops where parents would go in a circle."""
        steps: list[Step] = []
        seen: set[int] = set()
        while number not in seen and (rows := self._all(_STEP, (number,))):
            seen.add(number)
            *fields, parent = rows[0]
            if not steps and better is not None and better.parent not in (None, parent):
                parent, fields[1] = better.parent, better.anchor
            steps.append(Step(*fields))
            if parent is None:
                break
            number = row_id(number >> schema.ID_BITS, parent)
        way = enumerate(reversed(steps))
        return [msgspec.structs.replace(step, depth=links) for links, step in way]

    def _nearest(self, crawl: int, url: str) -> list[str]:
        """Known URLs of the same host, the longest common beginning first."""
        host = re.sub(r"^[a-z]+://(?:[^/?#@]*@)?", "", url.strip().lower())
        host = re.split(r"[/?#]", host, maxsplit=1)[0]
        span = id_range(crawl)
        with self._explaining():
            urls = (row[0] for row in self._db.execute(_OF_HOST, (*span, *span, host)))
            return heapq.nlargest(NEAREST, urls, key=lambda each: _common(each, url))

    # -- results ------------------------------------------------------------------

    def rows(
        self, selection: Selection, fields: Sequence[str] = FIELDS
    ) -> Iterator[tuple[Any, ...]]:
        """The results of a selection, each with these fields in this order.

        Memory stays flat (8 bytes a result). Left out are pages that asked not to
        be indexed and URLs that were dropped after all (duplicates). `parts` and
        `matched` come as `msgspec.Raw` JSON, instants as ISO 8601 in UTC. Fields that are made
        from the stored source (`made_fields`) are None when it was not kept.
        """
        types = columns(fields)
        crawls = self.ids(selection.crawl, selection.topic)
        quality = results.quality_sql({crawl: self._largest(crawl) for crawl in crawls})
        ids = self._selected(*results.select_sql(selection, crawls, quality))
        sql = results.rows_sql(fields, quality)
        convert = [
            (at, _CONVERT[types[name]])
            for at, name in enumerate(fields, 1)
            if types[name] in _CONVERT
        ]
        made = [(at, name) for at, name in enumerate(fields, 1) if name in MADE]
        step = SOURCES if made else CHUNK
        for start in range(0, len(ids), step):
            some = ids[start : start + step].tolist()
            found = {row[0]: row for row in self._all(sql, (msgspec.json.encode(some).decode(),))}
            for number in filter(found.__contains__, some):
                values = list(found[number])
                for at, function in convert:
                    values[at] = function(values[at])
                if made:
                    source = Source(*values[-3:])
                    for at, name in made:
                        values[at] = make_field(name, source)
                yield tuple(values[1 : len(fields) + 1])

    def _largest(self, crawl: int) -> tuple[float, float]:
        """Largest PageRank and relevance of a crawl's pages."""
        rank, relevance = self._one(LARGEST, id_range(crawl))
        return rank or 0.0, relevance or 0.0

    def _selected(self, sql: str, values: Sequence[Any]) -> array[int]:
        """Row ids of the results, in order."""
        with self._explaining():
            return array("q", (row[0] for row in self._db.execute(sql, values)))

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read something else (`labels`)."""
        with self._explaining():
            return work(self._db)

    # -- inside -------------------------------------------------------------------

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._explaining():
            return self._db.execute(sql, values).fetchall()

    def _one(self, sql: str, values: Sequence[Any]) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self._all(sql, values)[0]
        return row

    def _is_late(self) -> bool:
        """Asked by SQLite every now and then, in which time signals are heard, too."""
        return time.monotonic() > self._until

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        self._until = time.monotonic() + READ_S
        try:
            with file_check.explaining(self._path):
                yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":
                raise
            if not self._is_late():  # what a signal raised is lost in SQLite
                raise KeyboardInterrupt from error
            raise StoreError(
                "reading {path} took more than {read_s}; is it a database of focus, and "
                "is its disk as fast as usual?",
                path=self._path,
                read_s=format_duration(READ_S),
            ) from error


def last_crawl(path: Path, identity: dict[str, Any]) -> int | None:
    """The crawl that an order of this identity would continue (`Store.begin_crawl`)."""
    if not file_check.check_file(path):
        return None
    with DatabaseReader(path) as reader:
        row = reader.run(lambda db: db.execute(LAST_CRAWL, (digested(identity)[1],)).fetchone())
    return None if row is None else int(row[0])


def _update(path: Path) -> None:
    """Bring the file of an older focus up to date; StoreError if it is in use or read-only."""
    with held(path, pid=os.getpid()), closing(sqlite3.connect(path, isolation_level=None)) as db:
        prepare(db, path)


def _connected(path: Path) -> sqlite3.Connection:
    """A read-only connection; in a folder that cannot be written, without a lock.

    Of one thread at a time, whichever that is.
    """
    uri, how = path.resolve().as_uri(), {"uri": True, "check_same_thread": False}
    try:
        db = sqlite3.connect(f"{uri}?mode=ro", isolation_level=None, **how)
        db.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        if (
            error.sqlite_errorname != "SQLITE_CANTOPEN"
            or path.with_name(path.name + "-wal").exists()
        ):
            raise
        db = sqlite3.connect(f"{uri}?immutable=1", isolation_level=None, **how)
    return db


def _common(one: str, other: str) -> int:
    """How many characters two URLs begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _top(tally: list[Any], state: UrlState) -> list[Reason]:
    """The most frequent reasons of a state."""
    found = [Reason(reason, n) for each, reason, n in tally if each == state]
    return sorted(found, key=lambda each: (-each.urls, each.reason))[:TOP]


def _page_of(row: Sequence[Any]) -> WhyPage:
    *numbers, parts, matched, bonus, noted = row
    rendering = noted if noted in set(Rendering) else Rendering.NONE  # a later version's, say
    decode = msgspec.json.decode
    values = [*numbers, decode(parts), decode(matched), bonus, rendering]
    named = dict(zip(WhyPage.__struct_fields__, values, strict=True))
    return msgspec.convert(named, WhyPage, strict=False)


_CONVERT: dict[Any, Callable[[Any], Any]] = {
    bool: bool,
    dict[str, float]: lambda text: msgspec.Raw(text.encode()),
    dict[str, list[str]]: lambda text: msgspec.Raw(text.encode()),
}

_TOPICS = "SELECT id, topic FROM crawl ORDER BY opened_at, id"
_CONFIG = """
SELECT config, counters, report FROM crawl JOIN progress ON progress.crawl = crawl.id
WHERE id = ?"""
_CRAWLS = """
SELECT id, topic, strategy, started_at, heartbeat_at, finished_at, ifnull(reason, ''),
ifnull(n, 0), ifnull(hits, 0) FROM crawl JOIN progress ON progress.crawl = crawl.id
LEFT JOIN (SELECT crawl, count(*) AS n, sum(relevant) AS hits FROM page GROUP BY crawl) AS found
ON found.crawl = crawl.id ORDER BY id"""
_UNDER_WAY = """
SELECT id FROM crawl WHERE finished_at IS NULL ORDER BY opened_at DESC LIMIT 1"""
_DUPLICATES = "SELECT count(*) FROM near_duplicate WHERE id BETWEEN ? AND ?"
_GONE = "SELECT count(*) FROM page_check WHERE id BETWEEN ? AND ? AND gone_at NOT NULL"
_DUPLICATE_OF = f"""
SELECT f.url FROM near_duplicate n JOIN url_found f ON f.id = (n.id & ~{LAST_ID}) + n.of
WHERE n.id = ?"""
_LAST = "SELECT max(id) FROM url_found WHERE id BETWEEN ? AND ?"
# A page that is looked at again is one still.
_FETCHING = """
SELECT count(*) FROM fetching LEFT JOIN url_state USING (id)
WHERE id BETWEEN ? AND ? AND NOT ifnull(state, 0)"""
_RELEVANT_SINCE = "SELECT count(*) FROM page WHERE crawl = ? AND nth > ? AND relevant"
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
parts, matched, bonus, rendering FROM page p JOIN page_text USING (id) WHERE id = ?"""
_OF_HOST = f"""
SELECT url FROM url_found WHERE id BETWEEN ? AND ? AND queue IN (
    SELECT queue.id & {LAST_ID} FROM queue
    JOIN host ON host.id = (queue.id & ~{LAST_ID}) + queue.host
    WHERE queue.id BETWEEN ? AND ? AND host.name = ?)"""
