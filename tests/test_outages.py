"""Outages under a fake clock: what is lost, when it goes on, how it ends, what is said."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from focus.commands.options.value_types import failure_kinds
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig, PolitenessConfig
from focus.crawler import Crawl
from focus.engine.outages import Outage
from focus.records import FailureKind as K
from focus.records import Task, UrlState
from focus.session import SessionStore
from focus.session.resume import restore
from focus.store import Store
from focus.topic.topic import from_words, to_builtins
from focus.workers import InlineScorer
from tests.support.outage import Cut, Sky
from tests.support.web import TinyWeb

TOPIC = AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="position")
SCORER = InlineScorer(TOPIC)
START = 1_000_000.0
HOSTS, PAGES = ("a.test", "b.test", "c.test", "d.test"), 12
DAY = 86_400.0


def world(hosts: tuple[str, ...] = HOSTS) -> TinyWeb:
    """Some hosts of some pages; each front page links to its pages and the next host."""
    web = TinyWeb()
    for host, other in zip(hosts, (*hosts[1:], hosts[0]), strict=True):
        links = [f"http://{host}/{n}" for n in range(PAGES)]
        web.page(f"http://{host}/", links=[*links, f"http://{other}/"])
        for link in links:
            web.page(link)
    return web


class Lives:
    """Runs of one crawl in one file, each with the network of that time."""

    def __init__(self, web: TinyWeb, folder: Path, seeds: tuple[str, ...], **more: object) -> None:
        self.web, self.at, self.folder = web, START, folder
        self.config = CrawlConfig(
            seeds=seeds,
            strategy="bfs",
            concurrency=8,
            analysis=TOPIC,
            **{"politeness": PolitenessConfig(delay_s=1.0), **more},  # type: ignore[arg-type]
        )
        self.changes: list[Outage | None] = []
        self.crawl: Crawl
        self.sky: Sky

    async def live(self, *cuts: Cut, retry_failed: tuple[str, ...] = ()) -> str:
        """Run to the end; instants of cuts count from the start of the run. Why it ended."""
        moved = [cut._replace(begin=self.at + cut.begin, end=self.at + cut.end) for cut in cuts]
        async with Store.open(self.folder / "x.db", now=self.at, pid=1) as store:
            info = await store.begin_crawl(
                {"seeds": 1}, "{}", fresh=False, now=self.at, revive=retry_failed
            )
            self.sky = Sky(self.web, SCORER, moved, start=self.at)
            shelf = SessionStore(store, info.id)
            self.crawl = Crawl(
                self.config, self.sky, crawl_store=shelf, on_outage=self.changes.append
            )
            if info.resumed:
                await restore(self.crawl, store, info)
            self.crawl.sow(self.config.seeds)
            reason = await self.crawl.run()
        self.took_s = self.sky.now() - self.at
        self.at = self.sky.now()
        return reason

    @property
    def had(self) -> set[str]:
        return {hit.url for hit in self.web.log if not hit.url.endswith("robots.txt")}

    def count(self, state: UrlState) -> int:
        return self.crawl.url_table.counts[state]


ALL = len(HOSTS) * (PAGES + 1)
SEEDS = tuple(f"http://{host}/" for host in HOSTS)
KINDS = (K.UNREACHABLE, K.DNS_TEMPORARY, K.TIMEOUT)


@pytest.mark.parametrize("kind", [*KINDS, K.CONNECT, K.DNS])
@pytest.mark.parametrize("length_s", [10.0, 600.0, 3 * DAY])
@pytest.mark.parametrize("begin_s", [0.0, 0.3, 5.0], ids=["before", "first", "later"])
async def test_an_outage_of_all_hosts_loses_nothing(
    tmp_path: Path, begin_s: float, length_s: float, kind: K
) -> None:
    if begin_s == 0.0 and kind in (K.CONNECT, K.DNS):
        pytest.skip("strangers that refuse are down")
    lives = Lives(world(), tmp_path, SEEDS, max_offline_s=1200.0)
    reason = await lives.live(Cut(begin_s, begin_s + length_s, kind=kind))
    if length_s > 1200.0:
        assert reason == "offline"
        assert lives.count(UrlState.FAILED) == 0
        assert lives.count(UrlState.WAITING) > 0
        assert 1200.0 <= lives.took_s <= 1200.0 + begin_s + 60.0
        lives.at += 3 * DAY
        assert await lives.live() == "frontier empty"
    else:
        assert reason == "frontier empty"
        back = lives.at - lives.took_s + begin_s + length_s
        assert min(hit.at for hit in lives.web.log if hit.at >= back) - back <= 45.0
    assert lives.count(UrlState.DONE) == ALL
    assert lives.count(UrlState.FAILED) == 0
    assert lives.had == set(lives.web.answers)


@pytest.mark.parametrize("begin_s", [0.3, 5.0], ids=["first", "later"])
@pytest.mark.parametrize(
    "how", [{"log_in": "http://login.hotel/"}, {"kind": K.TLS}, {"kind": K.GUARD}], ids=str
)
async def test_a_network_that_wants_a_log_in_first_loses_nothing(
    tmp_path: Path, begin_s: float, how: dict[str, Any]
) -> None:
    lives = Lives(world(), tmp_path, SEEDS, max_offline_s=1200.0)
    assert await lives.live(Cut(begin_s, 600.0, **how)) == "frontier empty"
    assert lives.changes[0] is not None, "it was told as an outage"
    assert lives.count(UrlState.DONE) == ALL
    assert (lives.count(UrlState.FAILED), lives.count(UrlState.DROPPED)) == (0, 0)


async def test_the_next_run_behind_a_log_in_keeps_what_waits(tmp_path: Path) -> None:
    lives = Lives(world(), tmp_path, SEEDS, max_offline_s=60.0)
    assert await lives.live(Cut(5.0, DAY)) == "offline"
    waiting = lives.count(UrlState.WAITING)
    lives.at += 3600.0
    assert await lives.live(Cut(0.0, DAY, log_in="http://login.hotel/")) == "offline"
    assert lives.count(UrlState.WAITING) == waiting
    assert await lives.live() == "frontier empty"
    assert lives.count(UrlState.DONE) == ALL


async def test_a_host_that_sends_everybody_elsewhere_is_followed(tmp_path: Path) -> None:
    lives = Lives(world(), tmp_path, SEEDS)
    cut = Cut(5.0, DAY, frozenset({"b.test"}), log_in="http://moved.test/")
    lives.web.page("http://moved.test/")
    assert await lives.live(cut) == "frontier empty"
    assert lives.changes == []
    assert "http://moved.test/" in lives.had


async def test_one_dead_host_of_many_is_given_up_and_asked_again_by_the_next_run(
    tmp_path: Path,
) -> None:
    lives = Lives(world(), tmp_path, SEEDS)
    assert await lives.live(Cut(5.0, DAY, frozenset({"b.test"}), K.TIMEOUT)) == "frontier empty"
    assert lives.changes == [], "the others answer: we are not offline"
    assert lives.crawl.frontier.host("b.test").is_abandoned
    assert lives.crawl.unit_of_work.failures["host-given-up"] > 0
    lives.at += DAY
    asked = len(lives.sky.tries)
    assert await lives.live(Cut(0.0, DAY, frozenset({"b.test"}), K.TIMEOUT)) == "frontier empty"
    assert asked and len(lives.sky.tries) <= 3, "one robots.txt, and it is given up again"
    lives.at += DAY
    assert await lives.live() == "frontier empty"
    assert lives.count(UrlState.DONE) == ALL


@pytest.mark.parametrize("kind", [K.CONNECT, K.DNS, K.TIMEOUT])
async def test_a_lone_host_that_is_down_is_given_up_for_the_run(tmp_path: Path, kind: K) -> None:
    lives = Lives(world(("a.test",)), tmp_path, ("http://a.test/",))
    assert await lives.live(Cut(0.0, DAY, kind=kind)) == "frontier empty"
    assert lives.took_s < 120.0
    assert lives.changes == []
    assert (lives.count(UrlState.DONE), lives.count(UrlState.FAILED)) == (0, 1)
    lives.at += DAY
    assert await lives.live() == "frontier empty"
    assert lives.count(UrlState.DONE) == PAGES + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length_s", [10.0, 300.0])
async def test_the_only_host_out_of_reach_in_mid_crawl_is_waited_for(
    tmp_path: Path, kind: K, length_s: float
) -> None:
    lives = Lives(world(("a.test",)), tmp_path, ("http://a.test/",))
    assert await lives.live(Cut(5.0, 5.0 + length_s, kind=kind)) == "frontier empty"
    assert lives.count(UrlState.DONE) == PAGES + 1
    assert lives.count(UrlState.FAILED) == 0
    assert len(lives.changes) in (0, 2), "it went away and came back, if it was noticed at all"


@pytest.mark.parametrize("kind", [K.CONNECT, K.UNREACHABLE])
async def test_a_seed_that_refused_is_asked_again_without_robots(tmp_path: Path, kind: K) -> None:
    """Its failure is its own, not its host's."""
    lives = Lives(
        world(("a.test",)),
        tmp_path,
        ("http://a.test/",),
        politeness=PolitenessConfig(ignore_robots=True),
        max_offline_s=0.0,
    )
    await lives.live(Cut(0.0, DAY, kind=kind))
    assert lives.count(UrlState.DONE) == 0
    lives.at += DAY
    assert await lives.live() == "frontier empty"
    assert lives.count(UrlState.DONE) == PAGES + 1


