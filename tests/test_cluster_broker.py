"""A cluster on a RabbitMQ of its own: the same pages, the same order, politeness, mishaps.

The trial with random kills is `python -m bench.torture cluster`.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trustme
from aio_pika import Message
from msgspec.structs import replace

from focus.cluster import broker as addresses
from focus.cluster import connection, control, worker
from focus.cluster.address import read_address
from focus.cluster.leases import Terms
from focus.cluster.messages import TaskBundle
from focus.cluster.node import ShardNode
from focus.cluster.private_broker import PrivateBroker, free_ports, server
from focus.cluster.reach import Reach
from focus.cluster.sharding import Shard
from focus.cluster.worker import WorkerOptions, WorkerRole
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    LimitConfig,
    PolitenessConfig,
    RunPaths,
    ScopeConfig,
)
from focus.demo.server import DemoServer, LogEntry
from focus.demo.site import DemoWeb, generate
from focus.engine.transports import Clock
from focus.errors import ClusterError
from focus.fetch import WebFetcher
from focus.records import FetchResult
from focus.session import RunReport, Watcher, run
from focus.topic.topic import from_words, to_builtins
from tests.support.cables import Cables
from tests.support.processes import pages, served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        server() is None,
        reason="THE CLUSTER IS NOT TESTED: rabbitmq-server is not installed "
        "(Debian: apt install rabbitmq-server)",
    ),
]
DEADLINE_S = 600.0
"""Longer than anything here lasts on any machine: a guard against waiting for ever."""
TICK_S = 0.02
QUICK = Terms(queue_s=1.0, hold_s=1.0, work_s=1.0, ask_s=0.5, cut_s=1.5)
PATIENT = Terms(queue_s=120.0, hold_s=120.0, work_s=120.0, ask_s=10.0, cut_s=120.0)
_numbers = iter(range(1, 1000))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is taken for lost because the machine stood still for seconds."""
    monkeypatch.setattr(addresses, "HEARTBEAT_S", 120)
    monkeypatch.setattr(addresses, "CONNECT_S", 120.0)
    monkeypatch.setattr(connection, "CONFIRM_S", 120.0)
    monkeypatch.setattr(worker, "CUT_S", 120.0)


class Carried:
    """A frontier's clock, Unix seconds; see `carried`."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def carried(broker: PrivateBroker, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Time of leases passes in messages that the broker has carried: a busy machine takes longer
    for a second, and whoever has a task had his chance to say so in it.
    """
    clock = Carried()
    monkeypatch.setattr("focus.cluster.shard_context.Clock", lambda: clock)
    connection = await addresses.connect(read_address(broker.url), "clock")

    over = asyncio.Event()

    async def goes_on() -> None:
        channel = await connection.channel()
        queue = await channel.declare_queue(exclusive=True)
        while not over.is_set():  # not cancelled: what waits for the broker may swallow that
            await asyncio.sleep(TICK_S)
            await channel.default_exchange.publish(Message(b""), queue.name)
            await queue.get(no_ack=True, fail=False)
            clock.now += TICK_S

    going = asyncio.create_task(goes_on())
    try:
        yield
    finally:
        over.set()
        await going
        await connection.close()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[float]]:
    """When the workers wrote their requests, by host: the site's log has arrivals, and behind one
    that is late the next seems early.
    """
    times: dict[str, list[float]] = defaultdict(list)

    class Noted(WebFetcher):
        async def fetch(self, url: str, *args: Any, sent: Any = None, **how: Any) -> FetchResult:
            def goes() -> None:
                times[url.split("/")[2]].append(time.monotonic())
                if sent is not None:
                    sent()

            return await super().fetch(url, *args, sent=goes, **how)

    monkeypatch.setattr("focus.cluster.executor.WebFetcher", Noted)
    return times


class Secure(NamedTuple):
    """Where the same broker speaks TLS, and by which authority."""

    port: int
    ca: Path


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Secure:
    folder = tmp_path_factory.mktemp("tls")
    ca = trustme.CA()
    cert = ca.issue_cert("localhost", "127.0.0.1")
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    cert.private_key_pem.write_to_path(str(folder / "key.pem"))
    cert.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    return Secure(free_ports(1)[0], folder / "ca.pem")


