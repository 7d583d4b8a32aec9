"""Stops a crawl in good order when the process receives a signal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

from focus.crawler import Crawl
from focus.engine.transports import Transport
from focus.i18n import msg, plural
from focus.session.watcher import Watcher

GRACE_S = 10.0  # maximum time for requests in flight after a stop


@contextlib.contextmanager
def stop_on_signals(crawl: Crawl, transport: Transport, watcher: Watcher) -> Iterator[None]:
    """Stop dequeuing URLs at the first Ctrl-C, drop requests in flight at the second.

    A third Ctrl-C interrupts the process, as in any Python program.

    A second Ctrl-C is ignored when the crawl has ended meanwhile, so that its summary is printed.
    SIGTERM stops as Ctrl-C does, but counts as a normal end; so does SIGHUP, which a terminal
    sends when it goes away, unless it is ignored (nohup).
    """
    loop = asyncio.get_running_loop()
    grace_timers: list[asyncio.TimerHandle] = []

    def on_signal(number: int) -> None:
        if crawl.stop_reason:
            watcher.stopping(msg("cancelling requests in progress"))
            transport.cancel()
            loop.remove_signal_handler(number)
            return
        crawl.stop("interrupted" if number == signal.SIGINT else "terminated")
        grace_timers.append(loop.call_later(GRACE_S, transport.cancel))
        watcher.stopping(
            plural(
                "waiting for {n} request, at most {grace_s:.0f} s",
                "waiting for {n} requests, at most {grace_s:.0f} s",
                n=transport.in_flight,
                grace_s=GRACE_S,
            )
        )

    termination_signals = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        termination_signals.append(signal.SIGHUP)
    for number in (signal.SIGINT, *termination_signals):
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield
    finally:
        for timer in grace_timers:
            timer.cancel()
        if loop.remove_signal_handler(signal.SIGINT) and grace_timers:
            signal.signal(signal.SIGINT, _ignore_once)
        for number in termination_signals:
            loop.add_signal_handler(number, lambda: None)  # the process is ending already


def _ignore_once(number: int, _: object) -> None:
    signal.signal(number, signal.default_int_handler)
