"""A host is found before it is asked, and its address has slots and a pace. Virtual clock."""

import asyncio
import heapq
import random
import socket
from collections import defaultdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from focus import session
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    LimitConfig,
    PolitenessConfig,
    RunPaths,
)
from focus.crawler import Crawl
from focus.engine.transports import ReplayTransport, latency_s
from focus.fetch import WebFetcher
from focus.http.dns import PrefetchResolver
from focus.records import FailureKind, FetchResult, Result, Task
from focus.session import Watcher
from focus.workers import InlineScorer
from tests.support.web import TinyWeb
from tests.test_crawl import TOPIC, World

HOME = "192.0.2.1"
SLOW_S = 3.0


class Live(ReplayTransport):
    """A web under a virtual clock whose hosts are looked up first, as those of a real one.

    names    host -> address; None: it has none. Others have `HOME`
    slow     hosts whose look-up takes so long
    busy_s   that an answer takes besides its latency
    """

    is_live = True
    supports_lookups = True

    def __init__(self, world: World, *, busy_s: float = 0.0) -> None:
        super().__init__(world, InlineScorer(TOPIC), start=1000.0)
        self.names: dict[str, str | None] = {}
        self.slow: dict[str, float] = {}
        self.looked_up: list[str] = []
        self.starts: list[float] = []
        self.most_open = 0
        self._busy_s = busy_s

    def send(self, task: Task) -> None:
        lookup_s = self.slow.get(task.host, 0.01)
        ends_in = lookup_s if task.is_lookup else latency_s(task.url) + self._busy_s
        start_at = max(self._clock, task.start_at)
        if task.is_lookup:
            self.looked_up.append(task.host)
        else:
            self.starts.append(start_at)
        self._sent += 1
        self.in_flight += 1
        heapq.heappush(self._running, (start_at + ends_in, self._sent, task))
        self.most_open = max(self.most_open, sum(not item.is_lookup for *_, item in self._running))

    async def receive(self, until: float | None) -> list[Result]:
        if self._running and (until is None or until >= self._running[0][0]):
            ends_at, _, task = self._running[0]
            if task.is_lookup:
                heapq.heappop(self._running)
                self._clock = max(self._clock, ends_at)
                self.in_flight -= 1
                address = self.names.get(task.host, HOME) or ""
                return [Result(task, FetchResult(task.url, ends_at, address=address))]
        return [self._with_address(result) for result in await super().receive(until)]

    def _with_address(self, result: Result) -> Result:
        address = self.names.get(result.task.host, HOME)
        fetch = result.fetch
        if address is None:
            fetch = FetchResult(fetch.url, fetch.fetched_at, failure=FailureKind.DNS)
        return Result(result.task, msgspec.structs.replace(fetch, address=address), result.page)


def make_config(seeds: list[str], *, concurrency: int = 64, **politeness: float) -> CrawlConfig:
    settings = msgspec.convert({"delay_s": 1.0, "per_ip": 4, **politeness}, PolitenessConfig)
    fields = {"concurrency": concurrency, "politeness": settings, "analysis": TOPIC}
    return CrawlConfig(tuple(seeds), "bfs", **fields)


async def crawl(live: Live, config: CrawlConfig) -> Crawl:
    engine = Crawl(config, live)
    engine.add_seeds(config.seeds)
    await engine.run()
    return engine


def make_hosts(hosts: int, pages: int = 1) -> tuple[TinyWeb, list[str]]:
    """Hosts of as many domains, each with a page or more."""
    web = TinyWeb()
    seeds = [f"http://www.d{number}.test/" for number in range(hosts)]
    for seed in seeds:
        web.page(seed, links=[f"/{n}" for n in range(1, pages)])
        for n in range(1, pages):
            web.page(f"{seed}{n}")
    return web, seeds


def shortest_gap(starts: list[float]) -> float:
    return min(later - earlier for earlier, later in pairwise(sorted(starts)))


async def test_new_hosts_share_the_slots_of_their_address() -> None:
    web, seeds = make_hosts(40)
    live = Live(World(web), busy_s=SLOW_S)
    await crawl(live, make_config(seeds))
    assert live.most_open == 4, "robots.txt and all"
    assert len(live.starts) == 80, "a robots.txt and a page of each"
    assert len(live.looked_up) == 40, "once each"


