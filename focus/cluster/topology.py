"""Names the queues and exchanges of a cluster.

Only what RabbitMQ 3.10 and later have: durable queues, quorum queues where nothing may be
lost, prefetch per consumer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aio_pika.abc import AbstractChannel

from focus.cluster.broker import IncomingMessage
from focus.cluster.messages import pack

DELIVERIES = 5  # a message that was given out so often and never dealt with is set aside
ROOM_BYTES = 512 * 1024 * 1024  # of a queue: beyond, publishers are refused
FORGET_S = 60  # a role that is gone for so long leaves no queue behind


class Names:
    """Names of one cluster's exchanges and queues. A broker may have several clusters.

    status    fanout: status of shards and workers, to all shards and to `control`
    workers   fanout: questions, updates and orders, to all workers
    """

    def __init__(self, cluster: str) -> None:
        self._prefix = f"focus.{cluster}"
        self.status = f"{self._prefix}.status"
        self.workers = f"{self._prefix}.workers"
        self.dead = f"{self._prefix}.dead"

    def tasks(self, shard: int) -> str:
        return f"{self._prefix}.tasks.{shard}"

    def results(self, shard: int) -> str:
        return f"{self._prefix}.results.{shard}"

    def links(self, shard: int) -> str:
        return f"{self._prefix}.links.{shard}"

    def back(self, shard: int) -> str:
        """Tasks that nobody took in time, or that no worker survived the taking of."""
        return f"{self._prefix}.back.{shard}"

    def lock(self, shard: int) -> str:
        return f"{self._prefix}.lock.{shard}"

    def shard(self, shard: int) -> str:
        """The queue in which a shard reads the status of all."""
        return f"{self._prefix}.shard.{shard}"

    def worker(self, worker: str) -> str:
        """The queue of a worker: setups, questions, updates, orders."""
        return f"{self._prefix}.worker.{worker}"


async def declare_all(channel: AbstractChannel, names: Names, shards: int) -> None:
    """The exchanges, and the queues of all shards. Done by every role: it costs nothing."""
    for name in (names.status, names.workers):
        await channel.declare_exchange(name, "fanout", durable=True)
    aside: dict[str, Any] = {"x-queue-type": "quorum", "x-max-length": 10_000}
    await channel.declare_queue(names.dead, durable=True, arguments=aside)
    for shard in range(1, shards + 1):
        tasks = _lasting(names.back(shard), single=False)
        await channel.declare_queue(names.tasks(shard), durable=True, arguments=tasks)
        for name in (names.results(shard), names.links(shard), names.back(shard)):
            await channel.declare_queue(
                name, durable=True, arguments=_lasting(names.dead, single=True)
            )


def _lasting(aside: str, *, single: bool) -> dict[str, Any]:
    """A queue that outlives broker and roles. `single`: one consumer gets all, in order;
    `aside`: where messages go that expire, or that nobody could deal with."""
    arguments: dict[str, Any] = {
        "x-queue-type": "quorum",
        "x-delivery-limit": DELIVERIES,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": aside,
        "x-overflow": "reject-publish",
        "x-max-length-bytes": ROOM_BYTES,
    }
    return arguments | {"x-single-active-consumer": True} if single else arguments


async def declare_own_queue(channel: AbstractChannel, queue: str, exchange: str) -> Any:
    """A role's own queue on a fanout; it goes when the role is gone for a while."""
    arguments: dict[str, Any] = {"x-expires": FORGET_S * 1000, "x-message-ttl": FORGET_S * 1000}
    declared = await channel.declare_queue(queue, durable=True, arguments=arguments)
    await declared.bind(exchange)
    return declared


def version_of(message: IncomingMessage) -> object:
    """The version of focus's messages that the sender speaks."""
    headers: Mapping[str, object] = message.headers
    return headers.get("version")


def packed(message: object, kind: str) -> dict[str, Any]:
    """Arguments of `send` and `tell` for a message."""
    return {"body": pack(message), "type": kind}
