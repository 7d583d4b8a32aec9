"""The state of a cluster as the broker sees it: workers, and messages that wait."""

from __future__ import annotations

import asyncio

from aiormq.exceptions import ChannelLockedResource, ChannelNotFoundEntity

from focus.cluster.address import Address
from focus.cluster.broker import connect
from focus.cluster.queues import CONFIRM_S, GENERATIONS, Queues


async def cluster_status(address: Address) -> dict[str, int]:
    """Return the number of frontiers (0 or 1), workers, waiting tasks and poison tasks.

    All are 0 if the cluster does not exist; queues for which the broker gives no answer do not
    count. Raises ClusterError if there is no broker.
    """
    state = {"frontiers": 0, "workers": 0, "tasks": 0, "poison": 0}
    connection = await connect(address, "focus cluster status")

    async def count(kind: str, name: str) -> None:
        channel = await connection.channel()
        try:
            queue = await channel.declare_queue(name, passive=True, timeout=CONFIRM_S)
        except (ChannelNotFoundEntity, TimeoutError):
            return
        except ChannelLockedResource:  # the queue of a frontier that is connected
            state["frontiers"] = 1
            return
        state[kind] += queue.declaration_result.message_count or 0
        if kind == "tasks":
            state["workers"] += queue.declaration_result.consumer_count or 0

    async with connection:
        queues = Queues(await connection.channel(), address.cluster)
        names = [("frontiers", queues.frontier)]
        for generation in range(GENERATIONS):
            names += zip(("tasks", "poison"), queues.task_names(generation), strict=True)
        await asyncio.gather(*(count(kind, name) for kind, name in names))
    return state
