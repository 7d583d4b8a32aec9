"""Fetches one URL from the web and gives back a result, whatever the server does.

`WebFetcher` makes one GET, follows nothing and never raises for what a server
does: a broken answer is a result too (`FailureKind`). aiohttp speaks HTTP; what
a hostile server could do to it is bounded here and in `http.connection`:

    address     the SSRF guard judges every address at the moment of connecting
    bytes       counted off the socket, below the HTTP parser: chunk extensions,
                trailers and endless 1xx answers count like any other byte, and so
                does what TLS keeps to itself
    time        connect, between two reads, minimum rate, in all
    decoding    by `http.content_encoding`, within the same cap as the body

DNS is looked up by the system's own resolver (hosts file and all), one thread
per name that is being looked up: a slow name delays its own host and no other,
and never the end of the program.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.helpers import is_ip_address

from focus.config import FetchConfig
from focus.errors import ConfigError
from focus.http.connection import Connector, Exchange, ExchangeTimer
from focus.http.content_encoding import ACCEPT_ENCODING
from focus.http.dns import PrefetchResolver, ThreadResolver
from focus.http.network_errors import NETWORK_ERRORS, to_one_line
from focus.http.requests import RequestSender, RequestTarget, ResponseHead
from focus.http.response import (
    FETCH_ERRORS,
    FetchFailed,
    IncomingResponse,
    classify_failure,
    resolve_redirect,
)
from focus.http.semantics import classify_status, parse_retry_after
from focus.http.sessions import Headers, Sessions
from focus.http.ssrf_guard import NOT_PUBLIC, AddressGuard
from focus.http.tls import make_client_context
from focus.i18n import msg
from focus.records import FailureKind, FetchResult
from focus.urls.normal_form import normalise

_URL = re.compile(r"(https?)://(?:[^/?#@]*@)?([^/?#@]+)([^#]*)", re.I)
_NOT_SENDABLE = re.compile(r"[^!-~]")
_DRAIN_BYTES = 64 * 1024  # of a body that nobody wants, read to keep the connection
_DRAIN_S = 1.0


class WebFetcher:
    """Fetches over HTTP and HTTPS with one pool of connections.

    clock     Unix seconds; for `fetched_at` and dates in Retry-After
    resolver  names to addresses; None: the system's
    sessions  cookies and passwords to send; None: none

    Raises ConfigError for a proxy, address or network that makes no sense.
    How many fetches run at once is the caller's business.
    """

    def __init__(
        self,
        config: FetchConfig,
        *,
        clock: Callable[[], float] = time.time,
        resolver: AbstractResolver | None = None,
        sessions: Sessions | None = None,
    ) -> None:
        self._config = config
        self._sessions = sessions or Sessions()
        self._clock = clock
        self._names = PrefetchResolver(resolver or ThreadResolver(config.concurrency))
        self._guard = AddressGuard(config.allow_net)
        self._replay = _endpoint(config.connect_to)
        if config.proxy is not None:
            _check_proxy(config.proxy, config.connect_to)
        self._watch = ExchangeTimer(config)
        self._sender: RequestSender | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; a later fetch would open new ones."""
        sender, self._sender = self._sender, None
        if sender is not None:
            await sender.close()

    async def fetch(
        self,
        url: str,
        *,
        robots: bool = False,
        sent: Callable[[], object] | None = None,
        conditions: Sequence[tuple[str, str]] = (),
        grow: Callable[[int], Awaitable[None] | None] | None = None,
    ) -> FetchResult:
        """GET `url` (absolute, normal) once and say what came of it.

        robots  the answer is a robots.txt: any type, maybe empty, cut at 500 KiB
        sent    called when a connection stands and the request is being written
        conditions  headers, `If-None-Match` and the like: 304 is an answer then
        grow    told how many bytes more of a body are to be kept; may have us wait
        """
        answer = IncomingResponse(self._config, robots, dict(conditions), grow, sent)
        return await self._send_and_collect(
            url, answer, lambda started: self._request(url, answer, started)
        )

    async def _send_and_collect(
        self, url: str, answer: IncomingResponse, send: Callable[[float], Awaitable[str]]
    ) -> FetchResult:
        """Send a request and return its result.

        `send` gets the start time and returns the detail of the result.
        """
        started, begun = self._clock(), time.monotonic()
        failure: FailureKind | None = None
        try:
            detail = await send(started)
        except FETCH_ERRORS as error:
            failure, detail = classify_failure(error)
        exchange = answer.exchange
        exchange.check_wire_bytes()  # it may have been over before the watch looked
        if exchange.failure is not None:
            failure, detail = exchange.failure
        return FetchResult(
            url=url,
            fetched_at=started,
            status=answer.status,
            headers=answer.headers if not self._sessions else _without_cookies(answer.headers),
            body=b"" if failure else answer.body,
            raw_bytes=exchange.received if failure else answer.raw_bytes,
            elapsed_s=time.monotonic() - begun,
            failure=failure,
            detail=to_one_line(detail),
            redirect_to=None if failure else answer.redirect_to,
            retry_after_s=answer.retry_after_s,
            address=exchange.address,
            is_truncated=answer.is_truncated,
            url_source=None if failure else answer.url_source,
            is_unchanged=answer.is_unchanged and not failure,
            status_line=answer.status_line,
            request=answer.request,
        )

    async def locate(self, url: str) -> str:
        """Return the address to which `url` will connect first; "" if resolving fails."""
        try:
            target = self._request_target(url).server.url
        except (FetchFailed, ValueError):
            return ""
        host = (target.raw_host or "").strip("[]")
        if is_ip_address(host):
            return host
        return await self._names.prefetch_address(
            host, target.port or 0, self._config.connect_timeout_s
        )

    async def _request(self, url: str, answer: IncomingResponse, started: float) -> str:
        """One exchange; raises Failed if a kept connection turns out to be dead.

        RFC 9112 9.3.1 would have us ask again at once; but a server may have read it all the
        same, so that this is a request like any other, with its delay.
        """
        place = self._request_target(url)
        try:
            with self._watch.watch(answer.exchange):
                return await self._exchange(url, place, answer, started)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            exchange = answer.exchange
            if exchange.received or exchange.failure or not exchange.is_reused:
                raise
        raise FetchFailed(
            FailureKind.CLOSED, msg("the connection had been closed while it lay idle")
        )

    async def _exchange(
        self, url: str, place: RequestTarget, answer: IncomingResponse, started: float
    ) -> str:
        headers = {**self._sessions.request_headers(url), **answer.conditions}
        answer.request = self._open_connections().build_head("GET", place, answer.conditions)
        async with self._open_connections().send("GET", place, headers) as response:
            answer.read_head(response)
            if self._sessions:
                self._sessions.store_cookies(url, response.headers.getall("Set-Cookie", ()))
            status = response.status
            if retry_after := response.headers.get("Retry-After"):
                answer.retry_after_s = parse_retry_after(retry_after, started)
            answer.is_unchanged = status == 304 and bool(answer.conditions)
            if answer.is_unchanged:
                return "304"
            failure = classify_status(status, answer.retry_after_s is not None)
            if failure is not None:
                await self._read_rest(response, answer.exchange)
                raise FetchFailed(failure, f"{status} {response.reason}".strip())
            if status >= 300:
                answer.redirect_to = resolve_redirect(url, response)
                await self._read_rest(response, answer.exchange)
            else:
                await answer.read_body(response)
            return answer.remark or str(status)

    def _open_connections(self) -> RequestSender:
        """Return the connections; the first call creates them in the running event loop."""
        if self._sender is None:
            config = self._config
            connector = Connector(
                concurrency=config.concurrency,
                socket_factory=self._open_socket,
                resolver=self._names,
                ssl=make_client_context(insecure=config.insecure),
            )
            fields = {
                "User-Agent": config.user_agent,
                "Accept": f"{','.join(config.content_types)},*/*;q=0.1",
                "Accept-Language": "zh,en;q=0.8",
                "Accept-Encoding": ACCEPT_ENCODING,
            }
            self._sender = RequestSender(config, connector, fields)
        return self._sender

    def _request_target(self, url: str) -> RequestTarget:
        """Return where and what to request for a URL. Raises FetchFailed."""
        match = _URL.match(url)
        if match is None:
            raise FetchFailed(FailureKind.GUARD, msg("only http and https are fetched"))
        scheme, authority, path = match.groups()
        if _NOT_SENDABLE.search(authority + path):
            raise FetchFailed(
                FailureKind.PROTOCOL, msg("the URL has characters that must be escaped")
            )
        if self._config.proxy is not None:
            self._check_literal(authority)
        host = None
        if self._replay is not None:
            scheme, host, authority = "http", authority, self._replay
        target = path if path.startswith("/") else f"/{path}"
        return self._open_connections().make_target(scheme.lower(), authority, target, host)

    def _check_literal(self, authority: str) -> None:
        """Refuse to name a private address to a proxy; names are the proxy's to resolve."""
        host = re.sub(r":\d*$", "", authority).strip("[]").rstrip(".")
        if ":" in host or re.fullmatch(r"(?:[0-9]+|0x[0-9a-f]*)", host.rpartition(".")[2], re.I):
            if not self._guard.permits(host):
                raise FetchFailed(FailureKind.GUARD, NOT_PUBLIC)
        elif host.lower() == "localhost" or host.lower().endswith(".localhost"):
            raise FetchFailed(FailureKind.GUARD, msg("{host} is not a public host", host=host))

    def _open_socket(self, info: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
        """Return a socket for an address; PermissionError if the guard refuses it."""
        family, kind, protocol, _, address = info
        # The user named the proxy; everything goes to it and nowhere else.
        if self._config.proxy is None and not self._guard.permits(str(address[0])):
            Exchange.current().record_refused_address()
            raise PermissionError(NOT_PUBLIC)
        connection = socket.socket(family, kind, protocol)
        Exchange.current().record_permitted_connect(connection)
        return connection

    async def _read_rest(self, response: ResponseHead, exchange: Exchange) -> None:
        """Read the rest of a small unused body, so that the connection can be used again."""
        if response.content_length > _DRAIN_BYTES:
            return
        verdict, size = exchange.failure, 0
        exchange.shorten_deadline(_DRAIN_S)
        try:
            while size <= _DRAIN_BYTES and (chunk := await response.content.readany()):
                size += len(chunk)
        except NETWORK_ERRORS:
            pass
        exchange.detach()  # the answer is judged: its time is not looked at any more
        exchange.failure = verdict


class WebPoster(WebFetcher):
    """HTTP and HTTPS client for POST requests to servers that a user named.

    The same SSRF guard and limits hold as for fetches. Redirects are not followed and connections
    are not kept. Of the response to a webhook only the head is read: the status decides, and the
    sooner it is stored, the fewer messages a kill repeats.
    """

    async def call(
        self,
        url: str,
        body: bytes,
        *,
        headers: Mapping[str, str],
        method: str = "POST",
        reads_body: bool = True,
    ) -> FetchResult:
        """Send a request once and return the outcome, with the body of the response if it is read.

        Nothing is raised for what a server does. `failure` is None for a response with any status.
        A body over the limit is a failure if the settings accept any type, and else is cut.
        """
        is_cut = reads_body and not self._config.any_type
        answer = IncomingResponse(self._config, is_robots=is_cut)
        fields = {**headers, "Accept": "*/*", "Connection": "close"}
        if body or method == "POST":
            fields["Content-Length"] = str(len(body))

        async def send(started: float) -> str:
            target = self._request_target(normalise(url) or url)
            with self._watch.watch(answer.exchange):
                async with self._open_connections().send(method, target, fields, body) as response:
                    answer.read_head(response)
                    if retry_after := response.headers.get("Retry-After"):
                        answer.retry_after_s = parse_retry_after(retry_after, started)
                    if reads_body:
                        await answer.read_body(response)
                    return f"{response.status} {response.reason}".strip()

        return await self._send_and_collect(url, answer, send)


def _without_cookies(headers: Headers) -> Headers:
    """Return the headers of a response without secrets, for a recording or a database."""
    return tuple(field for field in headers if field[0] != "set-cookie")


def _endpoint(connect_to: str | None) -> str | None:
    """ "ADDR:PORT" checked; raises ConfigError."""
    if connect_to is None:
        return None
    try:
        parts = urlsplit(f"//{connect_to}")
        usable = parts.hostname and parts.port and parts.netloc == connect_to
    except ValueError:
        usable = False
    if not usable or "@" in connect_to:
        raise ConfigError(
            "connect-to {connect_to!r} is not ADDR:PORT, like 127.0.0.1:8080", connect_to=connect_to
        )
    return connect_to


def _check_proxy(proxy: str, connect_to: str | None) -> None:
    if connect_to is not None:
        raise ConfigError("proxy and connect-to exclude each other; give one of them")
    match = _URL.fullmatch(proxy)
    if match is None or match[3] not in ("", "/"):
        raise ConfigError("proxy {proxy!r} is not like http://HOST:PORT", proxy=to_one_line(proxy))
