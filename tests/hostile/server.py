"""Acts the behaviours out on raw sockets, and logs everything that the crawl does meanwhile.

One raw server on 127.0.0.1 for all hosts; and on 127.0.0.2, the same port, a tripwire that
stands for the private network: nobody may ever connect there.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field

from aiohttp.abc import AbstractResolver, ResolveResult

from tests.hostile.case import OK, Case, Reader, Script, Talk, Writer, markup, page, reply
from tests.hostile.secure import HANDSHAKE, Secured, authority, called_name

PUBLIC, PRIVATE = "127.0.0.1", "127.0.0.2"
TLS = "(TLS)"
"""The path of a ClientHello in the log."""
_MAX_REQUEST = 64 * 1024
_NOT_FOUND = reply(b"not here", status="404 Not Found")


@dataclass
class Hit:
    """One request or ClientHello, as the server saw it. `sent` bytes in `seconds`."""

    host: str
    path: str
    headers: dict[str, str]
    at: float
    sent: int = 0
    seconds: float = 0.0


@dataclass
class HostileServer:
    """Acts out cases by host name.

    log       every request
    tripped   connections to the private network; must stay empty
    errors    faults of the server's own scripts
    """

    cases: Mapping[str, Case]
    log: list[Hit] = field(default_factory=list)
    tripped: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    port: int = 0
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    @contextlib.asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator[HostileServer]:
        async with contextlib.AsyncExitStack() as stack:
            server = await asyncio.start_server(self._connected, PUBLIC, port, limit=_MAX_REQUEST)
            self.port = server.sockets[0].getsockname()[1]
            trip = await asyncio.start_server(self._tripped, PRIVATE, self.port)
            for item in (server, trip):
                stack.push_async_callback(_closed, item)
            yield self

    def hits(self, host: str, path: str | None = None) -> list[Hit]:
        """Requests to a host or hosts below it."""
        return [
            hit
            for hit in self.log
            if (hit.host == host or hit.host.endswith("." + host)) and path in (None, hit.path)
        ]

    def hub(self) -> str:
        """A page that links to every behaviour, and to the other page of its host."""
        links = []
        for case in self.cases.values():
            links.append(case.address(self.port))
            if case.expect.after:
                links.append(f"http://{case.name}:{self.port}/after")
        return markup("hub", *links)

    async def _tripped(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tripped.append(str(writer.get_extra_info("peername")))
        writer.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        try:
            first = await reader.readexactly(1)
            if first[0] == HANDSHAKE:
                await self._called(first, reader, writer)
                return
            while await self._answer(reader, writer, first):
                first = b""
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass
        except Exception as error:
            self.errors.append(repr(error))
        finally:
            with contextlib.suppress(OSError):
                writer.close()

    async def _called(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Somebody wants to speak TLS."""
        head = first + await reader.readexactly(4)
        hello = head + await reader.readexactly(int.from_bytes(head[3:]))
        name = called_name(hello)
        case = self.cases.get(name.partition(".")[0])
        talk = Talk(reader, writer, port=self.port, host=name)
        hit = Hit(name, TLS, {}, asyncio.get_running_loop().time())
        self.log.append(hit)
        if case is not None and case.hello is not None:
            with _noted(talk, hit):
                await case.hello(talk)
            return
        context = authority().context(case.tls if case else "good", name)
        inside = Secured(reader, writer, context)
        with _noted(inside, hit):
            await inside.shake_hands(hello)
        while await self._answer(inside, inside):
            pass

    async def _answer(self, reader: Reader, writer: Writer, first: bytes = b"") -> bool:
        """Take in a request, of which `first` has been read, and act; whether more may follow."""
        request = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = request.split("\r\n")
        headers = {
            key.strip().lower(): value.strip() for key, _, value in (r.partition(":") for r in rest)
        }
        host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
        talk = Talk(reader, writer, port=self.port, host=host)
        talk.path, talk.headers = line.split(" ")[1], headers
        self._counts[host, talk.path] += 1
        talk.nth = self._counts[host, talk.path]
        loop = asyncio.get_running_loop()
        hit = Hit(host, talk.path, headers, loop.time())
        self.log.append(hit)
        with _noted(talk, hit):
            await self._script(talk)(talk)
        return talk.keep

    def _script(self, talk: Talk) -> Script:
        if talk.host == "hub.test" and talk.path == "/":
            return reply(self.hub())
        labels = talk.host.split(".")
        case = self.cases.get(labels[-2] if len(labels) > 1 else "")
        if case is None:
            return _NOT_FOUND
        if talk.path in case.paths:
            return case.paths[talk.path]
        if case.default is not None and talk.path not in ("/robots.txt", "/after"):
            return case.default
        if case.url.partition(":")[2] == "//{host}" + talk.path:
            return case.script
        return {"/after": page("after"), "/": OK}.get(talk.path, _NOT_FOUND)


@contextlib.contextmanager
def _noted(what: Talk | Secured, hit: Hit) -> Iterator[None]:
    """Note how much is sent meanwhile, and for how long."""
    try:
        yield
    finally:
        hit.sent, hit.seconds = what.sent, asyncio.get_running_loop().time() - hit.at


async def _closed(server: asyncio.Server) -> None:
    server.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await server.wait_closed()


class Names(AbstractResolver):
    """Names of the test web: all lead to the server, but for those that have an own meaning.

    asked  the names, in order
    """

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        if host.startswith("dns-again"):
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        if not host.rstrip(".").endswith(".test") or host.startswith("dns-none"):
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        if host.startswith("dns-slow"):
            await asyncio.sleep(30)
        addresses = [PUBLIC]
        if host.startswith("dns-private"):
            addresses = [PRIVATE]
        elif host.startswith("dns-mixed"):
            addresses = [PRIVATE, PUBLIC]
        elif host.startswith("dns-linklocal"):
            addresses = ["169.254.169.254"]
        return [_result(host, port, address) for address in addresses]

    async def close(self) -> None:
        """Nothing to close."""


def _result(host: str, port: int, address: str) -> ResolveResult:
    return ResolveResult(
        hostname=host, host=address, port=port, family=socket.AF_INET, proto=0,
        flags=socket.AI_NUMERICHOST,
    )  # fmt: skip
