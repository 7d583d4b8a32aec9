"""Runs one crawl from start to end: database, transport, workers, signals, report.

run(config, paths)   open or continue the crawl, crawl, close, report
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from focus import __version__
from focus.config import CrawlConfig, RunPaths
from focus.crawler import Crawl, CrawlStore, Event
from focus.engine.bodies import Bodies
from focus.engine.outages import Outage
from focus.engine.partition import Partition
from focus.engine.transports import Clock, LiveTransport, ReplayTransport, Transport
from focus.engine.unit_of_work import Totals
from focus.errors import StoreLocked
from focus.fetch import WebFetcher
from focus.http.sessions import Sessions, cookie_for, read_cookies, read_credentials
from focus.i18n import msg
from focus.late import Late, begin, np
from focus.profiling.stages import PROFILED, CrawlProfile
from focus.records import Batch, FetchResult, UrlState
from focus.rendering import second_look
from focus.score.graph.hits import hubs_and_authorities
from focus.score.strategy import strategy_class
from focus.session.process_limits import allow_open_files, collecting_rarely, give_memory_back
from focus.session.resume import restore
from focus.store import CrawlInfo, Store
from focus.urls.normal_form import host_of, seed_candidates
from focus.workers import ANALYST, WorkerPool

if TYPE_CHECKING:
    from focus.archive import recorder, replay
    from focus.profiling import crawl as profiling
    from focus.session import revisit
else:  # most runs need none of them
    recorder, replay = Late("focus.archive.recorder"), Late("focus.archive.replay")
    profiling, revisit = Late("focus.profiling.crawl"), Late("focus.session.revisit")

GRACE_S = 10.0  # what is in flight may take so long after a stop
_SENT_S = 0.05  # until the first requests have gone out
LOOKS = ("looked", "unchanged", "changed", "gone", "unanswered")


class RunReport(msgspec.Struct, frozen=True):
    """The outcome of a run; `--report` writes it as JSON.

    totals are of the crawl over all its runs, `run_*` of this run alone; `outage` is the one
    that it ended in, `archive_damage` what of a recorded web could not be read. `again`: this
    run's looks at pages of earlier ones, by what came of them (`Totals`). `led_away`: seed ->
    host, where every single seed led to another site.
    """

    crawl: int
    resumed: bool
    stop_reason: str
    strategy: str
    topic: str
    totals: Totals
    run_requests: int
    run_pages: int
    run_seconds: float
    pages_per_second: float
    harvest_rate: float
    states: dict[str, int]
    hosts: int
    failures: dict[str, int]
    dropped: dict[str, int]
    seed_failures: dict[str, str]
    database: str
    outage: Outage | None = None
    warc: str | None = None
    archive_damage: str | None = None
    profile: CrawlProfile | None = None
    again: dict[str, int] = {}
    led_away: dict[str, str] = {}

    @property
    def run_looked(self) -> int:
        """Looks at pages of earlier runs that were answered in this one."""
        return self.again.get("looked", 0)


class Watcher:
    """A listener to a run, such as a user interface; every method may be replaced."""

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        """The crawl is open and about to go."""

    def event(self, event: Event) -> None:
        """A request came to an end."""

    def stopping(self, how: str) -> None:
        """A signal was taken in; `how` says what happens now."""

    def outage(self, outage: Outage | None) -> None:
        """No host at all can be reached any more; None: one has answered again."""

    def say(self, text: str) -> None:
        """A remark of the program's own."""


class SessionStore:
    """A store, as the crawl knows it."""

    def __init__(self, store: Store, crawl: int) -> None:
        self._store, self._crawl = store, crawl

    async def write(self, batch: Batch) -> None:
        await self._store.write(self._crawl, batch)

    async def addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        return await self._store.addresses(self._crawl, ids)


class Runtime:
    """The surroundings of a crawl: here a web and scorer workers of its own."""

    async def transport(
        self,
        config: CrawlConfig,
        paths: RunPaths,
        store: Store,
        info: CrawlInfo,
        stack: contextlib.AsyncExitStack,
    ) -> Transport:
        """What carries its tasks; closed with the stack."""
        del store, info
        return await open_transport(config, paths, stack)

    def partition(self, config: CrawlConfig) -> Partition:
        """Whose hosts are whose."""
        del config
        return Partition()

    def crawl_store(self, store: Store, info: CrawlInfo) -> CrawlStore:
        """Where its batches go."""
        return SessionStore(store, info.id)

    async def opened(self, crawl: Crawl, store: Store, info: CrawlInfo) -> None:
        """It knows what an earlier run knew, its seeds come next."""


