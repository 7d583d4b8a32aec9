"""Shards of a limited crawl hold back by what all of them have; late and double messages."""

import asyncio
import math
from collections import Counter
from urllib.parse import urljoin

import pytest

from focus.cluster.messages import ShardStatus
from focus.cluster.shared_budget import OtherShards, nth_best
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig, PolitenessConfig, ScopeConfig
from focus.crawler import Crawl, Event
from focus.demo.site import DemoWeb, generate
from focus.engine.transports import ReplayTransport
from focus.frontier import Frontier
from focus.records import FailureKind, FetchResult, Page, Task, UrlState
from focus.scheduling.quantiles import priority_quantiles
from focus.scheduling.url_table import UrlTable
from focus.session.resume import readopt
from focus.topic.topic import from_words, to_builtins
from focus.workers import InlineScorer
from tests.support.virtual_cluster import Form, World, crawl

LADDERS = ([(1, 9.0), (2, 5.0)], [(1, 7.0), (3, 6.0)])


@pytest.mark.parametrize(
    ("n", "expected"), [(1, 9.0), (2, 7.0), (3, 6.0), (4, 6.0), (5, 5.0), (6, -math.inf)]
)
def test_the_nth_best_of_all_shards(n: int, expected: float) -> None:
    assert nth_best(n, LADDERS) == expected


def test_what_is_under_way_elsewhere_counts_as_made() -> None:
    others = OtherShards()
    status = ShardStatus(2, 2, 0, in_flight=5, quantiles=[(1, 9.0)])
    others.update(ShardStatus(1, 2, 0), [status], {"pages": 7, "requests": 10}, now=0.0)
    assert others.made() == (12, 15)


def test_nobody_waits_for_shards_that_stand_still() -> None:
    others, own = OtherShards(), ShardStatus(1, 2, 0)
    status = ShardStatus(2, 2, 0, quantiles=[(1, 9.0)])
    others.update(own, [status], {"requests": 1}, now=0.0)
    assert others.has_better(8.0)
    assert not others.has_better(9.5)
    others.update(own, [status], {"requests": 1}, now=60.0)
    assert not others.has_better(8.0)


def test_a_ladder_has_the_best_and_the_worst_of_what_waits() -> None:
    url_table = UrlTable(0)
    frontier = Frontier(url_table, PolitenessConfig())
    for number in range(100):
        queue = frontier.queue(frontier.host(f"h{number % 5}.test"), "")
        url_id = url_table.add(number.to_bytes(16, "big"), queue.id, 0, UrlState.WAITING)
        frontier.push(url_id, f"http://h{number % 5}.test/{number}", float(number))
    rungs = priority_quantiles(frontier, 0.0)
    assert rungs[0] == (1, 99.0)
    assert rungs[-1] == (100, 0.0)
    assert rungs == sorted(rungs)
    assert all(priority == 100 - rank for rank, priority in rungs)


class Recorded:
    """The generated web as a recorded one. `asked` counts its pages' requests."""

    recorded_at = 1.6e9

    def __init__(self, web: DemoWeb, analysis: AnalysisConfig) -> None:
        self._web = web
        self._scorer = InlineScorer(analysis)
        self.asked: Counter[str] = Counter()

    def begin(self) -> None:
        self.asked.clear()

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        self.asked[url] += 1
        answer = self._web.respond(url)
        if answer is None:
            return FetchResult(url, fetched_at, failure=FailureKind.DNS)
        headers = dict(answer.headers)
        found = FetchResult(url, fetched_at, answer.status, answer.headers, answer.body)
        if answer.status in (301, 302):
            return found.__class__(
                url, fetched_at, answer.status, redirect_to=urljoin(url, headers["location"])
            )
        if answer.status >= 400:
            kind = FailureKind.HTTP_5XX if answer.status >= 500 else FailureKind.HTTP_4XX
            return FetchResult(url, fetched_at, answer.status, answer.headers, failure=kind)
        return found

    async def score(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        return await self._scorer.score(url, body, content_type)

    async def update(self, payload: bytes) -> None:
        """Nothing adapts here."""

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return generate(seed=4, pages=100)


def config(web: DemoWeb, **limits: int) -> CrawlConfig:
    return CrawlConfig(
        seeds=tuple(web.seeds),
        strategy="bfs",
        concurrency=8,
        scope=ScopeConfig(deny=("/calendar/", "/online/")),
        limits=LimitConfig(**limits),
        analysis=AnalysisConfig(topic=to_builtins(from_words("足球")), keep="none"),
    )


def alone(order: CrawlConfig, recorded: Recorded) -> list[Event]:
    events: list[Event] = []
    recorded.begin()
    engine = Crawl(order, ReplayTransport(recorded, recorded), observe=events.append)
    engine.sow(order.seeds)
    asyncio.run(engine.run())
    return events


def pages(events: list[Event]) -> set[str]:
    return {event.url for event in events if event.state is UrlState.DONE}


@pytest.mark.parametrize(
    "form",
    [
        Form(1, 8),
        Form(3, 8),
        Form(3, 8, twice=0.4, late=0.4),
        Form(2, 8, twice=0.4, late=0.4, seed=2),
    ],
    ids=["one shard", "three", "double and late", "other chance"],
)
def test_shards_find_the_same_pages_and_ask_for_none_twice(web: DemoWeb, form: Form) -> None:
    order = config(web)
    recorded = Recorded(web, order.analysis)
    expected = alone(order, recorded)
    asked = Counter(recorded.asked)
    world: World = crawl(order, recorded, form)
    assert pages(world.events) == pages(expected)
    assert recorded.asked == asked


def test_a_limit_is_of_all_shards_together(web: DemoWeb) -> None:
    order = config(web, max_requests=50)
    recorded = Recorded(web, order.analysis)
    world = crawl(order, recorded, Form(3, 8))
    assert 50 <= len(world.events) <= 60


def test_a_task_of_an_earlier_run_whose_url_was_not_written_is_forgotten() -> None:
    engine = Crawl(CrawlConfig(seeds=("http://a.test/",)), ReplayTransport(None, None))  # type: ignore[arg-type]
    engine.sow(("http://a.test/",))
    assert not readopt(engine, Task(7, "http://a.test/7", "a.test"))
    assert not readopt(engine, Task(None, "http://b.test/robots.txt", "b.test"))
    assert not engine.frontier.knows("b.test")
    assert readopt(engine, Task(0, "http://a.test/", "a.test"))
