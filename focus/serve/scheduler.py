"""Runs what is due once, in a process of its own that the server starts.

    python -m focus.serve.scheduler  < order.json

A process, because a crawl takes signals and many seconds of CPU, and because one that is
killed then is nothing to the web pages. It ends by itself; SIGTERM ends it sooner.
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
from focus.cluster.address import Address
from focus.cluster.visits import visits_by
from focus.config import FetchConfig
from focus.errors import FocusError
from focus.learn.memory_crawl import PageSource
from focus.storage.alerts.store import opened
from focus.storage.search_index import SearchIndex
from focus.text.formatting import printable


class SendingOptions(msgspec.Struct, frozen=True):
    """Options of sending, from the command line; where it says nothing, as was stored.

    options  of channels: name -> value
    """

    options: dict[str, str] = {}
    base_url: str | None = None
    key_file: Path | None = None
    fetch: FetchConfig = FetchConfig()


class SchedulerOptions(msgspec.Struct, frozen=True):
    """The server's orders to its scheduler: where, how to ask, how to send.

    cluster  whose workers visit; None: this machine does
    """

    db: Path
    web: PageSource = PageSource()
    sending: SendingOptions = SendingOptions()
    cluster: Address | None = None


def run(order: SchedulerOptions) -> WatchRunSummary | None:
    """Do what is due and index what came; None when another program is at it."""
    sealed = SealedChannels.from_key_file(order.db, order.sending.key_file)
    with opened(order.db, now=time.time(), language="en", zone="UTC", channels=sealed) as store:
        how = settings.read(store, **msgspec.structs.asdict(order.sending))
        try:
            with watch_lock(order.db):
                deliver = delivery_process.delivery_in_process(store, how)
                around = None if order.cluster is None else visits_by(order.cluster)
                visit = create_visit(store, order.web, around=around)
                ran = asyncio.run(run_due(store, visit, deliver, clock=time.time))
        except AlreadyRunning:
            return None
    with SearchIndex(order.db) as index:
        index.update()
    return ran


def read_order(text: bytes) -> SchedulerOptions:
    """Return the options that `msgspec.json.encode(..., enc_hook=str)` made this text of."""
    return msgspec.json.decode(text, type=SchedulerOptions, dec_hook=lambda kind, path: kind(path))


def main() -> int:
    """The process. What fails of sites and deliveries stands in the database for their owners."""
    try:
        ran = run(read_order(sys.stdin.buffer.read()))
    except (FocusError, msgspec.DecodeError) as error:
        print(f"focus: {printable(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    for failure in ran.failures if ran else ():
        print(f"focus: {printable(failure)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
