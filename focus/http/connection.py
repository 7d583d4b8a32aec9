"""Bounds the bytes and the time of each exchange below the HTTP parser.

The parts of the web fetcher below HTTP, as extensions of aiohttp's own:

    Exchange       one request's budget of bytes and time, and its verdict
    ExchangeTimer  one timer that looks after the time of all exchanges
    Connector      a pool whose connections count every byte into an exchange

aiohttp does not bound chunk extensions, trailers or 1xx answers, and knows no
minimum rate; so the bytes are counted where they arrive, before it parses them.
An exchange over its budget gets its verdict and its connection is cut, which
wakes whoever waits for it.

What TLS does not hand on (handshakes, tickets, empty records) is counted by the
system (TCP_INFO, Linux), as often as the timer looks.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

from focus.i18n import msg

with contextlib.suppress(ImportError):  # not on Windows, which has no TCP_INFO either
    import fcntl
    import termios

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from focus.config import FetchConfig
from focus.http.network_errors import TOO_MANY_HEADERS
from focus.http.ssrf_guard import not_public
from focus.records import FailureKind

_DNS_TTL_S = 600
_DNS_NAMES = 10_000
_TICKS_PER_LIMIT = 8  # how finely the shortest time limit is watched
_MIN_IDLE_HOSTS = 64
_TLS_EXTRA = 64 * 1024  # handshake and framing, besides a part of what is sent
_TLS_SHARE = 16
_TCP_INFO_SIZE = 136
_INT = struct.Struct("i")
_BYTES_RECEIVED = struct.Struct("128xQ")  # linux/tcp.h: tcpi_bytes_received

_CURRENT: ContextVar[Exchange] = ContextVar("exchange")


class Exchange:
    """One request and its answer on a connection.

    received  bytes off the socket so far, of headers, framing and body
    reused    the connection had served another request before
    address   the connected IP address
    verdict   why it was cut, None as long as it is within its budget
    sockets   on which it is being connected
    sent      is called when it has a connection, on which the request is then written
    """

    __slots__ = (
        "_changed_at",
        "_config",
        "_deadline",
        "_halted",
        "_handler",
        "_max_bytes",
        "_permitted",
        "_sent",
        "_window_bytes",
        "_window_from",
        "_wire_before",
        "address",
        "headers_done",
        "received",
        "reused",
        "sockets",
        "verdict",
    )

    def __init__(self, config: FetchConfig, sent: Callable[[], object] | None = None) -> None:
        self._config = config
        self._sent = sent
        self._handler: _Handler | None = None
        self._halted = False
        self._deadline = 0.0
        self._max_bytes = config.max_raw_bytes
        self._permitted = False
        self._changed_at = (0, 0.0)  # bytes received by then
        self._window_from: float | None = None  # the rate is measured from the first byte
        self._window_bytes = 0
        self._wire_before = 0
        self.received = 0
        self.sockets: list[socket.socket] = []
        self.headers_done = False
        self.reused = False
        self.address: str | None = None
        self.verdict: tuple[FailureKind, str] | None = None

    @staticmethod
    def current() -> Exchange:
        """The exchange that the running task is making."""
        return _CURRENT.get()

    def start(self, now: float) -> None:
        self._deadline = now + self._config.total_timeout_s
        self._changed_at = (0, now)

    def attach(self, handler: _Handler) -> None:
        """A connection stands; what the guard refused before was another address."""
        self._handler = handler
        self.address = handler.address
        self.reused = handler.served > 0
        self.verdict = None
        if self.reused:
            self.sockets = handler.sockets
            self._wire_before = sum(map(_bytes_received, self.sockets))
        else:
            self.sockets = handler.sockets = [s for s in self.sockets if s.fileno() >= 0]
        if self._sent is not None:
            self._sent()

    def detach(self) -> None:
        """The answer is over: the connection is idle, closed, or another exchange's."""
        if self._handler is not None and self._handler.exchange is self:
            self._handler.exchange = None
        self._handler = None

    def settle(self) -> None:
        """All that was wanted of the answer is there: what comes now does not make it worse."""
        self.detach()
        self.sockets = []

    def allow(self, max_bytes: int) -> None:
        """So many bytes at least, as the answer turned out to be worth them."""
        self._max_bytes = max(self._max_bytes, max_bytes)

    def hurry(self, seconds: float) -> None:
        """Not longer than so many seconds from now."""
        self._deadline = min(self._deadline, asyncio.get_running_loop().time() + seconds)

    def permit(self, made: socket.socket) -> None:
        """The guard lets us connect, on this socket: what comes now is not its doing."""
        self.sockets.append(made)
        self._permitted = True
        self.verdict = None

    def refuse(self, address: str) -> None:
        """The guard did not let us connect. Another address of the host may do."""
        if not self._permitted:
            self.verdict = (FailureKind.GUARD, not_public(address))

    def stop(self, kind: FailureKind, detail: str) -> None:
        if self.verdict is None:
            self.verdict = (kind, detail)
        if self._handler is None:
            for each in self.sockets:
                with contextlib.suppress(OSError):  # it is closed already
                    each.shutdown(socket.SHUT_RDWR)
        elif self._handler.exchange is self:
            self._handler.cut()

    def check_bytes(self) -> None:
        """Called after each piece off the socket was counted and parsed."""
        config = self._config
        if self.received > self._max_bytes:
            self.stop(
                FailureKind.TOO_LARGE,
                msg("over {max_bytes} bytes off the socket", max_bytes=self._max_bytes),
            )
        elif not self.headers_done and self.received > config.max_header_bytes:
            self.end_headers(self.received)

    def end_headers(self, size: int) -> None:
        """The final answer's headers are there and took `size` bytes or fewer."""
        self.headers_done = True
        if size > self._config.max_header_bytes:
            limit = self._config.max_header_bytes
            self.stop(
                FailureKind.HEADERS_TOO_LARGE, msg("over {limit} bytes of headers", limit=limit)
            )

    def excuse(self, seconds: float) -> None:
        """So long nobody here could have read what the server sent."""
        self._deadline += seconds
        self._changed_at = (self._changed_at[0], self._changed_at[1] + seconds)
        if self._window_from is not None:
            self._window_from += seconds

    async def halted(self, room: Awaitable[None]) -> None:
        """Wait for something here; that time is not the server's."""
        loop = asyncio.get_running_loop()
        began, self._halted = loop.time(), True
        try:
            await room
        finally:
            self._halted = False
            self.excuse(loop.time() - began)

    def check_time(self, now: float) -> None:
        """Called every now and then while the exchange is under way."""
        config = self._config
        self.check_wire()
        if self._handler is None or self._halted:
            return  # aiohttp's connect time-out is at work, or it is we who do not read
        before, since = self._changed_at
        if self.received != before:
            self._changed_at = (self.received, now)
        elif now - since >= config.read_timeout_s:
            self.stop(
                FailureKind.TIMEOUT,
                msg("no byte for {read_timeout_s:g} s", read_timeout_s=config.read_timeout_s),
            )
        if now >= self._deadline:
            self.stop(
                FailureKind.TIMEOUT,
                msg("not done after {total_timeout_s:g} s", total_timeout_s=config.total_timeout_s),
            )
        self._check_rate(now)

    def check_wire(self) -> None:
        """What TLS needs itself may not be much more than what it hands on."""
        on_wire = sum(map(_bytes_received, self.sockets)) - self._wire_before
        if on_wire > self._max_bytes + self._max_bytes // _TLS_SHARE + _TLS_EXTRA:
            self.stop(FailureKind.TOO_LARGE, msg("{on_wire} bytes off the socket", on_wire=on_wire))

    def _check_rate(self, now: float) -> None:
        config = self._config
        if self._window_from is None:
            self._window_from = now if self.received else None
        elif now - self._window_from >= config.min_rate_window_s:
            rate = (self.received - self._window_bytes) / (now - self._window_from)
            if rate < config.min_rate_bytes_s:
                self.stop(FailureKind.TOO_SLOW, msg("{rate:.0f} bytes/s", rate=rate))
            self._window_from, self._window_bytes = now, self.received


