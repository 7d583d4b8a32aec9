"""Receives a shard's messages: workers' reports, other shards, orders, returned messages."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import chain

from aio_pika.abc import AbstractChannel, AbstractConnection
from aiormq.exceptions import ChannelLockedResource, ChannelPreconditionFailed

from focus.cluster.broker import HEARTBEAT_S, LOST, IncomingMessage
from focus.cluster.connection import CONFIRM_S, PublishRefused
from focus.cluster.messages import (
    VERSION,
    ClusterCommand,
    Hello,
    ShardStatus,
    TaskBundle,
    WorkerReport,
    unpack,
)
from focus.cluster.shard_context import ShardContext
from focus.cluster.topology import declare_all, declare_own_queue, version_of
from focus.engine.partition import ForwardedUrl
from focus.errors import ClusterError
from focus.i18n import msg

PREFETCH = 16  # messages of results that are here and not dealt with
START_S = 5.0  # until then a shard that does not fit the others ends; later it is at home here
LOCK_S = 3.0  # for the broker to notice that a predecessor is gone
"""A killed process's connection is closed at once; one that was cut off lives `HEARTBEAT_S`."""


class ShardConsumer:
    """Consumes the shard's queues on the present connection."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._channel: AbstractChannel | None = None

    async def prepare(self, connection: AbstractConnection) -> None:
        """Declare what is needed, make sure to be the only one, and listen."""
        await self._lock(connection)
        channel = await connection.channel(publisher_confirms=False)
        names, number = self._context.names, self._context.shard.number
        try:
            await declare_all(channel, names, self._context.shard.of)
            own_queue = await declare_own_queue(channel, names.shard(number), names.status)
        except ChannelPreconditionFailed as error:
            raise ClusterError(
                "the broker has queues of this cluster that another focus made otherwise "
                "({error}); delete them or give another --cluster",
                error=error,
            ) from None
        if not (self._context.is_open or self._context.was_killed):
            await own_queue.purge()  # one that was killed reads that others have ended meanwhile
        if self._context.is_new:
            await self._sweep(channel)
        await channel.set_qos(prefetch_count=PREFETCH)
        self._channel = channel
        self._context.transport.leases.doubt_all(self._context.clock())
        await own_queue.consume(self._receive, no_ack=True)
        for name, receive in (
            (names.results(number), self._report),
            (names.links(number), self._links),
            (names.back(number), self._returned),
        ):
            await (await channel.get_queue(name)).consume(receive)

    async def _sweep(self, channel: AbstractChannel) -> None:
        """A new crawl has no use for what another one left behind."""
        names, number = self._context.names, self._context.shard.number
        for name in (names.tasks(number), names.results(number), names.back(number)):
            await (await channel.get_queue(name)).purge()
        self._context.is_new = False

    async def _lock(self, connection: AbstractConnection) -> None:
        """An exclusive queue that ends with this connection; ClusterError if another has it."""
        loop, lock = (
            asyncio.get_running_loop(),
            self._context.names.lock(self._context.shard.number),
        )
        deadline = loop.time() + (3 * HEARTBEAT_S if self._context.is_open else LOCK_S)
        while True:
            channel = await connection.channel(publisher_confirms=False)
            try:
                await channel.declare_queue(lock, exclusive=True)
                return
            except ChannelLockedResource:
                if loop.time() > deadline:
                    break
                await asyncio.sleep(0.3)
        error = ClusterError(
            "another frontier is shard {shard} of this cluster; stop that one, or give "
            "another --shard or --cluster",
            shard=self._context.shard,
        )
        if self._context.is_open:
            self._context.transport.fail(error)
        raise error

    async def _receive(self, message: IncomingMessage) -> None:
        """A message from a shard, a worker or a user."""
        context = self._context
        now, transport = context.clock(), context.transport
        if version_of(message) != VERSION:
            await self._refuse(message)
        elif message.type == "hello":
            hello = unpack(message.body, Hello)
            before = transport.window
            context.flow_control.hello(hello, now)
            if hello.setup != context.digest:
                context.newcomers.add(hello.worker)
            if transport.window > before:
                transport.wake()
        elif message.type == "status":
            self._shard_status(unpack(message.body, ShardStatus), now)
        elif message.type == "order" and context.is_open:
            order = unpack(message.body, ClusterCommand)
            if order.what == "stop":
                context.stop("stopped")

    def _shard_status(self, status: ShardStatus, now: float) -> None:
        if status.shard == self._context.shard.number and status.of == self._context.shard.of:
            return
        mismatch = self._context.membership.mismatch(status, self._context.digest)
        if not mismatch:
            self._context.membership.record(status, now)
        elif now - self._context.began_at < START_S:
            self._context.transport.fail(ClusterError(mismatch))

    async def _refuse(self, message: IncomingMessage) -> None:
        if message.type == "hello" and message.reply_to:
            reason = (
                f"this worker speaks version {version_of(message)} of focus's messages, and shard "
                f"{self._context.shard} version {VERSION}; install the same focus on both"
            )
            with suppress(PublishRefused, *LOST):
                await self._context.connection.send(
                    message.reply_to, reason.encode(), type="refused"
                )

    async def _report(self, message: IncomingMessage) -> None:
        try:
            self._context.transport.reported(unpack(message.body, WorkerReport), message)
        except ValueError as error:
            await self._unreadable(message, error)

    async def _links(self, message: IncomingMessage) -> None:
        try:
            batches = unpack(message.body, list[list[ForwardedUrl]])
            self._context.transport.links_came([*chain.from_iterable(batches)], message)
        except ValueError as error:
            await self._unreadable(message, error)

    async def _returned(self, message: IncomingMessage) -> None:
        """Tasks that no worker took in time, or that none survived."""
        try:
            leases = [each.lease for each in unpack(message.body, TaskBundle).tasks]
        except ValueError as error:
            await self._unreadable(message, error)
            return
        if message.headers.get("x-first-death-reason") == "expired":
            self._context.transport.leases.unbegun(leases, self._context.clock())
            self._context.transport.outgoing.set()
        else:
            self._context.transport.leases.doubt(leases, self._context.clock())
        with suppress(Exception):  # as in `ReconnectingConnection`: it comes again
            await message.ack()

    async def _unreadable(self, message: IncomingMessage, error: ValueError) -> None:
        self._context.say(
            msg(
                "A message of {app} cannot be read and is set aside: {error}",
                app=message.app_id,
                error=error,
            )
        )
        with suppress(Exception):  # as in `ReconnectingConnection`: it comes again
            await message.reject()

    async def count(self, queue: str) -> int:
        """Messages that wait in a queue of this cluster."""
        assert self._channel is not None
        try:
            async with asyncio.timeout(CONFIRM_S):
                found = await self._channel.declare_queue(queue, durable=True, passive=True)
        except Exception as error:  # as in `ReconnectingConnection`
            self._context.connection.reset()
            raise ConnectionError(str(error)) from error
        return found.declaration_result.message_count or 0
