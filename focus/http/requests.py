"""Sends requests over aiohttp's connections, and takes the heads of their answers.

    Place          a server, as aiohttp's pool knows it; the same for all of its URLs
    ServerAnswer   status and headers; `content` is the body as it comes
    RequestSender  one pool of connections

aiohttp connects, pools, speaks to proxies and parses. Its session is passed over: for each request
it makes headers, cookies, a writer, two more objects and a timer, of which a crawl needs none, as
it follows nothing and `connection` watches the time. That was a third of a page's cost in the
main process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
from yarl import URL

from focus.config import FetchConfig
from focus.http.connection import Connector

_MAX_HEADER_LINES = 2_000  # aiohttp's own cap; the bytes are counted by `Exchange`
_MAX_PLACES = 10_000
_READ_BYTES = 64 * 1024  # of a body that nobody reads: then its server waits
_SWITCHING = 101  # we ask for no other protocol: an answer like any other


class Place(NamedTuple):
    """The goal of a request. `target`: its path, or what a proxy wants; `host`: its Host header."""

    server: aiohttp.ClientRequest
    target: str
    host: str


class ServerAnswer:
    """The head of an answer, as aiohttp has parsed it."""

    __slots__ = ("content", "headers", "raw_headers", "reason", "status", "status_line")

    def __init__(
        self, message: aiohttp.http.RawResponseMessage, content: aiohttp.StreamReader
    ) -> None:
        self.status: int = message.code
        self.reason: str = message.reason or ""
        line = f"HTTP/{message.version.major}.{message.version.minor} {self.status} {self.reason}"
        self.status_line = line.encode("utf-8", "surrogateescape")
        self.headers = message.headers
        self.raw_headers = message.raw_headers
        self.content = content

    @property
    def content_length(self) -> int:
        """Bytes of the body that are announced, 0 if none are."""
        length = self.headers.get("Content-Length", "")
        return int(length) if length.isascii() and length.isdigit() else 0


class RequestSender:
    """Asks servers, all over one connector, which belongs to the running loop.

    fields  headers of every request, unless it has others of the same names
    """

    def __init__(
        self, config: FetchConfig, connector: Connector, fields: Mapping[str, str]
    ) -> None:
        self._config = config
        self._connector = connector
        self._fields = fields
        self._head = _lines(fields)
        self._places: dict[tuple[str, str], aiohttp.ClientRequest] = {}
        self._timeout = aiohttp.ClientTimeout(
            total=None, connect=min(config.connect_timeout_s, config.total_timeout_s)
        )

    def place(self, scheme: str, authority: str, path: str, host: str | None = None) -> Place:
        """Where to ask for a path, byte for byte; aiohttp.InvalidURL, ValueError if nowhere.

        host  its Host header, None: the authority
        """
        server = self._places.get((scheme, authority))
        if server is None:
            # The query stays in the path: yarl would drop a lone "?".
            url = URL.build(scheme=scheme, authority=authority, encoded=True)
            proxy = self._config.proxy
            server = aiohttp.ClientRequest(
                "GET",
                url,
                loop=self._connector._loop,
                proxy=None if proxy is None else URL(proxy),
            )
            if len(self._places) >= _MAX_PLACES:
                del self._places[next(iter(self._places))]
            self._places[scheme, authority] = server
        host = host or server.headers["Host"]
        by_proxy = server.proxy is not None and not server.is_ssl()
        return Place(server, f"http://{host}{path}" if by_proxy else path, host)

    @asynccontextmanager
    async def ask(
        self, method: str, place: Place, more: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[ServerAnswer]:
        """Send a request; its answer, whose connection is kept if it was read to its end."""
        connection = await self._connector.connect(place.server, [], self._timeout)
        try:
            protocol = connection.protocol
            if protocol is None or protocol.transport is None:
                raise aiohttp.ClientConnectionResetError("closed while it lay idle")
            protocol.set_response_params(
                skip_payload=method == "HEAD",
                read_until_eof=True,
                auto_decompress=False,
                read_bufsize=_READ_BYTES,
                max_line_size=self._config.max_header_bytes,
                max_field_size=self._config.max_header_bytes,
                max_headers=_MAX_HEADER_LINES,
            )
            if password := place.server.headers.get("Proxy-Authorization"):
                more = {**more, "Proxy-Authorization": password}
            protocol.transport.write(self.request_head(method, place, more) + body)
            message, content = await protocol.read()
            while 100 <= message.code < 200 and message.code != _SWITCHING:
                message, content = await protocol.read()
        except BaseException:
            connection.close()
            raise
        try:
            yield ServerAnswer(message, content)
        finally:
            connection.release()  # it is closed unless the answer has come whole

    async def close(self) -> None:
        """Close all connections."""
        await self._connector.close()

    def request_head(self, method: str, place: Place, more: Mapping[str, str]) -> bytes:
        """Return the head of a request with these headers besides those of every request."""
        head = self._head
        if more:
            named = {name.lower() for name in more}
            kept = {name: v for name, v in self._fields.items() if name.lower() not in named}
            head = _lines({**kept, **more})
        return (
            f"{method} {place.target} HTTP/1.1\r\nHost: {place.host}\r\n".encode() + head + b"\r\n"
        )


def _lines(fields: Mapping[str, str]) -> bytes:
    """Headers as they are sent; ValueError for one that would begin another."""
    if any(sign in text for field in fields.items() for text in field for sign in "\r\n\0"):
        raise ValueError("a header with a line break")
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode()