async def test_a_bare_seed_is_tried_by_https_again(tmp_path: Path) -> None:
    web = TinyWeb()
    web.page("https://a.test/")
    web.fail("http://a.test/robots.txt", K.CONNECT)
    lives = Lives(web, tmp_path, ("a.test",))
    assert await lives.live(Cut(0.0, DAY, kind=K.CONNECT)) == "frontier empty"
    lives.at += DAY
    assert await lives.live() == "frontier empty"
    assert lives.count(UrlState.DONE) == 1


async def test_max_offline_0_ends_at_once(tmp_path: Path) -> None:
    lives = Lives(world(), tmp_path, SEEDS, max_offline_s=0.0)
    assert await lives.live(Cut(5.0, DAY)) == "offline"
    assert lives.took_s <= 5.0 + 10.0
    assert lives.count(UrlState.FAILED) == 0


async def test_what_happens_is_told(tmp_path: Path) -> None:
    lives = Lives(world(), tmp_path, SEEDS)
    await lives.live(Cut(5.0, 65.0))
    (began, over) = lives.changes
    assert began is not None and over is None
    assert began.since == pytest.approx(START + 5.0, abs=2.0)
    assert began.reason == "no network here"


async def test_hundreds_of_dead_hosts_in_a_row_are_no_outage(tmp_path: Path) -> None:
    """A lively host, and a page of its that leads to many that are not there."""
    web = world(("a.test",))
    dead = [f"http://gone{n}.test/" for n in range(300)]
    web.page("http://a.test/11", links=dead)
    lives = Lives(web, tmp_path, ("http://a.test/",))
    hosts = frozenset(f"gone{n}.test" for n in range(300))
    assert await lives.live(Cut(0.0, DAY, hosts, K.DNS)) == "frontier empty"
    assert lives.changes == []
    assert lives.count(UrlState.FAILED) == 300
    asked = sum(hit.url.endswith("robots.txt") for hit in web.log)
    assert asked <= 1 + 20, "a false alarm makes the next one rarer"


