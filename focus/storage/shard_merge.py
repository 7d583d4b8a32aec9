"""Merges the databases of several crawls of one topic into a temporary database.

    with open_merged([Path("s1.db"), Path("s2.db")], include_sources=False) as reader:
        reader.crawls()

Readers then see one crawl, whose shards the databases are. Ids are renumbered, and requests are
interleaved by the progress of each shard. Internal data of a crawl (such as keys) is not copied.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from focus.errors import ConfigError
from focus.storage import url_log
from focus.storage.lock import lock_holder_pid
from focus.storage.reader import DatabaseReader
from focus.storage.schema import ID_BITS, LAST_ID, id_range
from focus.storage.writer import prepare_database

_RENUMBERED_TABLES = ("host", "queue", "url_found", "evidence_log")
"""Tables whose ids continue from shard to shard."""
MERGED_CRAWL = 1  # id of the crawl in the merged database
BASE = MERGED_CRAWL << ID_BITS

_COLUMN_SQL = {  # table -> column -> SQL of its new value, with the offsets of the shard
    "host": {"id": "{base} + (id & {last}) + {host}"},
    "queue": {"id": "{base} + (id & {last}) + {queue}", "host": "host + {host}"},
    "url_found": {
        "id": "{base} + (id & {last}) + {url}",
        "queue": "queue + {queue}",
        "parent": "parent + {url}",
    },
    "found_log": {
        "id": "{base} + (id & {last}) + {url}",
        "packed": "shifted_found(packed, width, {url}, {queue})",
    },
    "url_state": {"id": "{base} + (id & {last}) + {url}", "parent": "parent + {url}"},
    "evidence_log": {
        "id": "{base} + (id & {last}) + {evidence_log}",
        "packed": "shifted_evidence(packed, width, {url})",
    },
    "link_anchor": {
        "id": "{base} + (id & {last}) + {url}",
        "anchors": "(SELECT json_group_object(key + {url}, value) FROM json_each(anchors))",
    },
    "page": {
        "id": "{base} + (id & {last}) + {url}",
        "crawl": str(MERGED_CRAWL),
        "nth": "(SELECT new FROM temp.place WHERE shard = {shard} AND old = nth)",
    },
    "page_text": {"id": "{base} + (id & {last}) + {url}"},
    "body": {"id": "{base} + (id & {last}) + {url}"},
    "link": {
        "id": "{base} + (SELECT new FROM temp.place WHERE shard = {shard} AND old = id & {last})",
        "source": "source + {url}",
        "targets": "shifted(targets, {url})",
    },
    "lastmod": {"id": "{base} + (id & {last}) + {url}"},
    "hub": {"id": "{base} + (id & {last}) + {url}"},
    "graph_rank": {"id": "{base} + (id & {last}) + {url}"},
    "near_duplicate": {"id": "{base} + (id & {last}) + {url}", "of": '"of" + {url}'},
    "label": {"page": "{base} + (page & {last}) + {url}"},
}


class MergedDatabase(NamedTuple):
    """Path of a single or merged database.

    is_running  whether a process uses one of the databases; None if the lock is to be checked
    """

    path: Path
    is_running: bool | None = None


@contextmanager
def merge_databases(
    paths: Sequence[Path], crawl: str = "latest", *, include_sources: bool
) -> Iterator[MergedDatabase]:
    """Yield a single database itself, or a merged one with the latest crawl of each.

    include_sources  whether to copy the sources of pages

    Raises ConfigError if the crawls do not belong together.
    """
    if len(paths) == 1:
        yield MergedDatabase(paths[0])
        return
    if len(set(paths)) < len(paths):
        raise ConfigError("--db: the same database is named twice")
    if crawl != "latest":
        raise ConfigError("--crawl: of several databases the latest crawl of each is read")
    with tempfile.TemporaryDirectory(prefix="focus-") as folder:
        path = Path(folder) / "all.db"
        with closing(sqlite3.connect(path, isolation_level=None, uri=True)) as db:
            prepare_database(db, path)
            db.execute("PRAGMA synchronous = OFF")
            db.create_function("shifted", 2, _shift_ids, deterministic=True)
            db.create_function(
                "shifted_evidence", 3, url_log.shift_evidence_records, deterministic=True
            )
            db.create_function("shifted_found", 4, url_log.shift_url_records, deterministic=True)
            _Merger(db, paths, bodies=include_sources).run()
        yield MergedDatabase(path, any(lock_holder_pid(item) is not None for item in paths))


@contextmanager
def open_merged(
    paths: Sequence[Path], crawl: str = "latest", *, include_sources: bool
) -> Iterator[DatabaseReader]:
    """Open one database, or the databases of several shards merged (`merge_databases`)."""
    with (
        merge_databases(
            [path.expanduser() for path in paths], crawl, include_sources=include_sources
        ) as merged,
        DatabaseReader(merged.path, running=merged.is_running) as reader,
    ):
        yield reader


class _Merger:
    """Merges databases into `db`."""

    def __init__(self, db: sqlite3.Connection, paths: Sequence[Path], *, bodies: bool) -> None:
        self._db = db
        self._paths = paths
        self._tables = [table for table in _COLUMN_SQL if bodies or table != "body"]
        self._offsets: Counter[str] = Counter()

    def run(self) -> None:
        crawls = []
        for path in self._paths:
            with DatabaseReader(path) as reader:  # migrates an old file
                crawls.append(reader.crawl_id("latest"))
        pairs = tuple(zip(self._paths, crawls, strict=True))
        counters = [self._counters(path, crawl) for path, crawl in pairs]
        self._interleave_requests(crawls, [item.get("requests", 0.0) for item in counters])
        for number, (path, crawl) in enumerate(pairs):
            with self._attached(path):
                self._db.execute("BEGIN")
                for table in self._tables:
                    self._copy_table(table, number, crawl)
                self._advance_offsets(crawl)
                self._db.execute("COMMIT")
        self._write_crawl(crawls, _sum_counters(counters))

    @contextmanager
    def _attached(self, path: Path) -> Iterator[None]:
        self._db.execute("ATTACH ? AS shard", (f"{path.resolve().as_uri()}?mode=ro",))
        try:
            yield
        finally:
            self._db.execute("DETACH shard")

    def _counters(self, path: Path, crawl: int) -> dict[str, float]:
        with self._attached(path):
            sql = "SELECT counters FROM shard.progress WHERE crawl = ?"
            (text,) = self._db.execute(sql, (crawl,)).fetchone()
        counters: dict[str, float] = msgspec.json.decode(text)
        return counters

    def _interleave_requests(self, crawls: Sequence[int], requests: Sequence[float]) -> None:
        """Assign consecutive numbers to the requests of all shards, in a temporary table."""
        db = self._db
        db.execute("CREATE TEMP TABLE seen (shard, old, part)")
        for number, (path, crawl) in enumerate(zip(self._paths, crawls, strict=True)):
            with self._attached(path):
                sql = f"""INSERT INTO seen SELECT ?, id & {LAST_ID}, (id & {LAST_ID}) / ?
                    FROM shard.link WHERE id BETWEEN ? AND ?"""
                db.execute(sql, (number, float(requests[number] or 1), *id_range(crawl)))
        (count,) = db.execute("SELECT count(*) FROM seen").fetchone()
        spare = max(0, int(sum(requests)) - count)
        db.execute("CREATE TEMP TABLE place (shard, old, new, PRIMARY KEY (shard, old))")
        sql = """INSERT INTO place SELECT shard, old, nth + ? * nth / max(1, ?) FROM (
            SELECT shard, old, row_number() OVER (ORDER BY part, shard) AS nth FROM seen)"""
        db.execute(sql, (spare, count))

    def _copy_table(self, table: str, number: int, crawl: int) -> None:
        """Copy the rows of one table that belong to a crawl."""
        names = [row[1] for row in self._db.execute(f"PRAGMA main.table_info({table})")]
        offsets = {name.removesuffix("_found"): self._offsets[name] for name in _RENUMBERED_TABLES}
        terms = {"base": BASE, "last": LAST_ID, "shard": number, **offsets}
        expressions = [_COLUMN_SQL[table].get(name, f'"{name}"').format(**terms) for name in names]
        id_column = "page" if table == "label" else "id"
        self._db.execute(
            f"""INSERT OR IGNORE INTO main.{table} ({", ".join(f'"{name}"' for name in names)})
            SELECT {", ".join(expressions)} FROM shard.{table} WHERE {id_column} BETWEEN ? AND ?""",
            id_range(crawl),
        )

    def _advance_offsets(self, crawl: int) -> None:
        for table in _RENUMBERED_TABLES:
            sql = f"SELECT max(id) FROM shard.{table} WHERE id BETWEEN ? AND ?"
            (last,) = self._db.execute(sql, id_range(crawl)).fetchone()
            self._offsets[table] += 0 if last is None else (last & LAST_ID) + 1

    def _write_crawl(self, crawls: Sequence[int], counters: dict[str, float]) -> None:
        """Write the merged crawl: it starts with the first shard and ends with the last."""
        rows = []
        for path, crawl in zip(self._paths, crawls, strict=True):
            with self._attached(path):
                sql = """SELECT topic, strategy, started_at, finished_at, reason, digest, identity,
                    config, heartbeat_at, opened_at FROM shard.crawl
                    JOIN shard.progress ON progress.crawl = id WHERE id = ?"""
                rows.append(self._db.execute(sql, (crawl,)).fetchone())
        topics = sorted({row[0] for row in rows})
        if len(topics) > 1:
            raise ConfigError(
                "the databases hold crawls of different topics ({topics}); give those of one topic",
                topics=", ".join(topics),
            )
        topic, strategy, *_, digest, identity, config, _, _ = rows[0]
        ends = [row[3] for row in rows]
        ended = None if None in ends else max(ends)
        reason = None if ended is None else next(row[4] for row in rows if row[3] == ended)
        began, opened = min(row[2] for row in rows), max(row[9] for row in rows)
        self._db.execute(
            "INSERT INTO crawl VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            (MERGED_CRAWL, topic, strategy, began, opened, ended, reason, digest, identity, config),
        )
        totals = msgspec.json.encode(counters).decode()
        alive = max(row[8] for row in rows)
        self._db.execute("INSERT INTO progress VALUES (?, ?, ?)", (MERGED_CRAWL, alive, totals))


def _sum_counters(counters: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the sum of the counters, with the maximum time because shards run in parallel."""
    total: Counter[str] = Counter()
    for item in counters:
        total.update(item)
    firsts = [item["first_relevant"] for item in counters if item.get("first_relevant")]
    times = [item.get("active_s", 0.0) for item in counters]
    return {**total, "first_relevant": min(firsts, default=0), "active_s": max(times)}


def _shift_ids(packed: bytes, offset: int) -> bytes:
    """Add `offset` to each little-endian uint32."""
    numbers = array("I", packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    moved = array("I", [number + offset for number in numbers])
    if sys.byteorder == "big":
        moved.byteswap()
    return moved.tobytes()
