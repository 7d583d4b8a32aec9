"""The frontier's side of a cluster: publishes tasks and receives results.

A run begins when the frontier connects, and again after each loss of the connection: all workers
drop what they have, and the tasks in flight are published anew. So a task is never at two workers
because of the frontier, whatever the broker has lost. The first run purges the queue of tasks;
workers acknowledge tasks of earlier runs. If the broker does not answer for the queue, the next run
has another one (`Queues.declare_tasks`).

A task whose worker dies is delivered to another worker by the broker, `queues.DELIVERY_LIMIT`
times; that worker first asks whether the result has arrived (`Claim`). After that the task is a
suspect: it may have killed its workers, or was at them together with such a page. Suspects are sent
once more, one at a time; if that fails as well, the page is poison.

Politeness does not depend on the number of workers. The frontier sends one request at a time to a
host, and starts the crawl delay when the result has arrived; a slot of an IP address is held for
that time as well (`is_remote`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage
from aiormq.exceptions import ChannelLockedResource
from msgspec.structs import replace

from focus.cluster.address import Address
from focus.cluster.broker import CUT_OFF_S, LOST, BrokerLink, cancellation_as_loss
from focus.cluster.messages import (
    Claim,
    Hello,
    ResultMessage,
    TaskMessage,
    WorkerSetup,
    to_result,
    unpack,
)
from focus.cluster.queues import CONFIRM_S, DELIVERY_LIMIT, GENERATIONS, Queues
from focus.engine.transports import Transport, score_stored_page, wait_for
from focus.errors import ClusterError
from focus.i18n import msg
from focus.records import FailureKind, FetchResult, Page, Result, SiteTemplate, Task
from focus.workers import WorkerPool

POLL_S = 2.0
"""Seconds between two counts of the workers."""


class ClusterTransport(Transport):
    """Sends tasks to the workers of a cluster and returns their results.

    setup   settings for the workers; its run is set here
    say     prints a line for the user
    """

    is_live = True
    is_remote = True
    supports_lookups = True

    def __init__(
        self,
        address: Address,
        setup: WorkerSetup,
        *,
        clock: Callable[[], float],
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.now = clock
        self.in_flight = 0
        self.setup = setup
        self._cluster = address.cluster
        self._link = BrokerLink(address, "focus frontier", self._open_channel, self._handle_loss)
        self._say = say
        self._queues: Queues
        self._generation = 0  # of the queues of tasks; the next if the broker does not answer
        self._slots: dict[str, int] = {}  # worker -> number of concurrent requests
        self._worker_count = 0
        self._tasks: dict[int, Task] = {}
        self._next_number = 0
        self._suspects: list[int] = []  # the first is at a worker, the others wait for its result
        self._results: list[Result] = []
        self._ready = asyncio.Event()
        self._scorer: WorkerPool | None = None
        self._is_cancelled = False
        self._is_open = False
        self._background: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Connect and begin a run. Raises ClusterError if there is no broker."""
        await self._link.open()
        self._start(self._count_workers())

    async def _open_channel(self, channel: AbstractChannel) -> None:
        """Declare the queues, begin a run and start to receive results."""
        queues = Queues(channel, self._cluster)
        await queues.declare()
        try:
            await queues.declare_tasks(self._generation)
        except TimeoutError:
            self._use_next_queues()
            raise
        try:
            own_queue = await queues.own_queue(queues.frontier)
        except ChannelLockedResource:
            raise ClusterError(
                "another frontier of cluster {cluster} is running; end it, or give this one "
                "another --cluster",
                cluster=self._cluster,
            ) from None
        self._queues = queues
        await own_queue.consume(self._receive, no_ack=True)
        await self._begin_run()
        await queues.poison.consume(self._receive_poison, no_ack=True)

    def _use_next_queues(self) -> None:
        self._generation = (self._generation + 1) % GENERATIONS

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # -- runs ---------------------------------------------------------------------

    def _handle_loss(self) -> None:
        if self._is_open:
            self._say(msg("The connection to the broker is lost; waiting for it"))
        self._is_open = False

    async def _begin_run(self) -> None:
        is_first = not self.setup.run
        run, queue = f"{random.getrandbits(48):012x}", self._queues.tasks.name
        self.setup = replace(self.setup, run=run, queue=queue)
        self._slots.clear()
        self._suspects.clear()
        if is_first:  # a purge of a quorum queue that RabbitMQ 3.10 is recovering may not end
            await self._queues.tasks.purge()
        await self._queues.broadcast("run", self.setup.run)
        self._is_open = True
        if not is_first:
            self._say(msg("The broker is back; requests in flight are made again"))
        for number, task in self._tasks.items():
            self._schedule(number, self.now() + task.crawl_delay_s + CUT_OFF_S)

    def _schedule(self, number: int, at: float) -> None:
        """Publish a task at the time `at`, unless the run has ended by then."""
        loop = asyncio.get_running_loop()
        loop.call_later(max(0.0, at - self.now()), self._publish_soon, self.setup.run, number)

    def _publish_soon(self, run: str, number: int) -> None:
        if self._is_open and run == self.setup.run and number in self._tasks:
            self._start(self._publish(run, number))

    async def _publish(self, run: str, number: int) -> None:
        message = TaskMessage(run, number, replace(self._tasks[number], start_at=0.0))
        try:
            await self._queues.send(self._queues.tasks.name, "task", message)
        except LOST:  # it may have been published, so all workers must drop what they have
            if run == self.setup.run:
                self._link.reset()

    async def _count_workers(self) -> None:
        is_warned = False
        while True:
            try:
                self._worker_count = await self._queues.count_workers()
            except TimeoutError:
                self._use_next_queues()
                self._link.reset()
            except LOST:  # counted again when the broker is back
                pass
            else:
                if not self._worker_count and not is_warned:
                    self._say(msg("No worker is connected; start one: focus cluster worker"))
                is_warned = not self._worker_count
                self._ready.set()
            await asyncio.sleep(POLL_S)

    # -- results ------------------------------------------------------------------

    async def _receive(self, message: AbstractIncomingMessage) -> None:
        try:
            if message.type == "hello":
                await self._send_setup(unpack(message.body, Hello), message.reply_to or "")
            elif message.type == "claim":
                await self._answer_claim(unpack(message.body, Claim), message.reply_to or "")
            elif message.type == "result":
                result = unpack(message.body, ResultMessage)
                if (task := self._end_task(result.run, result.number)) is not None:
                    self._results.append(to_result(result, task, self.now()))
        except ValueError as error:
            if message.type == "hello" and message.reply_to:
                with suppress(*LOST):
                    await self._queues.refuse(message.reply_to, f"{error} ({message.app_id})")
            self._say(msg("A message was ignored: {error}", error=error))

    async def _send_setup(self, hello: Hello, reply_to: str) -> None:
        setup = replace(self.setup, greeting=hello.number)
        try:
            await self._queues.send(reply_to, "setup", setup)
        except LOST:  # the worker has gone
            return
        if setup.run == self.setup.run:
            self._slots[hello.worker] = hello.slots
        self._worker_count = max(self._worker_count, 1)
        self._ready.set()

    async def _answer_claim(self, claim: Claim, reply_to: str) -> None:
        is_open = claim.run == self.setup.run and claim.number in self._tasks
        with suppress(*LOST):  # the worker has gone
            await self._queues.send(reply_to, "claim", replace(claim, is_open=is_open))

    def _end_task(self, run: str, number: int) -> Task | None:
        """Remove and return a task whose result has arrived; None if no result is awaited."""
        task = self._tasks.pop(number, None) if run == self.setup.run else None
        if task is not None:
            self._ready.set()
            if self._suspects[:1] == [number]:
                self._suspects.pop(0)
                self._send_suspect()
        return task

    def _send_suspect(self) -> None:
        if self._suspects:
            number = self._suspects[0]
            self._schedule(number, self.now() + self._tasks[number].crawl_delay_s + CUT_OFF_S)

    async def _receive_poison(self, message: AbstractIncomingMessage) -> None:
        """Receive a task that has exceeded the delivery limit."""
        with suppress(ValueError):
            poison = unpack(message.body, TaskMessage)
            run, number = poison.run, poison.number
            if run != self.setup.run or number not in self._tasks:
                return
            if number not in self._suspects:
                self._suspects.append(number)
                if len(self._suspects) == 1:
                    self._send_suspect()
            elif (task := self._end_task(run, number)) is not None:
                detail = msg("{n} workers died while they had it", n=2 * (DELIVERY_LIMIT + 1))
                fetch = FetchResult(task.url, self.now(), failure=FailureKind.POISON, detail=detail)
                self._results.append(Result(task, fetch))

    # -- the interface of a transport ---------------------------------------------

    @property
    def window(self) -> int:
        """Number of concurrent tasks: the slots of the workers that are connected.

        The broker counts the workers but does not name them, so a worker that has gone is assumed
        to have had the mean number of slots.
        """
        known = len(self._slots)
        if not known or not self._is_open:
            return 0
        return sum(self._slots.values()) * min(self._worker_count, known) // known

    def send(self, task: Task) -> None:
        """Publish a task when its host is due."""
        self.in_flight += 1
        self._next_number += 1
        self._tasks[self._next_number] = task
        self._schedule(self._next_number, task.start_at)

    async def receive(self, until: float | None) -> list[Result]:
        """Return all results that have arrived, [] at the time `until` or after `wake`."""
        if not self._results and not self._is_cancelled:
            await wait_for(self._ready, None if until is None else until - self.now())
        results, self._results = self._results, []
        if self._is_cancelled:
            return []
        self.in_flight -= len(results)
        return results

    async def update(self, payload: bytes) -> None:
        """Send a changed topic or model to all workers."""
        self.setup = replace(self.setup, update=payload)
        if self._scorer is not None:
            await self._scorer.update(payload)
        with suppress(*LOST):  # workers receive it with the setup of the next run
            await self._queues.broadcast("update", payload)

    async def score_again(self, url: str, source: bytes, template: SiteTemplate) -> Page | None:
        """Return the page as a scorer process of this machine scores it; None without its source.

        Few pages are scored again, so the process starts with the first of them.
        """
        if self._scorer is None:
            limit_s = self.setup.parse_limit_s
            self._scorer = WorkerPool(self.setup.analysis, workers=1, limit_s=limit_s)
            self._scorer.start_in_background()
            if self.setup.update is not None:
                await self._scorer.update(self.setup.update)
        return await score_stored_page(self._scorer, url, source, template)

    def wake(self) -> None:
        """End a waiting `receive`."""
        self._ready.set()

    def cancel(self) -> None:
        """Drop all tasks in flight."""
        self._is_cancelled = True
        self._tasks.clear()
        self.in_flight = 0
        self._ready.set()

    async def close(self) -> None:
        """End the run: workers drop their tasks and wait for the next one."""
        is_open, self._is_open = self._is_open, False
        for task in (tasks := [*self._background]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if is_open:
            with suppress(*LOST), cancellation_as_loss():
                async with asyncio.timeout(CONFIRM_S):
                    await self._queues.tasks.purge()
                    await self._queues.broadcast("run", "")
        if self._scorer is not None:
            await self._scorer.close()
        await self._link.close()
