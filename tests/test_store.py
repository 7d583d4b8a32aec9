"""store: whole batches, exactly as given, whatever happens to the process or the disk."""

import asyncio
import hashlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from focus.errors import StoreError, StoreLocked
from focus.records import Batch, HostRow, Outcome, Page, PriorityChange, QueueRow, UrlRow, UrlState
from focus.scheduling.url_table import UrlTable
from focus.storage import file_check, schema, url_log
from focus.storage.lock import database_lock, lock_holder_pid, lock_path
from focus.storage.reader import DatabaseReader
from focus.storage.writer import load_queues_and_hosts
from focus.store import Store
from tests.support.cases import cases
from tests.support.stored import page_row, url_row

ROOT = Path(__file__).parents[1]
IDENTITY = {"seeds": ["https://a.example/"], "topic": "足球", "strategy": "bfs"}


BASE = Batch(
    queues=[QueueRow(id=0, host_id=0)],
    hosts=[HostRow(id=0, name="a.example")],
    urls=[url_row(n, priority=float(n)) for n in range(4)],
    pages=[page_row(0, target_ids=(1, 2, 3))],
    counters={"pages": 1.0},
    now=1000.0,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "focus.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    async with Store.open(path, now=0.0, pid=1, lock_timeout_s=0.05) as opened:
        yield opened


async def begin(store: Store, *, fresh: bool = False) -> int:
    return (await store.begin_crawl(IDENTITY, "{}", fresh=fresh, now=1.0)).id


@pytest.fixture
async def crawl(store: Store) -> int:
    return await begin(store)


async def resume(store: Store, **identity: Any) -> Any:
    return await store.begin_crawl(IDENTITY | identity, "{}", fresh=False, now=1.0)


class Url(NamedTuple):
    """A URL as `Store.iter_urls` returns it."""

    id: int
    head: int
    link_evidence: tuple[float, ...]
    state: int
    depth: int
    queue: int
    hops: int
    parent: int
    priority: float


async def all_urls(store: Store, crawl: int, chunk: int = 1000) -> list[Url]:
    urls_found: list[Url] = []
    async for urls in store.iter_urls(crawl, chunk=chunk):
        evidence = map(tuple, urls.link_evidence.tolist())
        columns = urls.states, urls.depths, urls.queues, urls.hops, urls.parents, urls.priorities
        rows = zip(urls.heads.tolist(), evidence, *map(np.ndarray.tolist, columns), strict=True)
        urls_found += [Url(number, *row) for number, row in enumerate(rows, urls.first)]
    return urls_found


def size(path: Path) -> int:
    return path.stat().st_size


def names(folder: Path) -> set[str]:
    return {item.name for item in folder.iterdir()}


def query(path: Path, sql: str, *values: Any) -> list[Any]:
    with sqlite3.connect(path) as db:
        rows = db.execute(sql, values).fetchall()
    db.close()
    return rows


# -- what goes in comes out -------------------------------------------------------------------

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
number32 = st.floats(width=32, allow_nan=False)
real = st.floats(allow_nan=False)


@st.composite
def url_rows(draw: st.DrawFn) -> list[UrlRow]:
    return [
        UrlRow(
            id=number, key=draw(st.binary(min_size=16, max_size=16)), url=draw(text),
            queue_id=draw(st.integers(0, 3)), depth=draw(st.integers(0, 9)), priority=draw(real),
            link_evidence=tuple(draw(st.lists(number32, max_size=3))),
            parent_id=draw(st.none() | st.integers(0, 9)), anchor=draw(text),
            state=draw(st.sampled_from(UrlState)), reason=draw(text),
            hops=draw(st.integers(0, 10)),
        )
        for number in range(draw(st.integers(0, 200)))
    ]  # fmt: skip


@given(urls=url_rows())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
async def test_iter_urls_returns_stored_urls(urls: list[UrlRow], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("urls")
    async with Store.open(folder / "x.db", now=0.0, pid=1) as store:
        crawl = await begin(store)
        for start in range(0, len(urls), 7):
            await store.write(crawl, Batch(urls=urls[start : start + 7]))
        back = await all_urls(store, crawl, chunk=37)
        addresses = await store.load_addresses(crawl, [u.id for u in urls[::2]])
    stored = [(b.id, b.head, b.state, b.priority, b.depth, b.queue, b.hops, b.parent) for b in back]
    assert stored == [
        (
            u.id, int.from_bytes(u.key[:8], "little"), u.state, u.priority, u.depth, u.queue_id,
            u.hops, -1 if u.parent_id is None else u.parent_id,
        )
        for u in urls
    ]  # fmt: skip
    for stored_row, wrote in zip(back, urls, strict=True):
        width = len(wrote.link_evidence)
        assert stored_row.link_evidence[:width] == wrote.link_evidence
        assert not any(stored_row.link_evidence[width:])  # as wide as the widest of a batch
    assert sorted(addresses) == [(u.id, u.url) for u in urls[::2]]


@given(values=st.lists(real, min_size=1, max_size=60))
@example(values=[float("inf"), 1.3080876571714898e-302, 5e-324, 0.1, -1e6])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
async def test_iter_urls_priorities_are_exact(values: list[float], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("bits")
    async with Store.open(folder / "x.db", now=0.0, pid=1) as store:
        crawl = await begin(store)
        await store.write(crawl, Batch(urls=[url_row(n, priority=v) for n, v in enumerate(values)]))
        stored_values = {row.id: row.priority for row in await all_urls(store, crawl)}
    assert [stored_values[n] for n in range(len(values))] == values


changes = st.builds(
    PriorityChange, id=st.integers(0, 3), priority=real,
    link_evidence=st.lists(number32, max_size=2).map(tuple),
    parent_id=st.none() | st.integers(0, 9), anchor=text,
)  # fmt: skip
outcomes = st.builds(
    Outcome, id=st.integers(0, 3), state=st.sampled_from(UrlState), reason=text, detail=text,
    tries=st.integers(0, 3), retry_at=st.floats(0, 1e9), hops=st.integers(0, 3),
    url=st.none() | text,
)  # fmt: skip


@given(changes=st.lists(changes, max_size=12), outcomes=st.lists(outcomes, max_size=12))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
async def test_write_applies_changes_of_a_batch_in_order(
    changes: list[PriorityChange], outcomes: list[Outcome], tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    columns = "url, priority, depth, parent, anchor, state, reason, detail, tries"
    ends = []
    for name, batches in {
        "whole": [Batch(priority_changes=changes, outcomes=outcomes)],
        "single": [Batch(priority_changes=[c]) for c in changes]
        + [Batch(outcomes=[o]) for o in outcomes],
    }.items():
        async with Store.open(folder / name, now=0.0, pid=1) as store:
            crawl = await begin(store)
            await store.write(crawl, BASE)
            for batch in batches:
                await store.write(crawl, batch)
        counts = "SELECT state, count(*) FROM url WHERE state > 1 GROUP BY state"
        tally = "SELECT state, sum(n) FROM tally WHERE n > 0 GROUP BY state"
        assert query(folder / name, counts) == query(folder / name, tally)
        rows = query(folder / name, f"SELECT {columns} FROM url ORDER BY id")
        ends.append((rows, [stored_url(folder / name, crawl, n) for n in range(4)]))
    assert ends[0] == ends[1]


def stored_url(path: Path, crawl: int, number: int) -> Any:
    """What the log has of a URL, its evidence without zeros at the end."""
    with closing(sqlite3.connect(path)) as db:
        evidence = url_log.load_latest_evidence(db, row=crawl << 32 | number)
    if evidence is None:
        return None
    values = [*evidence.link_evidence]
    while values and not values[-1]:
        values.pop()
    return evidence._replace(link_evidence=tuple(values))


async def test_iter_evidence_last_change_of_a_url_counts(store: Store, path: Path) -> None:
    crawl = await begin(store)
    rows_to_write = [
        url_row(n, priority=0.1, link_evidence=(0.1,), parent_id=0, anchor="a") for n in range(3)
    ]
    await store.write(crawl, Batch(urls=rows_to_write))
    rows = query(path, "SELECT * FROM url")
    better = [PriorityChange(1, 0.5, (0.5,), 7, "b"), PriorityChange(2, 0.2, (0.2,), 7, "c")]
    await store.write(crawl, Batch(priority_changes=better))
    await store.write(crawl, Batch(priority_changes=[PriorityChange(1, 0.75, (0.75,), None, "")]))
    assert query(path, "SELECT * FROM url") == rows  # no row is written anew
    assert stored_url(path, crawl, 0) is None
    assert stored_url(path, crawl, 1) == (0.75, (0.75,), 7, "b")
    table = UrlTable(1)
    async for urls in store.iter_urls(crawl):
        table.restore(urls)
    async for evidence in store.iter_evidence(crawl):
        table.apply_link_evidence(*evidence)
    assert [*table.priority] == [0.1, 0.75, 0.2]
    assert [table.link_evidence(n)[0] for n in (1, 2)] == pytest.approx([0.75, 0.2])
    assert [*table.parent] == [0, 7, 7]


async def test_finished_url_has_parent_and_anchor_of_best_link(store: Store, path: Path) -> None:
    crawl = await begin(store)
    await store.write(crawl, Batch(urls=[url_row(n, parent_id=0, anchor="a") for n in range(3)]))
    better = [PriorityChange(1, 0.5, (0.5,), 7, "b"), PriorityChange(2, 0.5, (0.5,), 7, "")]
    await store.write(crawl, Batch(priority_changes=better))
    ends = [Outcome(id=n, state=UrlState.DONE, parent_id=7 if n else 0) for n in range(3)]
    await store.write(crawl, Batch(outcomes=ends))
    rows_now = query(path, "SELECT parent, anchor FROM url ORDER BY id")
    assert rows_now == [(0, "a"), (7, "b"), (7, None)]


async def test_load_queues_and_hosts_last_version_counts(store: Store, crawl: int) -> None:
    robots = {"https": (b"User-agent: *\n\xff", 200, 9.5), "http": (b"", 0, 1.0)}
    hosts = [HostRow(0, "a.example", 5.5, 2, True, robots, "192.0.2.1"), HostRow(1, "b.example:81")]
    queues = [QueueRow(0, 0, "/D/", 3, 1.5), QueueRow(1, 1)]
    await store.write(crawl, Batch(hosts=hosts[:1], queues=queues[::-1]))
    await store.write(crawl, Batch(hosts=hosts, queues=[QueueRow(1, 1, "", 7, 2.0)]))
    saved = await store.run_in_thread(partial(load_queues_and_hosts, crawl=crawl))
    assert saved.hosts == hosts
    assert saved.queues == [queues[0], QueueRow(1, 1, "", 7, 2.0)]


async def test_iter_graph_yields_pages_in_request_order(store: Store, crawl: int) -> None:
    pages = [
        page_row(n, request_number=100 - n, target_ids=tuple(range(n, n + 3))) for n in range(5)
    ]
    await store.write(crawl, Batch(urls=[url_row(n) for n in range(8)], pages=pages))
    rows_read = [row async for rows in store.iter_graph(crawl, chunk=2) for row in rows]
    assert [(n, tuple(t)) for n, t in rows_read] == [
        (n, (n, n + 1, n + 2)) for n in (4, 3, 2, 1, 0)
    ]


async def test_write_page_stores_all_fields(store: Store, path: Path, crawl: int) -> None:
    page = Page(
        title="标题", keywords="a,b", part_scores={"title": 0.5}, matched_terms={"title": ["足球"]},
        simhash=2**64 - 5, relevance=1.25, is_relevant=True, noindex=True, body_zstd=b"\x00z",
        canonical="https://c.example/", omitted_link_count=4,
    )  # fmt: skip
    await store.write(crawl, Batch(urls=[url_row(0)], pages=[page_row(0, page=page, etag='"e"')]))
    await store.write_ranks(crawl, [(0, 0.5, 1.0, 0.0)])
    await store.write_ranks(crawl, [(0, 0.75, 0.5, 1.0)])  # a later run's end
    columns = "simhash, relevance, relevant, noindex, links_cut, pagerank"
    assert query(path, f"SELECT {columns} FROM page") == [(-5, 1.25, 1, 1, 4, 0.25)]
    assert query(path, "SELECT pagerank, hub, authority FROM graph_rank") == [(0.75, 0.5, 1.0)]
    expected = [("标题", '{"title":0.5}', '{"title":["足球"]}', "https://c.example/", '"e"')]
    assert query(path, "SELECT title, parts, matched, canonical, etag FROM page_text") == expected
    assert query(path, "SELECT zstd FROM body") == [(b"\x00z",)]


async def test_write_lone_surrogates_are_replaced(store: Store, path: Path, crawl: int) -> None:
    bad = Page(title="half \ud83d pair", matched_terms={"\udc00": ["x"]}, body_zstd=b"\xff")
    pages = [page_row(0, page=bad, target_ids=(1,))]
    await store.write(crawl, Batch(urls=[url_row(0, link_evidence=(1.0,))], pages=pages))
    stored = query(path, "SELECT title, zstd FROM page_text JOIN body USING (id)")
    assert stored == [("half ? pair", b"\xff")]


async def test_load_addresses_is_per_crawl(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("focus.store.ROWS_PER_CALL", 7)
    first = await begin(store)
    await store.write(first, Batch(urls=[url_row(n) for n in range(30)]))
    second = await begin(store, fresh=True)
    await store.write(second, Batch(urls=[url_row(5)]))
    ids = [*range(29, 3, -2), 99]
    expected = [(n, url_row(n).url) for n in range(5, 30, 2)]
    assert sorted(await store.load_addresses(first, ids)) == expected
    assert await store.load_addresses(second, ids) == [(5, url_row(5).url)]
    assert await store.load_addresses(first, []) == []


# -- crawls -----------------------------------------------------------------------------------


async def test_begin_crawl_same_identity_continues(path: Path) -> None:
    async with Store.open(path, now=0.0, pid=1) as store:
        first = await resume(store)
        assert not first.is_resumed and not first.is_finished
        assert (first.next_url, first.counters) == (0, {})
        await store.write(first.id, BASE)
        await store.write(first.id, Batch(fetching_ids=[1, 2], now=1001.0))
    async with Store.open(path, now=0.0, pid=2) as store:
        reordered = dict(reversed(IDENTITY.items()))
        again = await store.begin_crawl(reordered, "{}", fresh=False, now=2.0)
        assert (again.id, again.is_resumed, again.is_finished) == (first.id, True, False)
        assert (again.next_url, again.next_host) == (4, 1)
        assert again.counters == {"pages": 1.0}
        assert [row.state for row in await all_urls(store, again.id)] == [0, 0, 0, 0]


async def test_begin_crawl_finished_crawl_is_marked_finished(store: Store, crawl: int) -> None:
    await store.write(crawl, BASE)
    await store.finish_crawl(
        crawl, reason="max-pages", report_json="{}", ranks=[(0, 0.5, 0, 0)], now=9.0
    )
    again = await resume(store)
    assert again.is_resumed and again.is_finished
    assert (again.id, again.end_reason) == (crawl, "max-pages")
    third = await resume(store)
    assert (third.is_finished, third.end_reason) == (False, "")


async def test_begin_crawl_fresh_or_other_identity_starts_new_crawl(store: Store) -> None:
    first = await begin(store)
    await store.write(first, BASE)
    second = await begin(store, fresh=True)
    third = await resume(store, topic={"name": "篮球"})
    assert len({first, second, third.id}) == 3
    await store.write(second, BASE)
    await store.write(second, Batch(outcomes=[Outcome(id=3, state=UrlState.DONE)]))
    assert [row.state for row in await all_urls(store, first)] == [0, 0, 0, 0]
    assert [row.state for row in await all_urls(store, second)] == [0, 0, 0, 2]
    assert await begin(store) in (second, first)


# -- one writer -------------------------------------------------------------------------------

Call = Callable[[Store, int], Awaitable[Any]]


async def _drain(stream: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in stream]


WRITES: dict[str, Call] = {
    "begin_crawl": lambda s, c: resume(s),
    "write": lambda s, c: s.write(c, Batch(urls=[url_row(9)], now=2000.0)),
    "update_ranks": lambda s, c: s.write_ranks(c, [(0, 0.5, 0.2, 0.1)]),
    "finish": lambda s, c: s.finish_crawl(c, reason="x", report_json="{}", now=4.0),
}
READS: dict[str, Call] = {
    "load": lambda s, c: s.run_in_thread(partial(load_queues_and_hosts, crawl=c)),
    "urls": lambda s, c: _drain(s.iter_urls(c)),
    "addresses": lambda s, c: s.load_addresses(c, [0, 1]),
    "graph": lambda s, c: _drain(s.iter_graph(c)),
}


@pytest.fixture
def second(path: Path, store: Store) -> Iterator[sqlite3.Connection]:
    """Another program with the same file."""
    db = sqlite3.connect(path, isolation_level=None)
    yield db
    db.close()


@pytest.mark.parametrize("name", WRITES)
async def test_write_locked_database_raises_and_works_later(
    name: str, store: Store, path: Path, second: sqlite3.Connection, crawl: int
) -> None:
    await store.write(crawl, BASE)
    before = query(path, "SELECT * FROM url"), query(path, "SELECT * FROM crawl, progress")
    second.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another program is writing") as caught:
        await WRITES[name](store, crawl)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    assert (
        query(path, "SELECT * FROM url"),
        query(path, "SELECT * FROM crawl, progress"),
    ) == before
    second.execute("ROLLBACK")
    await WRITES[name](store, crawl)


@pytest.mark.parametrize("name", READS)
async def test_read_of_locked_database(name: str, store: Store, second: sqlite3.Connection) -> None:
    crawl = await begin(store)
    await store.write(crawl, BASE)
    second.execute("BEGIN IMMEDIATE")
    assert await READS[name](store, crawl)
    second.execute("ROLLBACK")


async def test_open_new_database_locked_raises(path: Path) -> None:
    async with Store.open(path, now=0.0, pid=1):
        pass
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="another program is writing"):
        async with Store.open(path, now=0.0, pid=1, lock_timeout_s=0.05):
            pass
    db.close()


async def test_write_cancelled_is_completed(store: Store, crawl: int) -> None:
    for number in range(20):
        urls = [url_row(number * 500 + n) for n in range(500)]
        task = asyncio.create_task(store.write(crawl, Batch(urls=urls)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await store.write(crawl, Batch(urls=[url_row(10_000)]))
    assert len(await all_urls(store, crawl)) == 10_001


async def test_write_invalid_batch_is_rolled_back(store: Store, crawl: int) -> None:
    await store.write(crawl, BASE)
    with pytest.raises(sqlite3.IntegrityError):
        await store.write(crawl, Batch(urls=[url_row(50), url_row(2)], counters={"pages": 9.0}))
    assert len(await all_urls(store, crawl)) == 4
    assert (await resume(store)).counters == {"pages": 1.0}


async def test_open_after_exit_no_thread_is_running(path: Path) -> None:
    threads, interval = set(threading.enumerate()), sys.getswitchinterval()
    with pytest.raises(RuntimeError):
        async with Store.open(path, now=0.0, pid=1):
            assert lock_holder_pid(path) == 1
            raise RuntimeError
    for thread in set(threading.enumerate()) - threads:
        thread.join(5.0)
        assert not thread.is_alive()
    assert sys.getswitchinterval() == interval
    assert lock_holder_pid(path) is None


async def test_write_syncs_to_disk_once_a_second(store: Store, monkeypatch: Any) -> None:
    crawl = await begin(store)
    synced = []
    for now in (10.0, 10.2, 10.9, 11.0, 11.5, 3.0, 3.5):
        statements: list[str] = []
        await store._connection.set_trace_callback(statements.append)
        await store.write(crawl, Batch(now=now))
        await store._connection.set_trace_callback(None)  # type: ignore[arg-type]
        synced.append(any("FULL" in item for item in statements))
    assert synced == [True, False, False, True, False, True, False]


async def test_wal_with_open_reader_stays_bounded(path: Path) -> None:
    body = Page(body_zstd=random.Random(1).randbytes(300_000))
    async with Store.open(path, now=0.0, pid=1) as store:
        crawl = await begin(store)
        reader = sqlite3.connect(path)
        for number in range(300):
            batch = Batch(urls=[url_row(number)], pages=[page_row(number, page=body)])
            await store.write(crawl, batch)
            reader.execute("SELECT count(*) FROM page").fetchone()
            wal = size(path.with_name(path.name + "-wal"))
            assert wal <= 64 * 2**20
        reader.close()


# -- files that are not ours ------------------------------------------------------------------


async def refusal(path: Path) -> str:
    with pytest.raises(StoreError) as caught:
        async with Store.open(path, now=0.0, pid=1):
            pass
    message = str(caught.value)
    assert "\n" not in message and str(path.name) in message
    return message


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
async def test_open_database_of_other_program_is_unchanged(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "places.sqlite"
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA journal_mode = {mode}")
    db.execute("CREATE TABLE t (x)")
    db.commit()
    db.close()
    before = path.read_bytes()
    assert "another program" in await refusal(path)
    assert path.read_bytes() == before
    assert names(tmp_path) == {path.name}


async def test_open_other_file_is_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n" * 100)
    assert "not a database" in await refusal(path)
    assert path.read_text() == "dear diary\n" * 100


@cases(
    "version, said",
    (schema.VERSION + 1, "newer focus"),
    (1, "before the first release"),
    (schema.LAST_UNRELEASED_VERSION, "before the first release"),
)
async def test_open_database_of_other_version_raises(path: Path, version: int, said: str) -> None:
    async with Store.open(path, now=0.0, pid=1):
        pass
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    assert said in await refusal(path)
    assert query(path, "PRAGMA user_version") == [(version,)]
    with pytest.raises(StoreError, match=said):
        DatabaseReader(path)


def test_schema_changes_have_a_new_version() -> None:
    """On failure: raise `schema.UNRELEASED` (until the first release) and note both here."""
    tables = " ".join(re.sub(r"--.*", "", "".join(schema.MIGRATIONS)).split())
    digest = hashlib.sha256(tables.encode()).hexdigest()[:16]
    assert (schema.VERSION, digest) == (28, "d9d8462969647a90")


async def test_open_older_database_is_migrated(path: Path, monkeypatch: Any) -> None:
    async with Store.open(path, now=0.0, pid=1) as store:
        await begin(store)
    steps = (*schema.MIGRATIONS, "CREATE TABLE trial (id INTEGER PRIMARY KEY);")
    monkeypatch.setattr(schema, "MIGRATIONS", (*steps, "ALTER TABLE trial ADD COLUMN topic TEXT;"))
    version = schema.VERSION + 2
    monkeypatch.setattr(schema, "VERSION", version)
    async with Store.open(path, now=0.0, pid=1) as store:
        assert (await resume(store)).is_resumed
    assert query(path, "PRAGMA user_version") == [(version,)]
    assert query(path, "SELECT topic FROM trial") == []


async def test_migration_failure_leaves_old_version(path: Path, monkeypatch: Any) -> None:
    async with Store.open(path, now=0.0, pid=1):
        pass
    bad = "CREATE TABLE trial (id); CREATE TABLE url (id);"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, bad))
    with pytest.raises(sqlite3.OperationalError):
        async with Store.open(path, now=0.0, pid=1):
            pass
    assert query(path, "SELECT name FROM sqlite_schema WHERE name = 'trial'") == []
    assert query(path, "PRAGMA user_version") == [(schema.VERSION,)]


async def test_open_damaged_database_raises(path: Path) -> None:
    async with Store.open(path, now=0.0, pid=1) as store:
        crawl = await begin(store)
        await store.write(crawl, Batch(urls=[url_row(n) for n in range(5000)]))
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size(path) - 4096))
    with pytest.raises(StoreError, match="damaged"):
        async with Store.open(path, now=0.0, pid=1) as store:
            await begin(store)


async def test_open_unusable_folder_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lock_path(tmp_path / "y.db").mkdir()
    (tmp_path / "z.db").mkdir()
    for path, said in {
        "file/x.db": "cannot create the folder",
        "y.db": "cannot write",
        "z.db": "cannot read",
    }.items():
        with pytest.raises(StoreError, match=said):
            async with Store.open(tmp_path / path, now=0.0, pid=1):
                pass


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_open_read_only_folder_raises(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot write" in asyncio.run(refusal(tmp_path / "x.db"))
    tmp_path.chmod(0o700)


# -- other processes --------------------------------------------------------------------------

WRITER = """
import asyncio, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.test_store import resume
from focus.records import Batch, Outcome, UrlState
from focus.store import Store
from tests.support.stored import page_row, url_row

async def main():
    async with Store.open(Path(sys.argv[1]), now=0.0, pid=os.getpid()) as store:
        crawl = await resume(store)
        print("open", flush=True)
        n, done = crawl.next_url, crawl.counters.get("pages", 0)
        while True:
            urls = [url_row(n + i) for i in range(50)]
            pages = [page_row(n, request_number=n + 1, target_ids=tuple(range(n, n + 50)))]
            batch = Batch(urls=urls, pages=pages, outcomes=[Outcome(id=n, state=UrlState.DONE)])
            batch.counters, n, done = {"pages": done + 1}, n + 50, done + 1
            await store.write(crawl.id, batch)
            print("batch", flush=True)

asyncio.run(main())
"""


def writer(path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(ROOT)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "open\n"
    return process


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


async def test_write_killed_leaves_whole_batches(path: Path) -> None:
    before = 0
    for batches in (1, 4, 2, 7):
        process = writer(path)
        for _ in range(batches):
            assert process.stdout.readline() == "batch\n"
        stop(process)
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
        (urls,), (pages,) = (query(path, f"SELECT count(*) FROM {t}")[0] for t in ("url", "page"))
        async with Store.open(path, now=0.0, pid=1) as store:
            crawl = await resume(store)
            links = [row async for rows in store.iter_graph(crawl.id) for row in rows]
        assert urls == 50 * pages == 50 * crawl.counters["pages"] == 50 * len(links)
        assert query(path, "SELECT n FROM tally") == [(pages,)]
        assert pages > before
        before = pages


async def test_open_twice_names_process_with_the_lock(path: Path) -> None:
    process = writer(path)
    try:
        assert lock_holder_pid(path) == process.pid
        with pytest.raises(
            StoreLocked, match=rf"pid {process.pid}\) is using .*focus\.db"
        ) as caught:
            async with Store.open(path, now=0.0, pid=1):
                pass
        assert caught.value.exit_code == 5
    finally:
        stop(process)
    async with Store.open(path, now=0.0, pid=1):  # nothing stale is left
        assert lock_holder_pid(path) == 1


def test_lock_forked_child_does_not_keep_it(tmp_path: Path) -> None:
    code = """
        import os, sys, time
        from pathlib import Path
        sys.path.insert(0, sys.argv[2])
        from focus.storage.lock import database_lock
        with database_lock(Path(sys.argv[1]), pid=os.getpid()):
            if os.fork() == 0:
                print("forked", flush=True)
            sys.stdin.read()  # until we are killed
    """
    database = tmp_path / "x.db"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(database), str(ROOT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "forked\n"
    assert lock_holder_pid(database) == process.pid
    process.kill()
    process.wait()
    with database_lock(database, pid=1):
        assert lock_holder_pid(database) == 1
    os.killpg(process.pid, signal.SIGKILL)  # the child that outlived it
    process.communicate()
    process.stdout.close()


# -- full disk --------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB, where the test may make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount a small file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def make_room(folder: Path) -> None:
    more = ["mount", "-o", "remount,size=20m", str(folder)]
    subprocess.run(more, check=True, capture_output=True)


async def fill(store: Store, crawl: int, first: int, count: int) -> int:
    """Write pages of 50 kB until it fails; the number of the first that did not fit."""
    for number in range(first, first + count):
        body = Page(body_zstd=random.Random(number).randbytes(50_000))
        batch = Batch(urls=[url_row(number)], pages=[page_row(number, page=body)])
        batch.counters, batch.now = {"pages": number + 1.0}, float(number)
        try:
            await store.write(crawl, batch)
        except StoreError as error:
            assert "disk" in str(error) and "focus.db" in str(error) and "\n" not in str(error)
            return number
    return first + count


async def test_write_full_disk_works_after_space_is_freed(small_disk: Path) -> None:
    path = small_disk / "focus.db"
    async with Store.open(path, now=0.0, pid=1) as store:
        crawl = await begin(store)
        full_at = await fill(store, crawl, 0, 1000)
        assert 10 < full_at < 1000
        assert await fill(store, crawl, full_at, 1) == full_at  # still full, still one line
    make_room(small_disk)
    async with Store.open(path, now=0.0, pid=1) as store:
        again = await resume(store)
        assert again.next_url == full_at == again.counters["pages"]
        assert await fill(store, crawl, full_at, 20) == full_at + 20
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_write_file_size_limit_is_reported_as_full_disk(tmp_path: Path) -> None:
    code = """
        import asyncio, resource, signal, sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[2])
        from tests.test_store import Store, begin, fill
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))

        async def main():
            async with Store.open(Path(sys.argv[1]), now=0.0, pid=1) as store:
                print(await fill(store, await begin(store), 0, 1000))

        asyncio.run(main())
    """
    path = tmp_path / "focus.db"
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), str(path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == "" and done.returncode == 0
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert query(path, "SELECT count(*) FROM page") == [(int(done.stdout),)]


# -- costs ------------------------------------------------------------------------------------


async def test_waiting_url_takes_at_most_200_bytes(path: Path) -> None:
    rng = random.Random(5)
    async with Store.open(path, now=0.0, pid=1) as store:
        crawl = await begin(store)
        for start in range(0, 50_000, 1000):
            urls = [
                url_row(
                    n, key=rng.randbytes(16), queue_id=rng.randrange(100), priority=rng.random(),
                    link_evidence=(0.5, 0.25), parent_id=n // 60, anchor="球队新闻标题在此",
                    url=f"https://www.site{n % 100:03}.example.com/news/2024/doc-{n:010}.html",
                )
                for n in range(start, start + 1000)
            ]  # fmt: skip
            await store.write(crawl, Batch(urls=urls))
    assert size(path) / 50_000 <= 200


def test_schema_columns_have_comments() -> None:
    tables = re.findall(r"CREATE TABLE \w+ \(\n(.*?)\n\)", "".join(schema.MIGRATIONS), re.S)
    assert len(tables) > 5
    for line in "\n".join(tables).splitlines():
        assert "--" in line or re.match(r" +(PRIMARY KEY|UNIQUE) \(", line), line


def test_encodable_batch_without_surrogates_is_unchanged() -> None:
    from focus.storage.statements import replace_surrogates

    batch = msgspec.structs.replace(
        BASE,
        priority_changes=[PriorityChange(1, 2.0, (0.5,), None, "锚")],
        outcomes=[Outcome(id=1, state=UrlState.FAILED, reason="dns")],
        hosts=[HostRow(0, "h", robots={"https": (b"\xff", 200, 1.0)})],
    )
    assert replace_surrogates(batch) == batch


def test_check_file_keeps_locks_of_open_database(tmp_path: Path) -> None:
    """Without them the other process, the last to leave as it thinks, would remove the WAL, and
    what is written after that would be gone.
    """
    path = tmp_path / "x.db"
    look = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT 1 FROM t')"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE t (x)")
    assert file_check.check_file(path)
    subprocess.run([sys.executable, "-c", f"{look}; db.close()", path], check=True)
    db.execute("INSERT INTO t VALUES (1)")
    with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True) as second:
        assert second.execute("SELECT x FROM t").fetchall() == [(1,)]
    second.close()
    script = "print(sqlite3.connect(sys.argv[1]).execute('SELECT x FROM t').fetchall())"
    command = [sys.executable, "-c", f"import sqlite3, sys; {script}", path]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "[(1,)]\n"
    db.close()


# -- where SQL may stand --------------------------------------------------------------

FOCUS = ROOT / "focus"
SQL = re.compile(r"""["']\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER|PRAGMA)\s""")
CONNECTION = re.compile(r"import sqlite3|store\.(database|connection)\b")


def test_sql_and_connections_only_in_storage() -> None:
    texts = {
        path.relative_to(FOCUS).as_posix(): path.read_text(encoding="utf-8")
        for path in FOCUS.rglob("*.py")
    }
    outside = {name for name in texts if not name.startswith(("storage/", "learn/kb/"))}
    assert not [name for name in outside if SQL.search(texts[name])]
    callers = {name for name in outside if name.startswith(("alerts/", "serve/", "commands/"))}
    assert not [name for name in callers if CONNECTION.search(texts[name])]
