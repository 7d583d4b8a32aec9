"""Tests of crawls in outages of the network, under a virtual clock."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from focus.commands.options.value_types import parse_failure_kinds
from focus.config import CrawlConfig, LimitConfig, PolitenessConfig
from focus.crawler import Crawl
from focus.records import FailureKind as K
from focus.records import Task, UrlState
from focus.store import CrawlWriter, Store
from tests.support.crawl_runs import SCORER, TOPIC, CrawlRuns
from tests.support.outage import FaultyTransport, NetworkFault
from tests.support.web import TinyWeb

START = 1_000_000.0
HOSTS, PAGES = ("a.test", "b.test", "c.test", "d.test"), 12
DAY = 86_400.0


def world(hosts: tuple[str, ...] = HOSTS) -> TinyWeb:
    """Some hosts of some pages; each front page links to its pages and the next host."""
    web = TinyWeb()
    for host, next_host in zip(hosts, (*hosts[1:], hosts[0]), strict=True):
        links = [f"http://{host}/{n}" for n in range(PAGES)]
        web.page(f"http://{host}/", links=[*links, f"http://{next_host}/"])
        for link in links:
            web.page(link)
    return web


class FaultyRuns(CrawlRuns):
    """Runs whose network has faults."""

    def __init__(self, web: TinyWeb, folder: Path, seeds: tuple[str, ...], **more: Any) -> None:
        fields = {"concurrency": 8, "politeness": PolitenessConfig(delay_s=1.0), **more}
        super().__init__(web, folder, *seeds, at=START, **fields)
        self.transport: FaultyTransport

    async def run(self, *faults: NetworkFault, retry_failed: tuple[str, ...] = ()) -> str:
        """Run to the end and return why it ended. Faults count from the start of the run."""
        moved = [f._replace(begin=self.at + f.begin, end=self.at + f.end) for f in faults]
        self.transport = FaultyTransport(self.web, SCORER, moved, start=self.at)
        return await self.run_with(self.transport, retry_failed=retry_failed)

    @property
    def fetched_urls(self) -> set[str]:
        return {hit.url for hit in self.web.log if not hit.url.endswith("robots.txt")}

    def count(self, state: UrlState) -> int:
        return self.crawl.url_table.counts[state]


ALL = len(HOSTS) * (PAGES + 1)
SEEDS = tuple(f"http://{host}/" for host in HOSTS)
KINDS = (K.UNREACHABLE, K.DNS_TEMPORARY, K.TIMEOUT)


@pytest.mark.parametrize("kind", [*KINDS, K.CONNECT, K.DNS])
@pytest.mark.parametrize("length_s", [10.0, 600.0, 3 * DAY])
@pytest.mark.parametrize("begin_s", [0.0, 0.3, 5.0], ids=["before", "first", "later"])
async def test_crawl_in_outage_of_all_hosts_loses_nothing(
    tmp_path: Path, begin_s: float, length_s: float, kind: K
) -> None:
    if begin_s == 0.0 and kind in (K.CONNECT, K.DNS):
        pytest.skip("strangers that refuse are down")
    runs = FaultyRuns(world(), tmp_path, SEEDS, max_offline_s=1200.0)
    reason = await runs.run(NetworkFault(begin_s, begin_s + length_s, kind=kind))
    if length_s > 1200.0:
        assert reason == "offline"
        assert runs.count(UrlState.FAILED) == 0
        assert runs.count(UrlState.WAITING) > 0
        assert 1200.0 <= runs.took_s <= 1200.0 + begin_s + 60.0
        runs.at += 3 * DAY
        assert await runs.run() == "frontier empty"
    else:
        assert reason == "frontier empty"
        back = runs.at - runs.took_s + begin_s + length_s
        assert min(hit.at for hit in runs.web.log if hit.at >= back) - back <= 45.0
    assert (runs.count(UrlState.DONE), runs.count(UrlState.FAILED)) == (ALL, 0)
    assert runs.fetched_urls == set(runs.web.answers)


@pytest.mark.parametrize("begin_s", [0.3, 5.0], ids=["first", "later"])
@pytest.mark.parametrize(
    "how", [{"portal": "http://login.hotel/"}, {"kind": K.TLS}, {"kind": K.GUARD}], ids=str
)
async def test_captive_portal_harmless(tmp_path: Path, begin_s: float, how: dict[str, Any]) -> None:
    runs = FaultyRuns(world(), tmp_path, SEEDS, max_offline_s=1200.0)
    assert await runs.run(NetworkFault(begin_s, 600.0, **how)) == "frontier empty"
    assert runs.changes[0] is not None, "it was told as an outage"
    assert runs.count(UrlState.DONE) == ALL
    assert (runs.count(UrlState.FAILED), runs.count(UrlState.DROPPED)) == (0, 0)


async def test_next_run_behind_captive_portal_keeps_waiting_urls(tmp_path: Path) -> None:
    runs = FaultyRuns(world(), tmp_path, SEEDS, max_offline_s=60.0)
    assert await runs.run(NetworkFault(5.0, DAY)) == "offline"
    waiting = runs.count(UrlState.WAITING)
    runs.at += 3600.0
    assert await runs.run(NetworkFault(0.0, DAY, portal="http://login.hotel/")) == "offline"
    assert runs.count(UrlState.WAITING) == waiting
    assert await runs.run() == "frontier empty"
    assert runs.count(UrlState.DONE) == ALL


async def test_host_that_redirects_everything_is_followed(tmp_path: Path) -> None:
    runs = FaultyRuns(world(), tmp_path, SEEDS)
    fault = NetworkFault(5.0, DAY, frozenset({"b.test"}), portal="http://moved.test/")
    runs.web.page("http://moved.test/")
    assert await runs.run(fault) == "frontier empty"
    assert runs.changes == []
    assert "http://moved.test/" in runs.fetched_urls


async def test_dead_host_of_many_is_abandoned_until_the_next_run(tmp_path: Path) -> None:
    runs = FaultyRuns(world(), tmp_path, SEEDS)
    dead = NetworkFault(5.0, DAY, frozenset({"b.test"}), K.TIMEOUT)
    assert await runs.run(dead) == "frontier empty"
    assert runs.changes == [], "the others answer: we are not offline"
    assert runs.crawl.frontier.host("b.test").is_abandoned
    assert runs.crawl.unit_of_work.failures["host-given-up"] > 0
    runs.at += DAY
    asked = len(runs.transport.failed_requests)
    assert await runs.run(dead._replace(begin=0.0)) == "frontier empty"
    assert asked and len(runs.transport.failed_requests) <= 3, "one robots.txt and no more"
    runs.at += DAY
    assert await runs.run() == "frontier empty"
    assert runs.count(UrlState.DONE) == ALL


@pytest.mark.parametrize("kind", [K.CONNECT, K.DNS, K.TIMEOUT])
async def test_single_dead_host_is_abandoned_for_the_run(tmp_path: Path, kind: K) -> None:
    runs = FaultyRuns(world(("a.test",)), tmp_path, ("http://a.test/",))
    assert await runs.run(NetworkFault(0.0, DAY, kind=kind)) == "frontier empty"
    assert runs.took_s < 120.0
    assert runs.changes == []
    assert (runs.count(UrlState.DONE), runs.count(UrlState.FAILED)) == (0, 1)
    runs.at += DAY
    assert await runs.run() == "frontier empty"
    assert runs.count(UrlState.DONE) == PAGES + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length_s", [10.0, 300.0])
async def test_unreachable_single_host_is_awaited(tmp_path: Path, kind: K, length_s: float) -> None:
    runs = FaultyRuns(world(("a.test",)), tmp_path, ("http://a.test/",))
    assert await runs.run(NetworkFault(5.0, 5.0 + length_s, kind=kind)) == "frontier empty"
    assert (runs.count(UrlState.DONE), runs.count(UrlState.FAILED)) == (PAGES + 1, 0)
    assert len(runs.changes) in (0, 2), "it went away and came back, if it was noticed at all"


@pytest.mark.parametrize("kind", [K.CONNECT, K.UNREACHABLE])
async def test_refused_seed_without_robots_is_requested_next_run(tmp_path: Path, kind: K) -> None:
    """Its failure is its own, not its host's."""
    own = {"politeness": PolitenessConfig(ignore_robots=True), "max_offline_s": 0.0}
    runs = FaultyRuns(world(("a.test",)), tmp_path, ("http://a.test/",), **own)
    await runs.run(NetworkFault(0.0, DAY, kind=kind))
    assert runs.count(UrlState.DONE) == 0
    runs.at += DAY
    assert await runs.run() == "frontier empty"
    assert runs.count(UrlState.DONE) == PAGES + 1


