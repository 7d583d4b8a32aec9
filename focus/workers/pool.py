"""Distributes pages to scorer workers and replaces workers that hang or die."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Self

from focus.config import OCR_CPU_S, SILENCE_FACTOR, AnalysisConfig
from focus.errors import FocusError
from focus.records import FailureKind, Page
from focus.workers.child import SCORER, failed_page
from focus.workers.messages import Job, ScoredPages, ScoreJobs, ScorerUpdate, Setup
from focus.workers.worker import PendingPage, Worker, WorkerStartError

MAX_BATCH = 16
MAX_BATCH_BYTES = 1 << 20  # size of the bodies; a single page may be larger
MAX_BATCHES_PER_WORKER = 2  # sent to a worker: one in work and the next
MAX_CRASHES = 2  # a page that broke a worker is tried once more, in a batch of its own
MAX_FAILED_STARTS = 3  # consecutive failed starts of a worker
START_LIMIT_S = 60.0
_RESTART_PAUSE_S = 0.2
_SILENT = "silent"


class WorkerPool:
    """Pool of child processes that score pages.

    workers   number of processes
    limit_s   maximum seconds of CPU time per page; a worker may be silent for `SILENCE_FACTOR`
              times as long, and for that of a scan in addition
    scorer    dotted name of the scorer class in each worker

    A page that cannot be scored is returned with `failure` set. `FocusError` is raised only if no
    worker can be started.
    """

    def __init__(
        self, config: AnalysisConfig, *, workers: int, limit_s: float = 2.0, scorer: str = SCORER
    ) -> None:
        self._setup = Setup(config, scorer, limit_s)
        self._worker_count = max(1, workers)
        self._silence_s = SILENCE_FACTOR * (limit_s + (OCR_CPU_S if config.ocr else 0.0))
        self._timeout_details = {
            "SIGPROF": f"over {limit_s:g} s of computing",
            _SILENT: f"silent for {self._silence_s:g} s",
        }
        self._loop: asyncio.AbstractEventLoop
        self._update: ScorerUpdate | None = None
        self._workers: set[Worker] = set()
        self._waiting: deque[PendingPage] = deque()
        self._suspects: deque[PendingPage] = deque()  # to be scored one at a time
        self._replacing: set[asyncio.Task[None]] = set()
        self._dispatching: asyncio.Handle | None = None
        self._watching: asyncio.TimerHandle | None = None
        self._failed_starts = 0
        self._error: str | None = None
        self._is_open = False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Start all workers and wait until they are ready; FocusError if one cannot start."""
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        starts = (self._start_worker() for _ in range(self._worker_count))
        try:
            ends = await asyncio.gather(*starts, return_exceptions=True)
            for error in filter(None, ends):
                raise (
                    FocusError(_cannot_start(error))
                    if isinstance(error, WorkerStartError)
                    else error
                )
        except BaseException:
            await self.close()
            raise

    def start_in_background(self) -> None:
        """Start all workers without waiting; `score` waits, or raises FocusError if none starts."""
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        for _ in range(self._worker_count):
            self._schedule_replacement("")

    async def score(self, job: Job) -> Page:
        """Return the scored page, or a page with `failure` set."""
        if self._error or not self._is_open:
            raise FocusError(self._error or "the pool of scorer workers is not running")
        future: asyncio.Future[Page] = self._loop.create_future()
        self._waiting.append(PendingPage(job, future))
        self._schedule_dispatch()
        return await future

    async def update(self, payload: bytes) -> None:
        """Send a changed topic or model to every worker, for all later pages.

        Each update replaces the previous one: a worker that starts later gets only the last.
        """
        self._update = ScorerUpdate(payload)
        for worker in self._workers:
            worker.send(self._update)

    async def close(self) -> None:
        """End all workers at once and cancel pages that are not finished."""
        self._is_open = False
        for handle in (self._dispatching, self._watching):
            if handle is not None:
                handle.cancel()
        self._dispatching = self._watching = None
        for task in self._replacing:
            task.cancel()
        await asyncio.gather(*self._replacing, return_exceptions=True)
        workers = list(self._workers)
        for page in self._take_all_pages():
            page.future.cancel()
        await asyncio.gather(*(worker.end() for worker in workers))

    # Distributing pages

    def _schedule_dispatch(self) -> None:
        """Distribute pages after all callbacks that are ready, so that their pages form batches."""
        if self._dispatching is None and self._is_open:
            self._dispatching = self._loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._dispatching = None
        # Skip a worker that died while idle: its death would count against the page.
        idle = [worker for worker in self._workers if not worker.batches and worker.is_alive()]
        for idle_count in range(len(idle), 0, -1):
            batch = self._take_suspect() or self._take_batch(-(-len(self._waiting) // idle_count))
            if not batch:
                break
            self._send_batch(idle[idle_count - 1], batch)
        busy = [
            worker for worker in self._workers if 0 < len(worker.batches) < MAX_BATCHES_PER_WORKER
        ]
        while busy and len(self._waiting) >= MAX_BATCH:
            self._send_batch(busy.pop(), self._take_batch(MAX_BATCH))

    def _take_suspect(self) -> list[PendingPage]:
        while self._suspects:
            page = self._suspects.popleft()
            if not page.future.done():
                return [page]
        return []

    def _take_batch(self, size: int) -> list[PendingPage]:
        """Return the next pages that are not cancelled, up to `size` and the limits of a batch."""
        batch: list[PendingPage] = []
        remaining_bytes = MAX_BATCH_BYTES
        while self._waiting and len(batch) < min(size, MAX_BATCH):
            if batch and len(self._waiting[0].job.body) > remaining_bytes:
                break
            page = self._waiting.popleft()
            if not page.future.done():
                batch.append(page)
                remaining_bytes -= len(page.job.body)
        return batch

    def _send_batch(self, worker: Worker, batch: list[PendingPage]) -> None:
        if not batch:
            return
        if not worker.batches:
            worker.last_reply_at = self._loop.time()
        worker.batches.append(deque(batch))
        worker.send(ScoreJobs([page.job for page in batch]))
        if self._watching is None:
            self._schedule_watch()

    def handle_results(self, worker: Worker, reply: ScoredPages) -> None:
        """Pass the results of a worker on; ValueError if there are more than jobs."""
        worker.last_reply_at = self._loop.time()
        self._failed_starts = 0
        for result in reply.pages:
            if not worker.batches:
                raise ValueError("a result too many")
            batch = worker.batches[0]
            batch.popleft().resolve(result)
            if not batch:
                worker.batches.popleft()
        self._schedule_dispatch()

    # Replacing workers

    def _schedule_watch(self) -> None:
        period = self._silence_s / 64
        due = self._loop.time() + period
        self._watching = self._loop.call_later(period, self._kill_silent_workers, due)

    def _kill_silent_workers(self, due: float) -> None:
        """Kill workers that are silent for too long.

        If this call is late, this process was stopped or blocked, and that time does not count.
        """
        now = self._loop.time()
        busy = [worker for worker in self._workers if worker.batches]
        for worker in busy:
            worker.last_reply_at = min(now, worker.last_reply_at + max(0.0, now - due))
            if now - worker.last_reply_at > self._silence_s:
                worker.reason = _SILENT
                worker.kill()
        self._watching = None
        if busy:
            self._schedule_watch()

    def handle_end(self, worker: Worker) -> None:
        """Handle the end of a worker: requeue its pages, find the one that broke it, replace it."""
        if worker not in self._workers:
            return
        self._workers.discard(worker)
        if not self._is_open:  # the pool is closing, so its pages are not scored again
            for batch in worker.batches:
                for page in batch:
                    page.future.cancel()
            return
        if not worker.batches:
            self._failed_starts += 1
        else:
            self._handle_broken_batch(worker, worker.batches.popleft())
            for batch in reversed(worker.batches):
                self._waiting.extendleft(reversed(batch))
            worker.batches.clear()
        self._schedule_replacement(worker.reason)
        self._schedule_dispatch()

    def _handle_broken_batch(self, worker: Worker, batch: Iterable[PendingPage]) -> None:
        pages = list(batch)
        for page in pages:
            page.crashes += 1
            if len(pages) > 1 or page.crashes < MAX_CRASHES:
                self._suspects.append(page)
            elif worker.reason in self._timeout_details:
                detail = self._timeout_details[worker.reason]
                page.resolve(failed_page(FailureKind.PARSE_TIMEOUT, detail))
            else:
                page.resolve(
                    failed_page(FailureKind.PARSE_CRASH, f"the worker died: {worker.reason}")
                )

    def _schedule_replacement(self, reason: str) -> None:
        task = self._loop.create_task(self._replace_worker(reason))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _replace_worker(self, reason: str) -> None:
        while self._failed_starts < MAX_FAILED_STARTS:
            if self._failed_starts:
                await asyncio.sleep(_RESTART_PAUSE_S)
            try:
                return await self._start_worker()
            except WorkerStartError as error:
                self._failed_starts += 1
                reason = str(error)
        if not self._workers:
            self._fail_pool(_cannot_start(reason))

    async def _start_worker(self) -> None:
        worker = await Worker.start(self, self._setup, START_LIMIT_S)
        if worker.has_ended():
            raise WorkerStartError(worker.reason)
        if self._update is not None:
            worker.send(self._update)
        self._workers.add(worker)
        self._schedule_dispatch()

    def _fail_pool(self, error: str) -> None:
        self._error = error
        for page in self._take_all_pages():
            if not page.future.done():
                page.future.set_exception(FocusError(error))

    def _take_all_pages(self) -> list[PendingPage]:
        """Remove all unfinished pages from the pool and return them."""
        batches = [batch for worker in self._workers for batch in worker.batches]
        pages = [page for batch in (self._suspects, self._waiting, *batches) for page in batch]
        self._suspects.clear()
        self._waiting.clear()
        for worker in self._workers:
            worker.batches.clear()
        return pages


def _cannot_start(reason: object) -> str:
    return f"cannot start a scorer worker ({reason}): check the installation and free memory"
