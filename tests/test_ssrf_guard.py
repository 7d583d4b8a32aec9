"""The addresses to which the SSRF guard lets a connection be made."""

import ast
import ipaddress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import focus
from focus.errors import ConfigError
from focus.http.ssrf_guard import AddressGuard

CLOSED = """
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 169.254.169.254
172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255
198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1
64:ff9b::808:808 64:ff9b:1::1 100::1 2001::1 2001:0:53aa:64c:0:fbff:80ff:fffe 2001:db8::1
2001:10::1 2002:7f00:1::1 3fff::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1
""".split()
OPEN = """
1.1.1.1 8.8.8.8 11.0.0.1 100.63.255.255 100.128.0.1 172.15.255.255 172.32.0.1 192.0.1.1
193.0.0.1 198.17.255.255 198.20.0.1 223.255.255.255 2001:200::1 2400:3200::1 2606:4700::1111
""".split()
NO_ADDRESS = ["", "localhost", "127.1", "2130706433", "0x7f000001", "017700000001", "[::1]"]


@pytest.mark.parametrize("address", CLOSED + NO_ADDRESS)
def test_permits_non_public_address_is_false(address: str) -> None:
    assert not AddressGuard().permits(address)


@pytest.mark.parametrize("address", OPEN)
def test_permits_public_address_is_true(address: str) -> None:
    assert AddressGuard().permits(address)


@given(st.ip_addresses())
def test_permits_python_private_address_is_false(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    closed = address.is_private or address.is_multicast or address.is_link_local
    assert not (closed and AddressGuard().permits(str(address)))


def test_permits_allowed_network_only() -> None:
    guard = AddressGuard([" 127.0.0.1/8", "10.1.2.3", "fd00::/8"])  # host bits do not count
    assert guard.permits("127.0.0.1")
    assert guard.permits("10.1.2.3")
    assert guard.permits("fd00::1")
    assert not guard.permits("10.1.2.4")
    assert not guard.permits("::ffff:127.0.0.1")
    assert not guard.permits("::1")


@pytest.mark.parametrize("network", ["10.0.0.0/33", "localhost", "", "10.0.0"])
def test_address_guard_invalid_network_raises(network: str) -> None:
    with pytest.raises(ConfigError, match="allow-net"):
        AddressGuard([network])


def test_source_opens_connections_in_one_place_only() -> None:
    """Whoever wants something off the network asks the fetcher, which has the guard."""
    folder = Path(focus.__file__).parent
    makers = {"aiohttp", "ftplib", "http.client", "requests", "smtplib", "socket", "urllib.request"}
    addresses = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                only_words = [alias.name for alias in node.names] == ["responses"]
                names = [] if only_words else [node.module]
            if makers.intersection(names) or any(name.startswith("aiohttp.") for name in names):
                addresses.add(path.relative_to(folder).as_posix())
    servers = {item for item in addresses if item.startswith("demo/")} | {"serve/server.py"}
    # The mail server and the broker that the user names are nobody else's choice.
    # The browser's socket is bound and never listens: it is where the browser is sent instead.
    own = {"alerts/delivery/mail.py", "cluster/private_broker.py", "rendering/chromium.py"}
    parts = ("connection", "dns", "network_errors", "requests")
    assert addresses - servers - own == {"fetch.py", *(f"http/{part}.py" for part in parts)}
