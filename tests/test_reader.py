"""query: what a crawl found, in the order asked for, and why each URL is where it is."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from focus.errors import ConfigError, StoreError
from focus.records import (
    Batch,
    HostRow,
    Outcome,
    Page,
    PageRow,
    PriorityChange,
    QueueRow,
    RevisitState,
    UrlRow,
    UrlState,
)
from focus.storage import results, schema
from focus.storage import writer as database
from focus.storage.evidence import explain_priority
from focus.storage.lock import database_lock
from focus.storage.reader import DatabaseReader, find_last_crawl
from focus.storage.results import FIELDS, QUALITY_T, Selection, field_types, parse_since
from focus.store import Store
from tests.support import stored
from tests.support.cases import cases

HOSTS = ("sport.example", "b.sport.example", "xsport.example")
PAGES = 6  # of the 9 URLs of the small crawl: 0…5


def url_row(number: int, **more: Any) -> UrlRow:
    fields: dict[str, Any] = {
        "url": f"https://{HOSTS[number % 3]}/news/{number}",
        "queue_id": number % 3,
        "depth": 0 if number == 0 else 1 + (number > 3),
        "priority": 10.0 - number,
        "parent_id": None if number == 0 else (number - 1) // 3,
        "anchor": "" if number == 0 else f"链接 {number}",
    }
    return stored.url_row(number, **(fields | more))


def page_row(number: int, **more: Any) -> PageRow:
    relevance = (0.75, 0.0, 1.5, 0.6, 0.6, 0.2)[number]
    page = Page(
        title=f"标题 {number}", relevance=relevance, is_relevant=relevance > 0.5,
        part_scores={"title": relevance}, matched_terms={"title": ["足球"]}, charset="utf-8",
    )  # fmt: skip
    fields: dict[str, Any] = {
        "url": f"https://{HOSTS[number % 3]}/news/{number}",
        "waiting_count": 7 - number,
        "fetched_at": 86400.0 * (number + 1),
        "raw_bytes": 1000 + number,
        "priority": 10.0 - number,
        "pagerank": (0.02, 0.04, 0.01, 0.03, 0.005, 0.0)[number],
        "page": page,
    }
    return stored.page_row(number, **(fields | more))


def small_batch() -> Batch:
    return Batch(
        queues=[QueueRow(n, n, "", 2, (3.0, 5.0, 0.0)[n]) for n in range(3)],
        hosts=[HostRow(n, HOSTS[n]) for n in range(3)],
        urls=[url_row(n) for n in range(9)],
        pages=[page_row(n) for n in range(PAGES)],
        outcomes=[
            *(Outcome(id=n, state=UrlState.DONE) for n in range(PAGES)),
            Outcome(id=6, state=UrlState.FAILED, reason="http-4xx", detail="404", tries=1),
            Outcome(id=7, state=UrlState.DROPPED, reason="robots"),
        ],
        counters={"requests": 8.0},
        now=100.0,
    )


def make(path: Path, *batches: Batch, finish: bool = True, **more: Any) -> int:
    """A crawl with these batches; its id."""
    report = '{"pages":6}' if finish else ""
    config = '{"limits": {"max_pages": 6}}'
    return stored.store_crawl(path, *batches, config=config, report=report, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    result = tmp_path / "focus.db"
    make(result, small_batch())
    return result


@pytest.fixture
def reader(path: Path) -> Iterator[DatabaseReader]:
    with DatabaseReader(path) as opened:
        yield opened


def select_rows(path: Path, selection: Selection, *fields: str) -> list[Any]:
    with DatabaseReader(path) as reader:
        rows = list(reader.iter_rows(selection, fields or ("nth",)))
    return [row[0] if len(row) == 1 else row for row in rows]


# -- results ----------------------------------------------------------------------------------


def test_iter_rows_returns_all_fields(reader: DatabaseReader) -> None:
    rows = list(reader.iter_rows(Selection(limit=2)))
    assert len(FIELDS) == len(field_types()) == len(rows[1])
    row = dict(zip(FIELDS, rows[1], strict=True))
    parts, matched = row.pop("parts"), row.pop("matched")
    assert row.pop("duplicate_of") is None
    assert msgspec.json.decode(parts) == {"title": 0.0}
    assert msgspec.json.decode(matched) == {"title": ["足球"]}
    assert row == {
        "url": "https://b.sport.example/news/1", "final_url": "https://b.sport.example/news/1",
        "title": "标题 1", "description": "", "keywords": "", "language": "", "relevance": 0.0,
        "relevant": False, "is_list": False, "priority": 9.0, "pagerank": 0.04, "authority": 0.0,
        "hub": 0.0, "quality": 0.5, "depth": 1, "parent": "https://sport.example/news/0",
        "anchor": "链接 1", "status": 200, "fetched_at": "1970-01-03T00:00:00.000Z",
        "strategy": "bfs", "topic": "足球", "crawl": 1, "nth": 2, "waiting": 6, "bytes": 1001,
        "charset": "utf-8", "content_type": "", "canonical": None, "site": "", "rendering": "",
        "first_seen": "1970-01-03T00:00:00.000Z", "changed_at": None,
        "checked_at": "1970-01-03T00:00:00.000Z", "tried_at": "1970-01-03T00:00:00.000Z",
        "trouble": None, "gone_at": None,
    }  # fmt: skip
    assert (rows[0][FIELDS.index("parent")], rows[0][FIELDS.index("anchor")]) == (None, None)
    assert type(row["relevant"]) is bool


def test_quality_combines_pagerank_and_relevance(path: Path) -> None:
    # R 0.02 of at most 0.04 and relevance 0.75 of at most 1.5: ½·½ + ½·½
    assert select_rows(path, Selection(limit=1), "quality") == [pytest.approx(0.5)]
    every = select_rows(path, Selection(), "pagerank", "relevance", "quality")
    for rank, relevance, quality in every:
        mixed = QUALITY_T * rank / 0.04 + (1 - QUALITY_T) * relevance / 1.5
        assert quality == pytest.approx(mixed) and 0 <= quality <= 1


def test_iter_rows_sort_by_hub_and_authority(tmp_path: Path) -> None:
    path = tmp_path / "focus.db"
    make(path, small_batch(), ranks=[(1, 0.5, 1.0, 0.2), (3, 0.2, 0.5, 1.0), (4, 0.1, 0.0, 0.2)])
    best = select_rows(path, Selection(sort="authority", limit=3), "nth", "authority")
    assert best == [(4, 1.0), (2, 0.2), (5, 0.2)]
    assert select_rows(path, Selection(sort="hub", limit=2), "nth", "hub") == [(2, 1.0), (4, 0.5)]


def test_pagerank_is_that_of_last_end_or_of_fetch(tmp_path: Path) -> None:
    path = tmp_path / "focus.db"
    make(path, small_batch(), ranks=[(0, 0.5, 0.0, 0.0)])
    assert select_rows(path, Selection(limit=2), "pagerank") == [0.5, 0.04]
    rows = select_rows(path, Selection(sort="quality"), "pagerank", "relevance", "quality")
    expected = [(rank / 0.5 + relevance / 1.5) / 2 for rank, relevance, _ in rows]
    assert [quality for *_, quality in rows] == pytest.approx(expected)  # of the largest rank


def test_quality_relevance_below_one_is_not_scaled() -> None:
    assert "0.5 * p.relevance" in results.quality_sql({1: (0.5, 0.9)})
    assert f"0.5 * {results.PAGERANK}" in results.quality_sql({1: (0.0, 0.9)})  # no PageRank at all


@cases(
    "selection, numbers",
    (Selection(), [1, 2, 3, 4, 5, 6]), (Selection(sort="relevance"), [3, 1, 4, 5, 6, 2]),
    (Selection(sort="quality"), [3, 4, 1, 2, 5, 6]),
    (Selection(sort="fetched", limit=2), [6, 5]), (Selection(relevant=True), [1, 3, 4, 5]),
    (Selection(min_relevance=0.6, sort="relevance"), [3, 1, 4, 5]),
    (Selection(since=86400.0 * 5), [5, 6]), (Selection(host="sport.example"), [1, 2, 4, 5]),
    (Selection(host="B.sport.example"), [2, 5]),
    (Selection(host="example"), [1, 2, 3, 4, 5, 6]), (Selection(host="ort.example"), []),
    (Selection(limit=0), []), (Selection(topic="足球", crawl="all"), [1, 2, 3, 4, 5, 6]),
)  # fmt: skip
def test_iter_rows_selects_pages(path: Path, selection: Selection, numbers: list[int]) -> None:
    assert select_rows(path, selection) == numbers


def test_iter_rows_omits_duplicates_and_noindex_pages(tmp_path: Path) -> None:
    batch = small_batch()
    batch.outcomes[1] = Outcome(id=1, state=UrlState.DROPPED, reason="duplicate")
    hidden = msgspec.structs.replace(batch.pages[2].page, noindex=True)
    batch.pages[2] = msgspec.structs.replace(batch.pages[2], page=hidden)
    make(tmp_path / "x.db", batch)
    assert select_rows(tmp_path / "x.db", Selection()) == [1, 4, 5, 6]


def test_crawl_ids_by_word_number_and_topic(path: Path) -> None:
    make(path, small_batch(), topic="篮球")
    assert select_rows(path, Selection(), "crawl") == [2] * PAGES
    assert select_rows(path, Selection(crawl="1", limit=1), "crawl", "topic") == [(1, "足球")]
    assert select_rows(path, Selection(crawl="all"), "crawl") == [1] * PAGES + [2] * PAGES
    assert select_rows(path, Selection(topic="足球"), "crawl") == [1] * PAGES
    for bad in (Selection(crawl="3"), Selection(topic="chess")):
        with pytest.raises(ConfigError, match=r"there are: 1 \(足球\), 2 \(篮球\)"):
            select_rows(path, bad)


def test_crawl_ids_latest_is_last_opened_crawl(tmp_path: Path) -> None:
    async def fill(*runs: tuple[str, float, float]) -> None:
        async with Store.open(tmp_path / "f.db", now=0.0, pid=1) as store:
            for topic, now, recorded in runs:
                strategy = "watch" if topic == "a.test" else "bfs"
                identity = {"seeds": ["x"], "topic": topic, "strategy": strategy}
                info = await store.begin_crawl(identity, "{}", fresh=False, now=now)
                await store.write(info.id, Batch(counters={"requests": 1.0}, now=recorded))
                await store.finish_crawl(info.id, reason="x", report_json="{}", now=recorded)

    def latest() -> list[int]:
        with DatabaseReader(tmp_path / "f.db") as reader:
            return reader.crawl_ids("latest")

    asyncio.run(fill(("a.test", 5.0, 6.0)))
    assert latest() == [1]
    asyncio.run(fill(("archive", 10.0, 9e9), ("live", 20.0, 21.0), ("a.test", 25.0, 26.0)))
    assert latest() == [3], "visits of an alert come before all crawls"
    asyncio.run(fill(("archive", 30.0, 9e9)))
    assert latest() == [2]


@given(
    pages=st.lists(
        st.tuples(st.floats(0, 2), st.floats(0, 1), st.booleans(), st.integers(0, 4)), max_size=600
    ),
    sort=st.sampled_from(["", "relevance", "fetched", "quality"]),
)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_iter_rows_order_equals_sorted_list(
    pages: list[tuple[float, float, bool, int]], sort: str, tmp_path_factory: Any
) -> None:
    rows = [
        page_row(
            0, id=n, request_number=n + 1, pagerank=rank, fetched_at=float(day),
            page=Page(relevance=relevance, is_relevant=hit),
        )
        for n, (relevance, rank, hit, day) in enumerate(pages)
    ]  # fmt: skip
    database = tmp_path_factory.mktemp("order") / "x.db"
    make(database, Batch(urls=[url_row(0, id=n) for n in range(len(rows))], pages=rows))
    every = select_rows(database, Selection(sort=sort), "nth", "relevance", "quality", "fetched_at")
    keys = {
        "": lambda row: row[0],
        "relevance": lambda row: (-row[1], row[0]),
        "quality": lambda row: (-row[2], row[0]),
        "fetched": lambda row: (-float(row[3][17:19]), -row[0]),
    }
    assert (len(every), every) == (len(rows), sorted(every, key=keys[sort]))


def test_iter_rows_unknown_field_or_order_names_known_ones(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown field 'tilte'; the fields are: url, final_url"):
        select_rows(path, Selection(), "url", "tilte")
    orders = "quality, relevance, authority, hub, fetched"
    with pytest.raises(ConfigError, match=f"the orders are: {orders}"):
        select_rows(path, Selection(sort="size"))


def test_iter_rows_unfinished_holds_no_lock(path: Path) -> None:
    async def writes_go_on() -> None:
        with DatabaseReader(path) as reader:
            rows = reader.iter_rows(Selection())
            next(rows)
            async with Store.open(path, now=0.0, pid=1, lock_timeout_s=0.05) as store:
                await store.write(1, Batch(now=300.0))
                cursor = await store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                assert (await cursor.fetchone())[0] == 0, "no reader holds it up"
            assert len(list(rows)) == PAGES - 1

    asyncio.run(writes_go_on())


@cases(
    "text, seconds",
    ("7d", 1_000_000 - 7 * 86400), ("1.5h", 1_000_000 - 5400), ("30m", 1_000_000 - 1800),
    ("2w", 1_000_000 - 14 * 86400), ("1970-01-02", 86400), ("1970-01-01T01:00", 3600),
    ("1970-01-01T01:00:00+01:00", 0), ("1970-01-01T00:00:10Z", 10),
)  # fmt: skip
def test_parse_since_dates_and_spans(text: str, seconds: float) -> None:
    assert parse_since(text, now=1_000_000.0) == seconds


@pytest.mark.parametrize("text", ["", "yesterday", "7y", "2025-13-01", "d"])
def test_parse_since_invalid_text_raises_with_example(text: str) -> None:
    with pytest.raises(ConfigError, match="write 2025-12-31"):
        parse_since(text, now=0.0)


# -- status -----------------------------------------------------------------------------------


def test_status_counts_urls_and_hosts(reader: DatabaseReader) -> None:
    status = reader.status(1)
    assert status.states == {"waiting": 1, "fetching": 0, "done": 6, "failed": 1, "dropped": 1}
    assert (status.crawl.pages, status.crawl.relevant, status.crawl.reason) == (6, 4, "max-pages")
    assert status.harvest_rate == pytest.approx(4 / 6)
    assert status.harvest_last_100 == status.harvest_last_500 == pytest.approx(4 / 8)
    hosts = [(host.name, host.yielded) for host in status.hosts]
    assert hosts == [("b.sport.example", 5.0), ("sport.example", 3.0)]
    assert [(r.reason, r.urls) for r in status.failures] == [("http-4xx", 1)]
    assert [(r.reason, r.urls) for r in status.drops] == [("robots", 1)]
    assert status.limits == {"max_pages": 6}
    assert (status.counters, status.report) == ({"requests": 8.0}, {"pages": 6})
    assert msgspec.json.decode(msgspec.json.encode(status))["states"]["done"] == 6


def test_status_harvest_is_share_of_last_requests_without_revisits(tmp_path: Path) -> None:
    hit, miss = Page(is_relevant=True), Page()
    pages = [hit] * 100 + [miss] * 50
    rows = [page_row(0, id=n, request_number=n + 1, page=page) for n, page in enumerate(pages)]
    again = page_row(0, id=150, request_number=190, page=hit, fetched_at=9.0)
    urls = [url_row(0, id=n) for n in range(151)]
    check = RevisitState(150, 1.0, 9.0, 9.0, 9.0, None, 8.0, 1.0)
    batch = Batch(urls=urls, pages=[*rows, again], revisit_states=[check])
    batch.counters = {"requests": 200.0, "looked": 20.0}
    make(tmp_path / "x.db", batch)
    with DatabaseReader(tmp_path / "x.db") as reader:
        status = reader.status(1)
    assert status.harvest_last_100 == 0.2
    assert status.harvest_last_500 == status.harvest_all == pytest.approx(101 / 180)


def test_crawls_running_while_database_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make(path, small_batch(), finish=False)
    make(path, small_batch())
    with DatabaseReader(path) as reader:
        assert [crawl.running for crawl in reader.crawls()] == [False, False]
        with database_lock(path, pid=os.getpid()):
            assert [crawl.running for crawl in reader.crawls()] == [True, False]
        with pytest.raises(ConfigError, match="no crawl 9"):
            reader.status(9)


# -- why --------------------------------------------------------------------------------------


def test_why_page_shows_path_and_relevance(reader: DatabaseReader) -> None:
    why = reader.why(1, "https://b.sport.example/news/4")
    assert why == reader.why(1, "https://elsewhere.example/", key=url_row(4).key)
    expected = [("0", "", 0, 0.75), ("1", "链接 1", 1, 0.0), ("4", "链接 4", 2, 0.6)]
    assert [(s.url[-1], s.anchor, s.depth, s.relevance) for s in why.path] == expected
    assert (why.state, why.reason) == ("done", "")
    assert (why.page.nth, why.page.waiting, why.page.priority) == (5, 3, 6.0)
    assert (why.page.parts, why.page.matched) == ({"title": 0.6}, {"title": ["足球"]})
    assert why.page.relevant is True


def test_why_failed_dropped_and_waiting_urls(reader: DatabaseReader) -> None:
    failed, dropped, waiting = (reader.why(1, url_row(n).url) for n in (6, 7, 8))
    assert (failed.state, failed.reason) == ("failed", "http-4xx")
    assert (failed.detail, failed.tries) == ("404", 1)
    assert (dropped.state, dropped.reason, dropped.page) == ("dropped", "robots", None)
    assert (waiting.state, waiting.priority, len(waiting.path)) == ("waiting", 2.0, 3)


def test_why_shows_latest_link_evidence(tmp_path: Path) -> None:
    rows = [url_row(n, parent_id=0 if n else None, priority=1.0, anchor="a") for n in range(4)]
    better = [PriorityChange(2, 3.0, (0.5,), 1, "b"), PriorityChange(3, 2.0, (0.25,), None, "")]
    path = tmp_path / "x.db"
    ended = Outcome(id=1, state=UrlState.DONE, parent_id=0)
    place = {"hosts": [HostRow(0, HOSTS[0])], "queues": [QueueRow(q, 0) for q in range(4)]}
    make(
        path,
        Batch(urls=rows, **place),
        Batch(priority_changes=better[:1]),
        Batch(priority_changes=better, outcomes=[ended]),
    )
    with DatabaseReader(path) as reader:
        best, second = (reader.why(1, rows[n].url) for n in (2, 3))
        ahead = explain_priority(reader, 1, second).ahead
    assert (best.priority, best.link_evidence) == (3.0, (0.5,))
    assert [step.anchor for step in best.path] == ["a", "a", "b"]
    assert (second.priority, [step.anchor for step in second.path]) == (2.0, ["a", "a"])
    assert ahead is not None and ahead.urls == [(rows[2].url, 3.0)]


def test_why_cycle_of_parents_ends_path(tmp_path: Path) -> None:
    ring = [url_row(n, parent_id=(n + 1) % 3) for n in range(3)]
    make(tmp_path / "x.db", Batch(urls=[*ring, url_row(3, parent_id=77)]))
    with DatabaseReader(tmp_path / "x.db") as reader:
        assert len(reader.why(1, ring[0].url).path) == 3
        assert len(reader.why(1, url_row(3).url).path) == 1  # its parent is not known


def test_why_unknown_url_names_similar_ones(reader: DatabaseReader) -> None:
    why = reader.why(1, "https://sport.example/news/66")
    assert (why.state, why.path, why.nearest[0]) == ("", [], "https://sport.example/news/6")
    assert sorted(why.nearest) == [f"https://sport.example/news/{n}" for n in (0, 3, 6)]
    assert reader.why(1, "https://unknown.example/").nearest == []


# -- files ------------------------------------------------------------------------------------


@cases(
    "name, said",
    ("none.db", "there is no database at"),
    ("text", "not a database"),
    ("other.db", "another program"),
)
def test_reader_missing_or_foreign_file_raises(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "text").write_text("hello " * 99)
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(StoreError, match=said):
        DatabaseReader(tmp_path / name)
    assert {file.name for file in tmp_path.iterdir()} == {"text", "other.db"}


def test_pages_view_has_documented_columns(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        seen = db.execute("SELECT nth, url, topic, status, relevant FROM pages ORDER BY nth")
        rows = seen.fetchall()
    with DatabaseReader(path) as reader:
        fields = ("nth", "url", "topic", "status", "relevant")
        assert rows == list(reader.iter_rows(Selection(crawl="all"), fields))


def test_reader_foreign_view_raises(path: Path) -> None:
    db = sqlite3.connect(path)
    db.executescript(
        "ALTER TABLE crawl RENAME TO crawl_; CREATE VIEW crawl AS WITH RECURSIVE n(id) AS "
        "(SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, id AS topic FROM n"
    )
    db.close()
    with pytest.raises(StoreError, match="has a view"):
        DatabaseReader(path)


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def test_read_over_time_limit_raises(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with DatabaseReader(path) as reader:
        monkeypatch.setattr("focus.storage.reader.READ_TIMEOUT_S", -1.0)
        with pytest.raises(StoreError, match="took more than"):
            reader.read(lambda db: db.execute(ENDLESS).fetchone())
        monkeypatch.undo()
        assert reader.status(1).crawl.id == 1


def test_read_interrupted_by_signal_raises(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with DatabaseReader(path) as reader:
        polls = iter([True])

        def is_late() -> bool:
            if next(polls, False):
                raise SystemExit(143)  # as the handler of a signal does, wherever it is heard
            return False

        reader._db.set_progress_handler(is_late, 1000)
        with pytest.raises(KeyboardInterrupt):
            reader.read(lambda db: db.execute(ENDLESS).fetchone())


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send there")
def test_command_sigterm_during_read_ends_process(path: Path) -> None:
    code = f"""
