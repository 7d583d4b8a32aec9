"""Client of the Chrome DevTools Protocol over a browser's pipes: commands, responses, events.

A message is JSON and ends with a zero byte. A message with an `id` is the response to the command
of that number; others are events. `sessionId` names the tab; "" is the browser itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

_CHUNK_BYTES = 1 << 20
_MAX_MESSAGE = 256 * 2**20  # an escaped page of the largest size, and more
_CALL_S = 10.0  # a browser that says nothing for so long hangs

EventHandler = Callable[[str, dict[str, Any]], None]
"""Called with the method and the parameters of an event."""


class BrowserGone(Exception):
    """The browser has died, hangs, or sends invalid messages."""


class CommandRefused(Exception):
    """The browser refused a command."""


class DevTools:
    """Connection to a browser; `read` must run as long as it is used."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._number = 0
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._handlers: dict[str, EventHandler] = {}
        self._is_gone = False

    def subscribe(self, session: str, handler: EventHandler) -> None:
        """Call a handler for the events of a session."""
        self._handlers[session] = handler

    def unsubscribe(self, session: str) -> None:
        """Ignore further events of a session."""
        self._handlers.pop(session, None)

    async def call(
        self, method: str, session: str = "", limit_s: float = _CALL_S, **params: object
    ) -> dict[str, Any]:
        """Return the browser's response to a command.

        Raises CommandRefused, BrowserGone, or TimeoutError after `limit_s`."""
        number = self.send(method, session, **params)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            async with asyncio.timeout(limit_s):
                return await answer
        finally:
            self._pending.pop(number, None)

    def send(self, method: str, session: str = "", **params: object) -> int:
        """Send a command without waiting; return its number. Raises BrowserGone."""
        if self._is_gone:
            raise BrowserGone
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._writer.write(msgspec.json.encode(message) + b"\0")
        return self._number

    async def read(self) -> None:
        """Process messages of the browser until it ends; pending calls then raise BrowserGone."""
        buffer = bytearray()
        try:
            while chunk := await self._reader.read(_CHUNK_BYTES):
                buffer += chunk
                if chunk.find(b"\0") >= 0:
                    *whole, rest = buffer.split(b"\0")
                    buffer = bytearray(rest)
                    for message in whole:
                        self._dispatch(msgspec.json.decode(message))
                elif len(buffer) > _MAX_MESSAGE:
                    break
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            pass
        finally:
            self._is_gone = True
            for answer in self._pending.values():
                if not answer.done():
                    answer.set_exception(BrowserGone())
            for handler in tuple(self._handlers.values()):
                handler("gone", {})

    def _dispatch(self, message: dict[str, Any]) -> None:
        if "method" in message:
            handler = self._handlers.get(message.get("sessionId", ""))
            if handler is not None:
                handler(message["method"], message.get("params", {}))
            return
        answer = self._pending.get(message.get("id", 0))
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(CommandRefused(str(message["error"].get("message", ""))))
        else:
            answer.set_result(message.get("result", {}))

    async def drain(self) -> None:
        """Wait until the browser has read all commands."""
        with contextlib.suppress(OSError):
            await self._writer.drain()