async def test_seed_without_scheme_in_next_run_is_requested_over_https(tmp_path: Path) -> None:
    web = TinyWeb()
    web.page("https://a.test/")
    web.fail("http://a.test/robots.txt", K.CONNECT)
    runs = FaultyRuns(web, tmp_path, ("a.test",))
    assert await runs.run(NetworkFault(0.0, DAY, kind=K.CONNECT)) == "frontier empty"
    runs.at += DAY
    assert await runs.run() == "frontier empty"
    assert runs.count(UrlState.DONE) == 1


async def test_max_offline_zero_ends_the_crawl_at_once(tmp_path: Path) -> None:
    runs = FaultyRuns(world(), tmp_path, SEEDS, max_offline_s=0.0)
    assert await runs.run(NetworkFault(5.0, DAY)) == "offline"
    assert runs.took_s <= 5.0 + 10.0
    assert runs.count(UrlState.FAILED) == 0


async def test_on_change_is_called_at_begin_and_end_of_an_outage(tmp_path: Path) -> None:
    runs = FaultyRuns(world(), tmp_path, SEEDS)
    await runs.run(NetworkFault(5.0, 65.0))
    (began, over) = runs.changes
    assert began is not None and over is None
    assert began.since == pytest.approx(START + 5.0, abs=2.0)
    assert began.reason == "no network here"


