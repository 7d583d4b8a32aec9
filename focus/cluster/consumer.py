"""Receives a shard's messages: workers' reports, other shards, orders, returned messages."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aio_pika.abc import AbstractChannel, AbstractConnection
from aiormq.exceptions import ChannelLockedResource, ChannelPreconditionFailed

from focus.cluster.broker import HEARTBEAT_S, LOST, IncomingMessage
from focus.cluster.connection import CONFIRM_S, PublishRefused
from focus.cluster.messages import (
    VERSION,
    ClusterCommand,
    ForwardedLink,
    Hello,
    ShardStatus,
    TaskBundle,
    WorkerReport,
    unpack,
)
from focus.cluster.shard_context import ShardContext
from focus.cluster.topology import declare_all, declare_ear, version_of
from focus.errors import ClusterError

PREFETCH = 16  # messages of results that are here and not dealt with
START_S = 5.0  # until then a shard that does not fit the others ends; later it is at home here
LOCK_S = 3.0  # for the broker to notice that a predecessor is gone
"""A killed process's connection is closed at once; one that was cut off lives `HEARTBEAT_S`."""


class ShardConsumer:
    """What a shard hears of the broker, on the connection that is there now."""

    def __init__(self, context: ShardContext) -> None:
        self._at = context
        self._channel: AbstractChannel | None = None

    async def prepare(self, connection: AbstractConnection) -> None:
        """Declare what is needed, make sure to be the only one, and listen."""
        await self._lock(connection)
        channel = await connection.channel(publisher_confirms=False)
        names, number = self._at.names, self._at.shard.number
        try:
            await declare_all(channel, names, self._at.shard.of)
            ear = await declare_ear(channel, names.shard(number), names.board)
        except ChannelPreconditionFailed as error:
            raise ClusterError(
                f"the broker has queues of this cluster that another focus made otherwise "
                f"({error}); delete them or give another --cluster"
            ) from None
        if not (self._at.is_open or self._at.was_killed):
            await ear.purge()  # who was killed hears that the others have ended meanwhile
        if self._at.is_new:
            await self._sweep(channel)
        await channel.set_qos(prefetch_count=PREFETCH)
        self._channel = channel
        self._at.way.leases.doubt_all(self._at.clock())
        await ear.consume(self._hear, no_ack=True)
        for name, hear in (
            (names.results(number), self._report),
            (names.links(number), self._strays),
            (names.back(number), self._returned),
        ):
            await (await channel.get_queue(name)).consume(hear)

    async def _sweep(self, channel: AbstractChannel) -> None:
        """A new crawl has no use for what another one left behind."""
        for name in (self._at.names.tasks, self._at.names.results, self._at.names.back):
            await (await channel.get_queue(name(self._at.shard.number))).purge()
        self._at.is_new = False

    async def _lock(self, connection: AbstractConnection) -> None:
        """An exclusive queue that ends with this connection; ClusterError if another has it."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (3 * HEARTBEAT_S if self._at.is_open else LOCK_S)
        while True:
            channel = await connection.channel(publisher_confirms=False)
            try:
                await channel.declare_queue(
                    self._at.names.lock(self._at.shard.number), exclusive=True
                )
                return
            except ChannelLockedResource:
                if loop.time() > deadline:
                    break
                await asyncio.sleep(0.3)
        error = ClusterError(
            f"another frontier is shard {self._at.shard} of this cluster; stop that one, or give "
            "another --shard or --cluster"
        )
        if self._at.is_open:
            self._at.way.fail(error)
        raise error

    async def _hear(self, message: IncomingMessage) -> None:
        """A word of a shard, a worker or a user."""
        now = self._at.clock()
        if version_of(message) != VERSION:
            await self._refuse(message)
        elif message.type == "hello":
            hello = unpack(message.body, Hello)
            before = self._at.way.window
            self._at.flow_control.hello(hello, now)
            if hello.setup != self._at.digest:
                self._at.newcomers.add(hello.worker)
            if self._at.way.window > before:
                self._at.way.wake()
        elif message.type == "standing":
            self._hear_shard(unpack(message.body, ShardStatus), now)
        elif message.type == "order" and self._at.is_open and _says_stop(message):
            self._at.stop("stopped")

    def _hear_shard(self, standing: ShardStatus, now: float) -> None:
        if standing.shard == self._at.shard.number and standing.of == self._at.shard.of:
            return
        quarrel = self._at.board.quarrel(standing, self._at.digest)
        if not quarrel:
            self._at.board.hear(standing, now)
        elif now - self._at.began_at < START_S:
            self._at.way.fail(ClusterError(quarrel))

    async def _refuse(self, message: IncomingMessage) -> None:
        if message.type == "hello" and message.reply_to:
            reason = (
                f"this worker speaks version {version_of(message)} of focus's messages, and shard "
                f"{self._at.shard} version {VERSION}; install the same focus on both"
            )
            with suppress(PublishRefused, *LOST):
                await self._at.line.send(message.reply_to, reason.encode(), type="refused")

    async def _report(self, message: IncomingMessage) -> None:
        try:
            self._at.way.reported(unpack(message.body, WorkerReport), message)
        except ValueError as error:
            await self._unreadable(message, error)

    async def _strays(self, message: IncomingMessage) -> None:
        try:
            self._at.way.strayed(unpack(message.body, list[ForwardedLink]), message)
        except ValueError as error:
            await self._unreadable(message, error)

    async def _returned(self, message: IncomingMessage) -> None:
        """Tasks that no worker took in time, or that none survived."""
        try:
            leases = [each.lease for each in unpack(message.body, TaskBundle).errands]
        except ValueError as error:
            await self._unreadable(message, error)
            return
        if message.headers.get("x-first-death-reason") == "expired":
            self._at.way.leases.unbegun(leases, self._at.clock())
            self._at.way.outgoing.set()
        else:
            self._at.way.leases.doubt(leases, self._at.clock())
        with suppress(Exception):  # as in `Line`: it comes again
            await message.ack()

    async def _unreadable(self, message: IncomingMessage, error: ValueError) -> None:
        self._at.say(f"A message of {message.app_id} cannot be read and is set aside: {error}")
        with suppress(Exception):  # as in `Line`: it comes again
            await message.reject()

    async def count(self, queue: str) -> int:
        """Messages that wait in a queue of this cluster."""
        assert self._channel is not None
        try:
            async with asyncio.timeout(CONFIRM_S):
                found = await self._channel.declare_queue(queue, durable=True, passive=True)
        except Exception as error:  # as in `Line`
            self._at.line.reset()
            raise ConnectionError(str(error)) from error
        return found.declaration_result.message_count or 0


def _says_stop(message: IncomingMessage) -> bool:
    return unpack(message.body, ClusterCommand).what == "stop"
