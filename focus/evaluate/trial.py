"""Runs one crawl of a comparison: one strategy on one topic and one order of the seeds.

A trial is a crawl by the real engine over an archive, under a virtual clock. Trials of
one topic and relevance model share the pages that were scored, which is most of the
work. What is noted is which page each request brought and what the model said of it;
labels are not known in here, nor in the processes that run this.
"""

from __future__ import annotations

import asyncio
import hashlib
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import msgspec

from focus.archive.replay import Archive
from focus.config import AnalysisConfig, CrawlConfig
from focus.crawler import Crawl
from focus.engine.transports import ReplayTransport
from focus.evaluate.link_graph import PageIndex
from focus.evaluate.ranking import Cost, TrialResult
from focus.records import FetchResult, Page
from focus.score.analysis import PageScorer
from focus.urls.normal_form import host_of
from focus.workers import InlineScorer
from focus.workers.child import analyse
from focus.workers.messages import Job

MAX_LINKS_HELD = 800_000
"""Links of scored pages that a process remembers, about 1 KB each with their page."""


class Trial(msgspec.Struct, frozen=True):
    """A crawl to be run. `key` says what it depends on: the same key, the same result.

    whole   links that are not recorded are left out, but for those to these hosts; None: none is
    """

    key: str
    variant: str
    topic: str
    order: int
    config: CrawlConfig
    whole: tuple[str, ...] | None = None


def trial_key(
    archive: str, code: str, config: CrawlConfig, whole: tuple[str, ...] | None = None
) -> str:
    """A digest of all that a trial's result depends on."""
    text = msgspec.json.encode([archive, code, config, whole], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:32]


