"""Runs a crawl for a command: event loop, progress, summary, exit code."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from focus.commands.llm import with_llm_terms
from focus.commands.options.option import print_lines, to_json
from focus.i18n import msg
from focus.topic.terms import LIBRARY

if TYPE_CHECKING:
    from focus.commands.settings import CrawlPlan
    from focus.session import RunReport

T = TypeVar("T")


def run_crawl_command(
    plan: CrawlPlan,
    options: dict[str, Any],
    work: Callable[[CrawlPlan, Any], RunReport],
) -> int:
    """Run a crawl with `work`, report on it, and return the exit code."""
    from focus.commands.crawl_log import open_reporters
    from focus.commands.crawl_summary import exit_code, failure_lines, idle_lines
    from focus.storage.whole_file import write_whole

    log_options = ("quiet", "verbose", "log_file")
    with open_reporters(**{name: options[name] for name in log_options}) as reporter:
        reporter.say(msg("Database {database}", database=plan.paths.db))
        if plan.is_anonymous and plan.uses_network:
            reporter.say(msg("Note: site owners cannot reach you; set --contact URL or MAIL"))
        if plan.endpoint is not None:
            plan = run_loop(with_llm_terms(plan, reporter.say))
        elif plan.config.terms == LIBRARY and not plan.topic.terms:
            reporter.say(
                msg(
                    "Note: the library has no related terms for {topic}; --terms FILE or --llm URL "
                    "gives some",
                    topic=plan.topic.name,
                )
            )
        report = work(plan, reporter)
        reporter.ended(report)
    if options["summary"] is not None:
        write_whole(options["summary"], to_json(report))
    code = exit_code(report, options["fail_error_rate"])
    print_lines(failure_lines(report, code), err=True)
    if options["quiet"]:
        print_lines(idle_lines(report), err=True)
    return code


def program_name() -> str:
    """Return the name of this program, or its path if that is not on PATH."""
    path = Path(sys.argv[0])
    program = shutil.which(path.name)
    if program is not None and Path(program).resolve() == path.resolve():
        return path.name
    return os.path.relpath(path) if path.exists() else "focus"


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on uvloop, where a TLS connection takes a fifth of the time.

    A pipe that breaks in the coroutine belongs to a worker, not to the reader of our output.
    """
    import asyncio

    import uvloop

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_until_terminated(work))
    except asyncio.CancelledError:
        raise SystemExit(0) from None  # SIGTERM before the crawl began
    except BrokenPipeError as error:
        raise RuntimeError("a pipe to a worker broke") from error


async def _until_terminated(work: Coroutine[Any, Any, T]) -> T:
    """Cancel the coroutine on SIGTERM or SIGHUP, unless it handles the signal itself by then."""
    import asyncio
    import signal

    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await work
