"""Reads where the broker of a cluster is: URL, password and certificate, never shown together."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote

import msgspec
from yarl import URL

from focus.errors import ConfigError


class Address(msgspec.Struct, frozen=True):
    """A cluster at a broker. `url` has no password in it; `ca` is a file of certificates to trust.

    cluster  its name, one of several on the broker
    """

    url: str
    password: str | None = None
    ca: Path | None = None
    cluster: str = "main"

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
    text: str,
    password: str | None = None,
    ca: Path | None = None,
    *,
    plain: bool = False,
    cluster: str = "main",
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
        raise ConfigError("FOCUS_AMQP_CA {ca}: there is no such file", ca=ca)
    if ca is not None and url.scheme != "amqps":
        raise ConfigError("FOCUS_AMQP_CA: is for amqps:// only; the address says amqp://")
    if url.scheme == "amqp" and not plain and not _is_local(url.host):
        raise ConfigError(
            "--amqp: password and pages would go to {host} unencrypted; write amqps://, or "
            "set FOCUS_AMQP_PLAIN=1 where nobody else is in between",
            host=url.host,
        )
    bare = str(url.with_password(None).with_query(None))
    return Address(bare, password or url.password, ca, cluster)


def _is_local(host: str) -> bool:
    """Whether a broker runs on this machine: nobody listens in between."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
