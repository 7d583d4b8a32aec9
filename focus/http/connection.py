"""Limits the bytes and the time of each exchange below the HTTP parser.

It extends classes of aiohttp:

    Exchange       one request's budget of bytes and time, and the failure if it is exceeded
    ExchangeTimer  one timer that checks the time of all exchanges
    Connector      a pool whose connections count every byte into an exchange

aiohttp does not limit chunk extensions, trailers or 1xx responses, and has no minimum rate; so
the bytes are counted where they arrive, before aiohttp parses them. An exchange over its budget
gets a failure and its connection is aborted, which wakes the coroutine that reads from it.

Bytes that TLS does not hand on (handshakes, tickets, empty records) are counted by the operating
system (TCP_INFO, Linux) and read at each check of the timer.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import socket
import struct
import termios
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from focus.config import FetchConfig
from focus.http.chunk_framing import ChunkRepairer
from focus.http.network_errors import TOO_MANY_HEADERS
from focus.http.response_head import find_head_end, repair_head
from focus.http.ssrf_guard import NOT_PUBLIC
from focus.i18n import msg
from focus.records import FailureKind

_DNS_TTL_S = 600
_MAX_DNS_NAMES = 10_000
_TICKS_PER_LIMIT = 8  # checks within the shortest time limit
_MIN_IDLE_HOSTS = 64
_TLS_OVERHEAD_BYTES = 64 * 1024  # handshake and framing, besides a share of the bytes
_TLS_OVERHEAD_DIVISOR = 16
_TCP_INFO_SIZE = 136
_INT = struct.Struct("i")
_TRANSFER, _CHUNKED = b"\r\nTransfer-Encoding:", b"chunked\r\n\r\n"  # in a repaired head
_BYTES_RECEIVED = struct.Struct("128xQ")  # linux/tcp.h: tcpi_bytes_received

_CURRENT_EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")


class Exchange:
    """One request and its response on a connection.

    received   bytes read from the socket so far, of headers, framing and body
    is_reused  whether the connection had served another request before
    address    the connected IP address
    failure    why it was aborted, None as long as it is within its budget
    sockets    sockets on which it is being connected
    on_sent    called when a connection is available and the request is about to be written
    status_line  status line of the response as received
    """

    def __init__(self, config: FetchConfig, on_sent: Callable[[], object] | None = None) -> None:
        self._config = config
        self._on_sent = on_sent
        self._handler: _CountingHandler | None = None
        self._is_paused = False
        self._deadline = 0.0
        self._max_bytes = config.max_raw_bytes
        self._is_connect_permitted = False
        self._last_progress = (0, 0.0)  # (bytes received, time of the last new byte)
        self._window_start: float | None = None  # the rate is measured from the first byte
        self._window_bytes = 0
        self._wire_bytes_before = 0
        self.received = 0
        self.sockets: list[socket.socket] = []
        self.has_headers = False
        self.status_line = b""
        self.is_reused = False
        self.address: str | None = None
        self.failure: tuple[FailureKind, str] | None = None

    @staticmethod
    def current() -> Exchange:
        """Return the exchange of the running task."""
        return _CURRENT_EXCHANGE.get()

    def start(self, now: float) -> None:
        self._deadline = now + self._config.total_timeout_s
        self._last_progress = (0, now)

    def attach(self, handler: _CountingHandler) -> None:
        """Use a connection; an address that the guard refused before was another one."""
        self._handler = handler
        self.address = handler.address
        self.is_reused = handler.request_count > 0
        self.failure = None
        self.has_headers = False  # a proxy may have responded to CONNECT
        if self.is_reused:
            self.sockets = handler.sockets
            self._wire_bytes_before = sum(map(_wire_bytes_read, self.sockets))
        else:
            self.sockets = handler.sockets = [s for s in self.sockets if s.fileno() >= 0]
        if self._on_sent is not None:
            self._on_sent()

    def detach(self) -> None:
        """Leave the connection: it is idle, closed, or used by another exchange."""
        if self._handler is not None and self._handler.exchange is self:
            self._handler.exchange = None
        self._handler = None

    def complete(self) -> None:
        """End the exchange early without a failure: later bytes of the response do not count."""
        self.detach()
        self.sockets = []

    def raise_byte_limit(self, max_bytes: int) -> None:
        """Allow at least this many bytes, after the response has turned out to need them."""
        self._max_bytes = max(self._max_bytes, max_bytes)

    def shorten_deadline(self, seconds: float) -> None:
        """End the exchange at most this many seconds from now."""
        self._deadline = min(self._deadline, asyncio.get_running_loop().time() + seconds)

    def record_permitted_connect(self, connection: socket.socket) -> None:
        """Record a socket that the guard permits to connect; later failures are not its own."""
        self.sockets.append(connection)
        self._is_connect_permitted = True
        self.failure = None

    def record_refused_address(self) -> None:
        """Record that the guard refused an address; another one may be permitted."""
        if not self._is_connect_permitted:
            self.failure = (FailureKind.GUARD, NOT_PUBLIC)

    def abort(self, kind: FailureKind, detail: str) -> None:
        if self.failure is None:
            self.failure = (kind, detail)
        if self._handler is None:
            for open_socket in self.sockets:
                with contextlib.suppress(OSError):  # already closed
                    open_socket.shutdown(socket.SHUT_RDWR)
        elif self._handler.exchange is self:
            self._handler.abort()

    def check_bytes(self) -> None:
        """Check the byte limits; called after each piece from the socket was counted and parsed."""
        config = self._config
        if self.received > self._max_bytes:
            self.abort(
                FailureKind.TOO_LARGE,
                msg("over {max_bytes} bytes off the socket", max_bytes=self._max_bytes),
            )
        elif not self.has_headers and self.received > config.max_header_bytes:
            self.end_headers(self.received)

    def end_headers(self, size: int) -> None:
        """Record that the final headers are complete and took at most `size` bytes."""
        self.has_headers = True
        if size > self._config.max_header_bytes:
            limit = self._config.max_header_bytes
            self.abort(
                FailureKind.HEADERS_TOO_LARGE, msg("over {limit} bytes of headers", limit=limit)
            )

    def extend_time(self, seconds: float) -> None:
        """Extend the time limits by a period in which this process could not read."""
        self._deadline += seconds
        self._last_progress = (self._last_progress[0], self._last_progress[1] + seconds)
        if self._window_start is not None:
            self._window_start += seconds

    async def pause_during(self, room: Awaitable[None]) -> None:
        """Wait for `room`; this time does not count against the server."""
        loop = asyncio.get_running_loop()
        began, self._is_paused = loop.time(), True
        try:
            await room
        finally:
            self._is_paused = False
            self.extend_time(loop.time() - began)

    def check_time(self, now: float) -> None:
        """Check the time limits; called regularly during the exchange."""
        config = self._config
        self.check_wire_bytes()
        if self._handler is None or self._is_paused:
            return  # aiohttp's connect timeout applies, or this process does not read
        before, since = self._last_progress
        if self.received != before:
            self._last_progress = (self.received, now)
        elif now - since >= config.read_timeout_s:
            self.abort(
                FailureKind.TIMEOUT,
                msg("no byte for {read_timeout_s:g} s", read_timeout_s=config.read_timeout_s),
            )
        if now >= self._deadline:
            self.abort(
                FailureKind.TIMEOUT,
                msg("not done after {total_timeout_s:g} s", total_timeout_s=config.total_timeout_s),
            )
        self._check_rate(now)

    def check_wire_bytes(self) -> None:
        """Check that TLS itself needs little more than the bytes it hands on."""
        on_wire = sum(map(_wire_bytes_read, self.sockets)) - self._wire_bytes_before
        if (
            on_wire
            > self._max_bytes + self._max_bytes // _TLS_OVERHEAD_DIVISOR + _TLS_OVERHEAD_BYTES
        ):
            self.abort(
                FailureKind.TOO_LARGE, msg("{on_wire} bytes off the socket", on_wire=on_wire)
            )

    def _check_rate(self, now: float) -> None:
        config = self._config
        if self._window_start is None:
            self._window_start = now if self.received else None
        elif now - self._window_start >= config.min_rate_window_s:
            rate = (self.received - self._window_bytes) / (now - self._window_start)
            if rate < config.min_rate_bytes_s:
                self.abort(FailureKind.TOO_SLOW, msg("{rate:.0f} bytes/s", rate=rate))
            self._window_start, self._window_bytes = now, self.received


def _wire_bytes_read(connected: socket.socket) -> int:
    """Return the bytes read from a TCP connection so far; 0 if the system does not tell.

    Unread bytes in the system's buffer are subtracted, because this process may never read them.
    They are asked for last: bytes that arrive in between make the count too low, not too high.
    """
    try:
        info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_SIZE)
        unread = fcntl.ioctl(connected, termios.FIONREAD, bytes(_INT.size))
        return int(_BYTES_RECEIVED.unpack(info)[0] - _INT.unpack(unread)[0])
    except (AttributeError, NameError, OSError, ValueError, struct.error):
        # not Linux, closed, or an old kernel
        return 0


class ExchangeTimer:
    """Checks the time of all exchanges with a single timer."""

    def __init__(self, config: FetchConfig) -> None:
        shortest = min(config.total_timeout_s, config.read_timeout_s, config.min_rate_window_s)
        self._tick_s = min(1.0, shortest / _TICKS_PER_LIMIT)
        self._exchanges: set[Exchange] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = 0.0

    @contextlib.contextmanager
    def watch(self, exchange: Exchange) -> Iterator[None]:
        """Watch one exchange inside the `with` block and make it the task's current one."""
        loop = asyncio.get_running_loop()
        exchange.start(loop.time())
        _CURRENT_EXCHANGE.set(exchange)
        self._exchanges.add(exchange)
        if self._timer is None:
            self._schedule_check(loop)
        try:
            yield
        finally:
            self._exchanges.discard(exchange)
            exchange.detach()

    def _check_all(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        late_s = now - self._due_at
        for exchange in self._exchanges:
            if late_s > self._tick_s:  # this process was busy or stopped; bytes may be unread
                exchange.extend_time(late_s)
            exchange.check_time(now)
        self._timer = None
        if self._exchanges:
            self._schedule_check(loop)

    def _schedule_check(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due_at = loop.time() + self._tick_s
        self._timer = loop.call_at(self._due_at, self._check_all, loop)


class _CountingHandler(ResponseHandler):
    """A connection that counts the bytes it receives."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.exchange: Exchange | None = None
        self.address: str | None = None
        self.sockets: list[socket.socket] = []
        self.request_count = 0
        self._head = bytearray()  # of a response whose head is not complete
        self._chunks: ChunkRepairer | None = None  # of a chunked body

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else None

    def set_response_params(self, **options: Any) -> None:
        self.exchange = Exchange.current()
        self.exchange.attach(self)
        self.request_count += 1
        self._head.clear()
        self._chunks = None
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        exchange = self.exchange
        if exchange is None:
            if self.request_count and data and self.transport is not None:
                self.transport.abort()  # no request is open
            return
        exchange.received += len(data)
        is_body = exchange.has_headers
        if not is_body:
            data = self._feed_heads(exchange, data)
        if self._chunks is not None:
            data = self._chunks.repair(data)
        if data or is_body:  # aiohttp passes b"" to parse on after a pause
            super().data_received(data)
        exchange.check_bytes()

    def _feed_heads(self, exchange: Exchange, data: bytes) -> bytes:
        """Pass complete heads to the parser, repaired; return the bytes of the body after them.

        The head goes alone: a body longer than its Content-Length that arrives in one piece with
        it would otherwise fail the whole response.
        """
        searched = len(self._head)
        self._head += data
        while not exchange.has_headers and (size := find_head_end(self._head, searched)):
            head, searched = bytes(self._head[:size]), 0
            del self._head[:size]
            if head.lstrip(b"\r\n")[:5].upper() != b"HTTP/":
                return head
            exchange.status_line = head.strip(b"\r\n").split(b"\n", 1)[0].rstrip(b"\r")
            head = repair_head(head)
            is_chunked = _TRANSFER in head and head.endswith(_CHUNKED)
            self._chunks = ChunkRepairer() if is_chunked else None
            super().data_received(head)
        body = bytes(self._head) if exchange.has_headers else b""
        if body:
            self._head.clear()
        return body

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._head:  # the parser says what is wrong with half a head
            super().data_received(bytes(self._head))
        super().connection_lost(exc)

    def abort(self) -> None:
        """Abort the connection and wake the reader."""
        if self._payload is not None and not self._payload.is_eof():
            # After a parse error aiohttp itself would leave the reader waiting.
            self._payload.set_exception(aiohttp.ClientPayloadError("cut off"))
        if self.transport is not None:
            self.transport.abort()

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        super().set_exception(exc, *cause)
        if self.exchange is None or not isinstance(exc, HttpProcessingError):
            return
        if self._payload is not None and self._payload.is_eof():
            self.exchange = None  # garbage after a complete response does not spoil it
        else:
            self.exchange.abort(*_classify_parse_error(exc, *cause))

    def feed_data(self, data: Any, size: int = 0) -> None:
        super().feed_data(data, size)
        message, exchange = data[0], self.exchange
        if exchange is not None and not 100 <= message.code < 200:
            raw = message.raw_headers
            exchange.end_headers(sum(len(name) + len(value) + 4 for name, value in raw))


def _classify_parse_error(
    error: HttpProcessingError, *cause: BaseException
) -> tuple[FailureKind, str]:
    """Return kind and detail: headers over the parser's limits, or a response that is not HTTP."""
    message = str(error.message or "not HTTP")
    if message.startswith(TOO_MANY_HEADERS) or any(isinstance(c, LineTooLong) for c in cause):
        return FailureKind.HEADERS_TOO_LARGE, message
    return FailureKind.PROTOCOL, message


class Connector(aiohttp.TCPConnector):
    """aiohttp's pool with counting connections and a limit on idle ones.

    concurrency  about as many hosts keep an idle connection as are requested at once
    """

    def __init__(self, *, concurrency: int, **options: Any) -> None:
        super().__init__(
            limit=0, ttl_dns_cache=_DNS_TTL_S, dns_cache_max_size=_MAX_DNS_NAMES, **options
        )
        # All counting depends on this private name of aiohttp; a test checks it.
        self._factory = cast("partial[ResponseHandler]", partial(_CountingHandler, loop=self._loop))
        self._max_idle_hosts = max(_MIN_IDLE_HOSTS, concurrency)

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        super()._release(key, protocol, should_close=should_close)
        if len(self._conns) > self._max_idle_hosts:
            oldest = next(iter(self._conns))
            for idle, _ in self._conns.pop(oldest):
                idle.close()