async def test_all_hosts_of_an_address_share_its_requests_per_delay() -> None:
    web, seeds = make_hosts(40, pages=2)
    live = Live(World(web))
    await crawl(live, make_config(seeds))
    assert shortest_gap(live.starts) >= 0.25 - 1e-9
    assert len(live.starts) == 120
    busy = max(live.starts) - min(live.starts)
    assert busy < 120 * 0.25 + 2.0, "and no less often, as long as hosts are due"


async def test_addresses_have_separate_paces() -> None:
    web, seeds = make_hosts(40)
    live = Live(World(web))
    live.names = {f"www.d{n}.test": f"198.51.100.{n % 10}" for n in range(40)}
    await crawl(live, make_config(seeds))
    assert max(live.starts) - min(live.starts) < 40 * 2 * 0.25 / 10 + 2.0


async def test_no_lookup_without_address_limit() -> None:
    web, seeds = make_hosts(3)
    live = Live(World(web))
    await crawl(live, make_config(seeds, per_ip=0))
    assert (live.looked_up, len(live.starts)) == ([], 6)


async def test_slow_lookup_delays_its_own_host_only() -> None:
    web, seeds = make_hosts(10, pages=3)
    live = Live(World(web))
    live.slow = {"www.d0.test": 600.0}
    await crawl(live, make_config(seeds))
    asked = web.urls()
    assert len(asked) == 30
    assert [url.split("/")[2] for url in asked[-3:]] == ["www.d0.test"] * 3


async def test_name_without_address_is_a_failure() -> None:
    web, seeds = make_hosts(2)
    live = Live(World(web))
    live.names = {"www.d0.test": None}
    engine = await crawl(live, make_config(seeds))
    assert engine.unit_of_work.failures == {"host-given-up": 1}
    assert engine.seeds.failures[seeds[0]].startswith("dns: robots.txt")
    assert engine.unit_of_work.totals.pages == 1


@pytest.mark.parametrize("strategy", ["bfs", "best-first"])
async def test_concurrency_one_has_the_order_of_a_recorded_web(strategy: str) -> None:
    asked = []
    for kind in (Live, ReplayTransport):
        web, seeds = make_hosts(12, pages=4)
        config = msgspec.structs.replace(make_config(seeds, concurrency=1), strategy=strategy)
        more = () if kind is Live else (InlineScorer(TOPIC),)
        await crawl(kind(World(web), *more), config)
        asked.append(web.urls(robots=True))
    assert (asked[0], len(asked[0])) == (asked[1], 60)


async def test_redirected_robots_txt_keeps_the_pace() -> None:
    web, seeds = make_hosts(20)
    for seed in seeds:
        web.redirect(f"{seed}robots.txt", f"{seed}rules")
        web.status(f"{seed}rules", 404)
    live = Live(World(web))
    engine = await crawl(live, make_config(seeds))
    assert engine.unit_of_work.totals.pages == 20
    assert len(live.starts) == 60
    assert shortest_gap(live.starts) >= 0.25 - 1e-9


async def test_robots_txt_of_another_host_gives_no_address() -> None:
    web, seeds = make_hosts(1)
    web.redirect(f"{seeds[0]}robots.txt", "http://victim.test/robots.txt")
    live = Live(World(web))
    engine = await crawl(live, make_config(seeds))
    assert engine.frontier.host("www.d0.test").address == HOME
    assert engine.unit_of_work.totals.pages == 1


async def test_host_of_useless_group_is_deferred_then_dropped() -> None:
    """Hosts of one domain that answer robots.txt and nothing else: 200 of them are asked."""
    web = TinyWeb()
    names = [f"http://a{number}.wild.test/" for number in range(260)]
    web.page("http://hub.test/", links=names)
    for name in names:
        web.robots(name.split("/")[2], "User-agent: *\nDisallow: /")
    live = Live(World(web))
    live.names = {f"a{number}.wild.test": f"198.51.100.{number}" for number in range(260)}
    engine = await crawl(live, make_config(["http://hub.test/"]))
    asked = [url for url in web.urls(robots=True) if "wild" in url]
    assert len(asked) == 200
    assert engine.unit_of_work.drops == {"robots": 200, "trap-budget": 60}


# -- the names ------------------------------------------------------------------------


class Counting(AbstractResolver):
    """Resolves every name to one address and counts the look-ups, or fails."""

    def __init__(self, error: Exception | None = None, address: str = HOME) -> None:
        self.asked: list[str] = []
        self.error = error
        self.address = address

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        self.asked.append(host)
        if self.error is not None:
            raise self.error
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        record = {"host": self.address, "port": port, "family": socket.AF_INET, "flags": flags}
        return [ResolveResult(hostname=host, proto=0, **record)]

    async def close(self) -> None:
        pass


