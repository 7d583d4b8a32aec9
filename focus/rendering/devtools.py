"""Speaks the Chrome DevTools Protocol over a browser's pipes: commands out, answers and events in.

A message is JSON and ends with a zero byte. One with an `id` answers the command of that number;
others are events. `sessionId` says which tab either is about; "" is the browser itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

_PIECE = 1 << 20
_MAX_MESSAGE = 256 * 2**20  # an escaped page of the largest size, and more
_CALL_S = 10.0  # a browser that says nothing for so long hangs

Event = Callable[[str, dict[str, Any]], None]
"""Told the method and the parameters of an event."""


class BrowserGone(Exception):
    """The browser has died, hangs, or talks nonsense: nothing more comes of it."""


class CommandRefused(Exception):
    """The browser could not do what it was told to."""


class DevTools:
    """One conversation; `read` must run as long as it lasts."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._heard_by: dict[str, Event] = {}
        self._is_gone = False

    def hear(self, session: str, event: Event) -> None:
        """Have events of a session told."""
        self._heard_by[session] = event

    def forget(self, session: str) -> None:
        """Nobody listens to a session any more."""
        self._heard_by.pop(session, None)

    async def call(
        self, method: str, session: str = "", limit_s: float = _CALL_S, **params: object
    ) -> dict[str, Any]:
        """Return the browser's response to a command.

        Raises CommandRefused, BrowserGone, or TimeoutError after `limit_s`."""
        number = self.tell(method, session, **params)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(limit_s):
                return await answer
        finally:
            self._waiting.pop(number, None)

    def tell(self, method: str, session: str = "", **params: object) -> int:
        """Send a command whose answer nobody waits for; its number. BrowserGone."""
        if self._is_gone:
            raise BrowserGone
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._writer.write(msgspec.json.encode(message) + b"\0")
        return self._number

    async def read(self) -> None:
        """Take in what the browser says, until it ends; who waits for it then hears BrowserGone."""
        buffer = bytearray()
        try:
            while piece := await self._reader.read(_PIECE):
                buffer += piece
                if piece.find(b"\0") >= 0:
                    *whole, rest = buffer.split(b"\0")
                    buffer = bytearray(rest)
                    for message in whole:
                        self._take(msgspec.json.decode(message))
                elif len(buffer) > _MAX_MESSAGE:
                    break
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            pass
        finally:
            self._is_gone = True
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(BrowserGone())
            for heard in tuple(self._heard_by.values()):
                heard("gone", {})

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message:
            heard = self._heard_by.get(message.get("sessionId", ""))
            if heard is not None:
                heard(message["method"], message.get("params", {}))
            return
        waiting = self._waiting.get(message.get("id", 0))
        if waiting is None or waiting.done():
            return
        if "error" in message:
            waiting.set_exception(CommandRefused(str(message["error"].get("message", ""))))
        else:
            waiting.set_result(message.get("result", {}))

    async def drain(self) -> None:
        """Wait until the browser has read what it was told."""
        with contextlib.suppress(OSError):
            await self._writer.drain()
