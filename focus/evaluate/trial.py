"""Runs one crawl of a comparison: one variant on one topic and one order of the seeds.

A trial is a crawl by the real engine over an archive, under a virtual clock. Trials of one topic
and relevance model share scored pages, which saves most of the work. A trial records which page
each request returned and the model's verdict on it. Labels are known neither here nor in the
processes that run this code.
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
from focus.html.size_guard import MAX_BYTES
from focus.records import FetchResult, Page, SiteTemplate
from focus.score.analysis import PageScorer
from focus.urls.normal_form import url_host
from focus.workers import InlineScorer
from focus.workers.child import score_page
from focus.workers.messages import Job

MAX_CACHED_LINKS = 800_000
"""Links of scored pages that a process caches, about 1 KB each with their share of the page."""


class Trial(msgspec.Struct, frozen=True):
    """A crawl to run. Trials with the same `key` have the same result.

    If `recorded_hosts` is not None, links that are not in the archive are left out, except for
    those to these hosts.
    """

    key: str
    variant: str
    topic: str
    order: int
    config: CrawlConfig
    recorded_hosts: tuple[str, ...] | None = None


def trial_key(
    archive: str, code: str, config: CrawlConfig, recorded_hosts: tuple[str, ...] | None = None
) -> str:
    """Return a digest of everything on which a trial's result depends."""
    text = msgspec.json.encode([archive, code, config, recorded_hosts], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:32]


class Replay:
    """A recorded web and a scorer that record the requests of a trial.

    Responses and scored pages are cached by URL for the next trial. `recorded_hosts` as in `Trial`.
    """

    def __init__(
        self,
        archive: Archive,
        index: PageIndex,
        analysis: AnalysisConfig,
        recorded_hosts: tuple[str, ...] | None = None,
    ) -> None:
        self._archive = archive
        self._recorded_hosts = None if recorded_hosts is None else frozenset(recorded_hosts)
        self.recorded_at = archive.recorded_at
        self._index = index
        self._analysis = analysis
        self._scorer = InlineScorer(analysis)
        self._updated = False
        self._answers: dict[str, FetchResult] = {}
        self._scored: dict[tuple[str, SiteTemplate], Page] = {}
        self._link_count = 0
        self.start_trial()

    def start_trial(self) -> None:
        """Start a new trial: clear the records, and keep the cache unless a model was updated."""
        if self._updated:
            self._scorer, self._updated = InlineScorer(self._analysis), False
            self._clear_cache()
        self.pages: list[int] = []
        self.verdicts: list[int] = []
        self._request_by_url: dict[str, int] = {}
        self.robots = self.redirects = self.failures = 0
        self.scoring_s = 0.0  # CPU time of this process
        self.analysis_s = 0.0  # CPU time of the pages, measured when they were scored

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        """Return the archive's response and record the request."""
        fetch = None if robots else self._answers.get(url)
        if fetch is None:
            fetch = self._archive.lookup(
                url, robots=robots, fetched_at=fetched_at, elapsed_s=elapsed_s
            )
        else:
            fetch = msgspec.structs.replace(fetch, fetched_at=fetched_at, elapsed_s=elapsed_s)
        self.pages.append(-1)
        self.verdicts.append(0)
        self.robots += robots
        self.redirects += not robots and fetch.redirect_to is not None
        self.failures += not robots and fetch.failure is not None
        return fetch

    async def score(self, job: Job) -> Page:
        """Return the page as the scorer makes it, and record it for the last request.

        The page is cached with all its parts, whatever this trial needs.
        """
        url = job.url
        page = await self._cached_page(job)
        self.analysis_s += page.worker_s
        if page.failure is None:
            number = self._index.find_page(url)
            self.pages[-1] = -1 if number is None else number
            self._request_by_url[url] = len(self.pages) - 1
            self.verdicts[-1] = int(page.is_relevant)
        else:
            self.failures += 1
        return page

    async def score_again(self, url: str, template: SiteTemplate) -> Page:
        """Return an earlier page scored with a template, and correct its recorded verdict."""
        kind = self._archive.lookup(url).header("content-type")
        page = await self._cached_page(Job(url, b"", kind, template=template))
        self.verdicts[self._request_by_url[url]] = int(page.is_relevant)
        return page

    async def _cached_page(self, job: Job) -> Page:
        url, template = job.url, job.template
        page = self._scored.get((url, template))
        if page is None:
            started_at = time.process_time()
            body = job.body or self._archive.lookup(url).body[:MAX_BYTES]  # not in cached responses
            whole = Job(url, body, job.content_type, template=template, software=None)
            page = self._drop_unrecorded_links(await self._scorer.score(whole))
            self.scoring_s += time.process_time() - started_at
            self._cache_page(url, template, page)
        return page

    def _drop_unrecorded_links(self, page: Page) -> Page:
        """Return a page without links and feeds that are not recorded, if the trial says so."""
        if self._recorded_hosts is None:
            return page
        links = [link for link in page.links if self._is_recorded(link.url, link.host)]
        feeds = [feed for feed in page.feed_urls if self._is_recorded(feed, url_host(feed))]
        return msgspec.structs.replace(page, links=links, feed_urls=feeds)

    def _is_recorded(self, url: str, host: str) -> bool:
        assert self._recorded_hosts is not None
        return host in self._recorded_hosts or self._index.find_page(url) is not None

    def _cache_page(self, url: str, template: SiteTemplate, page: Page) -> None:
        if self._link_count + len(page.links) > MAX_CACHED_LINKS:
            return
        self._link_count += len(page.links) + 1
        self._scored[url, template] = page
        fetch = self._archive.lookup(url)
        self._answers[url] = msgspec.structs.replace(fetch, body=b"")

    async def update(self, payload: bytes) -> None:
        """Update the relevance model; cached pages are dropped, as their relevance has changed."""
        await self._scorer.update(payload)
        self._updated = True
        self._clear_cache()

    def _clear_cache(self) -> None:
        self._scored.clear()
        self._answers.clear()
        self._link_count = 0

    async def close(self) -> None:
        """Do nothing: the pages remain for the next trial."""