async def run(
    config: CrawlConfig,
    paths: RunPaths,
    watcher: Watcher,
    *,
    known_as: dict[str, object] | None = None,
    news_from: float = 0.0,
    around: Runtime | None = None,
    signals: bool = True,
) -> RunReport:
    """Crawl as configured until it ends; what came of it.

    known_as   what makes the crawl this one and no other; None: `identity`
    news_from  leave aside what waited when the crawl's last run ended, of URLs under that id
    around     what it works with; None: this machine alone
    signals    stop in good order at Ctrl-C and SIGTERM; only the main thread can hear of them

    Raises FocusError for a database, archive or output that cannot be used.
    """
    if paths.archive is None and around is None:
        allow_open_files(config.concurrency)
    around = around or Runtime()
    async with _opened(paths) as store, contextlib.AsyncExitStack() as stack:
        damage = _damage(paths.archive, watcher)
        text = msgspec.json.encode(config).decode()
        info = await store.begin_crawl(
            known_as or identity(config),
            text,
            fresh=paths.fresh,
            now=time.time(),
            revive=paths.retry_failed,
        )
        profiler = None
        if paths.profile:
            profiler = stack.enter_context(profiling.Profiler(_workers(config)))
        transport = await around.transport(config, paths, store, info, stack)
        crawl_store = around.crawl_store(store, info)
        crawl = Crawl(
            config,
            transport,
            partition=around.partition(config),
            crawl_store=crawl_store,
            observe=watcher.event,
            on_outage=watcher.outage,
        )
        stack.enter_context(collecting_rarely())
        give_memory_back()
        if info.resumed:
            await restore(crawl, store, info)
            if news_from:
                crawl.frontier.lay_aside(news_from)
            if config.refresh_s is not None:
                await revisit.look_again(crawl, store, info, config.refresh_s)
        await around.opened(crawl, store, info)
        crawl.sow(config.seeds)
        before = msgspec.structs.replace(crawl.unit_of_work.totals)
        began = time.monotonic()
        with _signals(crawl, transport, watcher) if signals else contextlib.nullcontext():
            watcher.started(crawl, info)  # who reads it may press Ctrl-C
            asyncio.get_running_loop().call_later(_SENT_S, begin, "numpy")
            reason = await crawl.run()
        report = _report(crawl, info, before, reason, time.monotonic() - began, paths)
        report = msgspec.structs.replace(report, archive_damage=damage)
        if profiler is not None:
            profile = profiler.profile(report.run_pages)
            report = msgspec.structs.replace(report, profile=profile)
        await _finish(store, crawl, info, report)
        return report


async def _finish(store: Store, crawl: Crawl, info: CrawlInfo, report: RunReport) -> None:
    """Keep what a run came to, and what all its pages together say of each."""
    # A run that added no page to one that came to its end finds all of it written.
    is_same = info.finished and not report.run_pages and not report.run_looked
    await store.finish(
        info.id,
        reason=report.stop_reason,
        report_json=msgspec.json.encode(report, enc_hook=str).decode(),
        ranks=() if is_same else _ranks(crawl),
        now=time.time(),
    )


def _damage(archive: Path | None, watcher: Watcher) -> str | None:
    """What of a recorded web cannot be read, which the user is told."""
    if archive is None:
        return None
    with replay.Archive.open(archive) as opened:
        damage = opened.damage
    if damage:
        watcher.say(
            msg(
                "Note: the archive is damaged, and what is missing is a 404: {damage}",
                damage=damage,
            )
        )
    return damage


def _ranks(crawl: Crawl) -> Iterator[tuple[int, float, float, float]]:
    """(URL id, PageRank, hub, authority) of every page, in order of id."""
    crawl.graph.settle()
    size = len(crawl.url_table.state)
    done = np.flatnonzero(np.frombuffer(crawl.url_table.state, np.uint8) == UrlState.DONE)
    standing, hubs, authorities = hubs_and_authorities(crawl.graph.rows), *np.zeros((2, size))
    hubs[standing.ids], authorities[standing.ids] = standing.hubs, standing.authorities
    columns = done, crawl.graph.ranks(done), hubs[done], authorities[done]
    return zip(*(column.tolist() for column in columns), strict=True)


def identity(config: CrawlConfig) -> dict[str, object]:
    """What makes two orders the same crawl: the second continues the first."""
    return {
        "seeds": list(config.seeds),
        "topic": config.analysis.topic,
        "strategy": config.strategy,
        "params": config.params,
        "as_published": config.as_published,
        "relevance": config.analysis.relevance,
        "relevance_params": config.analysis.params,
        "threshold": config.analysis.threshold,
    }


@contextlib.asynccontextmanager
async def _opened(paths: RunPaths) -> AsyncIterator[Store]:
    """The database, waited for up to `wait_s` if another crawl holds it."""
    deadline = time.monotonic() + paths.wait_s
    while True:
        try:
            async with Store.open(paths.db, now=time.time(), pid=os.getpid()) as store:
                yield store
                return
        except StoreLocked:
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(0.2)


def _workers(config: CrawlConfig) -> int:
    return config.workers or max(1, (os.cpu_count() or 2) - 1)


