"""Runs the shards and workers of a cluster in one process, under a virtual clock.

    ends, events = crawl(config, replay, Form(shards=2))

Each shard is the real crawl over the real transport, leases, credit and levels; what is left
out is the broker, and the database. Broker and workers are modelled under one virtual clock:
a task waits in its shard's queue for one of `slots`, takes as long as in `ReplayTransport`,
and its result is there `HOP_S` later. So a crawl is a function of its input, on any machine.

A form may hand over results and links twice, and in another order than they were sent in.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from msgspec.structs import asdict, replace

from focus.cluster import slot_share
from focus.cluster.flow_control import FlowControl
from focus.cluster.forwarded_links import ForwardedLinks
from focus.cluster.leases import Lease, Leases, Terms
from focus.cluster.messages import (
    ForwardedLink,
    Hello,
    ShardStatus,
    TaskResult,
    WorkerReport,
    answer_of,
    pack,
    unpack,
)
from focus.cluster.sharding import Shard
from focus.cluster.shared_budget import OtherShards, quantiles_of
from focus.cluster.transport import ClusterTransport
from focus.config import CrawlConfig
from focus.crawler import Crawl, Event
from focus.engine.transports import latency_s
from focus.records import FetchResult, Page, Result, Task, UrlState

HEARTBEAT_INTERVAL_S = 1.0
HOP_S = 0.02  # from a worker to its shard
CROSSING_S = 0.5  # a link from shard to shard: with the batch of its page, then by the broker
LATE_S = 5.0
SETUP = b"virtual"

Happening = Callable[[], Coroutine[Any, Any, None]]


class Web(Protocol):
    """A recorded web and a scorer in one: `focus.evaluate.trial.Replay`."""

    recorded_at: float

    def begin(self) -> None:
        """Another crawl."""

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        """The stored answer."""

    async def score(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """The page in it."""


class Form(NamedTuple):
    """How a crawl is spread.

    slots      requests at once of all workers
    exchanges  shards tell each other of their best priorities
    twice      share of the messages that are handed over twice
    late       share of the messages that come up to `LATE_S` late
    """

    shards: int = 1
    slots: int = 64
    exchanges: bool = True
    twice: float = 0.0
    late: float = 0.0
    seed: int = 1


_shard_of = itemgetter(0)


class _Delivery:
    async def ack(self) -> None:
        """There is no broker to tell."""


class VirtualTransport(ClusterTransport):
    """A shard's transport, whose waiting is the world's. `tasks`: its queue in the broker."""

    locates = False  # a recorded web has no addresses

    def __init__(self, world: World, shard: Shard, flow_control: FlowControl) -> None:
        leases = Leases(shard.number << 40, Terms(work_s=1e9))
        self.other_shards = OtherShards()
        shares = world.form.exchanges and shard.of > 1
        self.forwarded = ForwardedLinks(shard, self.other_shards if shares else None)
        super().__init__(
            leases,
            flow_control,
            clock=world.now,
            setup=SETUP,
            several=shard.of > 1,
            on_link=self.forwarded.came,
        )
        self._world = world
        self.tasks: deque[Lease] = deque()
        self.collected_at = 0.0
        self.until: float | None = None
        self.sleeper: asyncio.Future[None] | None = None

    async def receive(self, until: float | None) -> list[Result]:
        """As the real one, but no time passes unless all shards wait."""
        self._world.collect(self)
        if not (self._reports or self._links):
            self.until = until
            self.sleeper = asyncio.get_running_loop().create_future()
            await self.sleeper
        return await super().receive(self.now())

    def wake(self) -> None:
        super().wake()
        if self.sleeper is not None and not self.sleeper.done():
            self.sleeper.set_result(None)


class World:
    """Clock, broker and workers of a cluster."""

    def __init__(self, config: CrawlConfig, replay: Web, form: Form) -> None:
        self.form = form
        self.events: list[Event] = []
        self._replay, self._limits = replay, config.limits
        self._clock = replay.recorded_at
        self._rng = random.Random(form.seed)
        self._due: list[tuple[float, int, Happening]] = []
        self._nth = 0
        self._moving = 0  # what is due, heartbeats aside
        self._free = form.slots
        self._turn = 0
        self.shards = [self._shard(config, number) for number in range(1, form.shards + 1)]

    def _shard(self, config: CrawlConfig, number: int) -> tuple[Crawl, VirtualTransport]:
        shard, flow_control = Shard(number, self.form.shards), FlowControl(1e9)
        flow_control.hello(Hello("all", SETUP, self.form.slots), self._clock)
        transport = VirtualTransport(self, shard, flow_control)
        transport.forwarded.max_depth = config.scope.max_depth
        crawl = Crawl(config, transport, partition=transport.forwarded, observe=self.events.append)
        transport.share = 1.0 / shard.of
        transport.used = 0 if self.form.exchanges else 1 << 40
        return crawl, transport

    def now(self) -> float:
        """Virtual Unix seconds."""
        return self._clock

    # -- time ---------------------------------------------------------------------

    def _schedule(self, when: float, what: Happening, *, is_heartbeat: bool = False) -> None:
        self._nth += 1
        self._moving += not is_heartbeat
        heapq.heappush(self._due, (when, self._nth, what))

    async def run(self) -> list[str]:
        """All shards to their ends; why each ended."""
        for crawl, _ in self.shards:
            crawl.sow(crawl.config.seeds)
        running = [asyncio.create_task(crawl.run()) for crawl, _ in self.shards]
        self._schedule(self._clock + HEARTBEAT_INTERVAL_S, self._heartbeat, is_heartbeat=True)
        while not all(task.done() for task in running):
            transports = [
                transport
                for (_, transport), task in zip(self.shards, running, strict=True)
                if not task.done()
            ]
            if all(
                transport.sleeper is not None and not transport.sleeper.done()
                for transport in transports
            ):
                await self._step(transports)
            await asyncio.sleep(0)
        return [task.result() for task in running]

    async def _step(self, transports: list[VirtualTransport]) -> None:
        """The next thing that happens, somewhere."""
        waits = [
            (transport.until, nth)
            for nth, transport in enumerate(transports)
            if transport.until is not None
        ]
        soonest = min(waits, default=None)
        if self._due and (soonest is None or self._due[0][0] <= soonest[0]):
            when, _, what = heapq.heappop(self._due)
            self._clock = max(self._clock, when)
            await what()
        elif soonest is not None:
            self._clock = max(self._clock, soonest[0])
            transports[soonest[1]].wake()

    # -- broker -------------------------------------------------------------------

    def collect(self, transport: VirtualTransport) -> None:
        """Take what a shard has to send."""
        transport.pending()
        transport.tasks.extend(transport.leases.ready(self._clock, 1 << 30))
        self._work()
        due = transport.leases.next_ready()
        if due is not None and not self._clock < transport.collected_at <= due:
            transport.collected_at = due
            self._schedule(due, partial(self._collect, transport), is_heartbeat=True)
        for shard, links in groupby(sorted(transport.forwarded.take(), key=_shard_of), _shard_of):
            packed = pack([link for _, link in links])
            self._deliver(
                CROSSING_S, partial(self._forwarded_link, self.shards[shard - 1][1], packed)
            )

    async def _collect(self, transport: VirtualTransport) -> None:
        self.collect(transport)

    def _forwarded_link(self, transport: VirtualTransport, packed: bytes) -> None:
        transport.links_came(unpack(packed, list[ForwardedLink]), _Delivery())
        transport.wake()

    def _deliver(self, after_s: float, arrive: Callable[[], None]) -> None:
        """Hand a message over as the form says."""
        times = 1 + (self._rng.random() < self.form.twice)
        for _ in range(times):
            late = self._rng.random() < self.form.late
            delay = after_s + (self._rng.uniform(0.0, LATE_S) if late else 0.0)
            self._schedule(self._clock + delay, partial(self._arrive, arrive))

    async def _arrive(self, arrive: Callable[[], None]) -> None:
        self._moving -= 1
        arrive()

    # -- workers ------------------------------------------------------------------

    def _work(self) -> None:
        """Begin what there are slots for, the shards by turns."""
        while self._free and any(transport.tasks for _, transport in self.shards):
            self._turn = (self._turn + 1) % len(self.shards)
            transport = self.shards[self._turn][1]
            if transport.tasks:
                lease = transport.tasks.popleft()
                self._free -= 1
                ends_at = self._clock + latency_s(lease.task.url)
                self._schedule(ends_at, partial(self._done, lease, transport))

    async def _done(self, lease: Lease, transport: VirtualTransport) -> None:
        self._moving -= 1
        self._free += 1
        answer = await self._answer(lease.task, lease.id)
        self._deliver(HOP_S, partial(self._report, transport, answer))
        self._work()

    def _report(self, transport: VirtualTransport, answer: TaskResult) -> None:
        transport.reported(WorkerReport("all", answers=[answer]), _Delivery())
        transport.wake()

    async def _answer(self, task: Task, lease: int) -> TaskResult:
        taken_s, page = latency_s(task.url), None
        fetch = self._replay.lookup(
            task.url,
            robots=task.id is None,
            fetched_at=self._clock - taken_s,
            elapsed_s=taken_s,
        )
        is_page = task.id is not None and not fetch.failure and fetch.redirect_to is None
        if is_page and fetch.listing is None:
            kind = fetch.header("content-type")
            page = await self._replay.score(fetch.url, fetch.body, kind)
        return answer_of(lease, Result(task, fetch, page), self._clock)

    # -- shards -------------------------------------------------------------------

    async def _heartbeat(self) -> None:
        """What shards tell each other every second, and conclude."""
        if self.form.exchanges and self.form.shards > 1:
            self._exchange([self._status(each) for each in range(self.form.shards)])
        reason = self._ended()
        for crawl, transport in self.shards:
            if reason:
                crawl.stop(reason)
            transport.wake()
        self._schedule(self._clock + HEARTBEAT_INTERVAL_S, self._heartbeat, is_heartbeat=True)

    def _status(self, at: int) -> ShardStatus:
        crawl, transport = self.shards[at]
        return ShardStatus(
            at + 1,
            len(self.shards),
            0,
            priorities=slot_share.sketch(crawl.frontier, 2 * self.form.slots),
            totals=asdict(crawl.unit_of_work.totals),
            in_flight=transport.in_flight,
            quantiles=quantiles_of(crawl),
        )

    def _exchange(self, statuses: list[ShardStatus]) -> None:
        priorities = {each.shard: each.priorities for each in statuses}
        for own, (crawl, transport) in zip(statuses, self.shards, strict=True):
            others = [each for each in statuses if each is not own]
            totals = sum((Counter(each.totals) for each in others), Counter[str]())
            transport.share = slot_share.share(own.shard, priorities)
            transport.used = sum(each.in_flight for each in others)
            transport.other_shards.update(own, others, totals, self._clock)
            crawl.frontier.reconsider()

    def _ended(self) -> str:
        most = self._limits.max_requests
        if most is not None and len(self.events) >= most:
            return "max-requests reached"
        waits = sum(crawl.url_table.counts[UrlState.WAITING] for crawl, _ in self.shards)
        idle = (
            not waits
            and not self._moving
            and not any(transport.in_flight for _, transport in self.shards)
        )
        return "frontier empty" if idle else ""


def crawl(config: CrawlConfig, replay: Web, form: Form) -> World:
    """A crawl of a recorded web by a cluster, to its end."""
    replay.begin()

    async def work() -> World:
        world = World(replace(config, concurrency=1 << 20), replay, form)
        await world.run()
        return world

    return asyncio.run(work())