def _bytes_received(connected: socket.socket) -> int:
    """Read of a TCP connection since it stands; 0 where the system does not say.

    What lies unread in the system's buffer was sent, but we may never take it. Asked for last:
    what arrives in between is then counted too little, not too much.
    """
    try:
        info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_SIZE)
        unread = fcntl.ioctl(connected, termios.FIONREAD, bytes(_INT.size))
        return int(_BYTES_RECEIVED.unpack(info)[0] - _INT.unpack(unread)[0])
    except (AttributeError, NameError, OSError, ValueError, struct.error):
        # no Linux; closed; an old one
        return 0


class ExchangeTimer:
    """Looks after the time of all exchanges with a single timer."""

    def __init__(self, config: FetchConfig) -> None:
        shortest = min(config.total_timeout_s, config.read_timeout_s, config.min_rate_window_s)
        self._tick_s = min(1.0, shortest / _TICKS_PER_LIMIT)
        self._exchanges: set[Exchange] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = 0.0

    @contextlib.contextmanager
    def over(self, exchange: Exchange) -> Iterator[None]:
        """For the time of one exchange; makes it the task's current one."""
        loop = asyncio.get_running_loop()
        exchange.start(loop.time())
        _CURRENT.set(exchange)
        self._exchanges.add(exchange)
        if self._timer is None:
            self._wind(loop)
        try:
            yield
        finally:
            self._exchanges.discard(exchange)
            exchange.detach()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        late_s = now - self._due_at
        for exchange in self._exchanges:
            if late_s > self._tick_s:  # we were busy, or stopped: bytes may lie unread
                exchange.excuse(late_s)
            exchange.check_time(now)
        self._timer = None
        if self._exchanges:
            self._wind(loop)

    def _wind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due_at = loop.time() + self._tick_s
        self._timer = loop.call_at(self._due_at, self._look, loop)