@pytest.fixture(scope="module")
def broker(secure: Secure) -> Iterator[PrivateBroker]:
    folder = secure.ca.parent
    tls = (
        f"listeners.ssl.default = 127.0.0.1:{secure.port}\n"
        f"ssl_options.cacertfile = {secure.ca}\n"
        f"ssl_options.certfile = {folder / 'cert.pem'}\n"
        f"ssl_options.keyfile = {folder / 'key.pem'}\n"
        "ssl_options.verify = verify_none\n"
    )
    with PrivateBroker(config=tls) as broker:
        yield broker


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return generate(seed=1, pages=120)


@pytest.fixture
def site(web: DemoWeb) -> Iterator[DemoServer]:
    with served(web) as server:
        yield server


def config(
    site: DemoServer, *, delay_s: float = 0.0, strategy: str = "bfs", **more: object
) -> CrawlConfig:
    slow = tuple(f"//{each.host}/" for each in site.web.plan.sites if each.kind.delay_s)
    fields: dict[str, object] = {
        "seeds": tuple(site.web.seeds),
        "strategy": strategy,
        "fetch": FetchConfig(connect_to=f"127.0.0.1:{site.port}", allow_net=("127.0.0.0/8",)),
        "politeness": PolitenessConfig(delay_s=delay_s, per_ip=0),
        "scope": ScopeConfig(deny=("/calendar/", "/online/", *slow)),
        "analysis": AnalysisConfig(topic=to_builtins(from_words("足球")), keep="none"),
        "workers": 1,
        **more,
    }
    return CrawlConfig(**fields)  # type: ignore[arg-type]


def reach(site: DemoServer) -> Reach:
    """What a worker needs to be given to ask this site."""
    return Reach(("127.0.0.0/8",), connect_to=f"127.0.0.1:{site.port}")


class BrokerCluster:
    """A cluster in this process, with a name of its own on the broker."""

    def __init__(
        self,
        broker: PrivateBroker,
        site: DemoServer,
        folder: Path,
        shards: int = 1,
        *,
        terms: Terms = PATIENT,
    ) -> None:
        name = f"test{next(_numbers)}-{random.getrandbits(24)}"
        self.address = read_address(broker.url, cluster=name)
        self.folder, self.shards, self.terms = folder, shards, terms
        self.said: list[str] = []
        self.members: dict[int, ShardNode] = {}
        self.reach = reach(site)

    @asynccontextmanager
    async def workers(
        self, count: int = 1, slots: int = 8, kind: type[WorkerRole] = WorkerRole
    ) -> AsyncIterator[list[WorkerRole]]:
        roles = [
            kind(
                self.address,
                WorkerOptions(slots, 1, reach=self.reach),
                terms=self.terms,
                say=self.said.append,
            )
            for _ in range(count)
        ]
        running = [asyncio.create_task(role.run()) for role in roles]
        try:
            yield roles
        finally:
            for role in roles:
                role.stop("the test is over")
            await asyncio.wait_for(asyncio.gather(*running), DEADLINE_S)

    async def frontier(self, config: CrawlConfig, number: int = 1) -> RunReport:
        member = self.members[number] = ShardNode(
            Shard(number, self.shards),
            self.address,
            terms=self.terms,
            say=self.said.append,
        )
        paths = RunPaths(db=self.db(number))
        return await asyncio.wait_for(run(config, paths, Watcher(), runtime=member), DEADLINE_S)

    async def until_open(self) -> None:
        """Until the first frontier is at work."""
        await until(lambda: 1 in self.members and self.members[1].context.is_open)

    async def crawl(self, config: CrawlConfig) -> list[RunReport]:
        numbers = range(1, self.shards + 1)
        return await asyncio.gather(*(self.frontier(config, number) for number in numbers))

    def db(self, number: int = 1) -> Path:
        return self.folder / f"s{number}.db"

    def pages(self) -> set[str]:
        return set().union(*(pages(self.db(number)) for number in range(1, self.shards + 1)))


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not done():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def alone(config: CrawlConfig, folder: Path) -> set[str]:
    await run(config, RunPaths(db=folder / "alone.db"), Watcher())
    return pages(folder / "alone.db")


