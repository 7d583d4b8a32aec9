"""Runs `focus demo`: one generated web, crawled by three strategies.

A child process serves the web on loopback; each strategy crawls it through the same
engine and options that a user has, and the generator's own labels judge the pages.
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
MOST_DELAY_S = 0.05  # of its Crawl-delays of 0.2: a quarter of a crawl waited for one host


class DemoResult(msgspec.Struct, frozen=True):
    """One strategy's crawl, judged by the generator's labels.

    relevant         fetched pages that are about the topic in truth
    first_relevant   number of the request that brought the first of them, 0 = none
    first_s          seconds from the first request to it
    there            pages of the web that are about the topic in truth
    """

    strategy: str
    report: RunReport
    relevant: int
    first_relevant: int
    first_s: float
    there: int

    @property
    def harvest_rate(self) -> float:
        """Relevant pages per fetched page."""
        return self.relevant / self.report.run_pages if self.report.run_pages else 0.0


class TruthCounter(Watcher):
    """Counts truly relevant pages as they come; hands every call on to `inner`."""

    def __init__(self, web: DemoWeb, inner: Watcher) -> None:
        self._web = web
        self._labels = web.labels(TOPIC)
        self._seen: set[str] = set()
        self._began: float | None = None
        self.first_relevant, self.first_s = 0, 0.0
        self.inner = inner
        self.started = inner.started  # type: ignore[method-assign]
        self.stopping = inner.stopping  # type: ignore[method-assign]

    def event(self, event: Event) -> None:
        """A request came to an end."""
        self._began = event.at if self._began is None else self._began
        url = self._web.canonical(event.url) if event.state is UrlState.DONE else None
        if url is not None and self._labels.get(url) and url not in self._seen:
            self._seen.add(url)
            if not self.first_relevant:
                self.first_relevant, self.first_s = event.nth, event.at - self._began
        self.inner.event(event)

    @property
    def there(self) -> int:
        """Relevant pages of the whole web."""
        return sum(self._labels.values())

    @property
    def relevant(self) -> int:
        """Distinct relevant pages fetched so far."""
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
    """Serve a web of about `pages` pages and crawl it; one outcome per strategy.

    watch   strategy -> what follows its crawl (a live line); closed after it
    done    called with each outcome as it is there
    run_loop  runs a coroutine to its end
    Ends early, with the outcomes so far, when a crawl is interrupted.
    """
    web = generate(seed, pages=pages)
    outcomes = []
    with served(pages, seed) as address:
        for strategy in STRATEGIES:
            with watch(strategy) as watcher:
                judge = TruthCounter(web, watcher)
                config = _config(web, strategy, address, pages)
                report = run_loop(run(config, RunPaths(db=db, fresh=True), judge))
            counts = (judge.relevant, judge.first_relevant, judge.first_s, judge.there)
            outcomes.append(DemoResult(strategy, report, *counts))
            done(outcomes[-1])
            if report.stop_reason in ("interrupted", "terminated"):
                break
    return outcomes


def _config(web: DemoWeb, strategy: str, address: str, pages: int) -> CrawlConfig:
    """What `focus crawl --seed … --topic 足球 --connect-to … --delay 0.02` would make."""
    return CrawlConfig(
        seeds=tuple(web.seeds),
        strategy=strategy,
        concurrency=32,
        fetch=FetchConfig(connect_to=address, allow_net=("127.0.0.0/8",)),
        politeness=PolitenessConfig(delay_s=DELAY_S, max_crawl_delay_s=MOST_DELAY_S),
        limits=LimitConfig(max_pages=pages // SHARE),
        analysis=AnalysisConfig(topic=to_builtins(from_words(TOPIC))),
    )


@contextlib.contextmanager
def served(pages: int, seed: int) -> Iterator[str]:
    """ADDR:PORT of the web in a child process, which ends with this block."""
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
