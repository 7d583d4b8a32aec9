"""Bounds what one client may hold of the server: seconds for a request, and connections.

uvicorn bounds the wait between two requests and how many there are in all; nothing bounds the
wait for a first request, for its body, or for a client to read its answer. Here each has its
seconds, counted from where it began, so that a byte now and then gains nothing. Where an address,
or all together, have as many connections as they may, room is made by closing the one that has
waited longest for its request; where none waits, the new one is closed.

Behind a proxy all connections are the proxy's: it is `trusted`, and bounds its own clients.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from focus.serve import backoff

HEAD_S = 10.0  # until the headers of a request are there
BODY_S = 30.0  # from then on, until its body is
READ_S = 30.0  # that an answer may wait for its reader
PER_ADDRESS = 64  # connections; a browser opens six
ALL = 450  # connections; uvicorn answers 503 from 500 on


class Connections:
    """The connections of a server. `trusted`: addresses that stand for many people."""

    def __init__(self, trusted: frozenset[str] = frozenset()) -> None:
        self._trusted = trusted
        self._open: dict[Connection, str] = {}
        self._waiting: dict[Connection, None] = {}  # longest first

    def enter(self, new: Connection, address: str) -> None:
        """A client has connected; somebody goes where there are too many."""
        key = "" if address in self._trusted else backoff.key("address", address)
        mine = [each for each in self._open if key and self._open[each] == key]
        self._open[new] = key
        self._waiting[new] = None
        if len(mine) >= PER_ADDRESS:
            self._longest(set(mine) | {new}).drop()
        elif len(self._open) > ALL:
            self._longest(set(self._open)).drop()

    def _longest(self, among: set[Connection]) -> Connection:
        return next(each for each in self._waiting if each in among)

    def waits(self, one: Connection, is_so: bool) -> None:
        """Whether a connection has no request under way."""
        if not is_so:
            self._waiting.pop(one, None)
        elif one in self._open:
            self._waiting.setdefault(one)

    def leave(self, one: Connection) -> None:
        """It is closed."""
        self._open.pop(one, None)
        self._waiting.pop(one, None)


class Connection(H11Protocol):
    """One client's connection: uvicorn's, with seconds for what the client owes."""

    def __init__(self, *args: Any, company: Connections, **more: Any) -> None:
        super().__init__(*args, **more)
        self._company = company
        self._owed: object = None
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._company.enter(self, self.client[0] if self.client else "")
        self._follow()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._company.leave(self)
        for timer in (self._timer, self._reading):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(READ_S, self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()

    def drop(self) -> None:
        """Close it at once, whatever is under way; its room is free from here on."""
        self._company.leave(self)
        self.transport.abort()

    def _follow(self) -> None:
        """A timer for what the client owes now: headers, a body, or nothing."""
        owed = self.conn.their_state
        if owed is self._owed or self.transport.is_closing():
            return
        self._owed = owed
        self._company.waits(self, owed is h11.IDLE)
        if self._timer is not None:
            self._timer.cancel()
        seconds = {h11.IDLE: HEAD_S, h11.SEND_BODY: BODY_S}.get(owed)
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.drop)
