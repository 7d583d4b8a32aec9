"""Connects to the broker, or says in one line why that fails."""

from __future__ import annotations

import asyncio
import logging
import ssl

import aio_pika
import aiormq.exceptions as broken
from aio_pika.abc import AbstractConnection, AbstractIncomingMessage
from aiormq.exceptions import AMQPError, AMQPException
from yarl import URL

from focus.cluster.address import Address
from focus.errors import ClusterError
from focus.i18n import msg

HEARTBEAT_S = 10  # the broker takes a silent peer for dead after this
CONNECT_S = 10.0

for _name in (
    "aio_pika",
    "aiormq",
):  # they would say URLs, and ReconnectingConnection deals with it
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False

IncomingMessage = AbstractIncomingMessage
_CUT_OFF = (AMQPException, AMQPError, OSError, EOFError, StopAsyncIteration)
"""What aiormq raises when a connection ends before it was made; the last in the middle of it."""

LOST = (*_CUT_OFF, RuntimeError, asyncio.InvalidStateError)
"""What tells that the broker is away, or that it does not want a message."""


async def connect(address: Address, name: str) -> AbstractConnection:
    """A new connection; ClusterError says in one line what is wrong."""
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
        raise ClusterError(
            "no broker at {address}: {why}; start RabbitMQ or check --amqp",
            address=address,
            why=_why(error),
        ) from None


def _why(error: BaseException) -> str:
    text = str(error.args[-1]) if error.args else type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return msg("its certificate is not trusted (--amqp-ca FILE names one that is)")
    if "[SSL" in text:
        return msg("it does not speak TLS there (amqp:// instead of amqps://?)")
    return text.replace("Connect call failed", "no connection to")
