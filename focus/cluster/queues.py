"""Queues of a cluster in RabbitMQ (3.10 or later).

focus.NAME.tasks         quorum queue: tasks for workers; a task that was delivered three times
                         without a result goes to the next queue
focus.NAME.poison        quorum queue: tasks that no worker survived
focus.NAME.tasks.N       in their place after the broker gave no answer for them; also poison.N.
                         N is below 8, and the first queues follow the last
focus.NAME.frontier      exclusive queue of the frontier: results and greetings of workers
focus.NAME.workers       fanout exchange: new runs and model updates, for all workers
focus.NAME.worker.NAME   exclusive queue of a worker, bound to the exchange
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractExchange, AbstractIncomingMessage, AbstractQueue

from focus import __version__
from focus.cluster.broker import cancellation_as_loss
from focus.cluster.messages import pack

DELIVERY_LIMIT = 2
"""Redeliveries of a task before it counts as poison."""
CONFIRM_S = 8.0
"""A call that the broker has not confirmed within this time counts as not made.

RabbitMQ 3.10 may never answer a call to a quorum queue that it is recovering.
"""
GENERATIONS = 8
"""Number of queues of tasks that a frontier uses in turn; only generation 0 lasts for ever."""
_EXPIRES_MS = 3_600_000  # without a worker, of queues in place of such ones


class Queues:
    """The declared queues of one cluster, by name of the cluster."""

    def __init__(self, channel: AbstractChannel, cluster: str) -> None:
        self.channel = channel
        self.name = f"focus.{cluster}"
        self.tasks: AbstractQueue
        self.poison: AbstractQueue
        self.workers: AbstractExchange

    async def declare(self) -> None:
        """Declare the exchange."""
        self.workers = await self.channel.declare_exchange(
            f"{self.name}.workers", aio_pika.ExchangeType.FANOUT, durable=True
        )

    async def declare_tasks(self, generation: int) -> None:
        """Declare the queues of tasks of a generation."""
        expires = {"x-expires": _EXPIRES_MS} if generation else {}
        tasks, poison = self.task_names(generation)
        self.poison = await self._quorum_queue(poison, expires)
        self.tasks = await self._quorum_queue(
            tasks,
            {
                "x-delivery-limit": DELIVERY_LIMIT,
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": poison,
                "x-dead-letter-strategy": "at-least-once",
                "x-overflow": "reject-publish",
                **expires,
            },
        )

    def task_names(self, generation: int) -> tuple[str, str]:
        """Return the names of the queues of tasks and of poison tasks of a generation."""
        ending = f".{generation}" if generation else ""
        return f"{self.name}.tasks{ending}", f"{self.name}.poison{ending}"

    @property
    def frontier(self) -> str:
        """Name of the frontier's own queue."""
        return f"{self.name}.frontier"

    async def own_queue(self, name: str) -> AbstractQueue:
        """Declare a queue that ends with this connection. Raises AMQPError if it is in use."""
        return await self.channel.declare_queue(name, exclusive=True, auto_delete=True)

    async def _quorum_queue(self, name: str, arguments: dict[str, Any]) -> AbstractQueue:
        arguments = {"x-queue-type": "quorum", **arguments}
        return await self.channel.declare_queue(
            name, durable=True, arguments=arguments, timeout=CONFIRM_S
        )

    async def consume_tasks(
        self, queue: str, receive: Callable[[AbstractIncomingMessage], Awaitable[None]]
    ) -> AbstractQueue:
        """Begin to receive the tasks of a queue, whose name is the consumer's tag."""
        with cancellation_as_loss():
            tasks = await self.channel.get_queue(queue, ensure=False)
            await tasks.consume(receive, consumer_tag=queue, timeout=CONFIRM_S)
        return tasks

    async def count_workers(self) -> int:
        """Return the number of workers that receive tasks."""
        with cancellation_as_loss():
            state = await self.tasks.declare(timeout=CONFIRM_S)
        return state.consumer_count or 0

    async def send(self, queue: str, kind: str, message: object, *, reply_to: str = "") -> None:
        """Publish a persistent message to a queue and wait until the broker has confirmed it."""
        exchange = self.channel.default_exchange
        amqp_message = _amqp_message(kind, message, reply_to)
        with cancellation_as_loss():
            await exchange.publish(amqp_message, routing_key=queue, timeout=CONFIRM_S)

    async def refuse(self, queue: str, reason: str) -> None:
        """Tell a worker of another version why it gets no setup."""
        message = aio_pika.Message(reason.encode(), type="refused")
        exchange = self.channel.default_exchange
        await exchange.publish(message, routing_key=queue, timeout=CONFIRM_S)

    async def broadcast(self, kind: str, message: object) -> None:
        """Publish a message to all workers that are connected."""
        amqp_message = _amqp_message(kind, message)
        await self.workers.publish(amqp_message, "", mandatory=False, timeout=CONFIRM_S)


def _amqp_message(kind: str, message: object, reply_to: str = "") -> aio_pika.Message:
    return aio_pika.Message(
        pack(message),
        type=kind,
        app_id=f"focus/{__version__}",
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        reply_to=reply_to or None,
    )