def asked(log: Sequence[LogEntry]) -> Counter[tuple[str, str]]:
    return Counter((entry.host, entry.path) for entry in log)


# -- the same crawl -----------------------------------------------------------------


async def test_two_shards_and_three_workers_find_what_one_process_finds(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path
) -> None:
    """And ask for nothing twice, nor any host sooner than it wants."""
    delay_s = 0.05
    wanted = await alone(config(site), tmp_path)
    before, begun = asked(site.log), len(site.log)
    cluster = BrokerCluster(broker, site, tmp_path, shards=2)
    async with cluster.workers(3):
        reports = await cluster.crawl(config(site, delay_s=delay_s))
    assert [each.stop_reason for each in reports] == ["frontier empty"] * 2
    assert cluster.pages() == wanted
    log = site.log[begun:]
    assert asked(log) == before
    times = defaultdict(list)
    for entry in log:
        times[entry.host].append(entry.time)
    gaps = [late - early for each in times.values() for early, late in pairwise(sorted(each))]
    assert min(gaps) >= delay_s
    assert all(each.run_pages for each in reports), "both shards had something to do"


async def test_one_shard_and_one_slot_go_in_the_order_of_one_process(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path
) -> None:
    limits = LimitConfig(max_requests=80)
    ordered = config(site, strategy="topic-pagerank", concurrency=1, limits=limits)
    await alone(ordered, tmp_path)
    order = [(entry.host, entry.path) for entry in site.log]
    cluster = BrokerCluster(broker, site, tmp_path)
    async with cluster.workers(1, slots=1):
        await cluster.crawl(ordered)
    assert [(entry.host, entry.path) for entry in site.log][len(order) :] == order


async def test_several_at_once_on_a_host_leave_the_delay_between_them(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path, sent: dict[str, list[float]]
) -> None:
    site.latency_s = 1.0
    polite = PolitenessConfig(delay_s=0.1, per_ip=0, per_host=3)
    cluster = BrokerCluster(broker, site, tmp_path)
    async with cluster.workers(2):
        await cluster.crawl(
            config(site, politeness=polite, limits=LimitConfig(max_requests=50)),
        )
    assert sum(map(len, sent.values())) == len(site.log)
    gaps = [late - early for each in sent.values() for early, late in pairwise(sorted(each))]
    assert min(gaps) > 0.09
    assert min(gaps) < 1.0, "the next did not wait for the answer"


# -- mishaps ------------------------------------------------------------------------


class Mortal(WorkerRole):
    """Dies, and is started anew, whenever it gets a certain page."""

    poison = "/news/"
    deaths = 0

    def _take(self, found: TaskBundle, delivery: object, *, is_again: bool) -> None:
        if not is_again and any(self.poison in each.task.url for each in found.tasks):
            type(self).deaths += 1
            if self._executor is not None:
                self._executor.let_go()
            self.connection.reset()
            return
        super()._take(found, delivery, is_again=is_again)  # type: ignore[arg-type]


