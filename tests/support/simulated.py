"""Simulates weeks of watching in minutes: a web under a clock that nobody waits for.

    course = await simulate(web, alerts(auto=False), folder, length=14)

Everything is as ever (visits, matching, outbox), but for three things: the network is a web that
goes on publishing (`tests.support.publishing`), the clock goes on only when somebody says so, and
messages are taken down instead of sent.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import NamedTuple, Protocol
from unittest import mock

import msgspec

from focus.alerts import outbox_relay, settings
from focus.alerts import revisits as hubs
from focus.alerts.alert import validate_alert
from focus.alerts.delivery import Delivered, DeliveryOutcome
from focus.alerts.message import Message
from focus.alerts.run import run_due
from focus.alerts.visit import create_visit
from focus.config import AnalysisConfig, CrawlConfig, PolitenessConfig
from focus.demo.site import Response
from focus.engine.transports import ReplayTransport, Transport
from focus.http.semantics import classify_status, redirect_target
from focus.http.sitemap import read_url_source
from focus.learn.memory_crawl import PageSource
from focus.records import FailureKind, FetchResult, Task
from focus.score.strategy import strategy_class
from focus.storage.alerts.records import LOCAL_USER, Alert
from focus.storage.alerts.store import open_store
from focus.workers import InlineScorer
from tests.support.publishing import BEGIN, PublishingWeb

CRON_S = 300.0
ZONE = "Asia/Shanghai"


class Watched(NamedTuple):
    """An alert, and which subjects of the generator it is about."""

    alert: Alert
    subjects: frozenset[str]


def alerts(*, auto: bool) -> list[Watched]:
    """Three people's wishes: as soon as possible, every hour, once a day."""
    football = "足球 英超 欧冠 西甲 德甲 意甲 中超 亚冠 世界杯 球队 射门 点球"
    film = "电影 票房 导演 影片 预告片 影评 影展 主演 编剧 院线"
    health = "健康 血压 血糖 睡眠 疫苗 医生 患者 养生 体检 慢性病"
    rows = (
        ("足球", football, "football", "auto", ("www.xinlan", "bbs.qiuyou", "blog.laochen")),
        ("电影", film, "film", "hourly", ("www.xinlan", "www.haixia", "nanxing")),
        ("健康", health, "health", "daily 07:30", ("www.xinlan", "www.jinbao", "xiaoman")),
    )
    return [
        Watched(
            validate_alert(
                Alert(
                    name, tuple(f"http://{site}.example/" for site in sites), words=words,
                    schedule="auto" if auto else every,
                    channels=(f"webhook:https://{subject}.test/",), max_items=200,
                )
            ),
            frozenset({subject}),
        )
        for name, words, subject, every, sites in rows
    ]  # fmt: skip


# -- a web under a clock that nobody waits for ---------------------------------------


