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
from focus.alerts.run import AlreadyRunning, Ran, alone, run_due
from focus.alerts.sealed_channels import SealedChannels
from focus.alerts.visit import visitor
from focus.cluster.visits import VisitOrder, visits_by
from focus.config import FetchConfig, PolitenessConfig, RenderConfig
from focus.errors import FocusError
from focus.learn.memory_crawl import PageSource
from focus.storage.alerts.store import opened
from focus.storage.search_index import SearchIndex
from focus.text.formatting import printable


class SchedulerOptions(msgspec.Struct, frozen=True):
    """The server's orders to its scheduler: where, how to ask, how to send.

    cluster  whose workers visit; None: this machine does
    render   which pages have their scripts run, by which `browser`; None: PATH has it
    """

    db: str
    fetch: FetchConfig = FetchConfig()
    politeness: PolitenessConfig = PolitenessConfig()
    agent: str = "focus"
    options: dict[str, str] = {}
    base_url: str | None = None
    key_file: str | None = None
    cluster: VisitOrder | None = None
    render: RenderConfig = RenderConfig()
    browser: str | None = None


def run(order: SchedulerOptions) -> Ran | None:
    """Do what is due and index what came; None when another program is at it."""
    path = Path(order.db)
    key_file = None if order.key_file is None else Path(order.key_file)
    sealed = SealedChannels.by_file(path, key_file)
    with opened(path, now=time.time(), language="en", zone="UTC", channels=sealed) as store:
        browser = None if order.browser is None else Path(order.browser)
        web = PageSource(None, order.fetch, order.politeness, order.agent, order.render, browser)
        how = settings.read(
            store,
            options=order.options,
            base_url=order.base_url,
            fetch=order.fetch,
            key_file=key_file,
        )
        try:
            with alone(path):
                deliver = delivery_process.sender(store, how)
                around = None if order.cluster is None else visits_by(order.cluster)
                visit = visitor(store, web, around=around)
                ran = asyncio.run(run_due(store, visit, deliver, clock=time.time))
        except AlreadyRunning:
            return None
    with SearchIndex(path) as index:
        index.update()
    return ran


def main() -> int:
    """The process. What fails of sites and deliveries stands in the database for their owners."""
    try:
        order = msgspec.json.decode(sys.stdin.buffer.read(), type=SchedulerOptions)
        ran = run(order)
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
