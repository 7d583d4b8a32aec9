"""Watching through outages, under a fake clock: no news is lost, nothing is silent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from focus.alerts.alert import validate_alert
from focus.alerts.health import alert_health
from focus.alerts.outbox_relay import DeliverySummary
from focus.alerts.run import WatchRunSummary, run_due
from focus.alerts.visit import create_visit
from focus.config import CrawlConfig, PolitenessConfig, RunPaths
from focus.engine.transports import Transport
from focus.learn.memory_crawl import PageSource
from focus.records import FailureKind as K
from focus.storage.alerts.records import LOCAL_USER, Alert
from focus.storage.alerts.store import AlertStore, open_store
from focus.workers import InlineScorer
from tests.support.cases import cases
from tests.support.outage import FaultyTransport, NetworkFault
from tests.support.simulated import Clock
from tests.support.web import TinyWeb

START = 1_760_000_000.0
HOUR, DAY = 3600.0, 86_400.0
ONE, OTHER = "one.test", "other.test"


class WatchFixture:
    """Somebody who watches two sites, every hour, and what cron makes of it."""

    def __init__(self, store: AlertStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self.clock, self.web = store, Clock(START), TinyWeb()
        self.path = store.database.path
        self.faults: list[NetworkFault] = []
        self.numbers = 0
        scorers: dict[str, InlineScorer] = {}

        async def open_transport(
            config: CrawlConfig, places: RunPaths, stack: AsyncExitStack, *_: object
        ) -> Transport:
            topic = str(config.analysis)
            scorer = scorers.setdefault(topic, InlineScorer(config.analysis))
            transport = FaultyTransport(self.web, scorer, self.faults, start=self.clock())
            stack.callback(lambda: self.clock.reach(transport.now()))
            return transport

        now = SimpleNamespace(time=self.clock, monotonic=time.monotonic)
        monkeypatch.setattr("focus.session.runtime.open_transport", open_transport)
        monkeypatch.setattr("focus.session.runner.time", now)
        monkeypatch.setattr("focus.session.runner.infrequent_garbage_collection", nullcontext)

    def publish(self, site: str) -> None:
        """A new article, linked from the front page before the older ones."""
        self.numbers += 1
        path = f"/{self.numbers}"
        text = f"足球比赛第{self.numbers}轮今天开始，射门{self.numbers}次。" * 9
        self.web.page(f"http://{site}{path}", title=f"足球 {self.numbers}", text=text)
        numbers = [u for u in self.web.answers if u.startswith(f"http://{site}/") and u[-1] != "/"]
        links = [(url, "足球新闻") for url in reversed(numbers)]
        self.web.page(f"http://{site}/", title="新闻", links=links)

    async def cron(self) -> WatchRunSummary:
        """One `focus watch run`."""

        async def deliver() -> DeliverySummary:
            return DeliverySummary()

        visit = create_visit(
            self.store, PageSource(politeness=PolitenessConfig()), clock=self.clock
        )
        return await run_due(self.store, visit, deliver, clock=self.clock)

    async def until(self, moment: float, every_s: float = 900.0) -> list[WatchRunSummary]:
        runs = []
        while self.clock() < moment:
            runs.append(await self.cron())
            self.clock.reach(self.clock() + every_s)
        return runs

    def reported_urls(self) -> set[str]:
        """What was news to the alert."""
        return {
            url
            for (url,) in self.store.database.fetch_rows(
                "SELECT url FROM alert_match WHERE NOT baseline"
            )
        }

    def remarks(self) -> str:
        owned = self.store.alerts.list_alerts()[0]
        return "\n".join(alert_health(self.store, owned, now=self.clock()).remarks)


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchFixture]:
    with open_store(tmp_path / "f.db", now=START, language="en", zone="UTC") as store:
        wish = Alert("c", (f"http://{ONE}/", f"http://{OTHER}/"), words="足球", schedule="hourly")
        store.alerts.add(LOCAL_USER, validate_alert(wish), now=START)
        result = WatchFixture(store, monkeypatch)
        for site in (ONE, OTHER, ONE):
            result.publish(site)
        yield result


KINDS = [K.UNREACHABLE, K.DNS_TEMPORARY, K.CONNECT, K.DNS, K.TIMEOUT]
MATRIX = [
    (hosts, begin_s, length_s, kind)
    for host_n, hosts in enumerate((None, frozenset({ONE})))
    for length_n, length_s in enumerate((10.0, 600.0, 3 * DAY))
    for kind_n, kind in enumerate(KINDS)
    for begin_n, begin_s in enumerate((0.0, 0.3, 3 * HOUR))
    if (host_n + length_n + kind_n + begin_n) % 3 == 0
]
"""Each kind with each length and hosts, and each of these with each beginning."""


@pytest.mark.parametrize(("hosts", "begin_s", "length_s", "kind"), MATRIX)
async def test_outages_lose_no_news(
    watch: WatchFixture, hosts: frozenset[str] | None, begin_s: float, length_s: float, kind: K
) -> None:
    begin, end = START + begin_s, START + begin_s + length_s
    watch.faults.append(NetworkFault(begin, end, hosts, kind))
    runs = await watch.until(begin + 1, HOUR)
    assert begin_s < HOUR or not watch.remarks()
    while watch.clock() < end:
        runs.append(await watch.cron())
        assert (
            hosts is not None or not runs[-1].visited or runs[-1].has_only_failures or length_s < 60
        )
        watch.clock.reach(watch.clock() + 6 * HOUR)
    if length_s > DAY:
        assert f"{ONE}: failing since " in watch.remarks()
        assert " visits: " in watch.remarks()
        assert bool(hosts) == (f"{OTHER}: failing" not in watch.remarks())
    await watch.until(watch.clock() + 3 * HOUR, HOUR)
    assert "failing" not in watch.remarks(), "it fails no more"
    begun = {
        url
        for (url,) in watch.store.database.fetch_rows("SELECT url FROM alert_match WHERE baseline")
    } | watch.reported_urls()
    assert len(begun) == 3 or begin_s, "what was there is marked as seen, or told of as the best"
    watch.publish(ONE)
    watch.publish(OTHER)
    await watch.until(watch.clock() + 6 * HOUR, HOUR)
    assert {f"http://{ONE}/4", f"http://{OTHER}/5"} <= watch.reported_urls()


@pytest.mark.parametrize("kind", [K.UNREACHABLE, K.CONNECT])
async def test_news_of_days_offline_is_delivered_later(watch: WatchFixture, kind: K) -> None:
    await watch.until(START + 3 * HOUR, HOUR)
    watch.faults.append(NetworkFault(watch.clock(), watch.clock() + 3 * DAY, kind=kind))
    watch.publish(ONE)
    watch.publish(OTHER)
    assert all(
        ran.has_only_failures for ran in await watch.until(watch.faults[0].end, HOUR) if ran.visited
    )
    assert not watch.reported_urls() & {f"http://{ONE}/4", f"http://{OTHER}/5"}
    await watch.until(watch.clock() + 2 * HOUR)
    assert {f"http://{ONE}/4", f"http://{OTHER}/5"} <= watch.reported_urls()


async def test_alerts_stay_due_without_network(watch: WatchFixture) -> None:
    watch.faults.append(NetworkFault(START, START + HOUR))
    ran = await watch.cron()
    assert (ran.has_only_failures, len(ran.postponed), ran.alerts) == (True, 2, 0)
    owned = watch.store.alerts.list_alerts()[0]
    assert owned.checked_at is None and owned.next_at <= watch.clock(), "the next run tries again"
    assert "offline: no network here" in watch.remarks()
    assert not watch.web.log


async def test_page_with_broken_connection_is_requested_again(watch: WatchFixture) -> None:
    """The front page came and told of it; then the host refused."""
    await watch.until(START + 3 * HOUR, HOUR)
    watch.publish(ONE)
    at = watch.clock()
    watch.faults.append(NetworkFault(at + 0.9, at + 1800.0, frozenset({ONE}), K.CONNECT))
    await watch.until(at + 6 * HOUR)
    assert f"http://{ONE}/4" in watch.reported_urls()


@cases(
    "hosts, kind, begin_s, length_s",
    (None, K.UNREACHABLE, 0.3, 10.0),
    (None, K.DNS_TEMPORARY, 3 * HOUR, 600.0),
    (None, K.UNREACHABLE, 3 * HOUR, 1.5 * HOUR),
    (frozenset({ONE}), K.DNS_TEMPORARY, 0.0, 1.5 * HOUR),
)
async def test_server_without_network_loses_no_news(
    watch: WatchFixture, hosts: frozenset[str] | None, kind: K, begin_s: float, length_s: float
) -> None:
    """`focus serve` looks by itself whether something is due, and has it done again and again."""
    server = pytest.importorskip("focus.serve.server", reason="needs focus-crawler[serve]")
    cheap = pytest.importorskip("argon2").PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    passwords = pytest.importorskip("focus.serve.accounts").Passwords(cheap)
    app_state = pytest.importorskip("focus.serve.app_state").AppState(
        watch.path, clock=watch.clock, passwords=passwords
    )

    async def serve(until: float) -> list[WatchRunSummary]:
        runs = []
        while watch.clock() < until:
            is_due = server.has_due_work(app_state)
            if is_due:
                runs.append(await watch.cron())
            watch.clock.reach(
                watch.clock() + (server.BUSY_INTERVAL_S if is_due else server.POLL_INTERVAL_S)
            )
        return runs

    try:
        await serve(START + begin_s)
        begin, end = START + begin_s, START + begin_s + length_s
        watch.faults.append(NetworkFault(begin, end, hosts, kind))
        if begin_s > HOUR:
            watch.publish(ONE)
            watch.publish(OTHER)
        runs = await serve(end)
        assert len(runs) <= length_s / server.BUSY_INTERVAL_S + 1, "once a minute at most"
        if length_s > HOUR:
            assert "no network here" in watch.remarks(), "what its user reads at the alert"
            assert bool(hosts) == any(ran.visited and not ran.has_only_failures for ran in runs)
        runs = await serve(end + 2 * HOUR)
        assert runs and not watch.remarks()
        if begin_s > HOUR:
            assert {f"http://{ONE}/4", f"http://{OTHER}/5"} <= watch.reported_urls()
        if hosts is None and length_s > HOUR:
            back = min(hit.at for hit in watch.web.log if hit.at >= end) - end
            assert back <= server.BUSY_INTERVAL_S + 45.0
    finally:
        app_state.close()
