"""Where the time goes: stages counted once each, nothing left behind, the CLI's table."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from focus.config import AnalysisConfig, CrawlConfig, FetchConfig, PolitenessConfig, RunPaths
from focus.crawler import Crawl
from focus.frontier import Frontier
from focus.profiling.crawl import _LOOP, Profiler
from focus.profiling.stages import MEANING, PROFILED, CrawlProfile, Stage, stage_rows
from focus.profiling.stopwatch import Stopwatch, watching
from focus.profiling.worker import ProfiledAnalyst
from focus.session import RunReport, Watcher, run
from focus.terminal.profile import profile_lines
from focus.topic.topic import from_words, to_builtins
from focus.workers.child import make_analyst
from tests.support.web import TinyWeb

TOPIC = AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="position")
PAGE = "<title>足球</title><h1>足球</h1><p>足球比赛</p><a href='/b'>足球新闻</a>".encode()


class Steps:
    """A clock that goes on by what the functions under test say."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds


class Work:
    def __init__(self, clock: Steps) -> None:
        self.clock = clock

    def outer(self) -> str:
        self.clock.spend(1.0)
        self.inner()
        self.clock.spend(2.0)
        return "done"

    def inner(self) -> None:
        self.clock.spend(10.0)

    def broken(self) -> None:
        self.clock.spend(5.0)
        raise ValueError

    def many(self) -> Iterator[int]:
        for each in range(3):
            self.clock.spend(1.0)
            yield each


@pytest.fixture
def clock() -> Steps:
    return Steps()


def test_a_stage_that_calls_another_stands_still(clock: Steps) -> None:
    watch, work = Stopwatch(clock), Work(clock)
    with ExitStack() as stack:
        for patch in watching(watch, [(work, "outer", "a"), (work, "inner", "b")]):
            stack.enter_context(patch)
        assert work.outer() == "done"
    assert watch.spent == {"a": 3.0, "b": 10.0}


def test_time_before_an_exception_counts(clock: Steps) -> None:
    watch, work = Stopwatch(clock), Work(clock)
    with ExitStack() as stack:
        for patch in watching(watch, [(work, "broken", "a"), (work, "inner", "b")]):
            stack.enter_context(patch)
        with pytest.raises(ValueError):
            work.broken()
        work.inner()
    assert watch.take() == {"a": 5.0, "b": 10.0}
    assert watch.spent == {}


def test_a_generator_counts_where_it_is_made(clock: Steps) -> None:
    watch, work = Stopwatch(clock), Work(clock)
    with ExitStack() as stack:
        for patch in watching(watch, [(work, "many", "a")]):
            stack.enter_context(patch)
        assert list(work.many()) == [0, 1, 2]
    assert watch.spent == {"a": 3.0}


def test_functions_are_put_back() -> None:
    before = [getattr(owner, name) for owner, name, _ in _LOOP]
    with Profiler(workers=1):
        assert [getattr(owner, name) for owner, name, _ in _LOOP] != before
    assert [getattr(owner, name) for owner, name, _ in _LOOP] == before
    assert "next" in vars(Frontier)
    assert "_take_in" in vars(Crawl)


def test_rows_are_per_page_with_shares() -> None:
    rows = stage_rows({"workers": {"parse": 0.3}, "main": {"fetch": 0.1, "graph": 0.0}}, 100)
    assert rows == [
        Stage("fetch", "main", 1.0, pytest.approx(0.25)),
        Stage("parse", "workers", 3.0, pytest.approx(0.75)),
    ]


def test_no_page_divides_by_nothing() -> None:
    assert stage_rows({"main": {}}, 0) == []


@pytest.fixture
def analyst() -> Iterator[ProfiledAnalyst]:
    made = make_analyst(PROFILED, TOPIC)
    assert isinstance(made, ProfiledAnalyst)
    yield made
    made.close()


def test_a_worker_tells_the_stages_of_each_page(analyst: ProfiledAnalyst) -> None:
    pages = [analyst.analyse(f"http://a.test/{n}", PAGE, "text/html") for n in range(2)]
    for page in pages:
        assert {"hand-over", "parse", "URLs", "relevance", "pack"} <= page.stages.keys()
        assert page.stages.keys() <= MEANING.keys()
        assert all(seconds >= 0 for seconds in page.stages.values())
    assert pages[0].relevant


def test_a_watched_worker_says_the_same(analyst: ProfiledAnalyst) -> None:
    watched = analyst.analyse("http://a.test/", PAGE, "text/html")
    plain = make_analyst("focus.score.analysis.PageAnalyst", TOPIC).analyse(
        "http://a.test/", PAGE, "text/html"
    )
    assert (watched.relevance, watched.links, watched.body_zstd) == (
        plain.relevance,
        plain.links,
        plain.body_zstd,
    )


async def crawl(tmp_path: Path, *, profile: bool) -> RunReport:
    web = TinyWeb()
    for n in range(5):
        web.page(f"http://a.test/{n}", links=[f"/{n + 1}"], title="足球")
    async with web.serve() as address:
        config = CrawlConfig(
            seeds=("http://a.test/0",),
            strategy="topic-pagerank",
            concurrency=4,
            workers=1,
            politeness=PolitenessConfig(delay_s=0.0),
            fetch=FetchConfig(connect_to=address, allow_net=("127.0.0.0/8",)),
            analysis=TOPIC,
        )
        return await run(config, RunPaths(tmp_path / "x.db", profile=profile), Watcher())


def test_a_crawl_tells_where_its_time_went(tmp_path: Path) -> None:
    profile = asyncio.run(crawl(tmp_path, profile=True)).profile
    assert profile is not None
    assert profile.pages == 5
    where = {(each.name, each.where) for each in profile.stages}
    for stage in ("fetch", "frontier", "graph", "URLs", "hand-over", "crawl"):
        assert (stage, "main") in where
    assert ("parse", "workers") in where
    assert ("store", "store thread") in where
    assert sum(each.share for each in profile.stages) == pytest.approx(1.0)
    assert 0 < profile.loop_busy < 1.5


def test_no_profile_unless_asked_for(tmp_path: Path) -> None:
    assert asyncio.run(crawl(tmp_path, profile=False)).profile is None


@pytest.mark.parametrize(
    ("busy", "said"),
    [
        ((0.95, 0.4, 0.1), "the limit is the event loop"),
        ((0.5, 0.99, 0.1), "the limit is the workers"),
        ((0.2, 0.3, 0.1), "none is the limit"),
    ],
)
def test_the_table_names_what_limits_the_crawl(busy: tuple[float, float, float], said: str) -> None:
    stages = [Stage("fetch", "main", 0.5, 0.2), Stage("parse", "workers", 2.0, 0.8)]
    lines = profile_lines(CrawlProfile(10, 5.0, 0.3, stages, *busy))
    assert said in lines[-1]
    assert any("2.000 ms" in line and "80.0%" in line for line in lines)
    assert "In all 2.50 ms a page: main 0.50, workers 2.00. Start: 0.30 s." in lines


def test_without_a_page_there_is_no_table() -> None:
    assert profile_lines(CrawlProfile(0, 5.0, 0.3, [], 0.1, 0.0, 0.0)) == []