async def test_lookup_is_reused_by_the_next_request() -> None:
    names = Counting()
    ahead = PrefetchResolver(names)
    assert await ahead.prefetch_address("a.test", 80, 1.0) == HOME
    (record,) = await ahead.resolve("a.test", 443)
    assert (record["host"], record["port"]) == (HOME, 443)
    assert names.asked == ["a.test"]
    await ahead.resolve("a.test", 80)
    assert names.asked == ["a.test", "a.test"], "later ones ask anew"


async def test_failed_lookup_is_reused_by_the_next_request() -> None:
    names = Counting(socket.gaierror(socket.EAI_NONAME, "no such name"))
    async with WebFetcher(FetchConfig(), resolver=names) as web:
        assert await web.locate("http://nowhere.test/") == ""
        assert (await web.fetch("http://nowhere.test/")).failure is FailureKind.DNS
        assert names.asked == ["nowhere.test"]
        await web.fetch("http://nowhere.test/")
    assert len(names.asked) == 2


@pytest.mark.parametrize(
    ("url", "address"),
    [("http://192.0.2.7:8080/", "192.0.2.7"), ("http://[::1]/", "::1"), ("ftp://a.test/", "")],
)
async def test_literal_address_needs_no_lookup(url: str, address: str) -> None:
    names = Counting()
    async with WebFetcher(FetchConfig(), resolver=names) as web:
        assert await web.locate(url) == address
    assert names.asked == []


# -- over sockets ---------------------------------------------------------------------


class RequestLog:
    """Paths and hosts of all requests, and the largest number that were open at once."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.open = self.most_open = 0

    def begin(self, host: str, path: str) -> None:
        self.requests.append((host, path))
        self.open += 1
        self.most_open = max(self.most_open, self.open)


class Server(asyncio.Protocol):
    """Answers each request after 20 ms, so that several requests are open at once."""

    def __init__(self, log: RequestLog) -> None:
        self.log = log

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        head = data.decode().split("\r\n")
        self.log.begin(head[1], head[0].split(" ")[1])
        asyncio.get_running_loop().call_later(0.02, self._answer)

    def _answer(self) -> None:
        self.log.open -= 1
        body = "<title>足球</title><p>足球比赛".encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)  # type: ignore[attr-defined]


async def test_open_requests_to_an_address_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RequestLog()
    server = await asyncio.get_running_loop().create_server(lambda: Server(log), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    fetcher = partial(WebFetcher, resolver=Counting(address="127.0.0.1"))
    monkeypatch.setattr("focus.session.runtime.WebFetcher", fetcher)
    config = CrawlConfig(
        tuple(f"http://h{number}.wild{number}.test:{port}/" for number in range(30)),
        workers=1,
        fetch=FetchConfig(allow_net=("127.0.0.1/32",)),
        politeness=PolitenessConfig(delay_s=0.0, per_ip=3),
        limits=LimitConfig(max_requests=60),
        analysis=AnalysisConfig(topic=TOPIC.topic, relevance="position"),
    )
    report = await session.run(config, RunPaths(tmp_path / "a.db"), Watcher())
    server.close()
    hosts = {host for host, _ in log.requests}
    robots = [path for _, path in log.requests if path == "/robots.txt"]
    assert report.totals.requests == len(log.requests) == 60
    assert len(robots) == len(hosts) == 30
    assert log.most_open <= 3


class RemoteLive(Live):
    """A web whose requests are sent by other processes, up to 3 s after the crawl's decision."""

    is_remote = True

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.starts_by_host: dict[str, list[float]] = defaultdict(list)
        self._rng = random.Random(1)

    def send(self, task: Task) -> None:
        start_at = max(self._clock, task.start_at) + self._rng.uniform(0.0, 3.0)
        if not task.is_lookup:
            self.starts_by_host[task.host].append(start_at)
        super().send(msgspec.structs.replace(task, start_at=start_at))


async def test_delayed_requests_keep_the_pace_of_host_and_address() -> None:
    web, seeds = make_hosts(20, pages=3)
    live = RemoteLive(World(web))
    await crawl(live, make_config(seeds))
    starts = sorted(live.starts)
    assert len(starts) == 80
    assert min(later - earlier for earlier, later in zip(starts, starts[4:], strict=False)) >= 1.0
    assert min(shortest_gap(starts) for starts in live.starts_by_host.values()) >= 1.0
