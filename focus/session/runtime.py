"""Transport, scorer workers and store of a crawl on this machine."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from focus import __version__
from focus.config import CrawlConfig, RunPaths
from focus.crawler import CrawlStore
from focus.engine.body_memory import BodyMemory
from focus.engine.transports import Clock, LiveTransport, ReplayTransport, Scorer, Transport
from focus.fetch import WebFetcher
from focus.http.sessions import Sessions, parse_cookie_option, read_cookies, read_credentials
from focus.records import FetchResult
from focus.rendering import render_fallback
from focus.score.strategy import strategy_class
from focus.session.judging import Consultation, JudgingScorer
from focus.store import CrawlInfo, CrawlWriter, Store
from focus.urls.normal_form import seed_candidates, url_host
from focus.workers import WorkerPool


class Runtime:
    """Factory for the parts that a crawl runs with: here on this machine alone.

    consultation  questions of the crawl to a judge; None without one
    """

    consultation: Consultation | None = None

    async def make_transport(
        self, config: CrawlConfig, paths: RunPaths, stack: contextlib.AsyncExitStack
    ) -> Transport:
        """Open the transport of the crawl; the stack closes it."""
        return await open_transport(config, paths, stack, self.consultation)

    def make_crawl_store(self, store: Store, info: CrawlInfo) -> CrawlStore:
        """Return the store that receives the batches of the crawl."""
        return CrawlWriter(store, info.id)


async def open_transport(
    config: CrawlConfig,
    paths: RunPaths,
    stack: contextlib.AsyncExitStack,
    consultation: Consultation | None = None,
) -> Transport:
    """Open the live web or an archive and start the scorer workers.

    It does not wait for the workers: the first requests are sent while they load dictionaries.
    """
    pool = WorkerPool(
        strategy_class(config.strategy).extend_analysis(config.analysis),
        workers=worker_count(config),
        limit_s=config.parse_limit_s,
    )
    scorer: Scorer = pool if consultation is None else JudgingScorer(pool, consultation)
    transport: Transport
    if paths.archive is not None:
        from focus.archive.replay import Archive

        archive = stack.enter_context(Archive.open(paths.archive, limits=config.fetch))
        start = archive.recorded_at or time.time()
        transport = ReplayTransport(archive, scorer, start=start)
    else:
        observe: Callable[[FetchResult], object] | None = None
        if paths.warc is not None:
            from focus.archive.recorder import Recorder

            software = f"focus/{__version__}"
            observe = stack.enter_context(Recorder(paths.warc, software=software)).record
        clock = Clock()
        sessions = _sessions(config, paths)
        web = WebFetcher(config.fetch, clock=clock, sessions=sessions)
        transport = LiveTransport(
            web,
            scorer,
            clock=clock,
            observe=observe,
            locate=web.locate,
            bodies=BodyMemory(),
            render=await render_fallback(config, scorer, sessions, stack, browser=paths.browser),
            tells=True,
        )
    stack.push_async_callback(transport.close)
    pool.start_in_background()
    return transport


def worker_count(config: CrawlConfig) -> int:
    """Return the number of scorer processes: as configured, or one less than the processors."""
    return config.workers or max(1, (os.cpu_count() or 2) - 1)


def _sessions(config: CrawlConfig, paths: RunPaths) -> Sessions:
    """Return credentials and cookies for requests; ConfigError if their file cannot be used."""
    credentials = read_credentials(paths.credentials) if paths.credentials is not None else []
    if paths.cookie is not None:
        hosts = [url_host(seed_candidates(seed)[0]) for seed in config.seeds]
        credentials += parse_cookie_option(hosts, paths.cookie)
    cookies = read_cookies(paths.cookie_file) if paths.cookie_file is not None else []
    return Sessions(credentials, cookies, store_cookies=config.cookies)
