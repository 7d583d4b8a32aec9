"""Limits the private addresses that a worker may reach to those that its own command line opens.

The settings by which a worker asks come from the broker. Whoever may write there could open the
private network of every worker by them; so what leads past the guard has to be said twice, to the
frontiers and to the worker.
"""

from __future__ import annotations

from ipaddress import IPv4Network, ip_network

import msgspec

from focus.config import FetchConfig


class Reach(msgspec.Struct, frozen=True):
    """The addresses that a worker's own command line opens, as in `FetchConfig`."""

    allow_net: tuple[str, ...] = ()
    insecure: bool = False
    proxy: str | None = None
    connect_to: str | None = None


def beyond(fetch: FetchConfig, own: Reach) -> str:
    """Return the option by which the frontier allows more than the worker; "" if there is none."""
    for network in fetch.allow_net:
        if not any(_is_within(network, allowed) for allowed in own.allow_net):
            return f"--allow-net {network}"
    if fetch.insecure and not own.insecure:
        return "--insecure"
    if fetch.proxy is not None and fetch.proxy != own.proxy:
        return "--proxy"
    if fetch.connect_to is not None and fetch.connect_to != own.connect_to:
        return f"--connect-to {fetch.connect_to}"
    return ""


def _is_within(network: str, allowed: str) -> bool:
    try:
        inner, outer = ip_network(network), ip_network(allowed)
    except ValueError:
        return False
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return not isinstance(outer, IPv4Network) and inner.subnet_of(outer)
