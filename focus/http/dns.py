"""Finds the addresses of a name, by the system's own resolver, hosts file and all.

ThreadResolver   a thread for each look-up, because that is the only way it can be asked
Foresight        a look-up before the request, by which its host's address is known in time
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
_KEPT = 10_000  # names whose requests are to come
_KEPT_S = 60.0

_Found = list[ResolveResult] | Exception


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


class Foresight(AbstractResolver):
    """Asks another resolver once for two: who wants to know the address, and the request itself.

    What `locate` has found, or failed with, is kept for the request that follows, for a minute.
    """

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver
        self._kept: dict[str, tuple[float, _Found]] = {}

    async def locate(self, host: str, port: int, limit_s: float) -> str:
        """The first address of a name, "" if it has none now."""
        found: _Found
        try:
            async with asyncio.timeout(limit_s):
                found = await self._resolver.resolve(host, port, socket.AF_UNSPEC)
        except (OSError, ValueError) as error:
            found = error
        if len(self._kept) >= _KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[host] = (asyncio.get_running_loop().time() + _KEPT_S, found)
        return "" if isinstance(found, Exception) or not found else found[0]["host"]

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Addresses of `host`; raises what the look-up raised."""
        until, found = self._kept.pop(host, (0.0, []))
        if until < asyncio.get_running_loop().time():
            return await self._resolver.resolve(host, port, family)
        if isinstance(found, Exception):
            raise found
        return [ResolveResult(**{**each, "port": port}) for each in found]

    async def close(self) -> None:
        """Close the other."""
        await self._resolver.close()


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
