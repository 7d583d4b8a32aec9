"""Runs one crawl from start to end: database, transport, workers, signals, report.

run(config, paths)   open or continue the crawl, crawl, close, report
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from functools import partial
from importlib import import_module
from pathlib import Path

import msgspec
from msgspec.structs import replace

from focus.config import CrawlConfig, RunPaths
from focus.crawler import Crawl
from focus.errors import StoreLocked
from focus.i18n import msg
from focus.session.close import finish_run
from focus.session.judging import Judge, open_consultation
from focus.session.process_limits import (
    ensure_open_files,
    infrequent_garbage_collection,
    return_freed_memory,
)
from focus.session.report import RunReport, make_report
from focus.session.resume import readmit_urls, restore
from focus.session.runtime import Runtime
from focus.session.signals import stop_on_signals
from focus.session.watcher import Watcher
from focus.storage import writer
from focus.store import Store
from focus.topic.terms import CRAWL_SOURCES, remove_added_words
from focus.topic.topic import from_builtins, to_builtins

_NUMPY_AFTER_S = 0.05  # the first requests have been sent by then


async def run(
    config: CrawlConfig,
    paths: RunPaths,
    watcher: Watcher,
    *,
    identity: dict[str, object] | None = None,
    exclude_ids_below: float = 0.0,
    runtime: Runtime | None = None,
    judge: Judge | None = None,
    handle_signals: bool = True,
) -> RunReport:
    """Crawl as configured until the crawl ends; return the report of the run.

    Args:
        config: The settings of the crawl.
        paths: The files of the run.
        watcher: Receives the events of the run.
        identity: Values that identify the crawl in the database. None: `crawl_identity`.
        exclude_ids_below: Leave out URLs under this id that an earlier run left waiting.
        runtime: Supplies transport and store. None: those of this machine.
        judge: Decides about doubtful pages; `AnalysisConfig.judge` must be set as well.
        handle_signals: Stop in good order at Ctrl-C and SIGTERM; needs the main thread.

    Raises:
        FocusError: A database, archive or output cannot be used.
    """
    if paths.archive is None and runtime is None:
        ensure_open_files(config.concurrency)
    runtime = runtime or Runtime()
    async with _open_store(paths, watcher) as store, contextlib.AsyncExitStack() as stack:
        damage = _report_archive_damage(paths.archive, watcher)
        identity = identity or crawl_identity(config)
        config = await _with_first_terms(config, store, identity, fresh=paths.fresh)
        config_json = msgspec.json.encode(config).decode()
        info = await store.begin_crawl(
            identity,
            config_json,
            fresh=paths.fresh,
            now=time.time(),
            retry_reasons=paths.retry_failed,
        )
        if judge is not None:
            runtime.consultation = await open_consultation(
                judge, config, store, info.id, watcher.say
            )
        transport = await runtime.make_transport(config, paths, stack)
        crawl_store = runtime.make_crawl_store(store, info)
        crawl = Crawl(
            config,
            transport,
            crawl_store=crawl_store,
            observe=watcher.event,
            on_outage=watcher.outage,
        )
        stack.enter_context(infrequent_garbage_collection())
        return_freed_memory()
        if info.is_resumed:
            await restore(crawl, store, info)
            if exclude_ids_below:
                crawl.frontier.exclude_ids_below(exclude_ids_below)
            if config.refresh_s is not None:
                from focus.session.revisit import schedule_revisits

                await schedule_revisits(crawl, store, info, config.refresh_s)
        crawl.add_seeds(config.seeds)
        if info.last_config:
            await readmit_urls(crawl, store, info)
        totals_before = msgspec.structs.replace(crawl.unit_of_work.totals)
        started_at = time.monotonic()
        with (
            stop_on_signals(crawl, transport, watcher)
            if handle_signals
            else contextlib.nullcontext()
        ):
            watcher.started(crawl, info)  # from here on Ctrl-C stops the crawl in good order
            timer = asyncio.get_running_loop().call_later(_NUMPY_AFTER_S, _import_numpy)
            try:
                reason = await crawl.run()
            finally:
                timer.cancel()  # the executor may be shut down before the timer is due
        report = make_report(
            crawl, info, totals_before, reason, time.monotonic() - started_at, paths
        )
        report = msgspec.structs.replace(report, archive_damage=damage)
        await finish_run(store, crawl, info, report, now=time.time())
        return report


def crawl_identity(config: CrawlConfig) -> dict[str, object]:
    """Return the values that identify a crawl: a run with the same values continues it.

    Words that library and language model add are not among them: a crawl keeps those that it began
    with, also when a later version of focus has others or an earlier one had none.
    """
    topic = config.analysis.topic
    if config.terms in CRAWL_SOURCES:
        sources = CRAWL_SOURCES[config.terms]
        topic = to_builtins(remove_added_words(from_builtins(topic), sources))
    return {
        **({"terms": "none"} if config.terms == "none" else {}),
        "seeds": list(config.seeds),
        "topic": topic,
        "strategy": config.strategy,
        "params": config.params,
        "as_published": config.as_published,
        "relevance": config.analysis.relevance,
        "relevance_params": config.analysis.params,
        "threshold": config.analysis.threshold,
    }


async def _with_first_terms(
    config: CrawlConfig, store: Store, identity: dict[str, object], *, fresh: bool
) -> CrawlConfig:
    """Return the settings with the terms that the crawl, if there is one, began with."""
    if fresh:
        return config
    stored = await store.run_in_thread(partial(writer.load_config, identity=identity))
    if stored is None:
        return config
    topic = msgspec.json.decode(stored)["analysis"]["topic"]
    return replace(config, analysis=replace(config.analysis, topic=topic))


def _import_numpy() -> None:
    """Import numpy in a thread: its first use would block the event loop for 0.1 s."""
    asyncio.get_running_loop().run_in_executor(None, import_module, "numpy")


@contextlib.asynccontextmanager
async def _open_store(paths: RunPaths, watcher: Watcher) -> AsyncIterator[Store]:
    """Open the database; wait up to `wait_s` while another crawl uses it."""
    deadline = time.monotonic() + paths.wait_s
    is_waiting = False
    while True:
        try:
            async with Store.open(paths.db, now=time.time(), pid=os.getpid()) as store:
                yield store
                return
        except StoreLocked:
            if time.monotonic() >= deadline:
                raise
            if not is_waiting:
                watcher.say(msg("Waiting for another crawl that uses the database"))
            is_waiting = True
            await asyncio.sleep(0.2)


def _report_archive_damage(archive: Path | None, watcher: Watcher) -> str | None:
    """Return a description of the damage of a recorded web, if any, after reporting it."""
    if archive is None:
        return None
    from focus.archive.replay import Archive

    with Archive.open(archive) as opened:
        damage = opened.damage
    if damage:
        watcher.say(
            msg(
                "Note: the archive is damaged; missing pages are answered with 404: {damage}",
                damage=damage,
            )
        )
    return damage
