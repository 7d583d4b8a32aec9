"""Runs a crawl as one shard of a cluster: broker, leases, other shards.

    around = ShardNode(shard, address); session.run(…, around=around)

The crawl itself is the one of `focus crawl`. Beside it, in the same event loop, `publisher`
sends tasks and links away, `consumer` receives messages, and `heartbeat` looks after both.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

import msgspec

from focus.cluster.address import Address
from focus.cluster.batch_writer import ShardStore
from focus.cluster.broker import LOST
from focus.cluster.connection import PublishRefused, ReconnectingConnection
from focus.cluster.consumer import ShardConsumer
from focus.cluster.heartbeat import Heartbeat
from focus.cluster.leases import Lease, Leases, Terms
from focus.cluster.messages import ModelUpdate, WorkerSetup, digest
from focus.cluster.publisher import ShardPublisher
from focus.cluster.shard_context import HEARTBEAT_INTERVAL_S, OpenShard, ShardContext
from focus.cluster.sharding import Shard
from focus.cluster.topology import packed
from focus.cluster.transport import ClusterTransport
from focus.config import CrawlConfig, RunPaths
from focus.crawler import Crawl, CrawlStore
from focus.engine.partition import Partition
from focus.engine.transports import Transport
from focus.errors import ClusterError
from focus.records import Task
from focus.score.strategy import strategy_class
from focus.session import Runtime
from focus.session.resume import resume_task
from focus.storage import cluster_leases as rows
from focus.store import CrawlInfo, Store
from focus.urls.normal_form import seed_candidates
from focus.workers.pool import SILENCE_FACTOR

PARSES = 4  # limits of parsing that a task may need at most: it is tried again, alone


class ShardNode(Runtime):
    """The runtime of one shard's crawl. `terms` None: by the longest time of a fetch.

    patience_s  without any worker until the crawl is broken off by a ClusterError; None: it waits
    """

    def __init__(
        self,
        shard: Shard,
        address: Address,
        *,
        terms: Terms | None = None,
        patience_s: float | None = None,
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        self._terms, self._patience_s = terms, patience_s
        connection = ReconnectingConnection(
            address,
            lambda connection: self._consumer.prepare(connection),
            name=f"focus shard {shard}",
            say=say,
        )
        self.context = ShardContext(shard, connection, say)
        self._consumer = ShardConsumer(self.context)
        self._heartbeat = Heartbeat(self.context, self._consumer)
        self._tasks: set[asyncio.Task[None]] = set()

    async def make_transport(
        self,
        config: CrawlConfig,
        paths: RunPaths,
        store: Store,
        info: CrawlInfo,
        stack: AsyncExitStack,
    ) -> Transport:
        context = self.context
        row = await self._row(store, info)
        analysis = strategy_class(config.strategy).extend_analysis(config.analysis)
        context.setup = WorkerSetup(context.shard.of, config.fetch, analysis, config.parse_limit_s)
        context.digest = digest(context.setup)
        work_s = config.fetch.total_timeout_s + PARSES * SILENCE_FACTOR * config.parse_limit_s
        terms = self._terms or Terms(work_s=work_s)
        context.transport = ClusterTransport(
            Leases((row.mark << 43) | (row.run & 0xFFFF) << 27, terms, context.rest_s),
            context.flow_control,
            clock=context.clock,
            setup=context.digest,
            several=context.is_several,
            on_link=context.forwarded.came,
            on_update=self._update,
        )
        context.is_new = not info.is_resumed
        context.was_killed = info.is_resumed and not info.is_finished
        stack.push_async_callback(self._close)
        await context.connection.open()
        await store.run_in_thread(partial(rows.store_shard, crawl=info.id, row=row))
        return context.transport

    async def _row(self, store: Store, info: CrawlInfo) -> rows.ShardRow:
        """The shard as stored, one run further; ClusterError if it was another."""
        before = await store.run_in_thread(partial(rows.load_shard, crawl=info.id))
        shard = self.context.shard
        if before is None:
            if info.is_resumed and shard.of > 1:
                raise ClusterError(
                    "the database holds this crawl as one process began it, with the hosts "
                    "of all shards; go on with --shard 1/1, or give shard {shard} another "
                    "--db",
                    shard=shard,
                )
            return rows.ShardRow(shard.number, shard.of, random.getrandbits(20), 1)
        was = Shard(before.number, before.shards)
        if was != shard:
            raise ClusterError(
                "the database holds shard {was} of this crawl, and --shard {shard} has other "
                "hosts; give --shard {was} or another --db",
                was=was,
                shard=shard,
            )
        return before._replace(run=before.run + 1)

    def make_partition(self, config: CrawlConfig) -> Partition:
        self.context.forwarded.max_depth = config.scope.max_depth
        return self.context.forwarded

    def make_crawl_store(self, store: Store, info: CrawlInfo) -> CrawlStore:
        self._crawl_store = ShardStore(
            store, info.id, self.context.transport, self.context.forwarded
        )
        return self._crawl_store

    async def on_opened(self, crawl: Crawl, store: Store, info: CrawlInfo) -> None:
        context = self.context
        context.opened = OpenShard(crawl, store, info.id, self._crawl_store)
        for url in await store.run_in_thread(partial(rows.load_homes, crawl=info.id)):
            crawl.scope.add_home(seed_candidates(url)[0])
        await self._adopt(context.opened)
        context.is_open = True
        publisher = ShardPublisher(context)
        for work in (
            context.connection.keep(),
            publisher.publish_tasks(),
            publisher.publish_links(),
            self._heartbeat.run(),
        ):
            self._start(work)
        if self._patience_s is not None:
            self._start(self._miss_workers(self._patience_s))

    async def _miss_workers(self, patience_s: float) -> None:
        """Raises ClusterError once there has been no worker for so long."""
        context, loop = self.context, asyncio.get_running_loop()
        seen_at = loop.time()
        while loop.time() - seen_at < patience_s:
            if context.flow_control.workers(context.clock()):
                seen_at = loop.time()
            await asyncio.sleep(HEARTBEAT_INTERVAL_S)
        raise ClusterError(
            "no worker of the cluster {name} is there; start `focus cluster worker`",
            name=context.connection.address.cluster,
        )

    async def _adopt(self, opened: OpenShard) -> None:
        """Leases of an earlier run: their results may come, their hosts must not be asked."""
        transport, now, useless = self.context.transport, self.context.clock(), []
        for row in await opened.store.run_in_thread(partial(rows.load_leases, crawl=opened.id)):
            task = msgspec.msgpack.decode(row.task, type=Task)
            if resume_task(opened.crawl, task):
                transport.in_flight += 1
                transport.leases.adopt(Lease(row.id, task, row.expires_at, row.losses), now)
            else:
                useless.append(row.id)
        transport.forget(useless)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.add(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.context.transport.fail(error)

    def _update(self, payload: bytes) -> None:
        """Workers have one model for all shards: the first shard's pages form it."""
        context = self.context
        if context.shard.number == 1:
            context.setup = msgspec.structs.replace(context.setup, update=payload)
            self._start(self._tell_workers(ModelUpdate(context.digest, payload)))

    async def _tell_workers(self, update: ModelUpdate) -> None:
        with suppress(PublishRefused, *LOST):  # who comes back gets it with the setup
            await self.context.connection.tell(
                self.context.names.workers, **packed(update, "update")
            )

    async def _close(self) -> None:
        context = self.context
        if context.is_open and context.connection.is_up.is_set():
            with suppress(PublishRefused, *LOST):
                await self._heartbeat.tell_status(
                    ended=context.opened.crawl.stop_reason or "broken off"
                )
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await context.connection.close()
