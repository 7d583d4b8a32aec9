"""What would a cluster do, were it not for time? Shards and workers in one process.

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
from focus.cluster.forwarded_links import ForwardedLinks, welcome
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
from focus.cluster.shared_budget import OtherShards, ladder_of
from focus.cluster.transport import ClusterTransport
from focus.config import CrawlConfig
from focus.crawler import Crawl, Event
from focus.engine.transports import latency_s
from focus.records import FetchResult, Page, Result, Task, UrlState

BEAT_S = 1.0
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

    async def score(self, url: str, body: bytes, content_type: str | None) -> Page:
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


class Way(ClusterTransport):
    """A shard's transport, whose waiting is the world's. `tasks`: its queue in the broker."""

    def __init__(self, world: World, shard: Shard, flow_control: FlowControl) -> None:
        leases = Leases(shard.number << 40, Terms(work_s=1e9))
        super().__init__(leases, flow_control, clock=world.now, setup=SETUP, several=shard.of > 1)
        self._world = world
        self.abroad, self.other_crawls = ForwardedLinks(shard, None), OtherShards()
        self.tasks: deque[Lease] = deque()
        self.collected_at = 0.0
        self.until: float | None = None
        self.sleeper: asyncio.Future[None] | None = None

    async def receive(self, until: float | None) -> list[Result]:
        """As the real one, but no time passes unless all shards wait."""
        self._world.collect(self)
        if not (self._reports or self._strays):
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
        self._moving = 0  # what is due, beats aside
        self._free = form.slots
        self._turn = 0
        self.shards = [self._shard(config, number) for number in range(1, form.shards + 1)]

    def _shard(self, config: CrawlConfig, number: int) -> tuple[Crawl, Way]:
        shard, flow_control = Shard(number, self.form.shards), FlowControl(1e9)
        flow_control.hello(Hello("all", SETUP, self.form.slots), self._clock)
        way = Way(self, shard, flow_control)
        crawl = Crawl(config, way, observe=self.events.append)
        way.abroad.max_depth = config.scope.max_depth
        if way.expects:
            crawl.link_handler.border = way.abroad
            crawl.limits.other_crawls = way.other_crawls if self.form.exchanges else None
        way.on_stray = partial(welcome, crawl)
        way.share = 1.0 / shard.of
        way.used = 0 if self.form.exchanges else 1 << 40
        return crawl, way

    def now(self) -> float:
        """Virtual Unix seconds."""
        return self._clock

    # -- time ---------------------------------------------------------------------

    def _at(self, when: float, what: Happening, *, is_beat: bool = False) -> None:
        self._nth += 1
        self._moving += not is_beat
        heapq.heappush(self._due, (when, self._nth, what))

    async def run(self) -> list[str]:
        """All shards to their ends; why each ended."""
        for crawl, _ in self.shards:
            crawl.sow(crawl.config.seeds)
        running = [asyncio.create_task(crawl.run()) for crawl, _ in self.shards]
        self._at(self._clock + BEAT_S, self._beat, is_beat=True)
        while not all(task.done() for task in running):
            ways = [
                way for (_, way), task in zip(self.shards, running, strict=True) if not task.done()
            ]
            if all(way.sleeper is not None and not way.sleeper.done() for way in ways):
                await self._step(ways)
            await asyncio.sleep(0)
        return [task.result() for task in running]

    async def _step(self, ways: list[Way]) -> None:
        """The next thing that happens, somewhere."""
        waits = [(way.until, nth) for nth, way in enumerate(ways) if way.until is not None]
        soonest = min(waits, default=None)
        if self._due and (soonest is None or self._due[0][0] <= soonest[0]):
            when, _, what = heapq.heappop(self._due)
            self._clock = max(self._clock, when)
            await what()
        elif soonest is not None:
            self._clock = max(self._clock, soonest[0])
            ways[soonest[1]].wake()

    # -- broker -------------------------------------------------------------------

    def collect(self, way: Way) -> None:
        """Take what a shard has to send."""
        way.pending()
        way.tasks.extend(way.leases.ready(self._clock, 1 << 30))
        self._work()
        due = way.leases.next_ready()
        if due is not None and not self._clock < way.collected_at <= due:
            way.collected_at = due
            self._at(due, partial(self._collect, way), is_beat=True)
        for shard, strays in groupby(sorted(way.abroad.take(), key=_shard_of), _shard_of):
            packed = pack([stray for _, stray in strays])
            self._deliver(CROSSING_S, partial(self._stray, self.shards[shard - 1][1], packed))

    async def _collect(self, way: Way) -> None:
        self.collect(way)

    def _stray(self, way: Way, packed: bytes) -> None:
        way.strayed(unpack(packed, list[ForwardedLink]), _Delivery())
        way.wake()

    def _deliver(self, after_s: float, arrive: Callable[[], None]) -> None:
        """Hand a message over as the form says."""
        times = 1 + (self._rng.random() < self.form.twice)
        for _ in range(times):
            late = self._rng.random() < self.form.late
            delay = after_s + (self._rng.uniform(0.0, LATE_S) if late else 0.0)
            self._at(self._clock + delay, partial(self._arrive, arrive))

    async def _arrive(self, arrive: Callable[[], None]) -> None:
        self._moving -= 1
        arrive()

    # -- workers ------------------------------------------------------------------

    def _work(self) -> None:
        """Begin what there are slots for, the shards by turns."""
        while self._free and any(way.tasks for _, way in self.shards):
            self._turn = (self._turn + 1) % len(self.shards)
            way = self.shards[self._turn][1]
            if way.tasks:
                lease = way.tasks.popleft()
                self._free -= 1
                ends_at = self._clock + latency_s(lease.task.url)
                self._at(ends_at, partial(self._done, lease, way))

    async def _done(self, lease: Lease, way: Way) -> None:
        self._moving -= 1
        self._free += 1
        answer = await self._answer(lease.task, lease.id)
        self._deliver(HOP_S, partial(self._report, way, answer))
        self._work()

    def _report(self, way: Way, answer: TaskResult) -> None:
        way.reported(WorkerReport("all", answers=[answer]), _Delivery())
        way.wake()

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

    async def _beat(self) -> None:
        """What shards tell each other every second, and conclude."""
        if self.form.exchanges and self.form.shards > 1:
            self._exchange([self._standing(each) for each in range(self.form.shards)])
        reason = self._ended()
        for crawl, way in self.shards:
            if reason:
                crawl.stop(reason)
            way.wake()
        self._at(self._clock + BEAT_S, self._beat, is_beat=True)

    def _standing(self, at: int) -> ShardStatus:
        crawl, way = self.shards[at]
        return ShardStatus(
            at + 1,
            len(self.shards),
            0,
            level=slot_share.sketch(crawl.frontier, 2 * self.form.slots),
            totals=asdict(crawl.unit_of_work.totals),
            in_flight=way.in_flight,
            ladder=ladder_of(crawl),
        )

    def _exchange(self, standings: list[ShardStatus]) -> None:
        levels = {each.shard: each.level for each in standings}
        for own, (crawl, way) in zip(standings, self.shards, strict=True):
            others = [each for each in standings if each is not own]
            totals = sum((Counter(each.totals) for each in others), Counter[str]())
            way.share = slot_share.share(own.shard, levels)
            way.used = sum(each.in_flight for each in others)
            way.other_crawls.hear(own, others, totals, self._clock)
            crawl.limits.reconsider()

    def _ended(self) -> str:
        most = self._limits.max_requests
        if most is not None and len(self.events) >= most:
            return "max-requests reached"
        waits = sum(crawl.url_table.counts[UrlState.WAITING] for crawl, _ in self.shards)
        idle = not waits and not self._moving and not any(way.in_flight for _, way in self.shards)
        return "frontier empty" if idle else ""


def crawl(config: CrawlConfig, replay: Web, form: Form) -> World:
    """A crawl of a recorded web by a cluster, to its end."""
    replay.begin()

    async def work() -> World:
        world = World(replace(config, concurrency=1 << 20), replay, form)
        await world.run()
        return world

    return asyncio.run(work())
