"""Executes a worker's tasks with the fetcher and the scorer of `focus crawl`.

It keeps each task, by lease, until the broker has confirmed the result. Nothing here knows the
broker: `worker` brings tasks and takes results away.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack

from msgspec.structs import replace

from focus.cluster.messages import SentTask, TaskResult, WorkerSetup, answer_of
from focus.config import FetchConfig
from focus.engine.body_memory import BodyMemory
from focus.engine.transports import Clock, LiveTransport
from focus.fetch import WebFetcher
from focus.records import FetchResult, Task
from focus.workers import WorkerPool

REMEMBERED = 20_000  # leases whose results have left: their tasks may come again


class TaskMessage:
    """A message of tasks; `ack` when nothing of it is left to do."""

    def __init__(self, shard: int, ack: Callable[[], object]) -> None:
        self.shard = shard
        self.left = 0
        self._ack = ack

    def done(self) -> None:
        """One task of it is dealt with."""
        self.left -= 1
        if self.left == 0:
            self._ack()


class AcceptedTask:
    """A task that this worker has; `delivery` is the message that it came with last."""

    __slots__ = ("came_at", "delivery", "task")

    def __init__(self, task: SentTask, delivery: TaskMessage, came_at: float) -> None:
        self.task = task
        self.delivery = delivery
        self.came_at = came_at


class TaskExecutor:
    """Fetcher, scorer and the tasks at hand, by one setup.

    done  is called with each job and its result, None: its turn came too late
    sent  is called with a job whose request has gone out, if the shard wants to know
    """

    def __init__(
        self,
        slots: int,
        *,
        hold_s: float,
        done: Callable[[AcceptedTask, TaskResult | None], None],
        sent: Callable[[AcceptedTask], None],
    ) -> None:
        self.slots = slots
        self.jobs: dict[
            int, AcceptedTask
        ] = {}  # by lease: waiting, running, or its result on its way
        self.finished: OrderedDict[int, None] = OrderedDict()
        self._hold_s = hold_s
        self._done = done
        self._report_sent = sent
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
        web = WebFetcher(fetch, clock=clock)
        self._live = LiveTransport(
            web, pool, clock=clock, observe=observe, locate=web.locate, bodies=BodyMemory()
        )
        stack.push_async_callback(self._live.close)
        await pool.start()
        if setup.update is not None:
            await self._live.update(setup.update)

    async def update(self, payload: bytes) -> None:
        """Judge later pages by a changed topic or model."""
        if self._live is not None:
            await self._live.update(payload)

    def take(self, tasks: Iterable[SentTask], delivery: TaskMessage) -> None:
        """Tasks to be done, in this order; those that are at hand or done already are not
        done again."""
        now = asyncio.get_running_loop().time()
        fresh: list[AcceptedTask | None] = []
        for task in tasks:
            delivery.left += 1
            if (known := self.jobs.get(task.lease)) is not None:
                known.delivery = delivery  # the broker gave it out anew: the answer is for this one
            elif task.lease not in self.finished:
                fresh.append(AcceptedTask(task, delivery, now))
            else:
                fresh.append(None)
        for job in fresh:
            if job is None:
                delivery.done()
            else:
                self.jobs[job.task.lease] = job
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
            sent = job.task
            task = replace(sent.task, id=None if sent.task.id is None else sent.lease)
            self._running[id(task)] = (task, job)
            live.send(task)

    async def run(self) -> None:
        """Hand over results as they come; FocusError when the scorer is broken."""
        live = self._live
        assert live is not None
        while True:
            results = await live.receive(None)
            for task, _ in live.sent_tasks():
                if (running := self._running.get(id(task))) is not None:
                    self._report_sent(running[1])
            for result in results:
                _, job = self._running.pop(id(result.task), (None, None))
                if job is not None:
                    self._done(job, answer_of(job.task.lease, result, live.now()))
            self.fill()

    def left(self, job: AcceptedTask, *, is_done: bool) -> None:
        """The broker has what came of a job; not done, it may come again."""
        self.jobs.pop(job.task.lease, None)
        if is_done:
            self.finished[job.task.lease] = None
        if len(self.finished) > REMEMBERED:
            self.finished.popitem(last=False)
        job.delivery.done()

    def give_back(self) -> None:
        """Begin nothing more: what waits goes back as it came."""
        waiting, self._waiting = self._waiting, deque()
        for job in waiting:
            self._done(job, None)

    def let_go(self) -> None:
        """Drop everything: others will have it."""
        for job in self._waiting:
            self.jobs.pop(job.task.lease, None)
        self._waiting.clear()
        for _, job in self._running.values():
            self.jobs.pop(job.task.lease, None)
        self._running.clear()
        if self._live is not None:
            self._live.cancel()

    @property
    def busy(self) -> int:
        """Requests under way, or about to be."""
        return len(self._running) + len(self._waiting)
