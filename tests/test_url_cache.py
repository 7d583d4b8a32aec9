"""A crawl that lets addresses go and calls them back asks for what it would ask for anyway."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.config import CrawlConfig, PolitenessConfig
from focus.crawler import Crawl
from focus.engine.transports import ReplayTransport
from focus.scheduling.queues import IdGaps, Queue
from focus.scheduling.url_cache import UrlCache
from focus.score.strategy import strategy_class
from focus.store import CrawlWriter, Store
from focus.workers import InlineScorer
from tests.support.web import TinyWeb
from tests.test_crawl import TOPIC, World

HOSTS, PAGES, LINKS = 4, 60, 14
LAST_ID = 2**31 - 2**16
IDS = st.lists(st.integers(0, 200_000) | st.integers(0, LAST_ID))


def random_web(seed: int) -> TinyWeb:
    """A web whose pages link to each other at random, some with the topic's word."""
    web, rng = TinyWeb(), random.Random(seed)
    urls = [f"http://h{n % HOSTS}.test/{n}" for n in range(HOSTS * PAGES)]
    for url in urls:
        links = [
            (link, rng.choice(["足球", "足球 新闻", "新闻", "图片", ""]))
            for link in rng.sample(urls, LINKS)
        ]
        web.page(url, title=rng.choice(["足球", "天气"]), text=url, links=links)
    return web


async def order(folder: Path, strategy: str, web: TinyWeb, addresses: int) -> list[str]:
    analysis = strategy_class(strategy).extend_analysis(TOPIC)
    config = CrawlConfig(
        seeds=("http://h0.test/0",), strategy=strategy, concurrency=1,
        politeness=PolitenessConfig(delay_s=1.0), analysis=analysis, frontier_memory=addresses,
    )  # fmt: skip
    asked: list[str] = []
    async with Store.open(folder / f"{addresses}.db", now=0.0, pid=1) as store:
        info = await store.begin_crawl({"seeds": []}, "{}", fresh=False, now=0.0)
        transport = ReplayTransport(World(web), InlineScorer(analysis), start=1000.0)
        crawl = Crawl(
            config,
            transport,
            crawl_store=CrawlWriter(store, info.id),
            observe=lambda event: asked.append(event.url),
        )
        crawl.add_seeds(config.seeds)
        await crawl.run()
    return asked


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many addresses were let go or recalled, each time; queues may keep a single one."""
    numbers: list[int] = []
    spill, recall = UrlCache.evict, UrlCache.ids_to_load

    def spilling(memory: UrlCache) -> list[Queue]:
        numbers.append(len(memory.urls))
        return spill(memory)

    def recalling(memory: UrlCache) -> list[int]:
        numbers.append(len(loaded := recall(memory)))
        return loaded

    monkeypatch.setattr(UrlCache, "MIN_PER_QUEUE", 1)
    monkeypatch.setattr(UrlCache, "evict", spilling)
    monkeypatch.setattr(UrlCache, "ids_to_load", recalling)
    return numbers


@pytest.mark.parametrize("strategy", ["best-first", "best-link", "yield", "topic-pagerank"])
@pytest.mark.parametrize("seed", [1, 2])
async def test_small_memory_gives_the_same_order(
    tmp_path: Path, strategy: str, seed: int, moved: list[int]
) -> None:
    """Where priorities fall by themselves, as a strategy learns, the order is nearly the same: who
    falls may have better ones behind it in the store, which come before the next choice.
    """
    web = random_web(seed)
    whole = await order(tmp_path, strategy, web, 100_000)
    assert not moved
    bounded = await order(tmp_path, strategy, web, 6)
    assert len(moved) > 50
    assert sorted(bounded) == sorted(whole)
    assert bounded == whole or strategy in ("yield", "topic-pagerank")
    assert len(whole) >= HOSTS * PAGES


@given(IDS, IDS, st.booleans())
def test_id_gaps_return_added_ids(
    one_by_one: list[int], together: list[int], is_sorted: bool
) -> None:
    if is_sorted:
        together.sort()
    gaps = IdGaps()
    for url_id in one_by_one:
        gaps.append(url_id)
    gaps.extend(np.array(together, np.int64))
    assert gaps.ids().tolist() == one_by_one + together
    assert bool(gaps) == bool(one_by_one + together)


def test_id_near_the_previous_one_takes_two_bytes() -> None:
    gaps = IdGaps()
    gaps.extend(np.arange(0, 5_000_000, 2_000))
    assert len(gaps) == 2_500