async def test_probation_lasts_until_the_first_answer(tmp_path: Path) -> None:
    lives = Lives(world(("a.test",)), tmp_path, ("http://a.test/",))
    await lives.live(Cut(3.0, DAY, kind=K.CONNECT))
    assert lives.crawl.frontier.host("a.test").is_abandoned
    lives.at += DAY
    assert await lives.live(Cut(3.0, 7.0, kind=K.CONNECT)) == "frontier empty"
    assert lives.count(UrlState.DONE) == PAGES + 1, "it may fail now and then as any other"


async def test_failed_urls_wait_again_when_asked_to(tmp_path: Path) -> None:
    web = world(("a.test",))
    web.status("http://a.test/1", 500)
    web.status("http://a.test/2", 404)
    web.fail("http://a.test/3", K.RESET)
    lives = Lives(web, tmp_path, ("http://a.test/",))
    await lives.live()
    assert lives.count(UrlState.FAILED) == 3
    for n in (1, 2, 3):
        web.page(f"http://a.test/{n}")
    await lives.live()
    assert lives.count(UrlState.FAILED) == 3, "unless asked to, what failed has failed"
    await lives.live(retry_failed=("reset",))
    assert lives.count(UrlState.FAILED) == 2
    await lives.live(retry_failed=failure_kinds("all"))
    assert lives.count(UrlState.FAILED) == 1
    await lives.live(retry_failed=failure_kinds("http-4xx"))
    assert lives.count(UrlState.FAILED) == 0


@pytest.mark.parametrize("begin_s", [0.0, 5.0])
async def test_a_stop_while_offline_keeps_all(tmp_path: Path, begin_s: float) -> None:
    lives = Lives(world(), tmp_path, SEEDS, limits=LimitConfig(max_time_s=60.0))
    assert await lives.live(Cut(begin_s, DAY)) == "max-time reached"
    assert lives.count(UrlState.FAILED) == lives.count(UrlState.FETCHING) == 0
    lives.at += DAY
    lives.config = msgspec.structs.replace(lives.config, limits=LimitConfig())
    assert await lives.live() == "frontier empty"
    assert lives.count(UrlState.DONE) == ALL


class Exposed(Sky):
    """Notes at every request how many a kill would have made again."""

    crawl: Crawl
    most = 0

    def send(self, task: Task) -> None:
        super().send(task)
        self.most = max(self.most, self.in_flight + self.crawl.unit_of_work.unwritten)


@pytest.mark.parametrize(("concurrency", "bound"), [(256, 40), (32, 32)])
async def test_a_kill_costs_at_most_a_quarter_more_than_is_under_way(
    tmp_path: Path, concurrency: int, bound: int
) -> None:
    hosts = tuple(f"h{n}.test" for n in range(8))
    config = CrawlConfig(
        seeds=tuple(f"http://{host}/" for host in hosts),
        strategy="bfs",
        concurrency=concurrency,
        politeness=PolitenessConfig(per_host=4, per_ip=0, delay_s=0.0),
        analysis=TOPIC,
    )
    async with Store.open(tmp_path / "x.db", now=START, pid=1) as store:
        info = await store.begin_crawl({}, "{}", fresh=False, now=START)
        sky = Exposed(world(hosts), SCORER, [], start=START)
        sky.crawl = Crawl(config, sky, crawl_store=SessionStore(store, info.id))
        sky.crawl.sow(config.seeds)
        await sky.crawl.run()
    assert sky.crawl.unit_of_work.totals.pages == len(hosts) * (PAGES + 1)
    assert 24 < sky.most <= bound
