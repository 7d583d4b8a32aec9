"""Limits what one client may use of the server: seconds for a request, and connections.

uvicorn limits the wait between two requests and the number of connections, but not the wait for a
first request, for its body, or for a client that reads the response. Here each of these has a time
limit from its start, so that sending a byte now and then gains nothing. If an address, or all
clients together, have too many connections, the one that has owed its request or body for longest
is closed; if none owes anything, the new one is closed.

Behind a proxy all connections come from the proxy. It is `trusted` and limits its own clients.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from focus.serve import backoff
from focus.serve.request_guard import CONTENT_POLICY, SECURITY_HEADERS

HEAD_S = 10.0  # until the headers of a request have arrived
BODY_S = 30.0  # from then on until the body has arrived
READ_S = 30.0  # that a response may wait until the client reads it
MAX_PER_ADDRESS = 64  # connections; a browser opens six of them
MAX_CONNECTIONS = 450  # connections


class Connections:
    """The open connections of a server; `trusted` addresses stand for many clients."""

    def __init__(self, trusted: frozenset[str] = frozenset()) -> None:
        self._trusted = trusted
        self._open: dict[Connection, str] = {}
        self._waiting: dict[Connection, None] = {}  # longest first

    def add(self, connection: Connection, address: str) -> None:
        """Add a connection; if there are too many, close one."""
        key = "" if address in self._trusted else backoff.attempt_key("address", address)
        same_address = [
            connection for connection in self._open if key and self._open[connection] == key
        ]
        self._open[connection] = key
        self._waiting[connection] = None
        if len(same_address) >= MAX_PER_ADDRESS:
            self._longest_waiting(set(same_address) | {connection}).close_now()
        elif len(self._open) > MAX_CONNECTIONS:
            self._longest_waiting(set(self._open)).close_now()

    def _longest_waiting(self, candidates: set[Connection]) -> Connection:
        return next(connection for connection in self._waiting if connection in candidates)

    def set_waiting(self, connection: Connection, is_waiting: bool) -> None:
        """Record whether a connection owes a request or its body."""
        if not is_waiting:
            self._waiting.pop(connection, None)
        elif connection in self._open:
            self._waiting.setdefault(connection)

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._open.pop(connection, None)
        self._waiting.pop(connection, None)


class Connection(H11Protocol):
    """A client connection of uvicorn with time limits for headers, body and reading."""

    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connections = connections
        self._client_state: object = None
        self._send_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._connections.add(self, self.client[0] if self.client else "")
        self._update_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.remove(self)
        for timer in (self._send_timer, self._read_timer):
            if timer is not None:
                timer.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request, which does not reach the application, and disconnect."""
        headers = {
            **SECURITY_HEADERS,
            "Content-Security-Policy": CONTENT_POLICY,
            "Content-Type": "text/plain; charset=utf-8",
            "Connection": "close",
        }
        response = h11.Response(
            status_code=400,
            reason=b"Bad Request",
            headers=[(name.encode(), value.encode()) for name, value in headers.items()],
        )
        for event in (response, h11.Data(data=msg.encode("ascii")), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_S, self.close_now)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._read_timer is not None:
            self._read_timer.cancel()

    def close_now(self) -> None:
        """Close the connection at once, even during a request, and free its place."""
        self._connections.remove(self)
        self.transport.abort()

    def _update_timer(self) -> None:
        """Start the timer for what the client must send next: headers, a body, or nothing."""
        client_state = self.conn.their_state
        if client_state is self._client_state or self.transport.is_closing():
            return
        self._client_state = client_state
        self._connections.set_waiting(self, client_state in (h11.IDLE, h11.SEND_BODY))
        if self._send_timer is not None:
            self._send_timer.cancel()
        seconds = {h11.IDLE: HEAD_S, h11.SEND_BODY: BODY_S}.get(client_state)
        self._send_timer = (
            None if seconds is None else self.loop.call_later(seconds, self.close_now)
        )