import sys
from focus.__main__ import main
from focus.storage import reader
def endless(self, *_, **__):
    print("reading", flush=True)
    self.read(lambda db: db.execute({ENDLESS!r}).fetchone())
reader.READ_TIMEOUT_S = 1e9
reader.DatabaseReader.status = reader.DatabaseReader.iter_rows = endless
sys.exit(main(sys.argv[1:]))
"""
    for command in ("status", "export"):
        line, pipe = [sys.executable, "-c", code, command, "--db", str(path)], subprocess.PIPE
        with subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout.readline() == "reading\n"
            process.terminate()
            assert process.communicate() == ("", "")
            assert process.returncode == 128 + signal.SIGTERM


def test_reader_older_version_is_migrated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (*schema.MIGRATIONS, "CREATE TABLE trial (id INTEGER PRIMARY KEY);")
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    version = schema.VERSION + 1
    monkeypatch.setattr(schema, "VERSION", version)
    with DatabaseReader(path) as reader:
        assert reader.crawls()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (version,)
        assert db.execute("SELECT * FROM trial").fetchall() == []


def test_find_last_crawl_by_identity(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    assert find_last_crawl(path, {"a": 1}) is None
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        database.prepare_database(db, path)
        database.begin_crawl(db, identity={"a": 1}, config="{}", fresh=False, now=1.0)
    assert find_last_crawl(path, {"a": 1}) == 1
    assert find_last_crawl(path, {"a": 2}) is None


def test_reader_write_raises(path: Path) -> None:
    with DatabaseReader(path) as reader, pytest.raises(sqlite3.OperationalError):
        reader._db.execute("DELETE FROM crawl")


def test_reader_path_with_uri_characters_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a%20b?c#d 球.db"
    make(path, small_batch())
    assert select_rows(path, Selection(limit=1)) == [1]


def test_reader_empty_database_has_no_crawl_and_no_rows(tmp_path: Path) -> None:
    async def touch() -> None:
        async with Store.open(tmp_path / "x.db", now=0.0, pid=1):
            pass

    asyncio.run(touch())
    assert select_rows(tmp_path / "x.db", Selection()) == []
    with DatabaseReader(tmp_path / "x.db") as reader:
        assert reader.crawls() == []
