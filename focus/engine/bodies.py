"""Bounds what answers take of memory, from their first byte until they are scored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

BODY_BYTES = 16 * 1024 * 1024
"""Of bodies that are read or wait for a worker, all together."""

Grow: TypeAlias = Callable[[int], Awaitable[None] | None]
"""Told of so many bytes more of a body; what it gives back is waited for."""


class Bodies:
    """The bytes of all bodies that are in memory, from the first one read until it is scored.

    No more than `most`, and the rest of one: who came first may always read on, so that somebody
    gets to an end; all others wait, and their servers with them.
    """

    def __init__(self, most: int = BODY_BYTES) -> None:
        self._most = most
        self._held: dict[object, int] = {}  # in order of coming
        self._freed = asyncio.Event()
        self.total = 0

    def grow(self, owner: object, size: int) -> Awaitable[None] | None:
        """So many bytes more are to be held; to be waited for, if anything."""
        self._held.setdefault(owner, 0)
        if not self._has_room(owner, size):
            return self._wait(owner, size)
        self._add(owner, size)
        return None

    async def _wait(self, owner: object, size: int) -> None:
        while not self._has_room(owner, size):
            self._freed.clear()
            await self._freed.wait()
        self._add(owner, size)

    def _has_room(self, owner: object, size: int) -> bool:
        return self.total + size <= self._most or next(iter(self._held)) is owner

    def _add(self, owner: object, size: int) -> None:
        self._held[owner] += size
        self.total += size

    def drop(self, owner: object) -> None:
        """A body is not wanted any more."""
        if (size := self._held.pop(owner, None)) is not None:
            self.total -= size
            self._freed.set()
