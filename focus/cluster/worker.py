"""A worker of a cluster: fetches and scores the tasks that the frontier publishes.

A worker keeps no state. It acknowledges a task when the broker has confirmed the result, so a
task of a killed worker is delivered to another one. A worker that loses its connection drops its
tasks at once, because the broker delivers them again.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
import signal
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue
from msgspec.structs import replace

from focus import __version__
from focus.archive.recorder import Recorder
from focus.cluster.address import Address
from focus.cluster.broker import CUT_OFF_S, LOST, RECONNECT_S, BrokerLink, cancellation_as_loss
from focus.cluster.messages import Claim, Hello, TaskMessage, WorkerSetup, to_message, unpack
from focus.cluster.queues import Queues
from focus.cluster.reach import Reach, beyond
from focus.engine.body_memory import BodyMemory
from focus.engine.transports import Clock, LiveTransport
from focus.errors import ClusterError
from focus.fetch import WebFetcher
from focus.i18n import msg
from focus.records import FetchResult, Result
from focus.session.process_limits import ensure_open_files
from focus.workers import WorkerPool

GRACE_S = 10.0  # for requests in flight after a stop


class WorkerOptions(msgspec.Struct, frozen=True):
    """Options of a worker.

    slots      concurrent requests
    processes  scorer processes
    warc       folder in which requests and responses are recorded, None for no recording
    reach      private addresses and the like that this worker may use
    """

    slots: int
    processes: int
    warc: Path | None = None
    name: str = ""
    reach: Reach = Reach()


class Delivery(msgspec.Struct, eq=False):
    """A task that this worker has not acknowledged yet.

    greeting  number of the greeting whose answer tells whether its run is the present one
    """

    message: AbstractIncomingMessage
    task: TaskMessage
    greeting: int = 0


class Worker:
    """A worker; `run` returns after `stop` or a signal."""

    def __init__(
        self,
        address: Address,
        options: WorkerOptions,
        *,
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        host = platform.node()
        self.name = options.name or f"{host}-{os.getpid()}-{random.getrandbits(24):06x}"
        self.pages = 0
        self._address, self._options = address, options
        self._link = BrokerLink(
            address, f"focus worker {self.name}", self._open_channel, self._drop_tasks
        )
        self._say = say
        self._setup: WorkerSetup | None = None
        self._live: LiveTransport | None = None
        self._stack = AsyncExitStack()
        self._deliveries: dict[int, Delivery] = {}  # by identity of the task
        self._unknown: list[Delivery] = []  # of a run that is not the present one, or not yet
        self._claims: dict[int, Delivery] = {}  # redelivered, by number of the task
        self._greetings = 0
        self._queues: Queues
        self._own_queue: AbstractQueue
        self._tasks: AbstractQueue | None = None  # that it receives from
        self._is_stopping = False
        self._control: asyncio.Queue[WorkerSetup | bytes] = asyncio.Queue()
        self._ending: asyncio.Future[str]
        self._background: set[asyncio.Task[None]] = set()

    async def run(self) -> str:
        """Work until `stop` or a signal; return the reason.

        Raises:
            ClusterError: There is no broker, or the frontier asks for more than `reach` allows.
        """
        ensure_open_files(self._options.slots)
        loop = asyncio.get_running_loop()
        self._ending = loop.create_future()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, ValueError, RuntimeError):
                reason = "interrupted" if number == signal.SIGINT else "terminated"
                loop.add_signal_handler(number, self.stop, reason)
        try:
            await self._link.open()
            self._start(self._apply_control())
            return await self._ending
        finally:
            for task in (tasks := [*self._background]):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._live = None
            await self._stack.aclose()
            await self._link.close()

    async def _open_channel(self, channel: AbstractChannel) -> None:
        """Declare the queues and greet the frontier, whose answer starts the work."""
        await channel.set_qos(prefetch_count=self._options.slots)
        queues = Queues(channel, self._address.cluster)
        await queues.declare()
        self._own_queue = await queues.own_queue(f"{queues.name}.worker.{self.name}")
        await self._own_queue.bind(queues.workers)
        await self._own_queue.consume(self._receive_control, no_ack=True)
        self._queues, self._tasks = queues, None
        self._start(self._request_setup())

    def stop(self, reason: str) -> None:
        """Finish the requests in flight, at most `GRACE_S`, and end. A second call ends at once."""
        is_first, self._is_stopping = not self._is_stopping, True
        if is_first and self._tasks is not None:
            self._say(msg("Stopping: {reason}", reason=reason))
            self._start(self._finish(reason, self._tasks))
        elif not self._ending.done():
            self._ending.set_result(reason)

    async def _finish(self, reason: str, tasks: AbstractQueue) -> None:
        with suppress(*LOST), cancellation_as_loss():  # also TimeoutError
            async with asyncio.timeout(GRACE_S):
                await tasks.cancel(tasks.name)
                while self._deliveries:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        if not self._ending.done():
            self._ending.set_result(reason)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._end_background)

    def _end_background(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) and not self._ending.done():
            self._ending.set_exception(error)

    # -- setup --------------------------------------------------------------------

    async def _request_setup(self) -> None:
        """Ask the frontier for the setup."""
        self._greetings += 1
        hello = Hello(self.name, self._options.slots, self._greetings)
        await self._send("hello", hello, lambda: hello.number == self._greetings)

    async def _send(self, kind: str, message: object, is_needed: Callable[[], bool]) -> None:
        """Send a message to the frontier until the broker has confirmed it."""
        while is_needed():
            try:
                await self._queues.send(
                    self._queues.frontier, kind, message, reply_to=self._own_queue.name
                )
            except LOST:  # also if there is no frontier
                await asyncio.sleep(RECONNECT_S)
            else:
                return

    async def _receive_control(self, message: AbstractIncomingMessage) -> None:
        if message.type == "refused":
            reason = message.body.decode("utf-8", "replace")
            if not self._ending.done():
                self._ending.set_exception(
                    ClusterError(
                        "the frontier refuses this worker: {reason}; install the same focus "
                        "everywhere",
                        reason=reason,
                    )
                )
        elif message.type == "claim":
            self._end_claim(unpack(message.body, Claim))
        elif message.type == "setup":
            self._control.put_nowait(unpack(message.body, WorkerSetup))
        elif message.type == "update":
            self._control.put_nowait(unpack(message.body, bytes))
        elif message.type == "run":
            self._drop_tasks()
            if unpack(message.body, str):
                await self._request_setup()

    async def _apply_control(self) -> None:
        """Apply setups and updates of the model in the order of their arrival."""
        while True:
            message = await self._control.get()
            if isinstance(message, bytes):
                if self._live is not None:
                    await self._live.update(message)
            else:
                await self._apply_setup(message)

    async def _apply_setup(self, setup: WorkerSetup) -> None:
        """Apply a setup; fetcher and scorers restart only if it has changed."""
        if option := beyond(setup.fetch, self._options.reach):
            raise ClusterError(
                "the frontier asks for {option}, which leads past the guard; give this "
                "worker the same option, or run it elsewhere",
                option=option,
            )
        before = self._setup
        if before is None or setup != replace(
            before, run=setup.run, queue=setup.queue, update=setup.update, greeting=setup.greeting
        ):
            self._setup = self._live = None  # tasks that arrive meanwhile wait
            await self._stack.aclose()
            await self._start_fetching(setup)
            self._say(msg("Ready for {n} requests at the same time", n=self._options.slots))
        elif self._live is not None and setup.update not in (None, before.update):
            await self._live.update(setup.update or b"")
        self._setup = setup
        self._sort_unknown(setup)
        if self._is_stopping or (self._tasks is not None and self._tasks.name == setup.queue):
            return
        try:
            if self._tasks is not None:
                await self._tasks.cancel(self._tasks.name, nowait=True)
            self._tasks = await self._queues.consume_tasks(setup.queue, self._receive_task)
        except TimeoutError:
            self._link.reset()
        except LOST:  # the next setup leads here again
            pass

    def _sort_unknown(self, setup: WorkerSetup) -> None:
        """Start tasks of the run of a setup, and acknowledge those of earlier runs."""
        deliveries, self._unknown = self._unknown, []
        for delivery in deliveries:
            if delivery.task.run == setup.run:
                self._start_task(delivery)
            elif delivery.greeting <= setup.greeting:
                self._start(_acknowledge(delivery.message))
            else:
                self._unknown.append(delivery)
        if self._unknown:
            self._start(self._request_setup())

    async def _start_fetching(self, setup: WorkerSetup) -> None:
        """Start the fetcher and the scorer processes."""
        self._stack = AsyncExitStack()
        fetch = replace(setup.fetch, concurrency=self._options.slots)
        pool = WorkerPool(
            setup.analysis, workers=self._options.processes, limit_s=setup.parse_limit_s
        )
        clock = Clock()
        web = WebFetcher(fetch, clock=clock)
        observe: Callable[[FetchResult], object] | None = None
        if self._options.warc is not None:
            path = self._options.warc / f"{self.name}.warc.gz"
            recorder = Recorder(path, software=f"focus/{__version__}")
            observe = self._stack.enter_context(recorder).record
        live = LiveTransport(
            web, pool, clock=clock, observe=observe, locate=web.locate, bodies=BodyMemory()
        )
        self._stack.push_async_callback(live.close)
        await pool.start()
        if setup.update is not None:
            await live.update(setup.update)
        receiving = asyncio.create_task(self._report_results(live))
        receiving.add_done_callback(self._end_background)
        self._stack.callback(receiving.cancel)
        self._live = live

    # -- tasks --------------------------------------------------------------------

    async def _receive_task(self, message: AbstractIncomingMessage) -> None:
        try:
            delivery = Delivery(message, unpack(message.body, TaskMessage))
        except ValueError:
            await message.reject()
            return
        if self._setup is not None and delivery.task.run == self._setup.run:
            self._start_task(delivery)
        else:
            delivery.greeting = self._greetings + 1
            self._unknown.append(delivery)
            if len(self._unknown) == 1:
                await self._request_setup()

    def _start_task(self, delivery: Delivery) -> None:
        """Request the URL of a task; of a redelivered one if the frontier still needs it."""
        if not delivery.message.redelivered:
            self._request(delivery, 0.0)
            return
        number = delivery.task.number
        self._claims[number] = delivery
        claim = Claim(delivery.task.run, number)
        self._start(self._send("claim", claim, lambda: self._claims.get(number) is delivery))

    def _end_claim(self, claim: Claim) -> None:
        delivery = self._claims.get(claim.number)
        if delivery is None or delivery.task.run != claim.run:
            return
        del self._claims[claim.number]
        if claim.is_open:
            # The worker that had the task may have sent the request just before it was cut off.
            self._request(delivery, delivery.task.task.crawl_delay_s + CUT_OFF_S)
        else:
            self._start(_acknowledge(delivery.message))

    def _request(self, delivery: Delivery, pause_s: float) -> None:
        live = self._live
        if live is None:
            return  # the worker is ending, and the broker delivers the task again
        start_at = live.now() + pause_s
        task = replace(delivery.task.task, start_at=start_at, should_report_send=False)
        self._deliveries[id(task)] = delivery
        live.send(task)

    async def _report_results(self, live: LiveTransport) -> None:
        while True:
            for result in await live.receive(None):
                self._start(self._publish_result(result, live.now()))

    async def _publish_result(self, result: Result, now: float) -> None:
        """Publish a result until the broker confirms it or the task is dropped."""
        key = id(result.task)
        if (delivery := self._deliveries.get(key)) is None:
            return
        message = to_message(delivery.task.run, delivery.task.number, result, now)
        await self._send("result", message, lambda: key in self._deliveries)
        if self._deliveries.pop(key, None) is not None:
            await _acknowledge(delivery.message)
            self.pages += result.page is not None

    def _drop_tasks(self) -> None:
        """Drop all tasks: the broker delivers them again, or the frontier has begun a new run."""
        deliveries = [*self._deliveries.values(), *self._claims.values(), *self._unknown]
        self._deliveries, self._claims, self._unknown = {}, {}, []
        if self._live is not None:
            self._live.cancel()
        for delivery in deliveries:
            self._start(_acknowledge(delivery.message))


async def _acknowledge(message: AbstractIncomingMessage) -> None:
    with suppress(Exception):  # its channel may be closed
        await message.ack()
