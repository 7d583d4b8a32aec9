"""Runs of one crawl in one database, one after the other, under a virtual clock."""

from pathlib import Path
from typing import Any

from focus.config import AnalysisConfig, CrawlConfig
from focus.crawler import Crawl, Event
from focus.engine.outages import Outage
from focus.engine.transports import ReplayTransport
from focus.session.resume import restore
from focus.store import CrawlWriter, Store
from focus.topic.topic import from_words, to_builtins
from focus.workers import InlineScorer
from tests.support.web import TinyWeb

TOPIC = AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="position")
SCORER = InlineScorer(TOPIC)


class CrawlRuns:
    """Runs of a crawl of a tiny web. `at` is the time at which the last run ended."""

    def __init__(self, web: TinyWeb, folder: Path, *seeds: str, at: float, **config: Any) -> None:
        self.web, self.at, self.folder = web, at, folder
        self.config = CrawlConfig(seeds=seeds, **{"strategy": "bfs", "analysis": TOPIC, **config})
        self.changes: list[Outage | None] = []
        self.took_s = 0.0
        self.crawl: Crawl
        self.events: list[Event] = []  # of the last run

    async def run_with(
        self,
        transport: ReplayTransport,
        *,
        requests: int | None = None,
        retry_failed: tuple[str, ...] = (),
    ) -> str:
        """Run to the end, or stop after `requests`, and return why the run ended."""
        self.events = []

        def observe(event: Event) -> None:
            self.events.append(event)
            if len(self.events) == requests:
                self.crawl.stop("test")

        async with Store.open(self.folder / "x.db", now=self.at, pid=1) as store:
            identity = {"seeds": list(self.config.seeds)}
            info = await store.begin_crawl(
                identity, "{}", fresh=False, now=self.at, retry_reasons=retry_failed
            )
            self.crawl = Crawl(
                self.config,
                transport,
                crawl_store=CrawlWriter(store, info.id),
                observe=observe,
                on_outage=self.changes.append,
            )
            if info.is_resumed:
                await restore(self.crawl, store, info)
            self.crawl.add_seeds(self.config.seeds)
            reason = await self.crawl.run()
        self.took_s = transport.now() - self.at
        self.at = transport.now()
        return reason
