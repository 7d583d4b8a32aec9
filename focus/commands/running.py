"""Runs a crawl for a command: event loop, progress, summary, exit code."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from focus.commands.options.option import tell, to_json
from focus.i18n import msg

if TYPE_CHECKING:
    from focus.commands.settings import CrawlOrder
    from focus.session import RunReport

T = TypeVar("T")


def crawled(
    order: CrawlOrder,
    options: dict[str, Any],
    work: Callable[[Any], RunReport],
    *,
    notes: Iterable[str] = (),
) -> int:
    """Crawl (`work`) and tell of it, and of `notes` first; the exit code."""
    from focus.commands.crawl_log import telling
    from focus.commands.crawl_summary import complaint, exit_code
    from focus.storage.whole_file import write_whole

    wishes = ("quiet", "verbose", "log_file")
    with telling(**{name: options[name] for name in wishes}) as teller:
        teller.say(msg("Database {database}", database=order.paths.db))
        if order.anonymous and order.leaves_home:
            teller.say(msg("Note: site owners cannot reach you; set --contact URL or MAIL"))
        for line in notes:
            teller.say(msg("Note: {line}", line=line))
        report = work(teller)
        teller.ended(report)
    if options["report"] is not None:
        write_whole(options["report"], to_json(report))
    code = exit_code(report, options["fail_error_rate"])
    tell(complaint(report, code), err=True)
    return code


def invoked_as() -> str:
    """How this command is started from here: by its name, or by its path if that is not on PATH."""
    me = Path(sys.argv[0])
    found = shutil.which(me.name)
    if found is not None and Path(found).resolve() == me.resolve():
        return me.name
    return os.path.relpath(me) if me.exists() else "focus"


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on uvloop where there is one: a TLS connection costs it a fifth.

    A pipe that breaks in there is a worker's, not that of a reader who has had enough.
    """
    import asyncio

    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with suppress(ImportError):  # Windows has none
        import uvloop

        factory = uvloop.new_event_loop
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(_until_terminated(work))
    except asyncio.CancelledError:
        raise SystemExit(0) from None  # SIGTERM before there was a crawl to end
    except BrokenPipeError as error:
        raise RuntimeError("a pipe to a worker broke") from error


async def _until_terminated(work: Coroutine[Any, Any, T]) -> T:
    """A SIGTERM or SIGHUP cancels it, unless it sees to the signal itself by then."""
    import asyncio
    import signal

    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):  # Windows loops have none
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
            if signal.getsignal(number) != signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await work
