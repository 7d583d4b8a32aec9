"""Host queues: the waiting URLs of a host, its request clock, and rankings.

Ranking   members by key, best first: queues of a host, hosts that are due
IdGaps    a list of ids that takes two bytes for most of them
Queue     waiting URLs of one host and URL pattern
Host      queues of a host, and when it may be requested again
"""

from __future__ import annotations

import heapq
import math
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from focus.scheduling.throttling import Throttle

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Key = tuple[float, int]
"""(-priority, URL id): smaller is sooner. Priorities are negated nowhere else."""

_WIDE_MARK, _LOW_BITS = 65_535, 32_767


class Ranking:
    """Members ordered by their current key, smallest first. A change costs O(log n)."""

    __slots__ = ("_heap", "_keys")

    def __init__(self) -> None:
        self._heap: list[tuple[Key, int]] = []
        self._keys: dict[int, Key] = {}

    def set(self, member: int, key: Key | None) -> None:
        """Set the key of a member; None removes the member."""
        if key is None:
            self._keys.pop(member, None)
        elif self._keys.get(member) != key:
            self._keys[member] = key
            heapq.heappush(self._heap, (key, member))
            if len(self._heap) > 16 + 4 * len(self._keys):
                self._heap = [(key, member) for member, key in self._keys.items()]
                heapq.heapify(self._heap)

    def best(self) -> int | None:
        """Return the member with the smallest key, None if there is none."""
        heap = self._heap
        while heap and self._keys.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][1] if heap else None

    def key(self, member: int) -> Key | None:
        """Return the current key of a member, None if it has none."""
        return self._keys.get(member)


class IdGaps:
    """Ids in insertion order, each stored as its difference to the one before.

    A difference takes 2 bytes. An id that is smaller than the one before, or much larger, takes 6:
    `_WIDE_MARK` and two halves of 15 bits each, which cannot be mistaken for the mark.
    """

    def __init__(self) -> None:
        self._gaps = array("H")
        self._last = 0

    def __bool__(self) -> bool:
        return bool(self._gaps)

    def __len__(self) -> int:
        """Return the approximate number of ids: one that takes 6 bytes counts as three."""
        return len(self._gaps)

    def append(self, url_id: int) -> None:
        """Append an id."""
        gap = url_id - self._last
        if 0 <= gap < _WIDE_MARK:
            self._gaps.append(gap)
        else:
            self._gaps.extend((_WIDE_MARK, url_id >> 15, url_id & _LOW_BITS))
        self._last = url_id

    def extend(self, ids: npt.NDArray[np.integer]) -> None:
        """Append ids."""
        import numpy as np

        if not len(ids):
            return
        gaps = ids.astype(np.int64)
        gaps[1:] -= ids[:-1]
        gaps[0] -= self._last
        self._last = int(ids[-1])
        is_wide = gaps.view(np.uint64) >= _WIDE_MARK  # negative differences, too
        if not is_wide.any():  # ten times as fast
            self._gaps.frombytes(gaps.astype(np.uint16).tobytes())
            return
        ends = np.cumsum(np.where(is_wide, 3, 1))
        packed = np.empty(ends[-1], np.uint16)
        packed[ends[~is_wide] - 1] = gaps[~is_wide]
        for before, halves in (
            (3, _WIDE_MARK),
            (2, ids[is_wide] >> 15),
            (1, ids[is_wide] & _LOW_BITS),
        ):
            packed[ends[is_wide] - before] = halves
        self._gaps.frombytes(packed.tobytes())

    def ids(self) -> npt.NDArray[np.int64]:
        """Return all ids in insertion order."""
        import numpy as np

        gaps = np.frombuffer(self._gaps, np.uint16).astype(np.int64)
        wide = np.flatnonzero(gaps == _WIDE_MARK)
        ids = (gaps[wide + 1] << 15) | gaps[wide + 2]
        for offset in range(3):
            gaps[wide + offset] = 0
        sums = np.cumsum(gaps)
        bases = np.append(0, ids - sums[wide])
        sums += np.repeat(bases, np.diff(wide, prepend=0, append=len(sums)))
        return np.delete(sums, np.append(wide, wide + 1))


class Queue:
    """Waiting URLs of one host and URL pattern.

    bonus         is added to the priority of each URL
    evicted_ids   ids whose addresses are only in the database
    best_evicted  a key that no evicted URL comes before; None if there is no evicted URL
    """

    __slots__ = ("best_evicted", "bonus", "evicted_ids", "heap", "host", "id", "pattern")

    def __init__(self, queue_id: int, host: Host, pattern: str) -> None:
        self.id = queue_id
        self.host = host
        self.pattern = pattern
        self.heap: list[Key] = []
        self.evicted_ids = IdGaps()
        self.bonus = 0.0
        self.best_evicted: Key | None = None


@dataclass(slots=True, eq=False, repr=False)
class Host:
    """Queues of a host and the times of its requests (Unix seconds on the crawl's clock).

    active             number of requests in flight
    is_request_unsent  a request was started but is not sent yet; the delay runs from its sending
    address            last known IP address (IPv6: its /64 network), "" if unknown
    is_resolved        the name was resolved since the host was last unreachable
    throttle           usual latency and extra delay
    is_available       the host may be requested now (maintained by the frontier)
    next_at            crawl delay: no request before this time
    paused_until       failures: no request before this time
    wakes_at           time for which the frontier has scheduled the host; None if not scheduled
    robots             scheme -> robots.txt rules
    software           web application (`admission.site_rules`), "" if unknown
    detections         pages in which it was looked for
    """

    id: int
    name: str
    delay_s: float
    active: int = 0
    address: str = ""
    is_resolved: bool = False
    throttle: Throttle = field(default_factory=Throttle)
    is_request_unsent: bool = False
    is_available: bool = True
    next_at: float = 0.0
    paused_until: float = 0.0
    wakes_at: float | None = None
    failures: int = 0
    is_abandoned: bool = False
    queues: dict[str, Queue] = field(default_factory=dict)
    queue_ranking: Ranking = field(default_factory=Ranking)
    robots: dict[str, Any] = field(default_factory=dict)
    software: str = ""
    detections: int = 0

    @property
    def request_interval_s(self) -> float:
        """Seconds between two requests: the crawl delay or the extra delay, if that is longer."""
        return max(self.delay_s, self.throttle.extra_delay_s)

    def is_due_within(self, now: float, within_s: float) -> bool:
        """Return whether the host is expected to be due within `within_s` seconds.

        It is not if it is paused for longer, or if its last request has been in flight for that
        long. A host that is paused without end waits for a robots.txt or an address.
        """
        if self.active:
            return now <= self.next_at - self.request_interval_s + within_s
        rests_until = self.next_at if self.paused_until == math.inf else self.paused_until
        return max(self.next_at, rests_until) <= now + within_s


class Candidate(NamedTuple):
    """A URL taken from the frontier. Its host is due at `start_at`, which is now or later."""

    id: int
    url: str
    host: Host
    priority: float
    start_at: float
