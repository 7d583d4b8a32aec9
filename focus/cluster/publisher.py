"""Publishes a shard's messages: tasks for workers, links for other shards, models for both.

publish_tasks   leases are written to the database, then their tasks are published, in order
publish_links   links that other shards own are published, then deleted
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import itemgetter

import msgspec

from focus.cluster.connection import PublishRefused
from focus.cluster.leases import Lease
from focus.cluster.messages import SentTask, TaskBundle, chunks
from focus.cluster.shard_context import HEARTBEAT_INTERVAL_S, ShardContext
from focus.cluster.topology import packed
from focus.storage import cluster_leases as rows

MESSAGE = 16  # tasks, or batches of links, in one message at most
AT_ONCE = 256  # tasks written down at once
LINGER_S = 0.05
"""Without it a crawl may settle at one task a message: one result frees one slot for one task.
Generated site, CPU ms per page of frontier, worker and broker: .8, .5 and .1 with full messages, up
to 2.5, 1.6 and 1.5 with such ones."""
GATHER_S = 0.2  # links wait so long for more: each batch has a few


class ShardPublisher:
    """Publishes tasks and links of one shard."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context

    async def publish_tasks(self) -> None:
        """Publish tasks, for ever."""
        while True:
            await self._context.connection.is_up.wait()
            if self._is_busy:
                await asyncio.sleep(LINGER_S)  # workers have enough: let a few more gather
            self._context.transport.outgoing.clear()
            now = self._context.clock()
            going = self._context.transport.leases.ready(now, AT_ONCE)
            if not going:
                due = self._context.transport.leases.next_ready()
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if due is None else max(0.0, due - now)):
                        await self._context.transport.outgoing.wait()
                continue
            written = [
                rows.LeaseRow(
                    lease.id, lease.losses, lease.expires_at, msgspec.msgpack.encode(lease.task)
                )
                for lease in going
            ]
            await self._context.opened.store.run_in_thread(
                partial(rows.store_leases, crawl=self._context.opened.id, rows=written)
            )
            size = self._message_size(len(going))
            await asyncio.gather(*map(self._publish, chunks(going, size)))

    @property
    def _is_busy(self) -> bool:
        """Whether more than half of what may be away is."""
        return self._context.transport.in_flight > self._context.transport.window // 2

    def _message_size(self, going: int) -> int:
        """Tasks of one message: few enough that all workers get some, unless they have enough."""
        if self._is_busy:
            return MESSAGE
        workers = max(1, len(self._context.flow_control.workers(self._context.clock())))
        return max(1, min(MESSAGE, going // (2 * workers)))

    async def _publish(self, going: Sequence[Lease]) -> None:
        bare = {"host": "", "start_at": 0.0, "hops": 0, "depth": 0, "priority": 0.0}
        tasks = [SentTask(each.id, msgspec.structs.replace(each.task, **bare)) for each in going]
        message = packed(TaskBundle(self._context.digest, tasks), "tasks")
        queue = self._context.names.tasks(self._context.shard.number)
        try:
            await self._context.connection.send(
                queue, expiration=self._context.transport.leases.terms.queue_s, **message
            )
        except PublishRefused:
            self._context.transport.leases.unbegun(
                [lease.id for lease in going], self._context.clock() + HEARTBEAT_INTERVAL_S
            )
        except ConnectionError:
            self._context.transport.leases.unsent(going, self._context.clock())

    # -- links out ----------------------------------------------------------------

    async def publish_links(self) -> None:
        """Publish links for other shards, for ever."""
        while True:
            await self._context.connection.is_up.wait()
            self._context.opened.crawl_store.has_outgoing.clear()
            found = await self._context.opened.store.run_in_thread(
                partial(rows.load_outgoing_links, crawl=self._context.opened.id, limit=MESSAGE)
            )
            try:
                for shard, some in groupby(sorted(found, key=itemgetter(1)), itemgetter(1)):
                    await self._send_links(shard, list(some))
            except (PublishRefused, ConnectionError):
                await asyncio.sleep(HEARTBEAT_INTERVAL_S)
            if not found:
                await self._context.opened.crawl_store.has_outgoing.wait()
            await asyncio.sleep(GATHER_S)

    async def _send_links(self, shard: int, found: list[tuple[int, int, bytes]]) -> None:
        message = packed([msgspec.Raw(links) for _, _, links in found], "links")
        await self._context.connection.send(self._context.names.links(shard), **message)
        ids = [row for row, _, _ in found]
        await self._context.opened.store.run_in_thread(partial(rows.delete_links, ids=ids))
        self._context.transport.activity += 1
