"""A cluster in one process: a shard's crawl whose workers are a coroutine, and no broker.

    room = Room(web, rng=Random(1), lose=0.2, twice=0.3)
    report = await room.crawl(config, tmp_path / "s.db")

Deliveries come in any order, some twice, some tasks are lost on the way.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from random import Random

import msgspec

from focus.cluster.batch_writer import ShardStore
from focus.cluster.flow_control import FlowControl
from focus.cluster.forwarded_links import ForwardedLinks, welcome
from focus.cluster.leases import Lease, Leases, Terms
from focus.cluster.messages import Hello, WorkerReport, answer_of, pack, unpack
from focus.cluster.sharding import Shard
from focus.cluster.transport import ClusterTransport
from focus.config import CrawlConfig
from focus.crawler import Crawl, CrawlStore
from focus.engine.transports import Clock, Transport
from focus.records import Result, Task
from focus.session import RunPaths, Runtime, Watcher, run
from focus.session import RunReport as Summary
from focus.storage import cluster_leases as rows
from focus.store import CrawlInfo, Store
from focus.workers import InlineScorer
from tests.support.web import TinyWeb

QUICK = Terms(queue_s=0.1, hold_s=0.1, work_s=0.1, ask_s=0.02, cut_s=0.05)


class Delivery:
    """Counts its acknowledgements."""

    def __init__(self, room: Room) -> None:
        self.room = room

    async def ack(self) -> None:
        self.room.acked += 1


class Room(Runtime):
    """Surroundings without a broker. `lose`, `twice`: shares of tasks and reports."""

    def __init__(
        self,
        web: TinyWeb,
        *,
        rng: Random,
        lose: float = 0.0,
        twice: float = 0.0,
        poison: str = "",
        slots: int = 4,
    ) -> None:
        self.web, self.rng = web, rng
        self.lose, self.twice, self.poison, self.slots = lose, twice, poison, slots
        self.acked = self.delivered = 0
        self.given: Counter[str] = Counter()
        self._tasks: list[asyncio.Task[None]] = []
        self.clock = Clock()

    async def crawl(self, config: CrawlConfig, db: Path) -> Summary:
        try:
            return await run(config, RunPaths(db=db), Watcher(), around=self)
        finally:
            for task in self._tasks:
                task.cancel()
            ended = await asyncio.gather(*self._tasks, return_exceptions=True)
            for each in ended:
                if not isinstance(each, asyncio.CancelledError | None):
                    raise each

    async def transport(
        self,
        config: CrawlConfig,
        paths: RunPaths,
        store: Store,
        info: CrawlInfo,
        stack: AsyncExitStack,
    ) -> Transport:
        self.scorer = InlineScorer(config.analysis)
        self.flow_control = FlowControl(60.0)
        self.flow_control.hello(Hello("w", b"setup", self.slots), self.clock())
        self.way = ClusterTransport(
            Leases(self.rng.getrandbits(40), QUICK),
            self.flow_control,
            clock=self.clock,
            setup=b"setup",
        )
        return self.way

    def crawl_store(self, store: Store, info: CrawlInfo) -> CrawlStore:
        return ShardStore(store, info.id, self.way, ForwardedLinks(Shard(), None))

    async def opened(self, crawl: Crawl, store: Store, info: CrawlInfo) -> None:
        self.way.on_stray = partial(welcome, crawl)
        found = await store.run(partial(rows.leases, crawl=info.id))
        for row in found:
            task = msgspec.msgpack.decode(row.task, type=Task)
            assert crawl.readopt(task)
            self.way.in_flight += 1
            self.way.leases.adopt(Lease(row.id, task, row.expires_at), self.clock())
        self._tasks += [
            asyncio.create_task(self._pump(store, info)),
            asyncio.create_task(self._review()),
        ]

    async def _pump(self, store: Store, info: CrawlInfo) -> None:
        while True:
            going = self.way.leases.ready(self.clock(), 100)
            if not going:
                self.way.outgoing.clear()
                try:
                    async with asyncio.timeout(0.02):
                        await self.way.outgoing.wait()
                except TimeoutError:
                    pass
                continue
            packed = [
                rows.LeaseRow(
                    each.id, each.losses, each.expires_at, msgspec.msgpack.encode(each.task)
                )
                for each in going
            ]
            await store.run(partial(rows.give, crawl=info.id, rows=packed))
            self.rng.shuffle(going)
            for lease in going:
                await self._work(lease)

    async def _work(self, lease: Lease) -> None:
        task = lease.task
        self.given[task.url] += 1
        if task.url == self.poison:
            self.way.reported(WorkerReport("w", lost=[lease.id]), Delivery(self))
            return
        if self.rng.random() < self.lose:
            return
        fetch = await self.web.fetch(task.url, robots=task.id is None)
        page = None
        if task.id is not None and not fetch.failure and fetch.redirect_to is None:
            page = await self.scorer.score(fetch.url, fetch.body, fetch.header("content-type"))
        answer = answer_of(lease.id, Result(task, fetch, page), self.clock())
        report = unpack(pack(WorkerReport("w", answers=[answer])), WorkerReport)
        for _ in range(2 if self.rng.random() < self.twice else 1):
            self.delivered += 1
            loop = asyncio.get_running_loop()
            later = self.rng.random() * 0.02
            loop.call_later(later, self.way.reported, report, Delivery(self))

    async def _review(self) -> None:
        while True:
            await asyncio.sleep(0.02)
            self.way.review(queued=False)