class Replay:
    """A recorded web and a scorer in one, which notes what is asked of it.

    Answers and scored pages are remembered by URL for the next trial. `whole` as in `Trial`.
    """

    def __init__(
        self,
        archive: Archive,
        index: PageIndex,
        analysis: AnalysisConfig,
        whole: tuple[str, ...] | None = None,
    ) -> None:
        self._archive = archive
        self._whole = None if whole is None else frozenset(whole)
        self.recorded_at = archive.recorded_at
        self._index = index
        self._analysis = analysis
        self._scorer = InlineScorer(analysis)
        self._updated = False
        self._answers: dict[str, FetchResult] = {}
        self._scored: dict[str, Page] = {}
        self._links = 0
        self.begin()

    def begin(self) -> None:
        """A new trial: forget what was noted, keep what was scored (unless a model adapted)."""
        if self._updated:
            self._scorer, self._updated = InlineScorer(self._analysis), False
            self._forget()
        self.pages: list[int] = []
        self.said: list[int] = []
        self.robots = self.redirects = self.failures = 0
        self.scoring_s = 0.0  # CPU time of this process
        self.analysis_s = 0.0  # of the pages, whenever they were scored

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        """As the archive answers; notes the request."""
        fetch = None if robots else self._answers.get(url)
        if fetch is None:
            fetch = self._archive.lookup(
                url, robots=robots, fetched_at=fetched_at, elapsed_s=elapsed_s
            )
        else:
            fetch = msgspec.structs.replace(fetch, fetched_at=fetched_at, elapsed_s=elapsed_s)
        self.pages.append(-1)
        self.said.append(0)
        self.robots += robots
        self.redirects += not robots and fetch.redirect_to is not None
        self.failures += not robots and fetch.failure is not None
        return fetch

    async def score(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """As the scorer says; notes the page that the request brought, which the next trial gets
        as it is: so it has everything.
        """
        page = self._scored.get(url)
        if page is None:
            began = time.process_time()
            page = self._recorded(await self._scorer.score(url, body, content_type))
            self.scoring_s += time.process_time() - began
            self._remember(url, page)
        self.analysis_s += page.worker_s
        if page.failure is None:
            number = self._index.of(url)
            self.pages[-1] = -1 if number is None else number
            self.said[-1] = int(page.relevant)
        else:
            self.failures += 1
        return page

    def _recorded(self, page: Page) -> Page:
        """A page without the links and feeds that the recording cannot answer, if so ordered."""
        if self._whole is None:
            return page
        links = [link for link in page.links if self._can_answer(link.url, link.host)]
        feeds = [feed for feed in page.feeds if self._can_answer(feed, host_of(feed))]
        return msgspec.structs.replace(page, links=links, feeds=feeds)

    def _can_answer(self, url: str, host: str) -> bool:
        assert self._whole is not None
        return host in self._whole or self._index.of(url) is not None

    def _remember(self, url: str, page: Page) -> None:
        if self._links + len(page.links) > MAX_LINKS_HELD:
            return
        self._links += len(page.links) + 1
        self._scored[url] = page
        bare = self._archive.lookup(url)
        self._answers[url] = msgspec.structs.replace(bare, body=b"")

    async def update(self, payload: bytes) -> None:
        """A model adapts: pages fetched later are judged differently from those remembered."""
        await self._scorer.update(payload)
        self._updated = True
        self._forget()

    def _forget(self) -> None:
        self._scored.clear()
        self._answers.clear()
        self._links = 0

    async def close(self) -> None:
        """The pages stay for the next trial."""


def run_trial(trial: Trial, replay: Replay) -> TrialResult:
    """Crawl to the end. Raises ConfigError for a seed that is no URL."""
    began, cpu_began = time.perf_counter(), time.process_time()
    replay.begin()
    start = replay.recorded_at
    transport = ReplayTransport(replay, replay, start=start)
    crawl = Crawl(trial.config, transport)
    crawl.add_seeds(trial.config.seeds)
    stop = asyncio.run(crawl.run())
    requests, brought = len(replay.pages), sum(number >= 0 for number in replay.pages)
    engine_s = time.process_time() - cpu_began - replay.scoring_s
    return TrialResult(
        key=trial.key,
        variant=trial.variant,
        topic=trial.topic,
        order=trial.order,
        pages=replay.pages,
        said=replay.said,
        robots=replay.robots,
        redirects=replay.redirects,
        failures=replay.failures,
        seconds=round(transport.now() - start, 6),
        stop=stop,
        cost=Cost(
            seconds=time.perf_counter() - began,
            engine_ms=1000 * engine_s / max(1, requests),
            analysis_ms=1000 * replay.analysis_s / max(1, brought),
            peak_rss_mb=_peak_rss_mb(),
        ),
    )


def _peak_rss_mb() -> float:
    if sys.platform == "win32":
        return 0.0
    import resource  # not everywhere

    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class TrialBatch(msgspec.Struct, frozen=True):
    """Trials that can share scored pages: `analysis` serves all of their strategies."""

    analysis: AnalysisConfig
    trials: tuple[Trial, ...]
    whole: tuple[str, ...] | None = None


class OpenArchive:
    """An archive, opened once in each process that runs trials."""

    def __init__(self, path: Path, cache_dir: Path | None) -> None:
        self.archive = Archive.open(path, cache_dir=cache_dir)
        self._index = PageIndex(self.archive)

    def run(self, batch: TrialBatch, done: Callable[[TrialResult], None]) -> None:
        """Run the trials of a batch, one after the other."""
        replay = Replay(self.archive, self._index, batch.analysis, batch.whole)
        for trial in batch.trials:
            done(run_trial(trial, replay))

    def judge(self, analysis: AnalysisConfig, numbers: Sequence[int]) -> dict[str, bool]:
        """What a relevance model says of these pages, by URL; none for what is no page."""
        analyst, verdicts = PageScorer(analysis), {}
        for number in numbers:
            url = self._index.urls[number]
            fetch = self.archive.lookup(url)
            if fetch.failure is None and fetch.redirect_to is None:
                page = analyse(analyst, Job(url, fetch.body, fetch.header("content-type")))
                if page.failure is None:
                    verdicts[url] = page.relevant
        return verdicts


def run_batches(
    path: Path,
    batches: Sequence[TrialBatch],
    *,
    jobs: int,
    done: Callable[[TrialResult], None],
    cache_dir: Path | None = None,
) -> None:
    """Run all trials over so many processes; `done` gets each as it ends, in this one."""
    if jobs == 1:
        field = OpenArchive(path, cache_dir)
        with field.archive:
            for batch in batches:
                field.run(batch, done)
        return
    queue: ResultQueue = get_context("spawn").SimpleQueue()
    with _pool(jobs, path, cache_dir, queue) as pool:
        running = [pool.submit(_run, batch) for batch in batches]
        _gather(running, queue, done)


def judge_topics(
    path: Path,
    asked: Sequence[tuple[AnalysisConfig, Sequence[int]]],
    *,
    jobs: int,
    cache_dir: Path | None = None,
) -> Iterator[dict[str, bool]]:
    """`OpenArchive.judge` for each model and its pages, over so many processes."""
    if jobs == 1:
        field = OpenArchive(path, cache_dir)
        with field.archive:
            yield from (field.judge(analysis, numbers) for analysis, numbers in asked)
        return
    with _pool(jobs, path, cache_dir, get_context("spawn").SimpleQueue()) as pool:
        yield from pool.map(_judge, asked)


# -- processes ----------------------------------------------------------------------

ResultQueue = SimpleQueue[TrialResult | None]
_process: list[tuple[OpenArchive, ResultQueue]] = []  # what a process of the pool has


@contextmanager
def _pool(
    jobs: int, path: Path, cache_dir: Path | None, queue: ResultQueue
) -> Iterator[ProcessPoolExecutor]:
    """Processes with the archive open; ended at once when something goes wrong here."""
    pool = ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=_begin, initargs=(path, cache_dir, queue)
    )
    before = set(active_children())
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - before:
            process.terminate()  # or Ctrl-C would wait for the end of the batches
        raise
    pool.shutdown()


def _gather(
    running: Sequence[Future[None]], queue: ResultQueue, done: Callable[[TrialResult], None]
) -> None:
    """Hand over outcomes until all batches have ended; what broke in one breaks here."""
    for each in running:
        each.add_done_callback(lambda _: queue.put(None))
    ended = 0
    while ended < len(running):
        outcome = queue.get()
        if outcome is not None:
            done(outcome)
            continue
        ended += 1
        for each in wait(running, timeout=0).done:
            each.result()


def _begin(path: Path, cache_dir: Path | None, queue: ResultQueue) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    _process.append((OpenArchive(path, cache_dir), queue))


def _run(batch: TrialBatch) -> None:
    field, queue = _process[0]
    field.run(batch, queue.put)


def _judge(asked: tuple[AnalysisConfig, Sequence[int]]) -> dict[str, bool]:
    return _process[0][0].judge(*asked)
