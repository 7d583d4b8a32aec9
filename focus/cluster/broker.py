"""Finds the broker and connects to it, or says in one line why that fails.

Address   its URL, password and certificate, as given; never shown with the password
connect   a connection, or one line that says why there is none
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote

import aio_pika
import aiormq.exceptions as broken
import msgspec
from aio_pika.abc import AbstractConnection, AbstractIncomingMessage
from aiormq.exceptions import AMQPError, AMQPException
from yarl import URL

from focus.errors import ClusterError, ConfigError
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


class Address(msgspec.Struct, frozen=True):
    """A broker. `url` has no password in it; `ca` is a file of certificates to trust."""

    url: str
    password: str | None = None
    ca: Path | None = None

    def __str__(self) -> str:
        url = URL(self.url)
        return f"{url.host}:{url.port or (5671 if url.scheme == 'amqps' else 5672)}"

    @property
    def user(self) -> str:
        return URL(self.url).user or "guest"

    @property
    def vhost(self) -> str:
        """The virtual host: the path without its first /, "/" if there is none."""
        return unquote(URL(self.url).raw_path.removeprefix("/")) or "/"


def read_address(
    text: str, password: str | None = None, ca: Path | None = None, *, plain: bool = False
) -> Address:
    """`amqp[s]://user[:password]@host[:port]/vhost`; ConfigError for what is none.

    plain  amqp:// to another machine is meant: whoever is in between rules the cluster
    """
    try:
        url = URL(text)
    except ValueError:
        url = URL()
    if url.scheme not in ("amqp", "amqps") or not url.host:
        raise ConfigError("--amqp: is no address of a broker; one is amqp://user@host:5672/vhost")
    if ca is not None and not ca.is_file():
        raise ConfigError("--amqp-ca {ca}: there is no such file", ca=ca)
    if ca is not None and url.scheme != "amqps":
        raise ConfigError("--amqp-ca: is for amqps:// only; the address says amqp://")
    if url.scheme == "amqp" and not plain and not _is_local(url.host):
        raise ConfigError(
            "--amqp: password and pages would go to {host} unencrypted; write amqps://, or "
            "give --amqp-plain where nobody else is in between",
            host=url.host,
        )
    bare = str(url.with_password(None).with_query(None))
    return Address(bare, password or url.password, ca)


def _is_local(host: str) -> bool:
    """Whether a broker runs on this machine: nobody listens in between."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
