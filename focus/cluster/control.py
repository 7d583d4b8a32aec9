"""`focus cluster status`, `stop` and the like: reads a cluster's state and sends it orders."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from aio_pika.abc import AbstractChannel, AbstractConnection
from aiormq.exceptions import ChannelNotFoundEntity

from focus.cluster.address import Address
from focus.cluster.broker import IncomingMessage
from focus.cluster.connection import ReconnectingConnection
from focus.cluster.forwarded_links import seed_crossing
from focus.cluster.messages import VERSION, ClusterCommand, Hello, ShardStatus, unpack
from focus.cluster.sharding import owner
from focus.cluster.topology import Names, declare_all, declare_own_queue, packed, version_of
from focus.errors import ClusterError
from focus.urls.normal_form import seed_candidates, url_host

LOOK_S = 2.5  # every role says how it stands each second


class QueueDepth(msgspec.Struct, frozen=True):
    """Messages that wait in a queue, and who takes them."""

    name: str
    messages: int
    consumers: int


class ClusterState(msgspec.Struct, frozen=True):
    """A cluster as it was seen. `missing`: shards that ought to be there and are not."""

    cluster: str
    broker: str
    shards: list[ShardStatus] = []
    workers: list[Hello] = []
    queues: list[QueueDepth] = []
    missing: list[int] = []
    strangers: list[str] = []  # roles of another version

    @property
    def is_healthy(self) -> bool:
        """Whether all shards are there, and a worker for them."""
        ready = [each for each in self.workers if each.setup and each.slots]
        return bool(self.shards and ready) and not self.missing


class ControlConnection:
    """A connection that reads status messages for a while and may send orders to all."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.names = Names(address.cluster)
        self.connection = ReconnectingConnection(address, self._prepare, name="focus cluster")
        self._shards: dict[int, ShardStatus] = {}
        self._workers: dict[str, Hello] = {}
        self._strangers: set[str] = set()
        self._connection: AbstractConnection | None = None

    async def _prepare(self, connection: AbstractConnection) -> None:
        self._connection = connection
        channel = await connection.channel(publisher_confirms=False)
        await declare_all(channel, self.names, 0)
        queue = f"{self.names.status}.{os.getpid()}-{random.getrandbits(32):08x}"
        own_queue = await declare_own_queue(channel, queue, self.names.status)
        await own_queue.consume(self._receive, no_ack=True)
        self._queue = own_queue

    async def _receive(self, message: IncomingMessage) -> None:
        if version_of(message) != VERSION:
            self._strangers.add(f"{message.type} of {message.app_id}")
        elif message.type == "status":
            status = unpack(message.body, ShardStatus)
            self._shards[status.shard] = status
        elif message.type == "hello":
            hello = unpack(message.body, Hello)
            self._workers[hello.worker] = hello

    async def look(self, seconds: float = LOOK_S) -> ClusterState:
        """Listen for so long, and count what waits."""
        await asyncio.sleep(seconds)
        shards = [self._shards[number] for number in sorted(self._shards)]
        of = max((each.of for each in shards), default=0)
        there = {each.shard for each in shards if not each.ended}
        return ClusterState(
            cluster=self.address.cluster,
            broker=str(self.address),
            shards=shards,
            workers=[self._workers[name] for name in sorted(self._workers)],
            queues=await self._depths(of),
            missing=[number for number in range(1, of + 1) if number not in there],
            strangers=sorted(self._strangers),
        )

    async def _depths(self, shards: int) -> list[QueueDepth]:
        names, numbers = self.names, range(1, shards + 1)
        wanted = [
            of(number) for number in numbers for of in (names.tasks, names.results, names.links)
        ]
        found = [await self._depth(name) for name in (*wanted, names.dead)]
        return [each for each in found if each is not None]

    async def _depth(self, name: str) -> QueueDepth | None:
        assert self._connection is not None
        channel: AbstractChannel = await self._connection.channel(publisher_confirms=False)
        try:
            queue = await channel.declare_queue(name, passive=True)
        except ChannelNotFoundEntity:
            return None
        told = queue.declaration_result
        await channel.close()
        return QueueDepth(name, told.message_count or 0, told.consumer_count or 0)

    async def order(self, what: str, worker: str = "") -> None:
        """Tell all roles: `stop`, or workers alone: `drain`."""
        message = packed(ClusterCommand(what, worker), "order")
        exchanges = (
            (self.names.workers,) if what == "drain" else (self.names.status, self.names.workers)
        )
        for exchange in exchanges:
            await self.connection.tell(exchange, **message)

    async def add_seeds(self, seeds: Sequence[str], shards: int) -> None:
        """Hand seeds to the shards that own them; they keep them, and come when they can."""
        for text in seeds:
            url = seed_candidates(text)[0]
            link = seed_crossing(text, url)
            queue = self.names.links(owner(url_host(url), shards))
            await self.connection.send(queue, **packed([link], "links"))


@contextlib.asynccontextmanager
async def connected(address: Address) -> AsyncIterator[ControlConnection]:
    """A `ControlConnection` to a cluster; ClusterError when the broker cannot be reached."""
    control = ControlConnection(address)
    await control.connection.open()
    try:
        yield control
    finally:
        with contextlib.suppress(Exception):
            await control._queue.delete(if_unused=False, if_empty=False)
        await control.connection.close()


async def look(address: Address) -> ClusterState:
    """The state of a cluster."""
    async with connected(address) as control:
        return await control.look()


async def tell(address: Address, what: str, worker: str = "") -> ClusterState:
    """Give an order; the state of the cluster that it went to."""
    async with connected(address) as control:
        state = await control.look()
        await control.order(what, worker)
        return state


async def sow(address: Address, seeds: Sequence[str]) -> dict[str, int]:
    """Add seeds to a running crawl; the shard that each went to."""
    async with connected(address) as control:
        state = await control.look()
        if not state.shards:
            raise ClusterError(
                "no frontier of cluster {cluster!r} answers at {address}; start one first",
                cluster=address.cluster,
                address=address,
            )
        of = state.shards[0].of
        await control.add_seeds(seeds, of)
        return {seed: owner(url_host(seed_candidates(seed)[0]), of) for seed in seeds}


def as_json(state: ClusterState) -> dict[str, Any]:
    """A state for programs: without what only shards understand."""
    plain: dict[str, Any] = {
        name: getattr(state, name) for name in ("cluster", "broker", "missing", "strangers")
    }
    plain["healthy"] = state.is_healthy
    hidden = ("birth", "activity", "idle_others", "priorities", "digest")
    plain["shards"] = [
        {name: getattr(each, name) for name in each.__struct_fields__ if name not in hidden}
        for each in state.shards
    ]
    plain["workers"] = [
        {
            "name": each.worker,
            "host": each.host,
            "ready": bool(each.setup),
            "slots": each.slots,
            "held": each.held,
            "pages": each.pages,
        }
        for each in state.workers
    ]
    plain["queues"] = [msgspec.structs.asdict(each) for each in state.queues]
    return plain
