"""Refuses connections to private addresses (server-side request forgery).

A crawler requests URLs that pages name, so it must not be made to reach the machine it runs on or
the network behind it. The final address is checked at the moment of connecting. That covers links,
redirects, robots.txt, unusual spellings of addresses, and names that resolve to another address the
second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from focus.errors import ConfigError
from focus.i18n import msg

# IANA's special-purpose registries, without the entries that are global after all.
# 0.0.0.0 reaches this machine; 100.64.0.0 is shared by carriers, with Alibaba's metadata server;
# 168.63.129.16 is Azure's host, reached from inside only; 169.254.0.0 is link-local, with metadata
# servers of most clouds; 192.88.99.0 were 6to4 relays.
_CLOSED_V4_TEXT = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12
192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24
203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
"""
_CLOSED_V4 = tuple(map(IPv4Network, _CLOSED_V4_TEXT.split()))
# Global unicast is 2000::/3. Everything outside is closed: loopback, fc00::/7,
# fe80::/10, multicast, ::ffff:0:0/96 and 64:ff9b::/96, which wrap an IPv4 address.
_GLOBAL_V6 = IPv6Network("2000::/3")
_CLOSED_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments; Teredo wraps an IPv4 address
            "2001:db8::/32",
            "2002::/16",  # 6to4 wraps an IPv4 address
            "3fff::/20",
        ),
    )
)


class AddressGuard:
    """Permits global addresses and the networks that the user allows.

    allow_net  networks in CIDR form ("10.0.0.0/8", "::1"); raises ConfigError
    """

    def __init__(self, allow_net: Sequence[str] = ()) -> None:
        self._allowed_networks = tuple(map(parse_network, allow_net))

    def permits(self, address: str) -> bool:
        """Return whether to connect to an IP address; False for an invalid one."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return is_global(parsed) or any(parsed in network for network in self._allowed_networks)


def is_global(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address belongs to the public internet and wraps no other address.

    The tables are our own, because `ipaddress.is_global` differs between Python releases
    (gh-113171) and calls wrapped and multicast addresses global.
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    return address in _GLOBAL_V6 and not any(address in network for network in _CLOSED_V6)


NOT_PUBLIC = msg("its address is not public; allow its network with --allow-net")
"""Message for a refused address. It does not name the address, since accounts of `focus serve`
must not learn which addresses internal names have."""


def parse_network(text: str) -> IPv4Network | IPv6Network:
    """Return a network. Raises ConfigError for a text that is none."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise ConfigError(
            "allow-net {text!r} is no network; write it like 10.0.0.0/8 or ::1/128", text=text
        ) from None
