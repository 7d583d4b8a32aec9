"""Throttles requests: rests per host by its latency, slots per IP address.

    throttled      the rest of a host after an answer: longer when it answers slower than it did
    Addresses   how many requests are under way to each address, and who waits for one

The rest moves half way to what the last answer asks for, as in Scrapy's AutoThrottle, but
only a host that has become slow asks for anything: a latency L of at least 1 s and more than
twice the usual asks for a rest of L. 429 and 503 double the rest. The usual latency is the
least seen, growing by 2 % with every answer.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

SLOW_S = 1.0
SLOWER = 2.0
FORGETTING = 1.02
BUSY = frozenset({429, 503})


class Throttle(NamedTuple):
    """What a host's answers have come to: its usual latency, and its extra rest; seconds."""

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


class Addresses:
    """Requests under way by address. `most` at once on each; 0: no limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._active: dict[str, int] = {}
        self._waiting: dict[str, dict[int, float]] = {}  # host -> its place in the line
        self._lines: dict[str, list[tuple[float, int]]] = {}

    def add(self, address: str, number: int) -> None:
        """So many more requests are under way there, or fewer (< 0)."""
        if address and number:
            left = self._active.get(address, 0) + number
            self._active[address] = left
            if not left:
                del self._active[address]

    def has_slot(self, address: str) -> bool:
        """Whether one more may go there."""
        return not self._most or self._active.get(address, 0) < self._most

    def wait(self, address: str, host: int, place: float) -> None:
        """Have a host stand in line for a slot there; smaller places first, then older hosts."""
        if place < self._waiting.setdefault(address, {}).get(host, math.inf):
            self._waiting[address][host] = place
            heapq.heappush(self._lines.setdefault(address, []), (place, host))

    def next(self, address: str) -> int | None:
        """The first host in line, if there is a slot for it; it leaves the line."""
        line = self._lines.get(address)
        while line and self.has_slot(address):
            place, host = heapq.heappop(line)
            if self._waiting[address].get(host) == place:
                del self._waiting[address][host]
                return host
        return None