class _Handler(ResponseHandler):
    """A connection that counts what it receives."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.exchange: Exchange | None = None
        self.address: str | None = None
        self.sockets: list[socket.socket] = []
        self.served = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else None

    def set_response_params(self, **options: Any) -> None:
        self.exchange = Exchange.current()
        self.exchange.attach(self)
        self.served += 1
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        exchange = self.exchange
        if exchange is None:
            if self.served and data and self.transport is not None:
                self.transport.abort()  # nothing was asked for
            return
        exchange.received += len(data)
        # Headers first: a body longer than its Content-Length, in one piece with
        # them, would otherwise take the whole answer down.
        split = 0 if exchange.headers_done else data.find(b"\r\n\r\n") + 4
        if 4 <= split < len(data):
            super().data_received(data[:split])
            data = data[split:]
        super().data_received(data)
        exchange.check_bytes()

    def cut(self) -> None:
        """Break the connection off and wake whoever reads from it."""
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
            self.exchange = None  # rubbish behind a complete answer, which stays good
        else:
            self.exchange.stop(*_parse_error(exc, *cause))

    def feed_data(self, data: Any, size: int = 0) -> None:
        super().feed_data(data, size)
        message, exchange = data[0], self.exchange
        if exchange is not None and not 100 <= message.code < 200:
            raw = message.raw_headers
            exchange.end_headers(sum(len(name) + len(value) + 4 for name, value in raw))


def _parse_error(error: HttpProcessingError, *cause: BaseException) -> tuple[FailureKind, str]:
    """aiohttp's parser bounds a line and the number of lines; all else is not HTTP."""
    message = str(error.message or "not HTTP")
    if message.startswith(TOO_MANY_HEADERS) or any(isinstance(c, LineTooLong) for c in cause):
        return FailureKind.HEADERS_TOO_LARGE, message
    return FailureKind.PROTOCOL, message


class Connector(aiohttp.TCPConnector):
    """aiohttp's pool with counting connections and a cap on idle ones.

    concurrency  about as many hosts keep an idle connection as are asked at once
    """

    def __init__(self, *, concurrency: int, **options: Any) -> None:
        super().__init__(
            limit=0,
            ttl_dns_cache=_DNS_TTL_S,
            dns_cache_max_size=_DNS_NAMES,
            **options,
        )
        # The one private name of aiohttp that all counting hangs on; a test watches it.
        self._factory = cast("partial[ResponseHandler]", partial(_Handler, loop=self._loop))
        self._max_idle_hosts = max(_MIN_IDLE_HOSTS, concurrency)

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        super()._release(key, protocol, should_close=should_close)
        if len(self._conns) > self._max_idle_hosts:
            oldest = next(iter(self._conns))
            for idle, _ in self._conns.pop(oldest):
                idle.close()
