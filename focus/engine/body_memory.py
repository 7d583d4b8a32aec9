"""Limits the memory of response bodies, from their first byte until they are scored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

MAX_BODY_BYTES = 16 * 1024 * 1024
"""Total size of the bodies that are being read or wait for a worker."""

Reserve: TypeAlias = Callable[[int], Awaitable[None] | None]
"""Reserves memory for further bytes of a body; the caller awaits the result unless it is None."""


class BodyMemory:
    """Memory of all response bodies that are being read or wait to be scored.

    The total stays below `limit`, except that the oldest body may always be read to its end, so
    that there is progress; all others wait, and their servers with them.
    """

    def __init__(self, limit: int = MAX_BODY_BYTES) -> None:
        self._limit = limit
        self._sizes: dict[object, int] = {}  # by owner, oldest first
        self._freed = asyncio.Event()
        self.total = 0

    def reserve(self, owner: object, size: int) -> Awaitable[None] | None:
        """Reserve `size` further bytes for a body; await the result unless it is None."""
        self._sizes.setdefault(owner, 0)
        if not self._has_room(owner, size):
            return self._wait_and_add(owner, size)
        self._add(owner, size)
        return None

    async def _wait_and_add(self, owner: object, size: int) -> None:
        while not self._has_room(owner, size):
            self._freed.clear()
            await self._freed.wait()
        self._add(owner, size)

    def _has_room(self, owner: object, size: int) -> bool:
        return self.total + size <= self._limit or next(iter(self._sizes)) is owner

    def _add(self, owner: object, size: int) -> None:
        self._sizes[owner] += size
        self.total += size

    def free(self, owner: object) -> None:
        """Free the memory of a body."""
        if (size := self._sizes.pop(owner, None)) is not None:
            self.total -= size
            self._freed.set()