async def test_hundreds_of_dead_hosts_are_no_outage(tmp_path: Path) -> None:
    """A lively host, and a page of its that leads to many that are not there."""
    web = world(("a.test",))
    dead = [f"http://gone{n}.test/" for n in range(300)]
    web.page("http://a.test/11", links=dead)
    runs = FaultyRuns(web, tmp_path, ("http://a.test/",))
    hosts = frozenset(f"gone{n}.test" for n in range(300))
    assert await runs.run(NetworkFault(0.0, DAY, hosts, K.DNS)) == "frontier empty"
    assert (runs.changes, runs.count(UrlState.FAILED)) == ([], 300)
    asked = sum(hit.url.endswith("robots.txt") for hit in web.log)
    assert asked <= 1 + 20, "a false alarm makes the next one rarer"


async def test_host_on_probation_after_an_answer_may_fail_again(tmp_path: Path) -> None:
    runs = FaultyRuns(world(("a.test",)), tmp_path, ("http://a.test/",))
    await runs.run(NetworkFault(3.0, DAY, kind=K.CONNECT))
    assert runs.crawl.frontier.host("a.test").is_abandoned
    runs.at += DAY
    assert await runs.run(NetworkFault(3.0, 7.0, kind=K.CONNECT)) == "frontier empty"
    assert runs.count(UrlState.DONE) == PAGES + 1, "it may fail now and then as any other"


async def test_retry_failed_returns_failed_urls_to_the_frontier(tmp_path: Path) -> None:
    web = world(("a.test",))
    web.status("http://a.test/1", 500)
    web.status("http://a.test/2", 404)
    web.fail("http://a.test/3", K.RESET)
    runs = FaultyRuns(web, tmp_path, ("http://a.test/",))
    await runs.run()
    assert runs.count(UrlState.FAILED) == 3
    for n in (1, 2, 3):
        web.page(f"http://a.test/{n}")
    await runs.run()
    assert runs.count(UrlState.FAILED) == 3, "unless asked to, what failed has failed"
    await runs.run(retry_failed=("reset",))
    assert runs.count(UrlState.FAILED) == 2
    await runs.run(retry_failed=parse_failure_kinds("all"))
    assert runs.count(UrlState.FAILED) == 1
    await runs.run(retry_failed=parse_failure_kinds("http-4xx"))
    assert runs.count(UrlState.FAILED) == 0


@pytest.mark.parametrize("begin_s", [0.0, 5.0])
async def test_stop_while_offline_keeps_all_urls(tmp_path: Path, begin_s: float) -> None:
    runs = FaultyRuns(world(), tmp_path, SEEDS, limits=LimitConfig(max_time_s=60.0))
    assert await runs.run(NetworkFault(begin_s, DAY)) == "max-time reached"
    assert runs.count(UrlState.FAILED) == runs.count(UrlState.FETCHING) == 0
    runs.at += DAY
    runs.config = msgspec.structs.replace(runs.config, limits=LimitConfig())
    assert await runs.run() == "frontier empty"
    assert runs.count(UrlState.DONE) == ALL


class ExposureTransport(FaultyTransport):
    """Notes at every request how many a kill would have made again."""

    crawl: Crawl
    max_exposed = 0

    def send(self, task: Task) -> None:
        super().send(task)
        self.max_exposed = max(self.max_exposed, self.in_flight + self.crawl.unit_of_work.unwritten)


@pytest.mark.parametrize(("concurrency", "bound"), [(256, 40), (32, 32)])
async def test_kill_repeats_at_most_a_quarter_more_than_the_requests_in_flight(
    tmp_path: Path, concurrency: int, bound: int
) -> None:
    hosts = tuple(f"h{n}.test" for n in range(8))
    seeds = tuple(f"http://{host}/" for host in hosts)
    config = CrawlConfig(
        seeds, "bfs", concurrency=concurrency, analysis=TOPIC,
        politeness=PolitenessConfig(per_host=4, per_ip=0, delay_s=0.0),
    )  # fmt: skip
    async with Store.open(tmp_path / "x.db", now=START, pid=1) as store:
        info = await store.begin_crawl({}, "{}", fresh=False, now=START)
        transport = ExposureTransport(world(hosts), SCORER, [], start=START)
        transport.crawl = Crawl(config, transport, crawl_store=CrawlWriter(store, info.id))
        transport.crawl.add_seeds(config.seeds)
        await transport.crawl.run()
    assert transport.crawl.unit_of_work.totals.pages == len(hosts) * (PAGES + 1)
    assert 24 < transport.max_exposed <= bound
