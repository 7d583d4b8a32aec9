"""A receiver of webhooks for tests: it keeps requests and answers as told.

async with receiving(Receiver(answers=[(500, {})])) as hook:   # fails once, then takes all
    ...
hook.requests[0].body
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from aiohttp import web
from aiohttp.test_utils import TestServer


class Got(NamedTuple):
    """One POST."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Answers with what it was told, one after the other, then 204; `reply` is every body."""

    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    delay_s: float = 0.0
    reply: bytes = b""
    requests: list[Got] = field(default_factory=list)
    port: int = 0
    _has_request: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ids(self) -> list[str]:
        return [got.headers["webhook-id"] for got in self.requests]

    async def has(self, number: int) -> None:
        """Until so many requests have come."""
        while len(self.requests) < number:
            self._has_request.clear()
            await self._has_request.wait()

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(Got(request.path_qs, headers, body))
        self._has_request.set()
        await asyncio.sleep(self.delay_s)
        status, extra = self.answers.pop(0) if self.answers else (204, {})
        return web.Response(status=status, headers=extra, body=self.reply)


@asynccontextmanager
async def receiving(receiver: Receiver | None = None) -> AsyncIterator[Receiver]:
    """A receiver on a port of its own."""
    receiver = receiver or Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.take)
    server = TestServer(app)
    await server.start_server()
    receiver.port = server.port or 0
    try:
        yield receiver
    finally:
        await server.close()
