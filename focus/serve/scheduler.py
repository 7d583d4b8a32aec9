"""Runs all due work once, in a process that the server starts.

    python -m focus.serve.scheduler  < options.json

It is a separate process because a crawl handles signals and uses many seconds of CPU, and because
killing it does not affect the web pages. It ends by itself; SIGTERM ends it sooner.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import msgspec

from focus.alerts import delivery_process, settings
from focus.alerts.run import AlreadyRunning, WatchRunSummary, run_due, watch_lock
from focus.alerts.sealed_channels import SealedChannels
from focus.alerts.visit import create_visit
from focus.config import FetchConfig
from focus.errors import FocusError
from focus.learn.memory_crawl import PageSource
from focus.serve.log import LOG, set_up_log
from focus.storage.alerts.store import open_store
from focus.storage.search_index import SearchIndex
from focus.text.formatting import printable

CONTINUES = 3
"""Exit code of a run that left sites for the next one, which should follow at once."""


class SendingOptions(msgspec.Struct, frozen=True):
    """Options of sending from the command line; for missing ones the stored settings apply.

    `options` maps names of channel options to values.
    """

    options: dict[str, str] = {}
    base_url: str | None = None
    key_file: Path | None = None
    fetch: FetchConfig = FetchConfig()


class SchedulerOptions(msgspec.Struct, frozen=True):
    """What the scheduler needs: database, fetching and sending options."""

    db: Path
    web: PageSource = PageSource()
    sending: SendingOptions = SendingOptions()


def run_due_work(options: SchedulerOptions) -> WatchRunSummary | None:
    """Do all due work and index new pages. Returns None if another program is doing so."""
    sealed = SealedChannels.from_key_file(options.db, options.sending.key_file)
    with open_store(
        options.db, now=time.time(), language="en", zone="UTC", channels=sealed
    ) as store:
        delivery_settings = settings.read(store, **msgspec.structs.asdict(options.sending))
        try:
            with watch_lock(options.db):
                deliver = delivery_process.delivery_in_process(store, delivery_settings)
                visit = create_visit(store, options.web)
                summary = asyncio.run(run_due(store, visit, deliver, clock=time.time))
        except AlreadyRunning:
            return None
    with SearchIndex(options.db) as index:
        index.update()
    return summary


def decode_options(text: bytes) -> SchedulerOptions:
    """Return the options that `msgspec.json.encode(..., enc_hook=str)` made this text of."""
    return msgspec.json.decode(text, type=SchedulerOptions, dec_hook=lambda kind, path: kind(path))


def main() -> int:
    """Run the process. Errors of sites and deliveries are in the database for their owners."""
    set_up_log()
    try:
        summary = run_due_work(decode_options(sys.stdin.buffer.read()))
    except (FocusError, msgspec.DecodeError) as error:
        LOG.warning("%s", printable(str(error)))
        return 1
    except KeyboardInterrupt:
        return 130
    for failure in summary.failures if summary else ():
        LOG.warning("%s", printable(failure))
    return CONTINUES if summary and summary.unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