@pytest.mark.usefixtures("carried")
async def test_a_page_that_kills_workers_ends_as_poison(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path
) -> None:
    wanted = await alone(config(site), tmp_path)
    poison = sorted(wanted)[len(wanted) // 2]
    cluster = BrokerCluster(broker, site, tmp_path, terms=QUICK)

    class Victim(Mortal):
        pass

    Victim.poison = poison.partition("//")[2].partition("/")[2]
    async with cluster.workers(2, kind=Victim):
        (report,) = await cluster.crawl(config(site))
    assert report.failures["poison"] == 1
    assert Victim.deaths == 3
    assert wanted - cluster.pages() <= {poison} | only_from(poison, wanted)


def only_from(poison: str, wanted: set[str]) -> set[str]:
    """Pages that may be known by no other way than the poisoned one: those of its site."""
    host = poison.split("/")[2]
    return {each for each in wanted if each.split("/")[2] == host}


@pytest.mark.usefixtures("carried")
async def test_a_broker_that_loses_everything_loses_no_page(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path
) -> None:
    wanted = await alone(config(site), tmp_path)
    cluster = BrokerCluster(broker, site, tmp_path, terms=QUICK)
    async with cluster.workers(2):
        crawling = asyncio.create_task(cluster.crawl(config(site)))
        before = len(site.log)
        await cluster.until_open()
        for asked_for in range(0, 200, 20):  # never before it got on: a busy machine would not
            await until(lambda: crawling.done() or len(site.log) - before >= asked_for)  # noqa: B023
            if not crawling.done():
                await purge(cluster)
        (report,) = await crawling
    assert report.stop_reason == "frontier empty"
    assert not report.failures.get("poison")
    assert cluster.pages() == wanted


async def purge(cluster: BrokerCluster) -> None:
    """Throw away all messages that wait, the frontier cut off meanwhile as by a broker's end."""
    cut_off = cluster.members[1].context.connection
    cut_off.is_up.clear()
    connection = await addresses.connect(cluster.address, "purge")
    async with connection:
        channel = await connection.channel()
        names = cluster.members[1].context.names
        for name in (names.tasks(1), names.results(1)):
            await (await channel.get_queue(name)).purge()
    cut_off.reset()


async def test_clocks_need_not_agree(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(Clock):
        def __call__(self) -> float:
            return super().__call__() + 86_400.0

    wanted = await alone(config(site), tmp_path)
    monkeypatch.setattr("focus.cluster.executor.Clock", Ahead)
    cluster, begun = BrokerCluster(broker, site, tmp_path), Clock()()
    async with cluster.workers(1):
        await cluster.crawl(config(site))
    assert cluster.pages() == wanted
    now = Clock()()
    with closing(sqlite3.connect(cluster.db())) as db:
        (first, last) = db.execute("SELECT min(fetched_at), max(fetched_at) FROM page").fetchone()
    assert begun <= first < last <= now


@pytest.mark.usefixtures("carried")
async def test_a_worker_that_is_cut_off_lets_go_before_others_take_over(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection stays open and carries nothing; the broker waits two heartbeats."""
    monkeypatch.setattr(addresses, "HEARTBEAT_S", 3)
    monkeypatch.setattr(worker, "CUT_S", 1.5)
    wanted = await alone(config(site), tmp_path)
    cluster = BrokerCluster(broker, site, tmp_path, terms=QUICK)
    with Cables(broker.port) as cables:
        near, cable = cluster.address, cables.lay()
        cluster.address = replace(near, url=f"amqp://guest@127.0.0.1:{cable.port}/")
        async with cluster.workers(1, slots=2) as (far,):
            cluster.address = near
            async with cluster.workers(1):
                crawling = asyncio.create_task(cluster.crawl(config(site, delay_s=0.05)))
                await until(lambda: far.pages > 5 or crawling.done())
                site.latency_s = 3.0
                await until(lambda: far.busy > 0 or crawling.done())
                cable.deaden()
                site.latency_s = 0.0
                await until(lambda: far.busy == 0)
                (report,) = await crawling
            cable.mend()
    assert report.stop_reason == "frontier empty"
    assert cluster.pages() == wanted


# -- who does not fit ---------------------------------------------------------------


async def test_a_second_frontier_of_a_shard_is_told_so(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path
) -> None:
    cluster = BrokerCluster(broker, site, tmp_path)
    async with cluster.workers(1):
        first = asyncio.create_task(cluster.frontier(config(site, delay_s=0.1)))
        await cluster.until_open()
        other = BrokerCluster(broker, site, tmp_path / "other")
        other.address = cluster.address
        with pytest.raises(ClusterError, match="another frontier is shard 1/1"):
            await other.frontier(config(site))
        await control.tell(cluster.address, "stop")
        assert (await first).stop_reason == "stopped"


async def test_another_number_of_shards_is_refused(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path
) -> None:
    cluster = BrokerCluster(broker, site, tmp_path, shards=2)
    first = asyncio.create_task(cluster.frontier(config(site)))
    await cluster.until_open()
    cluster.members[1].context.began_at -= 60.0  # it is at home here
    other = BrokerCluster(broker, site, tmp_path, shards=3)
    other.address = cluster.address
    with pytest.raises(ClusterError, match="there are 2 shards"):
        await other.frontier(config(site), 3)
    await control.tell(cluster.address, "stop")
    await first
    with pytest.raises(ClusterError, match="holds shard 1/2"):
        await other.frontier(config(site), 1)


async def test_an_old_worker_is_refused_politely(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path
) -> None:
    cluster = BrokerCluster(broker, site, tmp_path)
    first = asyncio.create_task(cluster.frontier(config(site)))
    old = WorkerRole(cluster.address, WorkerOptions(4, 1), version=0)
    with pytest.raises(ClusterError, match="version 0 of focus's messages"):
        await asyncio.wait_for(old.run(), DEADLINE_S)
    await control.tell(cluster.address, "stop")
    await first


def focus(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "focus", "cluster", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("amqp://guest:wrong@127.0.0.1:{port}/", "refuses user guest; check the password"),
        ("amqp://guest:guest@127.0.0.1:{port}/nowhere", "no virtual host 'nowhere'"),
        ("amqp://guest:guest@127.0.0.1:1/", "no broker at 127.0.0.1:1"),
        ("amqps://guest:guest@127.0.0.1:{port}/", "does not speak TLS"),
    ],
)
def test_what_is_wrong_with_a_broker_is_one_line(
    broker: PrivateBroker, url: str, said: str
) -> None:
    ended = focus("worker", "--amqp", url.format(port=broker.port))
    assert ended.returncode == 7
    assert ended.stderr.startswith("focus: error: ")
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr
    assert "wrong" not in ended.stderr.replace("wrong version", "")


async def test_the_brokers_certificate_is_checked(broker: PrivateBroker, secure: Secure) -> None:
    url = f"amqps://guest:guest@127.0.0.1:{secure.port}/"
    connection = await addresses.connect(read_address(url, ca=secure.ca), "test")
    await connection.close()
    with pytest.raises(ClusterError, match="certificate is not trusted"):
        await addresses.connect(read_address(url), "test")


# -- operations ---------------------------------------------------------------------


async def test_seeds_are_added_workers_drained_and_all_is_stopped(
    broker: PrivateBroker, site: DemoServer, tmp_path: Path
) -> None:
    cluster = BrokerCluster(broker, site, tmp_path, shards=2)
    first, *others = site.web.seeds
    crawling = asyncio.create_task(cluster.crawl(config(site, delay_s=0.3, seeds=(first,))))
    running = [
        asyncio.create_task(
            WorkerRole(
                cluster.address,
                WorkerOptions(4, 1, None, name, cluster.reach),
            ).run()
        )
        for name in ("a", "b")
    ]
    async with asyncio.timeout(DEADLINE_S):
        while not (state := await control.look(cluster.address)).is_healthy:
            pass
    assert [each.shard for each in state.shards] == [1, 2]
    to = await control.sow(cluster.address, others)
    assert set(to) == set(others)
    await control.tell(cluster.address, "drain", "a")
    assert await asyncio.wait_for(running[0], DEADLINE_S) == "drained"
    async with asyncio.timeout(DEADLINE_S):
        while [each.worker for each in state.workers if each.slots] != ["b"]:
            state = await control.look(cluster.address)
    await control.tell(cluster.address, "stop")
    reports = await asyncio.wait_for(crawling, DEADLINE_S)
    assert {each.stop_reason for each in reports} == {"stopped"}
    assert await asyncio.wait_for(running[1], DEADLINE_S) == "stopped"
    assert set(others) <= {f"http://{entry.host}{entry.path}" for entry in site.log}
