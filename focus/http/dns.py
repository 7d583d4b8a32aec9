"""Resolves host names with the system's own resolver, including its hosts file.

ThreadResolver    one thread per lookup, because the system's call blocks
PrefetchResolver  a lookup before the request, so that the address of the host is known in time
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
_MAX_RESULTS = 10_000  # names whose requests are still to come
_RESULT_TTL_S = 60.0

_LookupResult = list[ResolveResult] | Exception


class ThreadResolver(AbstractResolver):
    """The system's getaddrinfo, each lookup in a thread of its own.

    asyncio's own way shares a small pool with everything else, where a few slow names block all
    others, and its threads delay the end of the program.
    """

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(min(concurrency, _MAX_LOOKUPS))

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of `host`; raise socket.gaierror."""
        loop = asyncio.get_running_loop()
        async with self._slots:
            future: asyncio.Future[list[ResolveResult]] = loop.create_future()
            lookup = partial(_resolve_host, host, port, family)
            threading.Thread(target=_run_lookup, args=(lookup, loop, future), daemon=True).start()
            return await future

    async def close(self) -> None:
        """Do nothing: a running thread ends by itself."""


class PrefetchResolver(AbstractResolver):
    """Stores the results of lookups in advance for the requests that follow.

    A result or failure of `prefetch_address` serves the next `resolve` of that name within a
    minute.
    """

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver
        self._results: dict[str, tuple[float, _LookupResult]] = {}

    async def prefetch_address(self, host: str, port: int, limit_s: float) -> str:
        """Look up a name and return its first address, or "" if it has none at present."""
        result: _LookupResult
        try:
            async with asyncio.timeout(limit_s):
                result = await self._resolver.resolve(host, port, socket.AF_UNSPEC)
        except (OSError, ValueError) as error:
            result = error
        if len(self._results) >= _MAX_RESULTS:
            del self._results[next(iter(self._results))]
        self._results[host] = (asyncio.get_running_loop().time() + _RESULT_TTL_S, result)
        return "" if isinstance(result, Exception) or not result else result[0]["host"]

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of `host`; raise the exception of the lookup."""
        until, result = self._results.pop(host, (0.0, []))
        if until < asyncio.get_running_loop().time():
            return await self._resolver.resolve(host, port, family)
        if isinstance(result, Exception):
            raise result
        return [ResolveResult(**{**address, "port": port}) for address in result]

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._resolver.close()


def _run_lookup(
    lookup: Callable[[], list[ResolveResult]],
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[list[ResolveResult]],
) -> None:
    """Run a lookup in a thread and pass its outcome to the loop if that still runs."""
    outcome: list[ResolveResult] | Exception
    try:
        outcome = lookup()
    except (OSError, UnicodeError) as error:
        outcome = error
    with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(_set_outcome, future, outcome)


def _set_outcome(
    future: asyncio.Future[list[ResolveResult]], outcome: list[ResolveResult] | Exception
) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def _resolve_host(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    entries = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=port,
            family=kind,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for kind, _, protocol, _, address in entries
    ]
