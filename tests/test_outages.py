"""Outages under a fake clock: what is lost, when it goes on, how it ends, what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from focus.config import AnalysisConfig, CrawlConfig, PolitenessConfig
from focus.crawler import Crawl
from focus.engine.outages import Outage
from focus.records import FailureKind as K
from focus.records import UrlState
from focus.resume import restore
from focus.session import SessionStore
from focus.store import Store
from focus.topic.topic import from_words, to_builtins
from focus.workers import InlineScorer
from tests.outage import Cut, Sky
from tests.web import TinyWeb

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
            politeness=PolitenessConfig(delay_s=1.0),
            analysis=TOPIC,
            **more,  # type: ignore[arg-type]
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
            self.crawl = Crawl(self.config, self.sky, shelf=shelf)
            self.crawl.outages.on_change = self.changes.append
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
        return self.crawl.known.counts[state]


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
