"""Databases of several crawls read as one: the same numbers as of one crawl."""

import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from focus.cli import cli
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig, PolitenessConfig, RunPaths
from focus.engine.transports import Transport
from focus.errors import ConfigError
from focus.records import Batch, HostRow, PriorityChange, QueueRow, UrlRow
from focus.session import Runtime, Watcher, run
from focus.storage.reader import DatabaseReader
from focus.storage.report_reader import load_figures
from focus.storage.results import Selection
from focus.storage.shard_merge import merge_databases
from focus.store import Store
from focus.topic.topic import from_words, to_builtins
from focus.workers import InlineScorer
from tests.support.outage import FaultyTransport
from tests.support.web import TinyWeb


def web(host: str, pages: int = 9) -> TinyWeb:
    tiny_web = TinyWeb()
    for number in range(pages):
        links = [f"http://{host}/{item}" for item in (2 * number + 1, 2 * number + 2)]
        tiny_web.page(f"http://{host}/{number}", links=links, title=f"足球 {host} {number}")
    return tiny_web


async def crawl(host: str, folder: Path, topic: str = "足球") -> Path:
    config = CrawlConfig(
        seeds=(f"http://{host}/0",),
        strategy="bfs",
        politeness=PolitenessConfig(delay_s=0.0),
        limits=LimitConfig(max_pages=8),
        analysis=AnalysisConfig(topic=to_builtins(from_words(topic)), relevance="position"),
    )

    class WebRuntime(Runtime):
        async def make_transport(
            self, config: CrawlConfig, paths: RunPaths, stack: AsyncExitStack
        ) -> Transport:
            return FaultyTransport(web(host), InlineScorer(config.analysis), [], start=1.0)

    db = folder / f"{host}.db"
    await run(config, RunPaths(db), Watcher(), runtime=WebRuntime(), handle_signals=False)
    return db


@pytest.fixture
async def shards(tmp_path: Path) -> list[Path]:
    return [await crawl("a.test", tmp_path), await crawl("b.test", tmp_path)]


async def test_merge_keeps_link_evidence_of_urls(tmp_path: Path) -> None:
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    for number, path in enumerate(paths):
        async with Store.open(path, now=0.0, pid=1) as store:
            identity = {"seeds": ["x"], "topic": "足球", "strategy": "bfs"}
            crawl = (await store.begin_crawl(identity, "{}", fresh=True, now=1.0)).id
            host = HostRow(0, f"{number}.test")
            urls = [
                UrlRow(n, bytes([number, n]) * 8, f"http://{number}.test/{n}", 0, n, 0.1)
                for n in range(3)
            ]
            batch = Batch(hosts=[host], queues=[QueueRow(0, 0)], urls=urls)
            await store.write(crawl, batch)
            better = PriorityChange(2, number + 0.5, (0.5,), 1, f"better {number}")
            await store.write(crawl, Batch(priority_changes=[better]))
            await store.write(
                crawl, Batch(priority_changes=[PriorityChange(0, 0.9, (0.9,), None, "")])
            )
    with merge_databases(paths, include_sources=False) as db, DatabaseReader(db.path) as reader:
        explained = [reader.why(1, f"http://{number}.test/2") for number in range(2)]
    assert [why.priority for why in explained] == [0.5, 1.5]
    assert [why.path[-1].anchor for why in explained] == ["better 0", "better 1"]
    assert [why.path[0].url for why in explained] == ["http://0.test/1", "http://1.test/1"]


async def test_merge_sums_counts_of_shards(shards: list[Path]) -> None:
    item = []
    for path in shards:
        with DatabaseReader(path) as reader:
            item.append(reader.status(1))
    with (
        merge_databases(shards, include_sources=True) as db,
        DatabaseReader(db.path, running=db.is_running) as reader,
    ):
        both = reader.status(1)
        rows = list(reader.iter_rows(Selection(), ("url", "parent", "nth", "title", "text")))
        figures = load_figures(reader, 1)
    for state, number in both.states.items():
        assert number == sum(status.states[state] for status in item)
    assert both.counters["requests"] == sum(status.counters["requests"] for status in item)
    assert both.crawl.pages == len(rows) == 16
    assert {host.name for host in both.hosts} == {"a.test", "b.test"}
    assert figures.crawl.relevant == sum(status.crawl.relevant for status in item)
    for url, parent, _, title, text in rows:
        host, number = url.split("/")[2:]
        assert title == f"足球 {host} {number}"
        assert text is not None
        assert parent == (None if number == "0" else f"http://{host}/{(int(number) - 1) // 2}")


async def test_merge_interleaves_and_renumbers_requests(shards: list[Path]) -> None:
    with merge_databases(shards, include_sources=False) as db, DatabaseReader(db.path) as reader:
        rows = list(reader.iter_rows(Selection(), ("nth", "url")))
        links = reader.read(lambda db: db.execute("SELECT source, targets FROM link").fetchall())
    numbers = [nth for nth, _ in rows]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] <= 18, "16 pages and two robots.txt"
    hosts = [url.split("/")[2] for _, url in rows]
    assert set(hosts[:4]) == set(hosts[-4:]) == {"a.test", "b.test"}
    assert len(links) == 16


async def test_merge_single_database_is_used_directly(shards: list[Path]) -> None:
    with merge_databases(shards[:1], "1", include_sources=False) as db:
        assert db == (shards[0], None)


async def test_merge_unrelated_crawls_raises(shards: list[Path], tmp_path: Path) -> None:
    second = await crawl("c.test", tmp_path, topic="篮球")
    cases = [
        ([shards[0], second], "latest", "different topics"),
        ([shards[0], shards[0]], "latest", "named twice"),
        (shards, "1", "latest crawl of each"),
    ]
    for paths, crawls, said in cases:
        with (
            pytest.raises(ConfigError, match=said),
            merge_databases(paths, crawls, include_sources=False),
        ):
            pass


async def test_commands_merge_several_databases(shards: list[Path], tmp_path: Path) -> None:
    options = [part for path in shards for part in ("--db", str(path))]
    ended = CliRunner().invoke(cli, ["status", *options, "--json"])
    assert json.loads(ended.stdout)["status"]["crawl"]["pages"] == 16
    ended = CliRunner().invoke(cli, ["export", *options, "--fields", "url"])
    assert len(ended.stdout.splitlines()) == 16
    page = tmp_path / "report.html"
    assert CliRunner().invoke(cli, ["report", *options, "-o", str(page)]).exit_code == 0
    assert "a.test" in page.read_text(encoding="utf-8")
