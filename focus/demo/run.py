"""Runs `focus demo`: one generated web, crawled by three strategies.

A child process serves the web on loopback. Each strategy crawls it with the engine and the options
that users have. The generator's labels determine which pages are relevant; no crawl sees them.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec

from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    LimitConfig,
    PolitenessConfig,
    RunPaths,
)
from focus.crawler import Event
from focus.demo.site import DemoWeb, generate
from focus.errors import FocusError
from focus.records import UrlState
from focus.session import RunReport, Watcher, run
from focus.topic.topic import from_words, to_builtins

TOPIC = "足球"
STRATEGIES = ("bfs", "topic-pagerank", "yield")
SHARE = 4  # each strategy may fetch one page in so many
DELAY_S = 0.01
MAX_CRAWL_DELAY_S = 0.05  # some hosts ask for 0.2, for which a crawl would wait too long


class DemoResult(msgspec.Struct, frozen=True):
    """Result of one strategy's crawl by the generator's labels.

    relevant        Number of fetched pages that are labelled relevant.
    first_relevant  Number of the request that brought the first of them; 0 if there is none.
    total_relevant  Number of pages of the web that are labelled relevant.
    """

    strategy: str
    report: RunReport
    relevant: int
    first_relevant: int
    total_relevant: int

    @property
    def harvest_rate(self) -> float:
        """Relevant pages per fetched page."""
        return self.relevant / self.report.run_pages if self.report.run_pages else 0.0


class LabelCounter(Watcher):
    """Counts fetched pages that are labelled relevant, and passes every call to `inner`."""

    def __init__(self, web: DemoWeb, inner: Watcher) -> None:
        self._web = web
        self._labels = web.labels(TOPIC)
        self._seen: set[str] = set()
        self.first_relevant = 0
        self.inner = inner
        self.started = inner.started  # type: ignore[method-assign]
        self.stopping = inner.stopping  # type: ignore[method-assign]

    def event(self, event: Event) -> None:
        """Count the page of a finished request."""
        url = self._web.canonical(event.url) if event.state is UrlState.DONE else None
        if url is not None and self._labels.get(url) and url not in self._seen:
            self._seen.add(url)
            if not self.first_relevant:
                self.first_relevant = event.nth
        self.inner.event(event)

    @property
    def total_relevant(self) -> int:
        """Number of relevant pages of the whole web."""
        return sum(self._labels.values())

    @property
    def relevant(self) -> int:
        """Number of distinct relevant pages fetched so far."""
        return len(self._seen)


def demo(
    db: Path,
    *,
    pages: int,
    seed: int,
    watch: Callable[[str], contextlib.AbstractContextManager[Watcher]],
    done: Callable[[DemoResult], None],
    run_loop: Callable[[Coroutine[Any, Any, RunReport]], RunReport],
) -> list[DemoResult]:
    """Serve a web of about `pages` pages, crawl it by each strategy, and return the results.

    Returns the results so far if a crawl is interrupted.

    Args:
        watch: Returns the observer of a strategy's crawl, such as a live line.
        done: Called with each result.
        run_loop: Runs a coroutine to its end.
    """
    web = generate(seed, pages=pages)
    outcomes = []
    with served(pages, seed) as address:
        for strategy in STRATEGIES:
            with watch(strategy) as watcher:
                judge = LabelCounter(web, watcher)
                config = _config(web, strategy, address, pages)
                report = run_loop(run(config, RunPaths(db=db, fresh=True), judge))
            counts = (judge.relevant, judge.first_relevant, judge.total_relevant)
            outcomes.append(DemoResult(strategy, report, *counts))
            done(outcomes[-1])
            if report.stop_reason in ("interrupted", "terminated"):
                break
    return outcomes


def _config(web: DemoWeb, strategy: str, address: str, pages: int) -> CrawlConfig:
    """Return the configuration of `focus crawl --topic 足球 --connect-to … --delay 0.01`."""
    return CrawlConfig(
        seeds=tuple(web.seeds),
        strategy=strategy,
        concurrency=32,
        fetch=FetchConfig(connect_to=address, allow_net=("127.0.0.0/8",)),
        politeness=PolitenessConfig(delay_s=DELAY_S, max_crawl_delay_s=MAX_CRAWL_DELAY_S),
        limits=LimitConfig(max_pages=pages // SHARE),
        analysis=AnalysisConfig(topic=to_builtins(from_words(TOPIC))),
    )


@contextlib.contextmanager
def served(pages: int, seed: int) -> Iterator[str]:
    """Serve the web in a child process during the `with` block; yield its ADDR:PORT."""
    command = [sys.executable, "-m", "focus.demo.server"]
    command += ["--pages", str(pages), "--seed", str(seed)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            ready = server.stdout.readline()
            if not ready.startswith("READY http://"):
                raise FocusError("the demo's server did not start; is loopback networking there?")
            yield ready.split()[1].removeprefix("http://")
        finally:
            server.stdin.close()
            server.wait(10)
