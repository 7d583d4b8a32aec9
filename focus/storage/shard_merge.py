"""Copies the databases of a cluster's shards into one that lasts a reading.

    with read_as_one([Path("s1.db"), Path("s2.db")], bodies=False) as reader:
        reader.crawls()

Every reader then knows nothing of shards. Ids are numbered anew, requests are interleaved by
how far each shard had come; what a crawl keeps for itself (leases, keys) stays behind.
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
from focus.storage.lock import holder
from focus.storage.reader import DatabaseReader
from focus.storage.schema import ID_BITS, LAST_ID, id_range
from focus.storage.writer import prepare

_COUNTED = (
    "host",
    "queue",
    "url_found",
    "evidence_log",
)  # whose ids are numbered on, shard by shard
CRAWL = 1  # its id in the one database
BASE = CRAWL << ID_BITS

_SHIFTED = {  # table -> column -> what becomes of it, by the offsets of the shard
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
        "crawl": str(CRAWL),
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
    """Databases as one. `running`: a process is at one of them; None: ask the file itself."""

    path: Path
    running: bool | None = None


@contextmanager
def as_one(
    paths: Sequence[Path], crawl: str = "latest", *, bodies: bool
) -> Iterator[MergedDatabase]:
    """The only database there is, or the latest crawls of several copied into one.

    bodies  with the texts of pages
    ConfigError when their crawls do not belong together.
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
            prepare(db, path)
            db.execute("PRAGMA synchronous = OFF")
            db.create_function("shifted", 2, _shifted, deterministic=True)
            db.create_function("shifted_evidence", 3, url_log.shifted_evidence, deterministic=True)
            db.create_function("shifted_found", 4, url_log.shifted_found, deterministic=True)
            _Merging(db, paths, bodies=bodies).run()
        yield MergedDatabase(path, any(holder(each) is not None for each in paths))


@contextmanager
def read_as_one(
    paths: Sequence[Path], crawl: str = "latest", *, bodies: bool
) -> Iterator[DatabaseReader]:
    """Open one database, or the databases of a cluster's shards merged into one (`as_one`)."""
    with (
        as_one([path.expanduser() for path in paths], crawl, bodies=bodies) as merged,
        DatabaseReader(merged.path, running=merged.running) as reader,
    ):
        yield reader


class _Merging:
    """One merging of databases into `db`."""

    def __init__(self, db: sqlite3.Connection, paths: Sequence[Path], *, bodies: bool) -> None:
        self._db = db
        self._paths = paths
        self._tables = [table for table in _SHIFTED if bodies or table != "body"]
        self._offsets: Counter[str] = Counter()

    def run(self) -> None:
        crawls = [_latest(path) for path in self._paths]
        pairs = tuple(zip(self._paths, crawls, strict=True))
        counters = [self._counters(path, crawl) for path, crawl in pairs]
        self._place(crawls, [each.get("requests", 0.0) for each in counters])
        for number, (path, crawl) in enumerate(pairs):
            with self._attached(path):
                self._db.execute("BEGIN")
                for table in self._tables:
                    self._copy(table, number, crawl)
                self._advance(crawl)
                self._db.execute("COMMIT")
        self._head(crawls, _summed(counters))

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
        found: dict[str, float] = msgspec.json.decode(text)
        return found

    def _place(self, crawls: Sequence[int], requests: Sequence[float]) -> None:
        """Give each request that is told of its number among those of all shards."""
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

    def _copy(self, table: str, number: int, crawl: int) -> None:
        """The rows of one table that belong to a crawl."""
        names = [row[1] for row in self._db.execute(f"PRAGMA main.table_info({table})")]
        offsets = {name.removesuffix("_found"): self._offsets[name] for name in _COUNTED}
        terms = {"base": BASE, "last": LAST_ID, "shard": number, **offsets}
        new = [_SHIFTED[table].get(name, f'"{name}"').format(**terms) for name in names]
        of = "page" if table == "label" else "id"
        self._db.execute(
            f"""INSERT OR IGNORE INTO main.{table} ({", ".join(f'"{name}"' for name in names)})
            SELECT {", ".join(new)} FROM shard.{table} WHERE {of} BETWEEN ? AND ?""",
            id_range(crawl),
        )

    def _advance(self, crawl: int) -> None:
        for table in _COUNTED:
            sql = f"SELECT max(id) FROM shard.{table} WHERE id BETWEEN ? AND ?"
            (last,) = self._db.execute(sql, id_range(crawl)).fetchone()
            self._offsets[table] += 0 if last is None else (last & LAST_ID) + 1

    def _head(self, crawls: Sequence[int], counters: dict[str, float]) -> None:
        """The crawl as a whole: begun with the first shard, at its end with the last."""
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
                "the databases hold crawls of different topics ({topics}); give those of one "
                "cluster",
                topics=", ".join(topics),
            )
        topic, strategy, *_, digest, identity, config, _, _ = rows[0]
        ends = [row[3] for row in rows]
        ended = None if None in ends else max(ends)
        reason = None if ended is None else next(row[4] for row in rows if row[3] == ended)
        began, opened = min(row[2] for row in rows), max(row[9] for row in rows)
        self._db.execute(
            "INSERT INTO crawl VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            (CRAWL, topic, strategy, began, opened, ended, reason, digest, identity, config),
        )
        totals = msgspec.json.encode(counters).decode()
        alive = max(row[8] for row in rows)
        self._db.execute("INSERT INTO progress VALUES (?, ?, ?)", (CRAWL, alive, totals))


def _latest(path: Path) -> int:
    """The crawl of a database that was at work last; its file is brought up to date."""
    with DatabaseReader(path) as reader:
        found = reader.ids("latest")
    if not found:
        raise ConfigError(
            "{path} holds no crawl yet; `focus cluster frontier` begins one", path=path
        )
    return found[-1]


def _summed(counters: Sequence[dict[str, float]]) -> dict[str, float]:
    """Totals of all; the time is that of the longest, as they work side by side."""
    total: Counter[str] = Counter()
    for each in counters:
        total.update(each)
    firsts = [each["first_relevant"] for each in counters if each.get("first_relevant")]
    times = [each.get("active_s", 0.0) for each in counters]
    return {**total, "first_relevant": min(firsts, default=0), "active_s": max(times)}


def _shifted(packed: bytes, offset: int) -> bytes:
    """uint32s, little-endian, each larger by `offset`."""
    numbers = array("I", packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    moved = array("I", [number + offset for number in numbers])
    if sys.byteorder == "big":
        moved.byteswap()
    return moved.tobytes()
