"""Runs a worker: it takes tasks from all shards and reports their results.

    run      until an order or a signal; tasks in, results out

A worker keeps no state. What it has when it dies the broker gives to another, which sends it
back to its shard as lost: only that knows when the host may be asked again. One that is cut
off from the broker drops everything before the broker gives it to others.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractQueue

from focus import __version__
from focus.archive.recorder import Recorder
from focus.cluster.address import Address
from focus.cluster.broker import LOST, IncomingMessage
from focus.cluster.connection import PublishRefused, ReconnectingConnection
from focus.cluster.executor import TaskExecutor, TaskMessage
from focus.cluster.leases import Terms
from focus.cluster.messages import (
    VERSION,
    ClusterCommand,
    Hello,
    LeaseQuery,
    ModelUpdate,
    TaskBundle,
    WorkerReport,
    WorkerSetup,
    digest,
    unpack,
)
from focus.cluster.reach import Reach, beyond
from focus.cluster.result_publisher import ResultPublisher
from focus.cluster.topology import Names, declare_all, declare_own_queue, packed, version_of
from focus.errors import ClusterError
from focus.i18n import msg
from focus.records import FetchResult
from focus.session.process_limits import ensure_open_files
from focus.text.formatting import printable

HEARTBEAT_INTERVAL_S = 1.0
CUT_S = 6.0  # without an answer of the broker; it gives up on a worker after `HEARTBEAT_S`
GRACE_S = 10.0


class WorkerOptions(msgspec.Struct, frozen=True):
    """A worker as ordered. `warc`: a folder in which to record what it fetches; `reach`: what the
    frontiers may have it do past the guard.
    """

    slots: int
    processes: int
    warc: Path | None = None
    name: str = ""
    reach: Reach = Reach()


class WorkerRole:
    """One worker of a cluster."""

    def __init__(
        self,
        address: Address,
        plan: WorkerOptions,
        *,
        terms: Terms | None = None,
        say: Callable[[str], object] = lambda text: None,
        version: int = VERSION,
    ) -> None:
        host = platform.node()
        self.name = plan.name or f"{host}-{os.getpid()}-{random.getrandbits(24):06x}"
        self.names = Names(address.cluster)
        self._plan = plan
        self._say = say
        self._version = version
        self._hold_s = (terms or Terms()).hold_s
        self._host = host
        self.connection = ReconnectingConnection(
            address, self._prepare, name=f"focus worker {self.name}", say=say
        )
        self._setup: WorkerSetup | None = None
        self._digest = b""
        self._wanted = b""  # the digest of the setup that came last
        self._executor: TaskExecutor | None = None
        self._channel: AbstractChannel | None = None
        self._consumed: list[tuple[AbstractQueue, str]] = []
        self._publisher = ResultPublisher(self.name, self.connection, self.names)
        self._ending: asyncio.Future[None] | None = None
        self._stop_reason = ""
        self._heard_at = 0.0
        self._new_setup: asyncio.Queue[WorkerSetup] = asyncio.Queue()

    @property
    def pages(self) -> int:
        """Pages that it brought so far."""
        return self._publisher.pages

    @property
    def busy(self) -> int:
        """Requests under way, or about to be."""
        return 0 if self._executor is None else self._executor.busy

    # -- its life -----------------------------------------------------------------

    async def run(self) -> str:
        """Work until told to stop; why it ended. ClusterError when it cannot, or may not."""
        ensure_open_files(self._plan.slots)
        loop = asyncio.get_running_loop()
        self._ending = loop.create_future()
        self._heard_at = loop.time()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(number, self._on_signal, number)
        try:
            await self.connection.open()
            works = [
                self.connection.keep(),
                self._heartbeat(),
                self._publisher.run(),
                self._work(),
                self._watch(),
            ]
            tasks = [asyncio.create_task(work) for work in works]
            for task in tasks:
                task.add_done_callback(self._failed)
            try:
                await self._ending
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                with suppress(NotImplementedError, ValueError, RuntimeError):
                    loop.remove_signal_handler(number)
            await self.connection.close()
        return self._stop_reason

    def _failed(self, task: asyncio.Task[None]) -> None:
        assert self._ending is not None
        if not task.cancelled() and (error := task.exception()) and not self._ending.done():
            self._ending.set_exception(error)

    def _on_signal(self, number: int) -> None:
        again = bool(self._stop_reason)
        self.stop("interrupted" if number == signal.SIGINT else "terminated")
        if again:
            self._end()

    def stop(self, reason: str) -> None:
        """Finish what is under way and end; what has not begun goes back."""
        if self._stop_reason:
            return
        self._stop_reason = reason
        self._say(f"Stopping: {reason}")
        loop = asyncio.get_running_loop()
        self._stopping = loop.create_task(self._wind_down())
        loop.call_later(GRACE_S, self._end)

    async def _wind_down(self) -> None:
        with suppress(Exception):  # as in `ReconnectingConnection`
            for queue, tag in self._consumed:
                await queue.cancel(tag)
        executor = self._executor
        if executor is not None:
            executor.give_back()
            while executor.busy or not self._publisher.is_empty:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        self._end()

    def _end(self) -> None:
        assert self._ending is not None
        if not self._ending.done():
            self._ending.set_result(None)

    async def _work(self) -> None:
        """An executor for each setup that comes; the one before ends."""
        setup = await self._new_setup.get()
        while True:
            async with AsyncExitStack() as stack:
                executor = TaskExecutor(
                    self._plan.slots,
                    hold_s=self._hold_s,
                    done=self._publisher.done,
                    sent=self._publisher.sent,
                )
                observe = self._recorder(stack)
                await executor.open(
                    setup, processes=self._plan.processes, stack=stack, observe=observe
                )
                self._executor, self._setup, self._digest = executor, setup, digest(setup)
                self._publisher.executor = executor
                self._say(f"Ready: {self._plan.slots} requests at once for {setup.shards} shards")
                running = asyncio.create_task(executor.run())
                stack.callback(running.cancel)
                await self._consume()
                following = asyncio.create_task(self._new_setup.get())
                await asyncio.wait([running, following], return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    following.cancel()
                    running.result()
                setup = following.result()
                self._digest = b""
                executor.let_go()
                self.connection.reset()  # what is unacknowledged goes back to the broker

    def _recorder(self, stack: AsyncExitStack) -> Callable[[FetchResult], object] | None:
        if self._plan.warc is None:
            return None
        path = self._plan.warc / f"{self.name}.warc.gz"
        return stack.enter_context(Recorder(path, software=f"focus/{__version__}")).record

    # -- tasks in -----------------------------------------------------------------

    async def _prepare(self, connection: AbstractConnection) -> None:
        channel = await connection.channel(publisher_confirms=False)
        await declare_all(channel, self.names, self._setup.shards if self._setup else 0)
        self._channel = channel
        own_queue = await declare_own_queue(
            channel, self.names.worker(self.name), self.names.workers
        )
        await own_queue.consume(self._receive, no_ack=True)
        self._consumed = []
        if self._digest:
            await self._consume()

    async def _consume(self) -> None:
        """Take tasks of all shards, no more than there is use for."""
        assert self._channel is not None
        assert self._setup is not None
        if self._consumed or self._stop_reason:
            return
        try:
            channel, shards = self._channel, self._setup.shards
            await declare_all(channel, self.names, shards)
            slots = self._plan.slots
            messages = 1.25 * slots / max(1, min(16, slots // 8)) / shards
            await channel.set_qos(prefetch_count=max(2, round(messages)))
            for shard in range(1, shards + 1):
                queue = await channel.get_queue(self.names.tasks(shard))
                self._consumed.append((queue, await queue.consume(self._take_tasks(shard))))
        except Exception:  # as in `ReconnectingConnection`
            self._consumed = []
            self.connection.reset()

    def _take_tasks(self, shard: int) -> Callable[[IncomingMessage], Any]:
        async def come(message: IncomingMessage) -> None:
            delivery = TaskMessage(shard, lambda: self._ack(message))
            try:
                found = unpack(message.body, TaskBundle)
            except ValueError:
                with suppress(Exception):  # as in `ReconnectingConnection`
                    await message.reject()  # into the queue for the dead
                return
            self._take(found, delivery, is_again=bool(message.redelivered))

        return come

    def _take(self, found: TaskBundle, delivery: TaskMessage, *, is_again: bool) -> None:
        executor = self._executor
        if executor is None or found.setup != self._digest or self._stop_reason:
            self._return(delivery, unbegun=[each.lease for each in found.tasks])
            return
        tasks = found.tasks
        if is_again:
            strange = [
                each
                for each in tasks
                if each.lease not in executor.jobs and each.lease not in executor.finished
            ]
            tasks = [each for each in tasks if each not in strange]
            if strange:
                delivery.left += 1  # for what is returned
                self._return(delivery, lost=[each.lease for each in strange], counted=True)
        executor.take(tasks, delivery)

    def _return(
        self,
        delivery: TaskMessage,
        *,
        lost: list[int] | None = None,
        unbegun: list[int] | None = None,
        counted: bool = False,
    ) -> None:
        if not counted:
            delivery.left += 1
        report = WorkerReport(self.name, lost=lost or [], unbegun=unbegun or [])
        self._publisher.post(delivery.shard, report, delivery)

    def _ack(self, message: IncomingMessage) -> None:
        async def ack() -> None:
            with suppress(Exception):  # of a connection that is gone: it will come again
                await message.ack()

        self._acking = asyncio.get_running_loop().create_task(ack())

    # -- what is said to it -------------------------------------------------------

    async def _receive(self, message: IncomingMessage) -> None:
        if message.type == "refused":
            self._refuse(message.body.decode("utf-8", "replace"))
        elif version_of(message) != VERSION:
            return
        elif message.type == "setup":
            self._take_over(unpack(message.body, WorkerSetup))
        elif message.type == "update":
            update = unpack(message.body, ModelUpdate)
            if self._executor is not None and update.setup == self._digest:
                await self._executor.update(update.payload)
        elif message.type == "question":
            self._answer(unpack(message.body, LeaseQuery))
        elif message.type == "order":
            order = unpack(message.body, ClusterCommand)
            if order.what == "stop" or (order.what == "drain" and order.worker in ("", self.name)):
                self.stop("stopped" if order.what == "stop" else "drained")

    def _take_over(self, setup: WorkerSetup) -> None:
        if option := beyond(setup.fetch, self._plan.reach):
            self._refuse(
                msg(
                    "the frontiers ask for {option}, which leads past the guard of this machine; "
                    "give it to this worker, too, or not to the frontiers",
                    option=printable(option),
                )
            )
        elif digest(setup) != self._wanted:
            self._wanted = digest(setup)
            self._new_setup.put_nowait(setup)

    def _refuse(self, why: str) -> None:
        if self._ending is not None and not self._ending.done():
            self._ending.set_exception(ClusterError(why))

    def _answer(self, question: LeaseQuery) -> None:
        jobs = self._executor.jobs if self._executor is not None else {}
        held = [lease for lease in question.leases if lease in jobs]
        if held:
            self._publisher.post(question.shard, WorkerReport(self.name, held=held))

    # -- signs of life ------------------------------------------------------------

    async def _heartbeat(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if self.connection.is_up.is_set():
                with suppress(PublishRefused, *LOST):
                    async with asyncio.timeout(CUT_S / 2):
                        await self.connection.tell(
                            self.names.status,
                            **packed(self._hello(), "hello"),
                            reply_to=self.names.worker(self.name),
                            headers={"version": self._version},
                        )
                    self._heard_at = loop.time()
            await asyncio.sleep(HEARTBEAT_INTERVAL_S)

    def _hello(self) -> Hello:
        executor = self._executor
        return Hello(
            worker=self.name,
            setup=self._digest,
            slots=0 if self._stop_reason else self._plan.slots,
            held=len(executor.jobs) if executor is not None else 0,
            pages=self.pages,
            host=self._host,
        )

    async def _watch(self) -> None:
        """Drop everything in time when the broker is out of reach."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(0.5)
            heard_at = max(self._heard_at, self._publisher.heard_at)
            if self._executor is not None and loop.time() - heard_at > CUT_S:
                if self._executor.busy:
                    self._say("Cut off from the broker: dropping what is under way")
                    self._executor.let_go()
                    self.connection.reset()
                self._heard_at = loop.time()
