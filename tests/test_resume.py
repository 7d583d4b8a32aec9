"""A crawl that goes on knows what it must: rests, retries, homes of the scope, seeds."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pytest import MonkeyPatch

from focus.config import PolitenessConfig, ScopeConfig
from focus.engine.transports import ReplayTransport
from focus.errors import ConfigError, StoreError
from focus.records import FailureKind, FetchResult, UrlState
from focus.session.process_limits import ensure_open_files
from focus.storage.reader import DatabaseReader
from focus.storage.results import Selection
from tests.support.crawl_runs import SCORER, TOPIC, CrawlRuns
from tests.support.web import Answer, TinyWeb
from tests.test_crawl import World

DELAY_S = 5.0


class Lives(CrawlRuns):
    """Runs over a recorded web with a delay of 5 seconds."""

    def __init__(
        self, web: TinyWeb, folder: Path, *seeds: str, scope: str = "any", **config: Any
    ) -> None:
        fields = {"concurrency": 4, "politeness": PolitenessConfig(delay_s=DELAY_S), **config}
        super().__init__(web, folder, *seeds, at=1000.0, scope=ScopeConfig(scope=scope), **fields)
        self.world = World(web)

    async def live(self, requests: int | None = None) -> dict[str, UrlState | None]:
        """Run; return the requested URLs and their states."""
        await self.run_with(ReplayTransport(self.world, SCORER, start=self.at), requests=requests)
        return {event.url: event.state for event in self.events}


@pytest.fixture
def web() -> TinyWeb:
    web = TinyWeb()
    web.page("http://a.test/", links=["/1", "/2"])
    web.page("http://a.test/1")
    web.page("http://a.test/2")
    return web


async def test_restore_host_waits_a_whole_crawl_delay(web: TinyWeb, tmp_path: Path) -> None:
    """A kill leaves no trace of the requests that were sent just before it."""
    lives = Lives(web, tmp_path, "http://a.test/")
    await lives.live(requests=2)
    restarted = lives.at
    asked = len(web.log)
    await lives.live()
    assert web.log[asked].at >= restarted + DELAY_S


async def test_restore_missing_url_rows_raises_store_error(web: TinyWeb, tmp_path: Path) -> None:
    lives = Lives(web, tmp_path, "http://a.test/")
    await lives.live()
    with closing(sqlite3.connect(tmp_path / "x.db")) as db, db:
        assert db.execute("DELETE FROM found_log WHERE id & 0xFFFFFFFF = 0").rowcount == 1
    with pytest.raises(StoreError, match=r"lost URLs of crawl 1: only 2 of 3 remain.*--fresh"):
        await lives.live()


async def test_restore_retry_keeps_its_time(web: TinyWeb, tmp_path: Path) -> None:
    lives = Lives(web, tmp_path, "http://a.test/1", "http://b.test/")
    web.page("http://b.test/")
    lives.world.first["http://a.test/1"] = [Answer(status=500)]
    await lives.live(requests=4)
    failed_at = next(hit.at for hit in web.log if hit.url == "http://a.test/1")
    assert (await lives.live())["http://a.test/1"] is UrlState.DONE
    assert web.log[-1].url == "http://a.test/1"
    assert web.log[-1].at >= failed_at + 10.0


async def test_restore_redirected_seed_host_stays_in_scope(tmp_path: Path) -> None:
    web = TinyWeb()
    web.redirect("http://a.test/", "http://www.b.test/")
    web.redirect("http://www.b.test/", "http://c.test/")
    web.page("http://c.test/", links=["/1", "http://other.test/"])
    web.page("http://c.test/1", links=["/2"])
    web.page("http://c.test/2")
    lives = Lives(web, tmp_path, "http://a.test/", scope="host")
    await lives.live(requests=6)
    again = await lives.live()
    assert again == {"http://c.test/1": UrlState.DONE, "http://c.test/2": UrlState.DONE}


async def test_restore_seed_without_scheme_falls_back_to_http(tmp_path: Path) -> None:
    web = TinyWeb()
    web.page("http://a.test/")
    web.fail("https://a.test/", FailureKind.CONNECT)
    web.page("http://b.test/")
    lives = Lives(web, tmp_path, "http://b.test/", "a.test")
    await lives.live(requests=1)
    assert (await lives.live())["http://a.test/"] is UrlState.DONE


async def test_restore_pagerank_equals_uninterrupted_crawl(web: TinyWeb, tmp_path: Path) -> None:
    (tmp_path / "calm").mkdir()
    calm = Lives(web, tmp_path / "calm", "http://a.test/")
    broken = Lives(web, tmp_path, "http://a.test/")
    await calm.live()
    await broken.live(requests=3)
    await broken.live()
    for lives in (calm, broken):
        lives.crawl.graph.push_all()  # as at a run's end
    ranks = [[lives.crawl.graph.rank(i) for i in range(3)] for lives in (calm, broken)]
    assert ranks[0] == pytest.approx(ranks[1], rel=0.05)


def catalogue() -> TinyWeb:
    """A tag of three pages among news, with links to hosts that are not there."""
    web = TinyWeb()
    outside = [f"http://h{n}.test/" for n in range(14)]
    web.page("http://a.test/", links=["/n1", "/n2", "/tags/t1/", *outside, "http://b.test/"])
    for n, name in enumerate(("/tags/t1/", "/tags/t1/page/2/", "/tags/t1/page/3/"), 1):
        members = [f"/m{n}{m}" for m in range(3)]
        web.page(
            f"http://a.test{name}",
            title="足球" * (n == 1),
            links=[*members, f"/tags/t1/page/{n + 1}/"],
        )
        for member in members:
            text = f"足球 {member}"  # of its own, else it is a near-duplicate
            web.page(f"http://a.test{member}", links=["/n3"], title="足球" * (n < 3), text=text)
    for n in range(1, 4):
        links = [(f"/n{n}{m}", "越位" if m == 1 else "news") for m in range(3)]
        web.page(f"http://a.test/n{n}", links=links)
    web.page("http://b.test/", title="足球", links=["/b1"])
    return web


_WITH_TERMS = msgspec.structs.replace(TOPIC, topic={**TOPIC.topic, "terms": {"越位": 0.3}})


async def test_restore_learned_rates_are_kept(tmp_path: Path) -> None:
    """Broken off after every number of requests, it goes on in the order of one go."""
    orders = []
    for requests in (None, 3, 6, 9, 14, 20, 26):
        folder = tmp_path / str(requests)
        folder.mkdir()
        web = catalogue()
        lives = Lives(
            web, folder, "http://a.test/", strategy="yield", concurrency=1, analysis=_WITH_TERMS
        )
        if requests is not None:
            await lives.live(requests)
        await lives.live()
        totals = lives.crawl.unit_of_work.totals
        far = totals.near, totals.near_yielded, totals.far, totals.far_yielded
        recent = totals.own_yielded, totals.fallback_yielded
        subtopics = totals.subtopics, totals.subtopics_yielded
        learned = totals.newcomers, totals.newcomers_yielded, far, recent, subtopics
        orders.append((web.urls(), *learned))
    urls, newcomers, _, far, recent, subtopics = orders[0]
    assert newcomers == 15
    assert min(*far, *recent, subtopics[0]) > 0
    assert all(order == orders[0] for order in orders)
    # what the tag lists on its last page comes before news that were found sooner
    assert urls.index("http://a.test/m32") < urls.index("http://a.test/n32")


class _OneMachine(World):
    """All hosts are found at one address."""

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        result = super().lookup(url, robots=robots, fetched_at=fetched_at, elapsed_s=elapsed_s)
        return msgspec.structs.replace(result, address="192.0.2.1")


async def test_restore_keeps_address_budget(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr("focus.admission.domain_budget.FREE_HOSTS", 2)
    monkeypatch.setattr("focus.admission.domain_budget.ADDRESS_WEIGHT", 1)
    web = TinyWeb()
    web.page("http://a.test/", links=["http://b.test/", "/more"])
    web.page("http://b.test/")
    lives = Lives(web, tmp_path, "http://a.test/")
    lives.world = _OneMachine(web)
    await lives.live()
    await lives.live(0)
    domains = lives.crawl.link_handler.domains
    first, fresh = lives.crawl.frontier.host("a.test"), lives.crawl.frontier.host("c.test")
    fresh.address = first.address
    domains.add_new_hosts()
    assert first.address == "192.0.2.1"
    assert domains.defer(fresh), "two hosts were asked there, and found almost nothing"


def test_ensure_open_files_limit_too_low_raises() -> None:
    resource = pytest.importorskip("resource")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        pytest.skip("no limit here")
    with pytest.raises(ConfigError, match="open files"):
        ensure_open_files(hard)


async def test_restore_host_keeps_its_software(tmp_path: Path) -> None:
    web = TinyWeb()
    web.page("http://a.test/", head='<meta name="generator" content="WordPress 6.1">')
    lives = Lives(web, tmp_path, "http://a.test/")
    await lives.live(requests=2)
    await lives.live()
    assert lives.crawl.frontier.host("a.test").software == "WordPress"


async def test_list_is_stored_but_is_no_result(tmp_path: Path) -> None:
    web = TinyWeb()
    web.page(
        "http://a.test/", title="首页：足球", keywords="足球 首页", links=["/goal", "/tags/x/"]
    )
    web.page("http://a.test/goal", title="足球比赛", keywords="足球 进球", text="足球赛进了一球")
    web.page("http://a.test/tags/x/", title="足球的文章", keywords="足球 标签")
    lives = Lives(web, tmp_path, "http://a.test/")
    await lives.live(requests=2)
    await lives.live()
    assert lives.crawl.unit_of_work.totals.relevant == 1
    with DatabaseReader(tmp_path / "x.db") as reader:

        def paths(**which: bool) -> list[str]:
            rows = reader.iter_rows(Selection(**which), ["url"])
            return sorted(url.removeprefix("http://a.test") for (url,) in rows)

        assert paths(relevant=True) == paths(lists=False) == ["/goal"]
        assert paths(relevant=True, lists=True) == paths() == ["/", "/goal", "/tags/x/"]


async def test_views_of_pages_are_known_after_a_restart(tmp_path: Path) -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=["/src/7/goal-2.txt"])
    web.page("http://a.test/src/7/goal-2.txt", links=["/blame/7/goal-2.txt"])
    lives = Lives(web, tmp_path, "http://a.test/")
    await lives.live(requests=3)
    await lives.live(requests=3)
    rules = lives.crawl.unit_of_work.url_rules
    assert rules.named_page(0, "http://a.test/blame/7/goal-2.txt").view == "+blame"
