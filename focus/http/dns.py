"""Looks up the addresses of a host name with the system's resolver.

By the system's own resolver, hosts file and all, and in threads, because that is
the only way it can be asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from functools import partial

from aiohttp.abc import AbstractResolver, ResolveResult

_MAX_LOOKUPS = 128  # threads; each waits for the resolver and costs no CPU


class ThreadResolver(AbstractResolver):
    """The system's getaddrinfo, each lookup in a thread of its own.

    asyncio's own way shares a small pool with everything else, where a few slow
    names stop all others; and its threads keep a finished program waiting.
    """

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(min(concurrency, _MAX_LOOKUPS))

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Addresses of `host`; raises socket.gaierror."""
        loop = asyncio.get_running_loop()
        async with self._slots:
            future: asyncio.Future[list[ResolveResult]] = loop.create_future()
            look_up = partial(_look_up, host, port, family)
            threading.Thread(target=_run, args=(look_up, loop, future), daemon=True).start()
            return await future

    async def close(self) -> None:
        """Nothing to close: a thread under way ends by itself."""


def _run(
    look_up: Callable[[], list[ResolveResult]],
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[list[ResolveResult]],
) -> None:
    """In a thread: look up, hand over to the loop if that still runs."""
    outcome: list[ResolveResult] | Exception
    try:
        outcome = look_up()
    except (OSError, UnicodeError) as error:
        outcome = error
    with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(_settle, future, outcome)


def _settle(
    future: asyncio.Future[list[ResolveResult]], outcome: list[ResolveResult] | Exception
) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=port,
            family=kind,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for kind, _, protocol, _, address in found
    ]