def run_trial(trial: Trial, replay: Replay) -> TrialResult:
    """Run a crawl to its end. Raises ConfigError for a seed that is no URL."""
    started_at, cpu_started_at = time.perf_counter(), time.process_time()
    replay.start_trial()
    start = replay.recorded_at
    transport = ReplayTransport(replay, replay, start=start, score_again=replay.score_again)
    crawl = Crawl(trial.config, transport)
    crawl.add_seeds(trial.config.seeds)
    stop = asyncio.run(crawl.run())
    requests, page_count = len(replay.pages), sum(number >= 0 for number in replay.pages)
    engine_s = time.process_time() - cpu_started_at - replay.scoring_s
    return TrialResult(
        key=trial.key,
        variant=trial.variant,
        topic=trial.topic,
        order=trial.order,
        pages=replay.pages,
        verdicts=replay.verdicts,
        robots=replay.robots,
        redirects=replay.redirects,
        failures=replay.failures,
        seconds=round(transport.now() - start, 6),
        stop=stop,
        cost=Cost(
            seconds=time.perf_counter() - started_at,
            engine_ms=1000 * engine_s / max(1, requests),
            analysis_ms=1000 * replay.analysis_s / max(1, page_count),
            peak_rss_mb=_peak_rss_mb(),
        ),
    )


def _peak_rss_mb() -> float:
    import resource

    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class TrialBatch(msgspec.Struct, frozen=True):
    """Trials that can share scored pages; `analysis` serves all of their strategies."""

    analysis: AnalysisConfig
    trials: tuple[Trial, ...]
    recorded_hosts: tuple[str, ...] | None = None


