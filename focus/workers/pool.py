"""Gives pages to workers, and replaces a worker that hangs or dies."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Self

from focus.config import AnalysisConfig
from focus.errors import FocusError
from focus.records import FailureKind, Page
from focus.workers.child import ANALYST, failed
from focus.workers.messages import Job, Scored, Setup, Update, Work
from focus.workers.worker import Waiting, Worker, WorkerLost

MAX_BATCH = 16
MAX_BATCH_BYTES = 1 << 20  # of bodies; one page always goes
MAX_BATCHES = 2  # in flight per worker: one it works on, one it finds next
MAX_CRASHES = 2  # a page that broke a worker is tried once more, alone
MAX_STARTS = 3  # attempts to get a worker that works
START_LIMIT_S = 60.0
PATIENCE = 10.0  # a full machine may give a worker a tenth of a core: silence of so many limits
_RESTART_PAUSE_S = 0.2
_SILENT = "silent"


class WorkerPool:
    """Scores pages in child processes.

    workers   how many
    limit_s   seconds of computing for one page; of silence, `PATIENCE` times as many
    analyst   dotted name of the class that does the work in each worker

    A page comes back as a `Page`, with `failure` set if it could not be scored.
    `FocusError` is raised only when no worker can be had at all.
    """

    def __init__(
        self, config: AnalysisConfig, *, workers: int, limit_s: float = 2.0, analyst: str = ANALYST
    ) -> None:
        self._setup = Setup(config, analyst, limit_s)
        self._count = max(1, workers)
        self._silence_s = PATIENCE * limit_s
        self._too_long = {
            "SIGPROF": f"over {limit_s:g} s of computing",
            _SILENT: f"silent for {self._silence_s:g} s",
        }
        self._loop: asyncio.AbstractEventLoop
        self._update: Update | None = None
        self._workers: set[Worker] = set()
        self._waiting: deque[Waiting] = deque()
        self._suspects: deque[Waiting] = deque()  # to be run alone
        self._replacing: set[asyncio.Task[None]] = set()
        self._dispatching: asyncio.Handle | None = None
        self._watching: asyncio.TimerHandle | None = None
        self._failed_starts = 0
        self._error: str | None = None
        self._open = False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Start all workers at once and wait until they can work; FocusError if one cannot."""
        self._loop = asyncio.get_running_loop()
        self._open = True
        starts = (self._start_worker() for _ in range(self._count))
        try:
            ends = await asyncio.gather(*starts, return_exceptions=True)
            for lost in filter(None, ends):
                raise FocusError(_cannot_start(lost)) if isinstance(lost, WorkerLost) else lost
        except BaseException:
            await self.close()
            raise

    def begin(self) -> None:
        """Start all workers without waiting for them: the first pages do. Who wants one scored
        hears of it (FocusError) when no worker can be had.
        """
        self._loop = asyncio.get_running_loop()
        self._open = True
        for _ in range(self._count):
            self._replace_soon("")

    async def score(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """The scored page, or one whose `failure` says why there is none."""
        if self._error or not self._open:
            raise FocusError(self._error or "the pool of scorer workers is not running")
        future: asyncio.Future[Page] = self._loop.create_future()
        self._waiting.append(Waiting(Job(url, body, content_type, wording), future))
        self._schedule()
        return await future

    async def update(self, payload: bytes) -> None:
        """Tell every worker of a changed topic or model; later pages are scored by it.

        Each update replaces the one before: a worker that starts later gets only the last.
        """
        self._update = Update(payload)
        for worker in self._workers:
            worker.send(self._update)

    async def close(self) -> None:
        """End all workers at once. Pages still under way are cancelled."""
        self._open = False
        for handle in (self._dispatching, self._watching):
            if handle is not None:
                handle.cancel()
        self._dispatching = self._watching = None
        for task in self._replacing:
            task.cancel()
        await asyncio.gather(*self._replacing, return_exceptions=True)
        workers = list(self._workers)
        for page in self._drain():
            page.future.cancel()
        await asyncio.gather(*(worker.end() for worker in workers))

    # Giving out pages

    def _schedule(self) -> None:
        """Give out pages once the callbacks now ready have run: what they bring goes together."""
        if self._dispatching is None and self._open:
            self._dispatching = self._loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._dispatching = None
        # Not to one that died at rest: the page would be blamed for it.
        idle = [worker for worker in self._workers if not worker.batches and worker.is_alive()]
        for left in range(len(idle), 0, -1):
            batch = self._suspect() or self._batch(-(-len(self._waiting) // left))
            if not batch:
                break
            self._give(idle[left - 1], batch)
        busy = [worker for worker in self._workers if 0 < len(worker.batches) < MAX_BATCHES]
        while busy and len(self._waiting) >= MAX_BATCH:
            self._give(busy.pop(), self._batch(MAX_BATCH))

    def _suspect(self) -> list[Waiting]:
        while self._suspects:
            page = self._suspects.popleft()
            if not page.future.done():
                return [page]
        return []

    def _batch(self, size: int) -> list[Waiting]:
        """The next pages that are still wanted, up to `size` and the caps of a batch."""
        batch: list[Waiting] = []
        room = MAX_BATCH_BYTES
        while self._waiting and len(batch) < min(size, MAX_BATCH):
            if batch and len(self._waiting[0].job.body) > room:
                break
            page = self._waiting.popleft()
            if not page.future.done():
                batch.append(page)
                room -= len(page.job.body)
        return batch

    def _give(self, worker: Worker, batch: list[Waiting]) -> None:
        if not batch:
            return
        if not worker.batches:
            worker.last_sign = self._loop.time()
        worker.batches.append(deque(batch))
        worker.send(Work([page.job for page in batch]))
        if self._watching is None:
            self._watch_again()

    def scored(self, worker: Worker, reply: Scored) -> None:
        """Results have come from a worker; ValueError if nobody asked for them."""
        worker.last_sign = self._loop.time()
        self._failed_starts = 0
        for result in reply.pages:
            if not worker.batches:
                raise ValueError("a result too many")
            batch = worker.batches[0]
            batch.popleft().resolve(result)
            if not batch:
                worker.batches.popleft()
        self._schedule()

    # Keeping workers alive

    def _watch_again(self) -> None:
        period = self._silence_s / 64
        due = self._loop.time() + period
        self._watching = self._loop.call_later(period, self._watch, due)

    def _watch(self, due: float) -> None:
        """Kill workers that are silent for too long. If this look itself comes late, this
        process stood still (stopped, or a long pause): that time counts for nobody.
        """
        now = self._loop.time()
        busy = [worker for worker in self._workers if worker.batches]
        for worker in busy:
            worker.last_sign = min(now, worker.last_sign + max(0.0, now - due))
            if now - worker.last_sign > self._silence_s:
                worker.reason = _SILENT
                worker.kill()
        self._watching = None
        if busy:
            self._watch_again()

    def lost(self, worker: Worker) -> None:
        """A worker has gone: find the guilty page, run the others again, replace it."""
        if worker not in self._workers:
            return
        self._workers.discard(worker)
        if not self._open:  # closing: nobody will run its pages again
            for batch in worker.batches:
                for page in batch:
                    page.future.cancel()
            return
        if not worker.batches:
            self._failed_starts += 1
        else:
            self._blame(worker, worker.batches.popleft())
            for batch in reversed(worker.batches):
                self._waiting.extendleft(reversed(batch))
            worker.batches.clear()
        self._replace_soon(worker.reason)
        self._schedule()

    def _blame(self, worker: Worker, batch: Iterable[Waiting]) -> None:
        pages = list(batch)
        for page in pages:
            page.crashes += 1
            if len(pages) > 1 or page.crashes < MAX_CRASHES:
                self._suspects.append(page)
            elif worker.reason in self._too_long:
                detail = self._too_long[worker.reason]
                page.resolve(failed(FailureKind.PARSE_TIMEOUT, detail))
            else:
                page.resolve(failed(FailureKind.PARSE_CRASH, f"the worker died: {worker.reason}"))

    def _replace_soon(self, reason: str) -> None:
        task = self._loop.create_task(self._replace(reason))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _replace(self, reason: str) -> None:
        while self._failed_starts < MAX_STARTS:
            if self._failed_starts:
                await asyncio.sleep(_RESTART_PAUSE_S)
            try:
                return await self._start_worker()
            except WorkerLost as lost:
                self._failed_starts += 1
                reason = str(lost)
        if not self._workers:
            self._break(_cannot_start(reason))

    async def _start_worker(self) -> None:
        worker = await Worker.start(self, self._setup, START_LIMIT_S)
        if worker.has_ended():
            raise WorkerLost(worker.reason)
        if self._update is not None:
            worker.send(self._update)
        self._workers.add(worker)
        self._schedule()

    def _break(self, error: str) -> None:
        self._error = error
        for page in self._drain():
            if not page.future.done():
                page.future.set_exception(FocusError(error))

    def _drain(self) -> list[Waiting]:
        """Take every unfinished page out of the pool."""
        batches = [batch for worker in self._workers for batch in worker.batches]
        pages = [page for batch in (self._suspects, self._waiting, *batches) for page in batch]
        self._suspects.clear()
        self._waiting.clear()
        for worker in self._workers:
            worker.batches.clear()
        return pages


def _cannot_start(reason: object) -> str:
    return f"cannot start a scorer worker ({reason}): check the installation and free memory"
