"""Profiles the main process of a crawl: the event loop and the store's thread."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from focus.archive.replay import Archive
from focus.crawler import Crawl
from focus.engine.links import LinkHandler
from focus.engine.transports import LiveTransport
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.profiling.stages import (
    CRAWL,
    FETCH,
    FRONTIER,
    GRAPH,
    HANDOVER,
    MAIN,
    STORE,
    THREAD,
    URLS,
    WORKERS,
    CrawlProfile,
    stage_rows,
)
from focus.profiling.stopwatch import Stopwatch, Watched, replaced, watching
from focus.records import Page, Result
from focus.score.graph.pagerank import PageRank
from focus.store import Store
from focus.workers.pool import WorkerPool
from focus.workers.worker import Worker

_LOOP: list[Watched] = [
    (Crawl, "_dispatch", FRONTIER),
    (Crawl, "_take_in", CRAWL),
    (LinkHandler, "expand", URLS),
    (PageRank, "add", GRAPH),
    *((Frontier, name, FRONTIER) for name in ("next", "push", "improve", "release", "refill")),
    (Frontier, "relist", FRONTIER),
    (UnitOfWork, "take", STORE),
    (LiveTransport, "send", FETCH),
    (Archive, "lookup", FETCH),
    (WorkerPool, "_dispatch", HANDOVER),
    (Worker, "pipe_data_received", HANDOVER),
]


class Profiler:
    """Watches one run from `with` to its end. Everything in the loop that is none of the
    stages below is the fetcher's: sockets, HTTP, tasks.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._loop = Stopwatch()
        self._thread = Stopwatch()
        self._pages: dict[str, float] = {}  # what the workers told, CPU seconds by stage
        self._stack = ExitStack()
        self._cpu_s = self._began = self._started_s = 0.0

    def __enter__(self) -> Self:
        for patch in watching(self._loop, _LOOP):
            self._stack.enter_context(patch)
        for owner, name, make in ((Crawl, "_take_in", self._taken), (Store, "_run", self._stored)):
            patch = replaced(owner, name, make(getattr(owner, name)))
            self._stack.enter_context(patch)
        self._started_s = time.process_time()
        self._cpu_s, self._began = time.thread_time(), time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _taken(
        self, take_in: Callable[[Crawl, Result], Page | None]
    ) -> Callable[[Crawl, Result], Page | None]:
        def run(crawl: Crawl, result: Result) -> Page | None:
            if result.page is not None:
                for stage, seconds in result.page.stages.items():
                    self._pages[stage] = self._pages.get(stage, 0.0) + seconds
            return take_in(crawl, result)

        return run

    def _stored(self, run: Callable[..., Any]) -> Callable[..., Any]:
        async def timed(store: Store, work: Callable[[sqlite3.Connection], Any]) -> Any:
            return await run(store, self._thread.timed(work, STORE))

        return timed

    def profile(self, pages: int) -> CrawlProfile:
        """Where the time of the run went so far, by page."""
        seconds = time.monotonic() - self._began
        cpu_s = time.thread_time() - self._cpu_s
        loop = dict(self._loop.spent)
        loop[FETCH] = loop.get(FETCH, 0.0) + max(0.0, cpu_s - sum(loop.values()))
        spent = {WORKERS: self._pages, MAIN: loop, THREAD: self._thread.spent}
        return CrawlProfile(
            pages=pages,
            seconds=seconds,
            start_s=self._started_s,
            stages=stage_rows(spent, pages),
            loop_busy=cpu_s / seconds,
            workers_busy=sum(self._pages.values()) / seconds / self._workers,
            store_busy=sum(self._thread.spent.values()) / seconds,
        )