class OpenArchive:
    """An archive that is opened once in each process that runs trials."""

    def __init__(self, path: Path, cache_dir: Path | None) -> None:
        self.archive = Archive.open(path, cache_dir=cache_dir)
        self._index = PageIndex(self.archive)

    def run_batch(self, batch: TrialBatch, on_result: Callable[[TrialResult], None]) -> None:
        """Run the trials of a batch, one after the other."""
        replay = Replay(self.archive, self._index, batch.analysis, batch.recorded_hosts)
        for trial in batch.trials:
            on_result(run_trial(trial, replay))

    def judge_pages(self, analysis: AnalysisConfig, numbers: Sequence[int]) -> dict[str, bool]:
        """Return a relevance model's verdict on each of these pages by URL, failures left out."""
        analyst, verdicts = PageScorer(analysis), {}
        for number in numbers:
            url = self._index.urls[number]
            fetch = self.archive.lookup(url)
            if fetch.failure is None and fetch.redirect_to is None:
                page = score_page(analyst, Job(url, fetch.body, fetch.header("content-type")))
                if page.failure is None:
                    verdicts[url] = page.is_relevant
        return verdicts


def run_batches(
    path: Path,
    batches: Sequence[TrialBatch],
    *,
    jobs: int,
    on_result: Callable[[TrialResult], None],
    cache_dir: Path | None = None,
) -> None:
    """Run all trials in `jobs` processes; call `on_result` in this process after each trial."""
    if jobs == 1:
        open_archive = OpenArchive(path, cache_dir)
        with open_archive.archive:
            for batch in batches:
                open_archive.run_batch(batch, on_result)
        return
    queue: ResultQueue = get_context("spawn").SimpleQueue()
    with _start_pool(jobs, path, cache_dir, queue) as pool:
        running = [pool.submit(_run_batch, batch) for batch in batches]
        _forward_results(running, queue, on_result)


def judge_topics(
    path: Path,
    requests: Sequence[tuple[AnalysisConfig, Sequence[int]]],
    *,
    jobs: int,
    cache_dir: Path | None = None,
) -> Iterator[dict[str, bool]]:
    """Yield the result of `OpenArchive.judge_pages` for each model and its pages, in order."""
    if jobs == 1:
        open_archive = OpenArchive(path, cache_dir)
        with open_archive.archive:
            yield from (
                open_archive.judge_pages(analysis, numbers) for analysis, numbers in requests
            )
        return
    with _start_pool(jobs, path, cache_dir, get_context("spawn").SimpleQueue()) as pool:
        yield from pool.map(_judge_pages, requests)


# -- processes ----------------------------------------------------------------------

ResultQueue = SimpleQueue[TrialResult | None]
_process_state: list[tuple[OpenArchive, ResultQueue]] = []  # state of a process of the pool


@contextmanager
def _start_pool(
    jobs: int, path: Path, cache_dir: Path | None, queue: ResultQueue
) -> Iterator[ProcessPoolExecutor]:
    """Start processes that have the archive open; end them immediately on an error here."""
    pool = ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=_init_process, initargs=(path, cache_dir, queue)
    )
    before = set(active_children())
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - before:
            process.terminate()  # without this Ctrl-C would wait for the end of the batches
        raise
    pool.shutdown()


def _forward_results(
    running: Sequence[Future[None]], queue: ResultQueue, on_result: Callable[[TrialResult], None]
) -> None:
    """Pass on results until all batches have ended; re-raise the error of a batch."""
    for future in running:
        future.add_done_callback(lambda _: queue.put(None))
    ended_count = 0
    while ended_count < len(running):
        outcome = queue.get()
        if outcome is not None:
            on_result(outcome)
            continue
        ended_count += 1
        for future in wait(running, timeout=0).done:
            future.result()


def _init_process(path: Path, cache_dir: Path | None, queue: ResultQueue) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    _process_state.append((OpenArchive(path, cache_dir), queue))


def _run_batch(batch: TrialBatch) -> None:
    open_archive, queue = _process_state[0]
    open_archive.run_batch(batch, queue.put)


def _judge_pages(request: tuple[AnalysisConfig, Sequence[int]]) -> dict[str, bool]:
    return _process_state[0][0].judge_pages(*request)