class Clock:
    """Unix seconds that go on only when somebody says so."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def reach(self, moment: float) -> None:
        self.now = max(self.now, moment)


class SimulatedWeb(Protocol):
    """Answers to GET, None where the host is unknown."""

    def respond(self, url: str, moment: float) -> Response | None: ...


class Request(NamedTuple):
    """One request that the web has answered."""

    at: float
    url: str
    status: int


@cache
def _scorer(analysis: bytes) -> InlineScorer:
    """One for all visits: its dictionary takes a while to load."""
    return InlineScorer(msgspec.json.decode(analysis, type=AnalysisConfig))


class Living(ReplayTransport):
    """Requests to a web that goes on publishing, under the clock of the simulation."""

    def __init__(
        self, web: SimulatedWeb, log: list[Request], config: CrawlConfig, clock: Clock
    ) -> None:
        analysis = strategy_class(config.strategy).extend_analysis(config.analysis)
        super().__init__(self, _scorer(msgspec.json.encode(analysis)), start=clock())
        self._web, self._log, self._time = web, log, clock
        self._etags: dict[str, str] = {}

    def send(self, task: Task) -> None:
        self._etags[task.url] = dict(task.conditional_headers).get("If-None-Match", "")
        super().send(task)

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        self._time.reach(fetched_at + elapsed_s)
        if url.startswith("https://"):
            return FetchResult(url, fetched_at, failure=FailureKind.CONNECT, detail="no https")
        answer = self._web.respond(url, fetched_at)
        if answer is None:
            return FetchResult(url, fetched_at, failure=FailureKind.DNS, detail="no such host")
        headers = dict(answer.headers)
        if (etag := self._etags.pop(url, "")) and etag == headers.get("etag"):
            self._log.append(Request(fetched_at, url, 304))
            return FetchResult(url, fetched_at, status=304, is_unchanged=True)
        self._log.append(Request(fetched_at, url, answer.status))
        failure = classify_status(answer.status, False)
        target = redirect_target(url, headers["location"]) if "location" in headers else None
        listing = read_url_source(answer.body) if "xml" in headers.get("content-type", "") else None
        if failure is None and not target and not listing and not robots:
            is_html = "html" in headers.get("content-type", "")
            failure = None if is_html else FailureKind.NOT_HTML
        return FetchResult(
            url=url, fetched_at=fetched_at, status=answer.status, headers=answer.headers,
            body=b"" if failure or target or listing else answer.body, raw_bytes=len(answer.body),
            elapsed_s=elapsed_s, failure=failure, detail=str(answer.status), redirect_to=target,
            url_source=listing,
        )  # fmt: skip


class Told(NamedTuple):
    """A page that a message told of."""

    at: float
    alert: str
    url: str


class Course(NamedTuple):
    """What one simulation came to; all times are Unix seconds of the virtual clock.

    requests   after the first visits, which are the same for all
    fetched    URL -> when its page was first had
    hubs       pages that were looked at again in the end
    """

    requests: list[Request]
    messages: list[Told]
    fetched: dict[str, float]
    hubs: int
    seconds: float


@contextmanager
def virtual(clock: Clock, web: SimulatedWeb, log: list[Request]) -> Iterator[None]:
    """The crawl's own clock and network are those of the simulation."""

    async def opened(config: CrawlConfig, *_: object) -> Transport:
        return Living(web, log, config, clock)

    watch = SimpleNamespace(time=clock, monotonic=time.monotonic)
    with (
        mock.patch("focus.session.runtime.open_transport", opened),
        mock.patch("focus.session.runner.time", watch),
        mock.patch("focus.session.runner.infrequent_garbage_collection", nullcontext),
    ):
        yield


@contextmanager
def recorded(messages: list[Told], clock: Clock) -> Iterator[None]:
    """Messages are taken down instead of sent."""

    async def send(self: object, message: Message, *, user: int, channel: str) -> DeliveryOutcome:
        messages.extend(
            Told(clock(), group.name, item.match.url)
            for group in message.sections
            for item in group.items
        )
        return Delivered()

    with mock.patch.object(outbox_relay.ChannelSenders, "send", send):
        yield


@contextmanager
def _fixed(interval_s: float | None) -> Iterator[None]:
    """Look at every page so often, instead of as learned; None: as learned."""
    if interval_s is None:
        yield
        return
    with mock.patch.object(hubs, "interval_s", lambda *_: interval_s):
        yield


async def simulate(
    web: PublishingWeb,
    wishes: Sequence[Watched],
    folder: Path,
    *,
    length: float,
    interval_s: float | None = None,
    cron_s: float = CRON_S,
) -> Course:
    """Watch the web for so many days; `interval_s`: look at every page so often."""
    clock = Clock(BEGIN - 3600.0)
    log: list[Request] = []
    messages: list[Told] = []
    began = time.perf_counter()
    with open_store(folder / "watch.db", now=clock(), language="zh", zone=ZONE) as store:
        for wish in wishes:
            store.alerts.add(LOCAL_USER, wish.alert, now=clock())
        deliver = partial(
            outbox_relay.deliver_due, store, settings.read(store), clock=clock, rng=Random(1)
        )
        visit = create_visit(store, PageSource(politeness=PolitenessConfig()), clock=clock)
        with virtual(clock, web, log), recorded(messages, clock), _fixed(interval_s):
            await run_due(store, visit, deliver, clock=clock)
            first, at = len(log), BEGIN
            while at < BEGIN + length * 86_400.0:
                clock.reach(at)
                await run_due(store, visit, deliver, clock=clock)
                at += cron_s
        looked = store.database.fetch_rows("SELECT count(*) FROM revisit")[0][0]
    return Course(log[first:], messages, _first_had(log), looked, time.perf_counter() - began)


def _first_had(log: Sequence[Request]) -> dict[str, float]:
    first_seen: dict[str, float] = {}
    for request in log:
        if request.status == 200:
            first_seen.setdefault(request.url, request.at)
    return first_seen
