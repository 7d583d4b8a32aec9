"""A cluster in one process: a shard's crawl whose workers are a coroutine, and no broker.

    cluster = SimulatedCluster(web, rng=Random(1), lose=0.2, twice=0.3)
    report = await cluster.crawl(config, tmp_path / "s.db")

Deliveries come in any order, some twice, some tasks are lost on the transport (each less often than
makes it a poison). Time stands still while anything is to be done, and then moves to the next
moment that somebody waits for; the same seed gives the same run, however busy the machine.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from random import Random

import msgspec

from focus.cluster.batch_writer import ShardStore
from focus.cluster.flow_control import FlowControl
from focus.cluster.forwarded_links import ForwardedLinks
from focus.cluster.leases import POISON, Lease, Leases, Terms
from focus.cluster.messages import Hello, WorkerReport, answer_of, pack, unpack
from focus.cluster.sharding import Shard
from focus.cluster.transport import ClusterTransport
from focus.config import CrawlConfig, RunPaths
from focus.crawler import Crawl, CrawlStore
from focus.engine.outages import Outage
from focus.engine.transports import Transport, wait_for
from focus.records import FetchResult, Result, Task
from focus.score.strategy import strategy_class
from focus.session import RunReport as Summary
from focus.session import Runtime, Watcher, run
from focus.session.resume import resume_task
from focus.storage import cluster_leases as rows
from focus.store import CrawlInfo, Store
from focus.workers import InlineScorer
from tests.support.outage import NetworkFault
from tests.support.web import Hit, TinyWeb


class SimulatedTransport(ClusterTransport):
    """The transport of a shard, which tells when it waits, and until when."""

    waits: asyncio.Event
    until: float | None = None

    async def receive(self, until: float | None) -> list[Result]:
        if not (self._reports or self._links or self._poisoned):
            self.until = until
            self.waits.set()
            await wait_for(self._ready, None)
            self.waits.clear()
        return await super().receive(self.now())

    def go_on(self) -> None:
        """It waits no more."""
        self.waits.clear()
        self.wake()


class Delivery:
    """Counts its acknowledgements."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster

    async def ack(self) -> None:
        self.cluster.acked += 1


