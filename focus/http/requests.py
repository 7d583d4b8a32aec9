"""Sends requests over aiohttp's connections and reads the heads of the responses.

    RequestTarget  a server as aiohttp's pool knows it, the same for all of its URLs, and a path
    ResponseHead   status and headers; `content` is the stream of the body
    RequestSender  one pool of connections

aiohttp connects, pools, speaks to proxies and parses. Its session is not used: for each request it
makes headers, cookies, a writer, two more objects and a timer. A crawl needs none of them, because
it follows no redirects and `connection` checks the time. They were a third of a page's cost in the
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

_MAX_HEADER_LINES = 2_000  # limit of aiohttp's parser; `Exchange` counts the bytes
_MAX_SERVERS = 10_000
_BUFFER_BYTES = 64 * 1024  # of a body that is not read yet; then its server waits
_SWITCHING_PROTOCOLS = 101  # no other protocol is requested: treated as a final response


class RequestTarget(NamedTuple):
    """The target of a request.

    path  the path as sent, or the whole URL behind a proxy
    host  the Host header
    """

    server: aiohttp.ClientRequest
    path: str
    host: str


class ResponseHead:
    """The head of a response as parsed by aiohttp."""

    __slots__ = ("content", "headers", "raw_headers", "reason", "status")

    def __init__(
        self, message: aiohttp.http.RawResponseMessage, content: aiohttp.StreamReader
    ) -> None:
        self.status: int = message.code
        self.reason: str = message.reason or ""
        self.headers = message.headers
        self.raw_headers = message.raw_headers
        self.content = content

    @property
    def content_length(self) -> int:
        """Announced bytes of the body, 0 if none are announced."""
        length = self.headers.get("Content-Length", "")
        return int(length) if length.isascii() and length.isdigit() else 0


class RequestSender:
    """Sends requests over one connector, which belongs to the running loop.

    default_headers  headers of every request that does not set them itself
    """

    def __init__(
        self, config: FetchConfig, connector: Connector, default_headers: Mapping[str, str]
    ) -> None:
        self._config = config
        self._connector = connector
        self._default_headers = default_headers
        self._default_head = _encode_headers(default_headers)
        self._servers: dict[tuple[str, str], aiohttp.ClientRequest] = {}
        self._timeout = aiohttp.ClientTimeout(
            total=None, connect=min(config.connect_timeout_s, config.total_timeout_s)
        )

    def make_target(
        self, scheme: str, authority: str, path: str, host: str | None = None
    ) -> RequestTarget:
        """Return the target of a request for a path, which is sent byte for byte.

        host  the Host header; None uses the authority

        Raises aiohttp.InvalidURL or ValueError for an unusable authority.
        """
        server = self._servers.get((scheme, authority))
        if server is None:
            # The query stays in the path: yarl would drop a lone "?".
            url = URL.build(scheme=scheme, authority=authority, encoded=True)
            proxy = self._config.proxy
            server = aiohttp.ClientRequest(
                "GET", url, loop=self._connector._loop, proxy=None if proxy is None else URL(proxy)
            )
            if len(self._servers) >= _MAX_SERVERS:
                del self._servers[next(iter(self._servers))]
            self._servers[scheme, authority] = server
        host = host or server.headers["Host"]
        by_proxy = server.proxy is not None and not server.is_ssl()
        return RequestTarget(server, f"http://{host}{path}" if by_proxy else path, host)

    @asynccontextmanager
    async def send(
        self, method: str, target: RequestTarget, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[ResponseHead]:
        """Send a request and yield its response.

        The connection is kept if the response was read to its end.
        """
        connection = await self._connector.connect(target.server, [], self._timeout)
        try:
            protocol = connection.protocol
            if protocol is None or protocol.transport is None:
                raise aiohttp.ClientConnectionResetError("closed while it lay idle")
            protocol.set_response_params(
                skip_payload=method == "HEAD",
                read_until_eof=True,
                auto_decompress=False,
                read_bufsize=_BUFFER_BYTES,
                max_line_size=self._config.max_header_bytes,
                max_field_size=self._config.max_header_bytes,
                max_headers=_MAX_HEADER_LINES,
            )
            if password := target.server.headers.get("Proxy-Authorization"):
                headers = {**headers, "Proxy-Authorization": password}
            protocol.transport.write(self.build_head(method, target, headers) + body)
            message, content = await protocol.read()
            while 100 <= message.code < 200 and message.code != _SWITCHING_PROTOCOLS:
                message, content = await protocol.read()
        except BaseException:
            connection.close()
            raise
        try:
            yield ResponseHead(message, content)
        finally:
            connection.release()  # closes it unless the response is complete

    async def close(self) -> None:
        """Close all connections."""
        await self._connector.close()

    def build_head(self, method: str, target: RequestTarget, headers: Mapping[str, str]) -> bytes:
        """Return the head of a request with these headers in addition to the default ones."""
        head = self._default_head
        if headers:
            named = {name.lower() for name in headers}
            defaults = {
                name: v for name, v in self._default_headers.items() if name.lower() not in named
            }
            head = _encode_headers({**defaults, **headers})
        return (
            f"{method} {target.path} HTTP/1.1\r\nHost: {target.host}\r\n".encode() + head + b"\r\n"
        )


def _encode_headers(fields: Mapping[str, str]) -> bytes:
    """Return headers as sent; raise ValueError for one that would begin another."""
    if any(sign in text for field in fields.items() for text in field for sign in "\r\n\0"):
        raise ValueError("a header with a line break")
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return lines.encode("utf-8", "surrogateescape")