async def open_transport(
    config: CrawlConfig, paths: RunPaths, stack: contextlib.AsyncExitStack
) -> Transport:
    """The live web or a recorded one, its scorer workers on their way: the first requests go
    out while these load their dictionaries.
    """
    pool = WorkerPool(
        strategy_class(config.strategy).informed_by(config.analysis),
        workers=_workers(config),
        limit_s=config.parse_limit_s,
        analyst=PROFILED if paths.profile else ANALYST,
    )
    transport: Transport
    if paths.archive is not None:
        archive = stack.enter_context(replay.Archive.open(paths.archive, limits=config.fetch))
        start = archive.recorded_at or time.time()
        transport = ReplayTransport(archive, pool, start=start)
    else:
        observe: Callable[[FetchResult], object] | None = None
        if paths.warc is not None:
            software = f"focus/{__version__}"
            observe = stack.enter_context(recorder.Recorder(paths.warc, software=software)).record
        clock = Clock()
        sessions = _sessions(config, paths)
        web = WebFetcher(config.fetch, clock=clock, sessions=sessions)
        transport = LiveTransport(
            web,
            pool,
            clock=clock,
            observe=observe,
            locate=web.locate,
            bodies=Bodies(),
            render=await second_look(config, pool, sessions, stack, browser=paths.browser),
            tells=True,
        )
    stack.push_async_callback(transport.close)
    pool.begin()
    return transport


def _sessions(config: CrawlConfig, paths: RunPaths) -> Sessions:
    """What requests carry besides; ConfigError for a file that cannot be used."""
    credentials = read_credentials(paths.credentials) if paths.credentials is not None else []
    if paths.cookie is not None:
        hosts = [host_of(seed_candidates(seed)[0]) for seed in config.seeds]
        credentials += cookie_for(hosts, paths.cookie)
    cookies = read_cookies(paths.cookie_file) if paths.cookie_file is not None else []
    return Sessions(credentials, cookies, jar=config.cookies)


@contextlib.contextmanager
def _signals(crawl: Crawl, transport: Transport, watcher: Watcher) -> Iterator[None]:
    """Ctrl-C: stop taking URLs; again: drop what is in flight; a third time: as ever.

    The second is spared where the crawl has come home by itself: what it has to say is still said.
    SIGTERM stops as Ctrl-C does, but counts as a normal end; so does SIGHUP, which a terminal
    sends when it goes away, unless it is ignored (nohup).
    """
    loop = asyncio.get_running_loop()
    graces: list[asyncio.TimerHandle] = []

    def on_signal(number: int) -> None:
        if crawl.stop_reason:
            watcher.stopping(msg("dropping what is in flight"))
            transport.cancel()
            loop.remove_signal_handler(number)
            return
        crawl.stop("interrupted" if number == signal.SIGINT else "terminated")
        graces.append(loop.call_later(GRACE_S, transport.cancel))
        watcher.stopping(
            msg(
                "letting {n} requests finish, at most {grace_s:.0f} s",
                n=transport.in_flight,
                grace_s=GRACE_S,
            )
        )

    ends = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        ends.append(signal.SIGHUP)
    for number in (signal.SIGINT, *ends):
        with contextlib.suppress(NotImplementedError):  # Windows loops have none
            loop.add_signal_handler(number, on_signal, number)
    try:
        yield
    finally:
        for grace in graces:
            grace.cancel()
        with contextlib.suppress(NotImplementedError):
            if loop.remove_signal_handler(signal.SIGINT) and graces:
                signal.signal(signal.SIGINT, _spare_one)
            for number in ends:
                loop.add_signal_handler(number, lambda: None)  # it is ending already


def _spare_one(number: int, _: object) -> None:
    signal.signal(number, signal.default_int_handler)


def _report(
    crawl: Crawl,
    info: CrawlInfo,
    before: Totals,
    reason: str,
    seconds: float,
    paths: RunPaths,
) -> RunReport:
    totals, unit_of_work = crawl.unit_of_work.totals, crawl.unit_of_work
    pages = totals.pages - before.pages
    topic = crawl.config.analysis.topic
    return RunReport(
        crawl=info.id,
        resumed=info.resumed,
        stop_reason=reason,
        strategy=crawl.config.strategy,
        topic=str(topic.get("name", "")),
        totals=totals,
        run_requests=totals.requests - before.requests,
        run_pages=pages,
        run_seconds=round(seconds, 3),
        pages_per_second=round(pages / seconds, 2) if seconds > 0 else 0.0,
        harvest_rate=round(totals.relevant / totals.pages, 4) if totals.pages else 0.0,
        states={state.name.lower(): crawl.url_table.counts[state] for state in UrlState},
        hosts=len(crawl.frontier.hosts),
        failures=dict(unit_of_work.failures.most_common()),
        dropped=dict(unit_of_work.drops.most_common()),
        seed_failures=dict(crawl.seeds.failures),
        led_away=crawl.seeds.led_away(),
        database=str(paths.db),
        outage=crawl.outages.outage,
        warc=str(paths.warc) if paths.warc else None,
        again={name: getattr(totals, name) - getattr(before, name) for name in LOOKS},
    )