class SimulatedCluster(Runtime, Watcher):
    """A runtime without a broker. `lose`, `twice`: shares of tasks and reports.

    most       fetches: after these nothing happens any more, and `halted` is set
    faults       when workers have no network
    addresses  host -> where it is; others are nowhere that is known
    """

    def __init__(
        self,
        web: TinyWeb,
        *,
        rng: Random,
        lose: float = 0.0,
        twice: float = 0.0,
        poison: str = "",
        slots: int = 4,
        most: int | None = None,
        faults: Sequence[NetworkFault] = (),
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        self.web, self.rng = web, rng
        self.lose, self.twice, self.poison, self.slots = lose, twice, poison, slots
        self.acked = self.delivered = 0
        self.given: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.most, self.halted = most, asyncio.Event()
        self.faults, self.addresses = faults, addresses or {}
        self.outages: list[Outage | None] = []
        self.asked: list[Hit] = []  # what got through to the web, by the cluster's clock
        self._post: list[WorkerReport] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.now = time.time()  # from here on it moves by itself

    def clock(self) -> float:
        return self.now

    async def crawl(self, config: CrawlConfig, db: Path) -> Summary:
        try:
            return await run(config, RunPaths(db=db), self, runtime=self)
        finally:
            for task in self._tasks:
                task.cancel()
            ended = await asyncio.gather(*self._tasks, return_exceptions=True)
            for each in ended:
                if not isinstance(each, asyncio.CancelledError | None):
                    raise each

    async def make_transport(
        self,
        config: CrawlConfig,
        paths: RunPaths,
        store: Store,
        info: CrawlInfo,
        stack: AsyncExitStack,
    ) -> Transport:
        self.scorer = InlineScorer(strategy_class(config.strategy).extend_analysis(config.analysis))
        self.flow_control = FlowControl(60.0)
        self.flow_control.hello(Hello("w", b"setup", self.slots), self.now)
        leases = Leases(self.rng.getrandbits(40), Terms())
        self.transport = SimulatedTransport(
            leases, self.flow_control, clock=self.clock, setup=b"setup"
        )
        self.transport.waits = asyncio.Event()
        return self.transport

    def make_crawl_store(self, store: Store, info: CrawlInfo) -> CrawlStore:
        return ShardStore(store, info.id, self.transport, ForwardedLinks(Shard()))

    def outage(self, outage: Outage | None) -> None:
        self.outages.append(outage)

    async def on_opened(self, crawl: Crawl, store: Store, info: CrawlInfo) -> None:
        found = await store.run_in_thread(partial(rows.load_leases, crawl=info.id))
        for row in found:
            task = msgspec.msgpack.decode(row.task, type=Task)
            if not resume_task(crawl, task):  # a look-up, or a try whether the network is back
                assert task.id is None
                self.transport.forget([row.id])
                continue
            self.transport.in_flight += 1
            self.transport.leases.adopt(Lease(row.id, task, row.expires_at), self.now)
        self._tasks.append(asyncio.create_task(self._drive(store, info)))

    async def _drive(self, store: Store, info: CrawlInfo) -> None:
        """One thing after the other, each when the crawl waits for it."""
        while True:
            await self.transport.waits.wait()
            if going := self.transport.leases.ready(self.now, 100):
                await self._give(going, store, info)
            elif self._post:
                self._deliver()
            else:
                self._pass_time()

    async def _give(self, going: list[Lease], store: Store, info: CrawlInfo) -> None:
        packed = [
            rows.LeaseRow(each.id, each.losses, each.expires_at, msgspec.msgpack.encode(each.task))
            for each in going
        ]
        await store.run_in_thread(partial(rows.store_leases, crawl=info.id, rows=packed))
        self.rng.shuffle(going)
        for lease in going:
            if self.most is not None and len(self.web.log) >= self.most:
                self.halted.set()
                await asyncio.Event().wait()
            await self._work(lease)

    async def _work(self, lease: Lease) -> None:
        task = lease.task
        self.given[task.url] += not task.is_lookup
        if task.url == self.poison and not task.is_lookup:
            self._post.append(WorkerReport("w", lost=[lease.id]))
            return
        if self.lost[task.url] < POISON - 1 and self.rng.random() < self.lose:
            self.lost[task.url] += 1
            return
        fetch = await self._fetch(task)
        page = None
        if task.id is not None and not fetch.failure and fetch.redirect_to is None:
            page = await self.scorer.score(fetch.url, fetch.body, fetch.header("content-type"))
        answer = answer_of(lease.id, Result(task, fetch, page), self.now)
        report = unpack(pack(WorkerReport("w", answers=[answer])), WorkerReport)
        self._post += [report] * (2 if self.rng.random() < self.twice else 1)

    async def _fetch(self, task: Task) -> FetchResult:
        if task.is_lookup:
            address = self.addresses.get(task.host, "")
            return FetchResult(task.url, self.now, address=address)
        for fault in self.faults:
            if fault.applies_to(task.host, self.now):
                return FetchResult(task.url, self.now, failure=fault.kind, detail="no network here")
        self.asked.append(Hit(task.url, self.now))
        fetch = await self.web.fetch(task.url, robots=task.id is None)
        address = self.addresses.get(task.host)
        return msgspec.structs.replace(fetch, fetched_at=self.now, address=address)

    def _deliver(self) -> None:
        """Some of what is on its transport arrives."""
        self.rng.shuffle(self._post)
        for _ in range(self.rng.randint(1, len(self._post))):
            self.delivered += 1
            self.transport.reported(self._post.pop(), Delivery(self))
        self.transport.go_on()

    def _pass_time(self) -> None:
        """Nothing is under transport: the next moment that the crawl or a lease waits for."""
        leases, until = self.transport.leases, self.transport.until
        moments = [leases.next_ready(), until, min(leases._watch, default=(None,))[0]]
        self.now = max(self.now, min(each for each in moments if each is not None))
        self.flow_control.hello(Hello("w", b"setup", self.slots), self.now)
        self.transport.review(queued=False)
        if self.transport._poisoned or (until is not None and until <= self.now):
            self.transport.go_on()
