"""How do pages come in without a database? A small crawl that keeps what it brings in memory.

Everything else is as in a real crawl: robots.txt, politeness, the guard, redirects, the
wall limit on hostile pages.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import zstandard

from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    LimitConfig,
    PolitenessConfig,
    ScopeConfig,
)
from focus.crawl import Crawl, Event
from focus.records import Batch
from focus.score.strategy import strategy_class
from focus.session import Places, open_transport
from focus.topic import Topic, to_builtins

_PILOT_STRATEGY = "yield"
_ALL = 1 << 40


class Web(msgspec.Struct, frozen=True):
    """Where pages come from: a recorded web, or the network, asked so."""

    archive: Path | None = None
    fetch: FetchConfig = FetchConfig()
    politeness: PolitenessConfig = PolitenessConfig()
    agent: str = "focus"


class Found(msgspec.Struct, frozen=True):
    """A page as it was fetched (after redirects), decoded."""

    url: str
    html: str


class Gathered(msgspec.Struct, frozen=True):
    """What came; `troubles`: seeds from which nothing came, and why."""

    pages: list[Found]
    troubles: dict[str, str]


class _Basket:
    """A shelf that keeps pages, and nothing else."""

    def __init__(self) -> None:
        self.pages: list[Found] = []

    async def write(self, batch: Batch) -> None:
        unpacker = zstandard.ZstdDecompressor()
        for row in batch.pages:
            html = unpacker.decompress(row.page.body_zstd).decode("utf-8", "replace")
            self.pages.append(Found(row.url, html))

    async def waiting(self, queue: int, limit: int) -> list[tuple[int, str, float]]:
        return []  # the frontier holds everything


async def fetch_pages(urls: list[str], web: Web, topic: Topic) -> Gathered:
    """These pages and no others; one that moved, from where it is now."""
    config = CrawlConfig(
        seeds=tuple(urls),
        strategy="bfs",
        scope=ScopeConfig(max_depth=0),
        analysis=AnalysisConfig(topic=to_builtins(topic), relevance="boolean"),
    )
    return await _gather(config, web, lambda event: None)


async def pilot(
    topic: Topic, seeds: list[str], web: Web, *, requests: int, watch: Callable[[Event], None]
) -> Gathered:
    """The pages of a short crawl for the topic, one request at a time, so always the same."""
    config = CrawlConfig(
        seeds=tuple(seeds),
        strategy=_PILOT_STRATEGY,
        limits=LimitConfig(max_requests=requests),
        concurrency=1,
        analysis=AnalysisConfig(
            topic=to_builtins(topic), shapes=strategy_class(_PILOT_STRATEGY).shapes
        ),
    )
    return await _gather(config, web, watch)


async def _gather(config: CrawlConfig, web: Web, watch: Callable[[Event], None]) -> Gathered:
    config = msgspec.structs.replace(
        config,
        workers=1,
        frontier_memory=_ALL,
        agent=web.agent,
        fetch=web.fetch,
        politeness=web.politeness,
    )
    basket = _Basket()
    async with AsyncExitStack() as stack:
        places = Places(db=Path(), archive=web.archive)
        transport = await open_transport(config, places, stack)
        crawl = Crawl(config, transport, shelf=basket, observe=watch)
        crawl.sow(config.seeds)
        await crawl.run()
    return Gathered(basket.pages, dict(crawl.trouble.of_seeds))
