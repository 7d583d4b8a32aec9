"""Keeps hosts, and the machines behind them, from being worked too hard.

    throttled   the rest of a host after an answer: longer when it answers slower than it did
    machine     what is taken for one machine: an IPv4 address, a /64 of IPv6
    Addresses   slots and rests by address, and who waits for one

The rest moves half way to what the last answer asks for, as in Scrapy's AutoThrottle, but
only a host that has become slow asks for anything: a latency L of at least 1 s and more than
twice the usual asks for a rest of L. 429 and 503 double the rest. The usual latency is the
least seen, growing by 2 % with every answer.
"""

from __future__ import annotations

import heapq
import math
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

SLOW_S = 1.0
SLOWER = 2.0
FORGETTING = 1.02
BUSY = frozenset({429, 503})


class Throttle(NamedTuple):
    """A host's usual latency and its extra rest, by its answers so far; seconds."""

    usual_s: float = 0.0
    rest_s: float = 0.0


def throttled(throttle: Throttle, latency_s: float, status: int | None, most_s: float) -> Throttle:
    """The throttle after an answer. `most_s`: the longest rest; 0 for none.

    Worked, usual 0.2 s: a latency of 4 s gives a rest of 2 s, another 3 s, then 0.2 s again
    1.5 s and 0.75 s; a 503 after a rest of 3 s gives 6 s.
    """
    usual = min(latency_s, throttle.usual_s * FORGETTING) if throttle.usual_s else latency_s
    if status in BUSY:
        rest = max(2.0 * throttle.rest_s, SLOW_S)
    else:
        slow = latency_s >= SLOW_S and latency_s > SLOWER * usual
        rest = (throttle.rest_s + (latency_s if slow else 0.0)) / 2.0
    return Throttle(usual, min(most_s, rest) if rest > 0.01 else 0.0)


def machine(address: str) -> str:
    """What is taken for one machine: an IPv4 address, or the /64 of an IPv6 one.

    Whoever has one address of IPv6 has 2^64 of them: `2001:db8::7` → `2001:db8::/64`.
    """
    if ":" not in address:
        return address
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:  # an archive may say anything
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(IPv6Network((int(found), 64), strict=False))


class Addresses:
    """Requests by address: how many are under way, and when the next may start.

    most     at once on each; 0: no limit, and no rest
    rest_s   from the start of one request to the start of the next, on one address

    Time is what `woken` was told last: a rest ends when that is called.
    """

    def __init__(self, most: int, rest_s: float = 0.0) -> None:
        self._most = most
        self._rest_s = rest_s if most else 0.0
        self._now = -math.inf
        self._active: dict[str, int] = {}
        self._waiting: dict[str, dict[int, float]] = {}  # host -> its place in the line
        self._lines: dict[str, list[tuple[float, int]]] = {}
        self._rests: dict[str, float] = {}  # address -> no request before
        self._wheel: list[tuple[float, str]] = []  # rests that somebody waits for
        self._called: dict[str, float] = {}  # address -> when the wheel brings it

    def add(self, address: str, number: int) -> None:
        """So many more requests are under way there, or fewer (< 0)."""
        if address and number:
            left = self._active.get(address, 0) + number
            self._active[address] = left
            if not left:
                del self._active[address]

    def start(self, address: str, at: float) -> None:
        """A request goes there at that instant; then the address rests."""
        self.add(address, 1)
        if address and self._rest_s:
            self._rests[address] = max(at, self.free_at(address)) + self._rest_s
            self._call(address)

    def free_at(self, address: str) -> float:
        """When the rest of an address ends, -inf if it has none."""
        return self._rests.get(address, -math.inf)

    def has_slot(self, address: str) -> bool:
        """Whether one more may go there now."""
        if not self._most:
            return True
        return self._active.get(address, 0) < self._most and self.free_at(address) <= self._now

    def woken(self, now: float) -> list[str]:
        """The addresses with a line whose rest is over."""
        self._now = max(self._now, now)
        woken = []
        while self._wheel and self._wheel[0][0] <= now:
            at, address = heapq.heappop(self._wheel)
            if self._called.get(address) == at:
                del self._called[address]
                woken.append(address)
        return woken

    def next_due(self) -> float | None:
        """When the first rest ends that somebody waits for."""
        return self._wheel[0][0] if self._wheel else None

    def _call(self, address: str) -> None:
        """Have `woken` bring an address that rests when that is over, if anyone waits."""
        until = self.free_at(address)
        if self._waiting.get(address) and self._now < until != self._called.get(address):
            self._called[address] = until
            heapq.heappush(self._wheel, (until, address))

    def wait(self, address: str, host: int, place: float) -> None:
        """Have a host stand in line for a slot there; smaller places first, then older hosts."""
        if place < self._waiting.setdefault(address, {}).get(host, math.inf):
            self._waiting[address][host] = place
            heapq.heappush(self._lines.setdefault(address, []), (place, host))
            self._call(address)

    def next(self, address: str) -> int | None:
        """The first host in line, if there is a slot for it; it leaves the line."""
        line = self._lines.get(address)
        while line and self.has_slot(address):
            place, host = heapq.heappop(line)
            if self._waiting[address].get(host) == place:
                del self._waiting[address][host]
                return host
        return None
