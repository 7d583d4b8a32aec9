"""A small crawl without a database, which keeps its pages in memory.

Everything else is as in other crawls: robots.txt, politeness, address guard, redirects, and the
time limit for hostile pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    PolitenessConfig,
    RenderConfig,
    RunPaths,
    ScopeConfig,
)
from focus.crawler import Crawl
from focus.http import zstd
from focus.records import Batch
from focus.session import open_transport
from focus.session.judging import Judge
from focus.topic.topic import Topic, to_builtins

_UNLIMITED = 1 << 40


class PageSource(msgspec.Struct, frozen=True):
    """The source of pages: a recorded web, or the network with these settings.

    render   pages of watched sites whose scripts are run, by `browser`
    judge    decides about doubtful pages of watched sites, at most `judge_questions` a visit
    """

    archive: Path | None = None
    fetch: FetchConfig = FetchConfig()
    politeness: PolitenessConfig = PolitenessConfig()
    agent: str = "focus"
    render: RenderConfig = RenderConfig()
    browser: Path | None = None
    judge: Judge | None = None
    judge_questions: int = 0


class FetchedPage(msgspec.Struct, frozen=True):
    """A fetched and decoded page; `seed` is the seed that led to it, "" if it is none."""

    url: str
    html: str
    seed: str


class FetchedPages(msgspec.Struct, frozen=True):
    """Fetched pages; `failures` maps seeds without a page to the reason."""

    pages: list[FetchedPage]
    failures: dict[str, str]


class _MemoryStore:
    """A crawl store that only keeps pages with the ids of their URLs."""

    def __init__(self) -> None:
        self.pages: list[tuple[int, str, str]] = []

    async def write(self, batch: Batch) -> None:
        for row in batch.pages:
            html = zstd.decompress(row.page.body_zstd).decode("utf-8", "replace")
            self.pages.append((row.id, row.url, html))

    async def load_addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        return []  # the frontier never evicts a URL

    async def load_sources(self, ids: Sequence[int]) -> dict[int, bytes]:
        return {number: html.encode() for number, _, html in self.pages if number in ids}


async def fetch_pages(urls: list[str], web: PageSource, topic: Topic) -> FetchedPages:
    """Fetch these pages and no others; redirects are followed."""
    config = CrawlConfig(
        seeds=tuple(urls),
        strategy="bfs",
        scope=ScopeConfig(max_depth=0),
        analysis=AnalysisConfig(topic=to_builtins(topic), relevance="boolean"),
        workers=1,
        max_offline_s=0.0,
        frontier_memory=_UNLIMITED,
        agent=web.agent,
        fetch=web.fetch,
        politeness=web.politeness,
    )
    memory_store = _MemoryStore()
    async with AsyncExitStack() as stack:
        paths = RunPaths(db=Path(), archive=web.archive)
        transport = await open_transport(config, paths, stack)
        crawl = Crawl(config, transport, crawl_store=memory_store)
        crawl.add_seeds(config.seeds)
        await crawl.run()
    pages = [
        FetchedPage(url, html, _find_seed(crawl, number))
        for number, url, html in memory_store.pages
    ]
    return FetchedPages(pages, dict(crawl.seeds.failures))


def _find_seed(crawl: Crawl, url_id: int) -> str:
    """Return the seed, as typed, that a page is the response to after redirects, or ""."""
    url_table = crawl.url_table
    hops = url_table.hops[url_id]
    while hops > 0 and url_table.parent[url_id] >= 0:
        url_id, hops = url_table.parent[url_id], hops - 1
    return crawl.seeds.typed.get(url_id, "")
