"""A cluster with a real RabbitMQ: same pages, politeness, deaths of every role.

The trial with random kills is `python -m bench.torture cluster`.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trustme

from focus.cluster import broker as addresses
from focus.cluster import transport as cluster_transport
from focus.cluster import worker as cluster_worker
from focus.cluster.address import read_address
from focus.cluster.messages import TaskMessage, unpack
from focus.cluster.private_broker import PrivateBroker, free_ports, server
from focus.cluster.queues import Queues
from focus.cluster.reach import Reach
from focus.cluster.runtime import ClusterRuntime
from focus.cluster.status import cluster_status
from focus.cluster.worker import Worker, WorkerOptions
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    PolitenessConfig,
    RunPaths,
    ScopeConfig,
)
from focus.demo.server import DemoServer
from focus.demo.site import DemoWeb, generate
from focus.errors import ClusterError, ConfigError
from focus.fetch import WebFetcher
from focus.records import FetchResult
from focus.session import RunReport, Watcher, run
from focus.topic.topic import from_words, to_builtins
from tests.support.cases import cases
from tests.support.processes import pages, served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        server() is None,
        reason="THE CLUSTER IS NOT TESTED: rabbitmq-server is not installed "
        "(Debian: apt install rabbitmq-server)",
    ),
]
DEADLINE_S = 100.0
"""Longer than anything here lasts on any machine: a guard against waiting for ever."""


class Secure(NamedTuple):
    """TLS port of the broker, and the file of the authority that signed its certificate."""

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
    with PrivateBroker(config=tls) as private:
        yield private


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return generate(seed=1, pages=120)


@pytest.fixture
def site(web: DemoWeb) -> Iterator[DemoServer]:
    with served(web) as demo:
        yield demo


@pytest.fixture(autouse=True)
def short_pause_after_redelivery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_worker, "CUT_OFF_S", 0.2)
    monkeypatch.setattr(cluster_transport, "CUT_OFF_S", 0.2)


def config(site: DemoServer, *, delay_s: float = 0.0, **fields: Any) -> CrawlConfig:
    slow = tuple(f"//{item.host}/" for item in site.web.plan.sites if item.kind.delay_s)
    settings: dict[str, Any] = {
        "seeds": tuple(site.web.seeds),
        "strategy": "bfs",
        "fetch": FetchConfig(connect_to=f"127.0.0.1:{site.port}", allow_net=("127.0.0.0/8",)),
        "politeness": PolitenessConfig(delay_s=delay_s, per_ip=0),
        "scope": ScopeConfig(deny=("/calendar/", "/online/", *slow)),
        "analysis": AnalysisConfig(topic=to_builtins(from_words("足球")), keep="none"),
        "workers": 1,
        **fields,
    }
    return CrawlConfig(**settings)


class Cluster:
    """A cluster in this process, with its own name on the broker."""

    def __init__(self, broker: PrivateBroker, site: DemoServer, folder: Path) -> None:
        name = "".join(filter(str.isalnum, folder.name))[-40:]
        self.address = read_address(broker.url, cluster=name)
        self.db = folder / "f.db"
        self.lines: list[str] = []
        self.reach = Reach(("127.0.0.0/8",), connect_to=f"127.0.0.1:{site.port}")

    def worker(self, kind: type[Worker] = Worker, slots: int = 8) -> Worker:
        options = WorkerOptions(slots, 1, reach=self.reach)
        return kind(self.address, options, say=self.lines.append)

    @asynccontextmanager
    async def workers(self, *workers: Worker) -> AsyncIterator[None]:
        running = [asyncio.create_task(worker.run()) for worker in workers]
        try:
            yield
        finally:
            for worker in workers:
                worker.stop("the test is over")
            await asyncio.wait(running, timeout=DEADLINE_S)

    async def crawl(self, config: CrawlConfig) -> RunReport:
        around = ClusterRuntime(self.address, say=self.lines.append)
        paths = RunPaths(db=self.db)
        return await asyncio.wait_for(run(config, paths, Watcher(), runtime=around), DEADLINE_S)


@pytest.fixture
def cluster(broker: PrivateBroker, site: DemoServer, tmp_path: Path) -> Cluster:
    return Cluster(broker, site, tmp_path)


async def expected_pages(site: DemoServer, folder: Path) -> set[str]:
    db = folder / "alone.db"
    await run(config(site), RunPaths(db=db), Watcher())
    return pages(db)


async def until_requests(site: DemoServer, number: int) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while len(site.log) < number:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_two_workers_fetch_all(cluster: Cluster, site: DemoServer, tmp_path: Path) -> None:
    first, second = cluster.worker(), cluster.worker()
    async with cluster.workers(first, second):
        report = await cluster.crawl(config(site))
    assert report.stop_reason == "frontier empty"
    assert pages(cluster.db) == await expected_pages(site, tmp_path)
    assert first.pages and second.pages


async def test_delay_of_a_host_holds_with_two_workers(
    cluster: Cluster, site: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: dict[str, list[float]] = defaultdict(list)

    class RecordingFetcher(WebFetcher):
        async def fetch(self, url: str, *args: Any, **options: Any) -> FetchResult:
            times[url.split("/")[2]].append(time.monotonic())
            return await super().fetch(url, *args, **options)

    monkeypatch.setattr(cluster_worker, "WebFetcher", RecordingFetcher)
    delay_s = 0.2
    limits = config(site).limits
    crawl = config(site, delay_s=delay_s, limits=type(limits)(max_requests=120))
    async with cluster.workers(cluster.worker(), cluster.worker()):
        await cluster.crawl(crawl)
    gaps = [b - a for log in times.values() for a, b in pairwise(log)]
    assert len(gaps) > 20
    assert min(gaps) >= delay_s


async def test_concurrent_request_to_a_host_is_refused(cluster: Cluster, site: DemoServer) -> None:
    politeness = PolitenessConfig(delay_s=1.0, per_host=2)
    with pytest.raises(ConfigError, match="one request at a time"):
        await cluster.crawl(config(site, politeness=politeness))


async def test_worker_dies_between_result_and_acknowledgement_its_page_is_requested_once(
    cluster: Cluster, site: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = len(site.log)
    dying = cluster.worker(slots=1)
    acknowledge = cluster_worker._acknowledge

    async def die(message: Any) -> None:
        monkeypatch.setattr(cluster_worker, "_acknowledge", acknowledge)
        dying._ending.set_exception(EOFError("killed"))

    monkeypatch.setattr(cluster_worker, "_acknowledge", die)
    death = asyncio.create_task(dying.run())
    crawl = asyncio.create_task(cluster.crawl(config(site)))
    await asyncio.wait([death])
    assert isinstance(death.exception(), EOFError)
    async with cluster.workers(cluster.worker()):
        assert (await crawl).stop_reason == "frontier empty"
    first = site.log[begin]
    requests = [entry for entry in site.log[begin:] if entry[1:3] == first[1:3]]
    assert len(requests) == 1


async def test_broker_does_not_answer_for_the_tasks_they_go_to_another_queue(
    cluster: Cluster, site: DemoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, asked = Queues.count_workers, list[str]()

    async def count_workers(queues: Queues) -> int:
        asked.append(queues.tasks.name)
        if len(asked) == 1:
            raise TimeoutError
        return await count(queues)

    monkeypatch.setattr(Queues, "count_workers", count_workers)
    monkeypatch.setattr(cluster_transport, "POLL_S", 0.1)
    expected = await expected_pages(site, tmp_path)
    async with cluster.workers(cluster.worker(), cluster.worker()):
        report = await cluster.crawl(config(site))
        assert (await cluster_status(cluster.address))["workers"] == 2
    assert report.stop_reason == "frontier empty"
    assert pages(cluster.db) == expected
    assert (asked[0].split(".")[2:], asked[-1].split(".")[2:]) == (["tasks"], ["tasks", "1"])


async def test_page_that_no_worker_survives_fails_as_poison(
    cluster: Cluster, site: DemoServer, tmp_path: Path
) -> None:
    poison = site.web.seeds[0].rstrip("/")

    class DyingWorker(Worker):
        async def _receive_task(self, message: Any) -> None:
            task = unpack(message.body, TaskMessage).task
            if task.id is not None and task.url.rstrip("/") == poison:
                self._ending.set_exception(EOFError("killed"))  # with its tasks unacknowledged
            await super()._receive_task(message)

    async def restart_workers() -> None:
        nonlocal deaths
        while True:
            try:
                await cluster.worker(DyingWorker, slots=4).run()
            except EOFError:
                deaths += 1

    deaths = 0
    restarting = asyncio.create_task(restart_workers())
    report = await cluster.crawl(config(site))
    restarting.cancel()
    await asyncio.wait([restarting])
    assert report.stop_reason == "frontier empty"
    assert report.failures["poison"] == 1  # and no page that was with it in a worker
    assert deaths == 6


async def test_second_frontier_is_refused(cluster: Cluster, site: DemoServer) -> None:
    begin = len(site.log)
    async with cluster.workers(cluster.worker()):
        first = asyncio.create_task(cluster.crawl(config(site)))
        await until_requests(site, begin + 5)
        second = ClusterRuntime(cluster.address)
        db = cluster.db.with_name("second.db")
        with pytest.raises(ClusterError, match="another frontier"):
            await run(config(site), RunPaths(db=db), Watcher(), runtime=second)
        assert (await first).stop_reason == "frontier empty"


def focus(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "focus", "cluster", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@cases(
    "url, message",
    ("amqp://guest:wrong@127.0.0.1:{port}/", "refuses user guest; check the password"),
    ("amqp://guest:guest@127.0.0.1:{port}/nowhere", "no virtual host 'nowhere'"),
    ("amqp://guest:guest@127.0.0.1:1/", "no broker at 127.0.0.1:1"),
    ("amqps://guest:guest@127.0.0.1:{port}/", "does not speak TLS"),
)
def test_unusable_broker_prints_one_line(broker: PrivateBroker, url: str, message: str) -> None:
    ended = focus("worker", "--amqp", url.format(port=broker.port))
    assert ended.returncode == 7
    assert ended.stderr.startswith("focus: error: ")
    assert ended.stderr.count("\n") == 1
    assert message in ended.stderr


async def test_certificate_of_the_broker_is_checked(secure: Secure, broker: PrivateBroker) -> None:
    url = f"amqps://guest:guest@127.0.0.1:{secure.port}/"
    connection = await addresses.connect(read_address(url, ca=secure.ca), "test")
    await connection.close()
    with pytest.raises(ClusterError, match="certificate is not trusted"):
        await addresses.connect(read_address(url), "test")


def test_status_without_workers_ends_with_7(broker: PrivateBroker) -> None:
    ended = focus("status", "--amqp", broker.url, "--json")
    assert ended.returncode == 7
    assert '"workers": 0' in ended.stdout
