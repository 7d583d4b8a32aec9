"""Connections to the broker."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

import aio_pika
import aiormq.exceptions as broken
from aio_pika.abc import AbstractChannel, AbstractConnection
from aiormq.exceptions import AMQPError, AMQPException
from yarl import URL

from focus.cluster.address import Address
from focus.errors import ClusterError
from focus.i18n import msg

HEARTBEAT_S = 5
"""The broker closes a connection that is silent for one to two times as long."""
CUT_OFF_S = 3.0 * (HEARTBEAT_S + 1)
"""A client of aiormq notices within this time that its broker is silent."""
CONNECT_S = 10.0
OPEN_S = 20.0  # to declare queues and begin to consume them
RECONNECT_S = 1.0  # between two attempts to reconnect

for _name in ("aio_pika", "aiormq"):  # they would log URLs
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False

_CUT_OFF = (AMQPException, AMQPError, OSError, EOFError, StopAsyncIteration)
"""Raised by aiormq when a connection ends before it is complete."""

LOST = (*_CUT_OFF, RuntimeError, asyncio.InvalidStateError)
"""Raised while the broker is away, or when it does not accept a message (also TimeoutError)."""


async def connect(address: Address, name: str) -> AbstractConnection:
    """Return a new connection; ClusterError says in one line what is wrong."""
    url = URL(address.url).with_password(address.password or "guest")
    if url.user is None:
        url = url.with_user("guest").with_password(address.password or "guest")
    url = url.with_query(heartbeat=str(HEARTBEAT_S), name=name)
    context = None
    if url.scheme == "amqps":
        context = ssl.create_default_context(cafile=address.ca)
    try:
        async with asyncio.timeout(CONNECT_S):
            return await aio_pika.connect(url, ssl_context=context)
    except broken.ProbableAuthenticationError:
        raise ClusterError(
            "the broker at {address} refuses user {user}; check the password "
            "(--amqp-password-file or FOCUS_AMQP_PASSWORD)",
            address=address,
            user=address.user,
        ) from None
    except (broken.InvalidFrameError, broken.ConnectionNotAllowed):
        raise ClusterError(
            "the broker at {address} has no virtual host {vhost!r} for user {user}; check "
            "the end of --amqp, or make it (rabbitmqctl add_vhost)",
            address=address,
            vhost=address.vhost,
            user=address.user,
        ) from None
    except TimeoutError:
        raise ClusterError(
            "no broker answers at {address} within {connect_s:.0f} s; is RabbitMQ there?",
            address=address,
            connect_s=CONNECT_S,
        ) from None
    except _CUT_OFF as error:
        raise no_broker(address, error) from None


def no_broker(address: Address, error: BaseException) -> ClusterError:
    """Return the error for a broker that cannot be reached or ends the connection."""
    return ClusterError(
        "no broker at {address}: {why}; start RabbitMQ or check --amqp",
        address=address,
        why=_failure_reason(error),
    )


def _failure_reason(error: BaseException) -> str:
    text = (error.args and str(error.args[-1])) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return msg("its certificate is not trusted (FOCUS_AMQP_CA=FILE names one that is)")
    if "[SSL" in text:
        return msg("it does not speak TLS there (amqp:// instead of amqps://?)")
    return text.replace("Connect call failed", "no connection to")


@contextmanager
def cancellation_as_loss() -> Iterator[None]:
    """Turn the CancelledError of aiormq, whose connection has ended, into a ConnectionError."""
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise ConnectionError("the connection has ended") from None


class BrokerLink:
    """A connection with one channel that is replaced whenever it is lost.

    A robust connection of aio-pika restores its channels once, and stays without them if the
    broker is still starting. Here each new channel is opened from the beginning.

    on_open   declares and consumes queues on a new channel
    on_loss   called when a channel is lost
    """

    def __init__(
        self,
        address: Address,
        name: str,
        on_open: Callable[[AbstractChannel], Awaitable[None]],
        on_loss: Callable[[], object],
    ) -> None:
        self._address, self._name = address, name
        self._on_open, self._on_loss = on_open, on_loss
        self._connection: AbstractConnection | None = None
        self._lost = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect for the first time. Raises ClusterError if that fails."""
        try:
            await self._connect()
        except LOST as error:
            raise no_broker(self._address, error) from None
        self._keeping = asyncio.create_task(self._reconnect_on_loss())

    async def _connect(self) -> None:
        with cancellation_as_loss():
            self._connection = await connect(self._address, self._name)
        lost = self._lost = asyncio.Event()
        try:
            async with asyncio.timeout(OPEN_S):
                with cancellation_as_loss():
                    await self._open_channel(lost)
        except BaseException:
            await self._disconnect()
            raise

    async def _open_channel(self, lost: asyncio.Event) -> None:
        assert self._connection is not None
        channel = await self._connection.channel()
        channel.close_callbacks.add(lambda *_: lost.set())
        await self._on_open(channel)

    async def _reconnect_on_loss(self) -> None:
        while True:
            await self._lost.wait()
            self._on_loss()
            await self._disconnect()
            await asyncio.sleep(RECONNECT_S)
            try:
                await self._connect()
            except (ClusterError, *LOST):
                self._lost.set()

    def reset(self) -> None:
        """Replace the connection, because something that was sent has not been confirmed."""
        self._lost.set()

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*LOST), cancellation_as_loss():  # also TimeoutError
                async with asyncio.timeout(CONNECT_S):
                    await connection.close()

    async def close(self) -> None:
        """Close the connection."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])
        await self._disconnect()
