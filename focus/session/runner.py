"""Runs one crawl from start to end: database, transport, workers, signals, report.

run(config, paths)   open or continue the crawl, crawl, close, report
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path

import msgspec

from focus.config import CrawlConfig, RunPaths
from focus.crawler import Crawl
from focus.errors import StoreLocked
from focus.i18n import msg
from focus.session.close import finish
from focus.session.process_limits import allow_open_files, collecting_rarely, give_memory_back
from focus.session.report import RunReport, make_report
from focus.session.resume import restore
from focus.session.runtime import Runtime
from focus.session.signals import stop_on_signals
from focus.session.watcher import Watcher
from focus.store import Store

_NUMPY_AFTER_S = 0.05  # the first requests have been sent by then


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
                crawl.frontier.exclude_ids_below(news_from)
            if config.refresh_s is not None:
                from focus.session.revisit import look_again

                await look_again(crawl, store, info, config.refresh_s)
        await around.opened(crawl, store, info)
        crawl.add_seeds(config.seeds)
        before = msgspec.structs.replace(crawl.unit_of_work.totals)
        began = time.monotonic()
        with stop_on_signals(crawl, transport, watcher) if signals else contextlib.nullcontext():
            watcher.started(crawl, info)  # who reads it may press Ctrl-C
            asyncio.get_running_loop().call_later(_NUMPY_AFTER_S, _import_numpy)
            reason = await crawl.run()
        report = make_report(crawl, info, before, reason, time.monotonic() - began, paths)
        report = msgspec.structs.replace(report, archive_damage=damage)
        await finish(store, crawl, info, report, now=time.time())
        return report


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


def _import_numpy() -> None:
    """Import numpy in a thread: its first use would block the event loop for 0.1 s."""
    asyncio.get_running_loop().run_in_executor(None, import_module, "numpy")


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


def _damage(archive: Path | None, watcher: Watcher) -> str | None:
    """What of a recorded web cannot be read, which the user is told."""
    if archive is None:
        return None
    from focus.archive.replay import Archive

    with Archive.open(archive) as opened:
        damage = opened.damage
    if damage:
        watcher.say(
            msg(
                "Note: the archive is damaged, and what is missing is a 404: {damage}",
                damage=damage,
            )
        )
    return damage
