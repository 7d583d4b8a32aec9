"""The state of a cluster as the broker sees it: workers, and messages that wait."""

from __future__ import annotations

from aiormq.exceptions import ChannelLockedResource, ChannelNotFoundEntity

from focus.cluster.address import Address
from focus.cluster.broker import connect
from focus.cluster.queues import Queues


async def cluster_status(address: Address) -> dict[str, int]:
    """Return the number of frontiers (0 or 1), workers, waiting tasks and poison tasks.

    All are 0 if the cluster does not exist. Raises ClusterError if there is no broker.
    """
    state = {"frontiers": 0, "workers": 0, "tasks": 0, "poison": 0}
    connection = await connect(address, "focus cluster status")
    async with connection:
        for name in ("frontier", "tasks", "poison"):
            channel = await connection.channel()
            queue_name = f"{Queues(channel, address.cluster).name}.{name}"
            try:
                queue = await channel.declare_queue(queue_name, passive=True)
            except ChannelNotFoundEntity:
                continue
            except ChannelLockedResource:  # the queue of a frontier that is connected
                state["frontiers"] = 1
                continue
            state[name] = queue.declaration_result.message_count or 0
            if name == "tasks":
                state["workers"] = queue.declaration_result.consumer_count or 0
    return state
