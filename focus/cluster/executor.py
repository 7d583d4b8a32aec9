"""How does a worker do errands? By the fetcher and scorer of `focus crawl`, a few at a time.

What it has, by lease, until the result is at the broker for sure. Nothing here knows the
broker: `worker` brings errands and takes reports away.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack

from msgspec.structs import replace

from focus.cluster.messages import SentTask, TaskResult, WorkerSetup, answer_of
from focus.config import FetchConfig
from focus.engine.transports import Bodies, Clock, LiveTransport
from focus.fetch import WebFetcher
from focus.records import FetchResult, Task
from focus.workers import WorkerPool

REMEMBERED = 20_000  # leases whose results have left: their errands may come again


class TaskMessage:
    """A message of errands; `ack` when nothing of it is left to do."""

    def __init__(self, shard: int, ack: Callable[[], object]) -> None:
        self.shard = shard
        self.left = 0
        self._ack = ack

    def done(self) -> None:
        """One errand of it is dealt with."""
        self.left -= 1
        if self.left == 0:
            self._ack()


class AcceptedTask:
    """An errand that this worker has; `parcel` is the message that it came with last."""

    __slots__ = ("came_at", "errand", "parcel")

    def __init__(self, errand: SentTask, parcel: TaskMessage, came_at: float) -> None:
        self.errand = errand
        self.parcel = parcel
        self.came_at = came_at


class TaskExecutor:
    """Fetcher, scorer and the errands at hand, by one setup.

    done      called with each job and what came of it, None: its turn came too late
    departed  called with a job whose request goes out, if the shard wants to know
    """

    def __init__(
        self,
        slots: int,
        *,
        hold_s: float,
        done: Callable[[AcceptedTask, TaskResult | None], None],
        departed: Callable[[AcceptedTask], None],
    ) -> None:
        self.slots = slots
        self.jobs: dict[
            int, AcceptedTask
        ] = {}  # by lease: waiting, running, or its result on its way
        self.finished: OrderedDict[int, None] = OrderedDict()
        self._hold_s = hold_s
        self._done = done
        self._departed = departed
        self._waiting: deque[AcceptedTask] = deque()
        self._running: dict[int, tuple[Task, AcceptedTask]] = {}  # by identity of the task
        self._live: LiveTransport | None = None

    async def open(
        self,
        setup: WorkerSetup,
        *,
        processes: int,
        stack: AsyncExitStack,
        observe: Callable[[FetchResult], object] | None = None,
    ) -> None:
        """Start what fetches and scores; FocusError if that cannot be. Ends with the stack."""
        fetch: FetchConfig = replace(setup.fetch, concurrency=self.slots)
        pool = WorkerPool(setup.analysis, workers=processes, limit_s=setup.parse_limit_s)
        clock = Clock()
        self._live = LiveTransport(
            WebFetcher(fetch, clock=clock), pool, clock=clock, observe=observe, bodies=Bodies()
        )
        self._live.on_sent = self._sent
        stack.push_async_callback(self._live.close)
        await pool.start()
        if setup.update is not None:
            await self._live.update(setup.update)

    async def update(self, payload: bytes) -> None:
        """Judge later pages by a changed topic or model."""
        if self._live is not None:
            await self._live.update(payload)

    def take(self, errands: Iterable[SentTask], parcel: TaskMessage) -> None:
        """Errands to be done, in this order; those that are at hand or done already are not
        done again."""
        now = asyncio.get_running_loop().time()
        fresh: list[AcceptedTask | None] = []
        for errand in errands:
            parcel.left += 1
            if (known := self.jobs.get(errand.lease)) is not None:
                known.parcel = parcel  # the broker gave it out anew: the answer is for this one
            elif errand.lease not in self.finished:
                fresh.append(AcceptedTask(errand, parcel, now))
            else:
                fresh.append(None)
        for job in fresh:
            if job is None:
                parcel.done()
            else:
                self.jobs[job.errand.lease] = job
                self._waiting.append(job)
        self.fill()

    def fill(self) -> None:
        """Start what there are slots for."""
        now, live = asyncio.get_running_loop().time(), self._live
        while self._waiting and live is not None and len(self._running) < self.slots:
            job = self._waiting.popleft()
            if now - job.came_at > self._hold_s:
                self._done(job, None)
                continue
            errand = job.errand
            number = errand.lease if errand.is_page else None
            task = Task(number, errand.url, "", conditions=errand.conditions)
            self._running[id(task)] = (task, job)
            live.send(task)

    def _sent(self, task: Task) -> None:
        _, job = self._running.get(id(task), (task, None))
        if job is not None and job.errand.tell:
            self._departed(job)

    async def run(self) -> None:
        """Hand over results as they come; FocusError when the scorer is broken."""
        live = self._live
        assert live is not None
        while True:
            for result in await live.receive(None):
                _, job = self._running.pop(id(result.task), (None, None))
                if job is not None:
                    self._done(job, answer_of(job.errand.lease, result, live.now()))
            self.fill()

    def left(self, job: AcceptedTask, *, is_done: bool) -> None:
        """The broker has what came of a job; not done, it may come again."""
        self.jobs.pop(job.errand.lease, None)
        if is_done:
            self.finished[job.errand.lease] = None
        if len(self.finished) > REMEMBERED:
            self.finished.popitem(last=False)
        job.parcel.done()

    def give_back(self) -> None:
        """Begin nothing more: what waits goes back as it came."""
        waiting, self._waiting = self._waiting, deque()
        for job in waiting:
            self._done(job, None)

    def let_go(self) -> None:
        """Drop everything: others will have it."""
        for job in self._waiting:
            self.jobs.pop(job.errand.lease, None)
        self._waiting.clear()
        for _, job in self._running.values():
            self.jobs.pop(job.errand.lease, None)
        self._running.clear()
        if self._live is not None:
            self._live.cancel()

    @property
    def busy(self) -> int:
        """Requests under way, or about to be."""
        return len(self._running) + len(self._waiting)
