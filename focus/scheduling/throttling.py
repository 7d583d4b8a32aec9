"""Extra delays for slow hosts, and request slots per IP address.

    update_throttle  extra delay of a host after a response
    address_group    what counts as one machine: an IPv4 address, a /64 network of IPv6
    AddressSlots     requests in flight and delays by address, and the hosts that wait for a slot

The extra delay moves half way towards a target with each response, as in Scrapy's AutoThrottle.
The target is 0 unless the host has become slow: a latency of at least 1 s and of more than twice
the usual is its own target. Status 429 and 503 double the delay. The usual latency is the smallest
observed, growing by 2 % with each response.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

MIN_SLOW_LATENCY_S = 1.0
SLOWDOWN_RATIO = 2.0
USUAL_GROWTH = 1.02
OVERLOAD_STATUSES = frozenset({429, 503})


class Throttle(NamedTuple):
    """Usual latency and extra delay of a host, in seconds."""

    usual_s: float = 0.0
    extra_delay_s: float = 0.0


def update_throttle(
    throttle: Throttle, latency_s: float, status: int | None, max_delay_s: float
) -> Throttle:
    """Return the throttle after a response; `max_delay_s` bounds the extra delay.

    Example, usual 0.2 s: a latency of 4 s gives a delay of 2 s, another one 3 s, then two of
    0.2 s 1.5 s and 0.75 s; a 503 after a delay of 3 s gives 6 s.
    """
    usual_s = min(latency_s, throttle.usual_s * USUAL_GROWTH) if throttle.usual_s else latency_s
    if status in OVERLOAD_STATUSES:
        delay_s = max(2.0 * throttle.extra_delay_s, MIN_SLOW_LATENCY_S)
    else:
        slow = latency_s >= MIN_SLOW_LATENCY_S and latency_s > SLOWDOWN_RATIO * usual_s
        delay_s = (throttle.extra_delay_s + (latency_s if slow else 0.0)) / 2.0
    return Throttle(usual_s, min(max_delay_s, delay_s) if delay_s > 0.01 else 0.0)


def address_group(address: str) -> str:
    """Return what counts as one machine: an IPv4 address, or the /64 network of an IPv6 one.

    Example: `2001:db8::7` gives `2001:db8::/64`, because one subscriber has the whole network.
    """
    if ":" not in address:
        return address
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:  # an archive may contain anything
        return address
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return str(IPv6Network((int(ip), 64), strict=False))


class AddressSlots:
    """Requests in flight by address, and when the next may start.

    per_address  maximum number of concurrent requests; 0 means no limit and no delay
    delay_s      seconds between the starts of two requests to one address
    hold_s       seconds that a slot stays occupied after its request has finished. If it is the
                 crawl delay, an address gets at most `per_address` requests in one delay, whatever
                 time they take to be sent

    The current time is the last one passed to `due_addresses`.
    """

    def __init__(self, per_address: int, delay_s: float = 0.0, hold_s: float = 0.0) -> None:
        self._per_address = per_address
        self._delay_s = delay_s if per_address else 0.0
        self._hold_s = hold_s if per_address else 0.0
        self._now = -math.inf
        self._active: dict[str, int] = {}
        self._holds: dict[str, deque[float]] = {}  # address -> ends of the holds, in order
        self._waiting: dict[str, dict[int, float]] = {}  # host -> place among the waiting hosts
        self._lines: dict[str, list[tuple[float, int]]] = {}
        self._free_at: dict[str, float] = {}  # address -> time of the next request
        self._wake_queue: list[tuple[float, str]] = []  # (end of delay, address) with waiting hosts
        self._wake_times: dict[str, float] = {}  # address -> scheduled time

    def change_active(self, address: str, number: int) -> None:
        """Add `number` (negative: subtract) to the requests in flight at an address."""
        if address and number:
            active = self._active.get(address, 0) + number
            self._active[address] = active
            if not active:
                del self._active[address]

    def start(self, address: str, at: float) -> None:
        """Count a request that starts at the time `at`, and start the delay of the address."""
        self.change_active(address, 1)
        if address and self._delay_s:
            self._free_at[address] = max(at, self.free_at(address)) + self._delay_s
            self._schedule_wake(address)

    def finish(self, address: str, now: float) -> None:
        """Count the end of a request."""
        self.change_active(address, -1)
        if address and self._hold_s:
            self._holds.setdefault(address, deque()).append(now + self._hold_s)
            self._schedule_wake(address)

    def free_at(self, address: str) -> float:
        """Return when the delay of an address ends and a held slot is free, -inf if now."""
        delay_ends_at = self._free_at.get(address, -math.inf)
        holds = self._holds.get(address)
        while holds and holds[0] <= self._now:
            holds.popleft()
        if not holds or self._active.get(address, 0) + len(holds) < self._per_address:
            return delay_ends_at
        return max(delay_ends_at, holds[0])

    def has_slot(self, address: str) -> bool:
        """Return whether another request may start at the address now."""
        if not self._per_address:
            return True
        return (
            self._active.get(address, 0) < self._per_address and self.free_at(address) <= self._now
        )

    def due_addresses(self, now: float) -> list[str]:
        """Return addresses with waiting hosts whose delay is over at `now`."""
        self._now = max(self._now, now)
        addresses = []
        while self._wake_queue and self._wake_queue[0][0] <= now:
            at, address = heapq.heappop(self._wake_queue)
            if self._wake_times.get(address) == at:
                del self._wake_times[address]
                addresses.append(address)
        return addresses

    def next_due(self) -> float | None:
        """Return when the first delay ends that a host waits for, None if no host waits."""
        return self._wake_queue[0][0] if self._wake_queue else None

    def _schedule_wake(self, address: str) -> None:
        """Schedule an address for `due_addresses` if a host waits for the end of its delay."""
        until = self.free_at(address)
        if self._waiting.get(address) and self._now < until != self._wake_times.get(address):
            self._wake_times[address] = until
            heapq.heappush(self._wake_queue, (until, address))

    def enqueue_host(self, address: str, host: int, place: float) -> None:
        """Let a host wait for a slot; smaller `place` first, then older hosts."""
        if place < self._waiting.setdefault(address, {}).get(host, math.inf):
            self._waiting[address][host] = place
            heapq.heappush(self._lines.setdefault(address, []), (place, host))
            self._schedule_wake(address)

    def pop_next_host(self, address: str) -> int | None:
        """Remove and return the first waiting host if there is a slot for it, else None."""
        line = self._lines.get(address)
        while line and self.has_slot(address):
            place, host = heapq.heappop(line)
            if self._waiting[address].get(host) == place:
                del self._waiting[address][host]
                return host
        return None
