"""A connection to the broker that comes back after every break."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import aio_pika
import aiormq.exceptions as broken
from aio_pika.abc import AbstractChannel, AbstractConnection

from focus import __version__
from focus.cluster.address import Address
from focus.cluster.broker import LOST, connect
from focus.cluster.messages import VERSION
from focus.errors import ClusterError

CONFIRM_S = 8.0  # what the broker does not confirm within this is taken for not sent
PREPARE_S = 60.0  # for declaring and consuming, and for a predecessor's lock to go
PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0)  # between two attempts to come back


class PublishRefused(Exception):
    """The broker has no room for a message (`reject-publish`), or no queue for it."""


class ReconnectingConnection:
    """A connection to the broker, and one channel on it whose publications are confirmed.

    prepare  declares and consumes on a new connection; called again after each loss
    is_up    set while there is a connection that was prepared
    """

    def __init__(
        self,
        address: Address,
        prepare: Callable[[AbstractConnection], Awaitable[None]],
        *,
        name: str,
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.address = address
        self.is_up = asyncio.Event()
        self._prepare = prepare
        self._name = name
        self._say = say
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None
        self._fanouts: dict[str, Any] = {}
        self._down = asyncio.Event()

    async def open(self) -> None:
        """Connect for the first time; ClusterError says what is wrong."""
        try:
            await self._connect()
        except LOST as error:
            raise ClusterError(
                "the broker at {address} went away ({error}); start this again",
                address=self.address,
                error=error,
            ) from None

    async def keep(self) -> None:
        """Come back whenever the connection is lost; never ends by itself."""
        while True:
            await self._down.wait()
            await self._drop()
            for attempt in range(1 << 30):
                try:
                    await self._connect()
                    break
                except Exception as error:  # as in `_publish`
                    if attempt == 0:
                        self._say(f"The broker at {self.address} is away ({error}); trying again")
                    await self._drop()
                    await asyncio.sleep(PAUSES_S[min(attempt, len(PAUSES_S) - 1)])
            self._say(f"The broker at {self.address} is back")

    async def _connect(self) -> None:
        self._down.clear()
        self._connection = connection = await connect(self.address, self._name)
        self._channel = channel = await connection.channel(on_return_raises=True)

        def lost(*_: object) -> None:
            if self._connection is connection:
                self.reset()

        connection.close_callbacks.add(lost)
        channel.close_callbacks.add(lost)
        self._fanouts = {}
        async with asyncio.timeout(PREPARE_S):
            await self._prepare(connection)
        if not self._down.is_set():
            self.is_up.set()

    def reset(self) -> None:
        """Give the connection up and take a new one: something is not as it should be."""
        self.is_up.clear()
        self._down.set()

    async def _drop(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            with suppress(Exception, asyncio.CancelledError):
                async with asyncio.timeout(2.0):
                    await connection.close()

    async def close(self) -> None:
        """Hang up."""
        self.is_up.clear()
        await self._drop()

    async def send(self, queue: str, body: bytes, **properties: Any) -> None:
        """Publish to a queue; returns when the broker has it for sure.

        ConnectionError: it may have it or not. Refused: it has it not, and wants it not.
        """
        await self._publish("", queue, body, mandatory=True, **properties)

    async def tell(self, exchange: str, body: bytes, **properties: Any) -> None:
        """Publish to whoever listens; errors as `send`."""
        properties = {"delivery_mode": 1, **properties}
        await self._publish(exchange, "", body, mandatory=False, **properties)

    async def _publish(
        self, exchange: str, key: str, body: bytes, *, mandatory: bool, **properties: Any
    ) -> None:
        channel = self._channel
        if channel is None or not self.is_up.is_set():
            raise ConnectionError("the broker is away")
        marks: dict[str, Any] = {
            "headers": {"version": VERSION},
            "delivery_mode": 2,
            "app_id": f"focus/{__version__}",
        }
        message = aio_pika.Message(body, **(marks | properties))
        try:
            target = await self._exchange(channel, exchange)
            await target.publish(message, routing_key=key, mandatory=mandatory, timeout=CONFIRM_S)
        except (broken.DeliveryError, broken.PublishError) as error:
            raise PublishRefused(str(error)) from error
        except Exception as error:  # aiormq raises a bare one, too, when a connection ends
            self.reset()
            raise ConnectionError(str(error) or "the connection ended") from error

    async def _exchange(self, channel: AbstractChannel, name: str) -> Any:
        if not name:
            return channel.default_exchange
        if name not in self._fanouts:
            self._fanouts[name] = await channel.get_exchange(name, ensure=False)
        return self._fanouts[name]
