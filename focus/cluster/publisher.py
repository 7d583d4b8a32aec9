"""Publishes a shard's messages: tasks for workers, links for other shards, models for both.

pump     leases are written down, then published, in their order
leave    links that other shards own are published, then deleted
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
from focus.cluster.shard_context import BEAT_S, ShardContext
from focus.cluster.topology import packed
from focus.storage import cluster_leases as rows

MESSAGE = 16  # tasks in one message at most
STRAYS = 50  # links in one
AT_ONCE = 256  # tasks written down at once
LINGER_S = 0.05
"""Without it a crawl may settle at one task a message: one result frees one slot for one task.
Generated site, CPU ms per page of frontier, worker and broker: .8, .5 and .1 with full messages, up
to 2.5, 1.6 and 1.5 with such ones."""


class ShardPublisher:
    """What goes out of a shard."""

    def __init__(self, context: ShardContext) -> None:
        self._at = context

    async def pump(self) -> None:
        """Give out tasks, for ever."""
        while True:
            await self._at.line.is_up.wait()
            if self._is_busy:
                await asyncio.sleep(LINGER_S)  # workers have enough: let a few more gather
            self._at.way.outgoing.clear()
            now = self._at.clock()
            going = self._at.way.leases.ready(now, AT_ONCE)
            if not going:
                due = self._at.way.leases.next_ready()
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if due is None else max(0.0, due - now)):
                        await self._at.way.outgoing.wait()
                continue
            written = [
                rows.LeaseRow(
                    lease.id, lease.losses, lease.expires_at, msgspec.msgpack.encode(lease.task)
                )
                for lease in going
            ]
            await self._at.place.store.run(
                partial(rows.give, crawl=self._at.place.id, rows=written)
            )
            size = self._message_size(len(going))
            await asyncio.gather(*map(self._publish, chunks(going, size)))

    @property
    def _is_busy(self) -> bool:
        """Whether more than half of what may be away is."""
        return self._at.way.in_flight > self._at.way.window // 2

    def _message_size(self, going: int) -> int:
        """Tasks of one message: few enough that all workers get some, unless they have enough."""
        if self._is_busy:
            return MESSAGE
        workers = max(1, len(self._at.flow_control.workers(self._at.clock())))
        return max(1, min(MESSAGE, going // (2 * workers)))

    async def _publish(self, going: Sequence[Lease]) -> None:
        tell = self._at.way.on_sent is not None
        errands = [
            SentTask(
                lease.id,
                lease.task.url,
                is_page=lease.task.id is not None,
                tell=tell,
                conditions=lease.task.conditions,
            )
            for lease in going
        ]
        message = packed(TaskBundle(self._at.digest, errands), "errands")
        queue = self._at.names.tasks(self._at.shard.number)
        try:
            await self._at.line.send(queue, expiration=self._at.way.leases.terms.queue_s, **message)
        except PublishRefused:
            self._at.way.leases.unbegun([lease.id for lease in going], self._at.clock() + BEAT_S)
        except ConnectionError:
            self._at.way.leases.unsent(going, self._at.clock())

    # -- links out ----------------------------------------------------------------

    async def leave(self) -> None:
        """Send links away, for ever."""
        while True:
            await self._at.line.is_up.wait()
            self._at.place.crawl_store.has_strays.clear()
            found = await self._at.place.store.run(
                partial(rows.strays, crawl=self._at.place.id, most=10 * STRAYS)
            )
            if not found:
                await self._at.place.crawl_store.has_strays.wait()
                continue
            try:
                for shard, some in groupby(sorted(found, key=itemgetter(1)), itemgetter(1)):
                    await self._send_strays(shard, list(some))
            except (PublishRefused, ConnectionError):
                await asyncio.sleep(BEAT_S)

    async def _send_strays(self, shard: int, found: list[tuple[int, int, bytes]]) -> None:
        for some in chunks(found, STRAYS):
            message = packed([msgspec.Raw(each[2]) for each in some], "strays")
            await self._at.line.send(self._at.names.links(shard), **message)
            await self._at.place.store.run(partial(rows.left, ids=[each[0] for each in some]))
            self._at.way.stirs += 1
