"""Holds a host's queues of waiting URLs, its politeness clock, and the order among them.

Ranking   members by key, best first: queues in a host, hosts that are due
IdGaps    ids in two bytes each
Queue     the waiting URLs of one host and pattern
Host      queues, and when it may be asked again
"""

from __future__ import annotations

import heapq
import math
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

from focus.scheduling.throttling import Throttle

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Key = tuple[float, int]
"""(-priority, url id): smaller = sooner; the only place where priority is negated."""

_WIDE, _LOW = 65_535, 32_767


class Ranking:
    """Members by their present key, best first. A change costs O(log n)."""

    __slots__ = ("_heap", "_keys")

    def __init__(self) -> None:
        self._heap: list[tuple[Key, int]] = []
        self._keys: dict[int, Key] = {}

    def set(self, member: int, key: Key | None) -> None:
        """Give a member its key; None takes it out."""
        if key is None:
            self._keys.pop(member, None)
        elif self._keys.get(member) != key:
            self._keys[member] = key
            heapq.heappush(self._heap, (key, member))
            if len(self._heap) > 16 + 4 * len(self._keys):
                self._heap = [(key, member) for member, key in self._keys.items()]
                heapq.heapify(self._heap)

    def best(self) -> int | None:
        """The member with the smallest key."""
        heap = self._heap
        while heap and self._keys.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][1] if heap else None

    def key(self, member: int) -> Key | None:
        """A member's present key."""
        return self._keys.get(member)


class IdGaps:
    """Ids in the order in which they were entered, each as the gap to the one before it.

    A gap takes 2 bytes; an id that is less than the one before, or far behind it, takes 6:
    `_WIDE` and its two halves, of 15 bits so that neither is mistaken for that.
    """

    def __init__(self) -> None:
        self._gaps = array("H")
        self._last = 0

    def __bool__(self) -> bool:
        return bool(self._gaps)

    def __len__(self) -> int:
        """About how many they are: those that take 6 bytes count as three."""
        return len(self._gaps)

    def append(self, url_id: int) -> None:
        """Enter one."""
        gap = url_id - self._last
        if 0 <= gap < _WIDE:
            self._gaps.append(gap)
        else:
            self._gaps.extend((_WIDE, url_id >> 15, url_id & _LOW))
        self._last = url_id

    def extend(self, ids: npt.NDArray[np.integer]) -> None:
        """Enter many."""
        import numpy as np

        if not len(ids):
            return
        gaps = ids.astype(np.int64)
        gaps[1:] -= ids[:-1]
        gaps[0] -= self._last
        self._last = int(ids[-1])
        is_wide = gaps.view(np.uint64) >= _WIDE  # less than 0, too
        if not is_wide.any():  # a tenth of the time
            self._gaps.frombytes(gaps.astype(np.uint16).tobytes())
            return
        ends = np.cumsum(np.where(is_wide, 3, 1))
        packed = np.empty(ends[-1], np.uint16)
        packed[ends[~is_wide] - 1] = gaps[~is_wide]
        for before, halves in ((3, _WIDE), (2, ids[is_wide] >> 15), (1, ids[is_wide] & _LOW)):
            packed[ends[is_wide] - before] = halves
        self._gaps.frombytes(packed.tobytes())

    def ids(self) -> npt.NDArray[np.int64]:
        """All of them."""
        import numpy as np

        gaps = np.frombuffer(self._gaps, np.uint16).astype(np.int64)
        wide = np.flatnonzero(gaps == _WIDE)
        ids = (gaps[wide + 1] << 15) | gaps[wide + 2]
        for offset in range(3):
            gaps[wide + offset] = 0
        sums = np.cumsum(gaps)
        bases = np.append(0, ids - sums[wide])
        sums += np.repeat(bases, np.diff(wide, prepend=0, append=len(sums)))
        return np.delete(sums, np.append(wide, wide + 1))


class Queue:
    """The waiting URLs of one host and pattern; `bonus` is added to each priority.

    `away` are the ids of those whose addresses only the store has; `floor` is set while
    there are any: none of them is better than it.
    """

    __slots__ = ("away", "bonus", "floor", "heap", "host", "id", "pattern")

    def __init__(self, queue_id: int, host: Host, pattern: str) -> None:
        self.id = queue_id
        self.host = host
        self.pattern = pattern
        self.heap: list[Key] = []
        self.away = IdGaps()
        self.bonus = 0.0
        self.floor: Key | None = None


class Host:
    """A host's queues and clock. Times are instants on the crawl's clock.

    active       requests under way
    held         one of them was not sent yet: the next is paced from that moment
    address      the machine it was last found at, "" as long as that is not known
    located      its name was looked up since it last could not be reached
    throttle     how slow its answers are, and the rest that follows from that
    free         may be asked now (kept by the frontier)
    next_at      politeness: no request before it
    rest_until   failures: put aside until then
    wheel_at     when the wheel brings it back, None = it is not on the wheel
    robots       scheme -> rules, as the crawl keeps them
    """

    __slots__ = (
        "active",
        "address",
        "delay_s",
        "failures",
        "free",
        "given_up",
        "held",
        "id",
        "located",
        "name",
        "next_at",
        "order",
        "queues",
        "rest_until",
        "robots",
        "throttle",
        "wheel_at",
    )

    def __init__(self, host_id: int, name: str, delay_s: float) -> None:
        self.id = host_id
        self.name = name
        self.delay_s = delay_s
        self.active = 0
        self.address = ""
        self.located = False
        self.throttle = Throttle()
        self.held = False
        self.free = True
        self.next_at = 0.0
        self.rest_until = 0.0
        self.wheel_at: float | None = None
        self.failures = 0
        self.given_up = False
        self.queues: dict[str, Queue] = {}
        self.order = Ranking()
        self.robots: dict[str, Any] = {}

    @property
    def rest_s(self) -> float:
        """Seconds from one request to the next."""
        return max(self.delay_s, self.throttle.rest_s)

    def comes_up(self, now: float, within_s: float) -> bool:
        """Whether it may be asked again within so many seconds, as far as is known: it does not
        rest for longer, nor has its last request been under way for as long. A host that is set
        aside without end waits for an answer, too.
        """
        if self.active:
            return now <= self.next_at - self.rest_s + within_s
        rests_until = self.next_at if self.rest_until == math.inf else self.rest_until
        return max(self.next_at, rests_until) <= now + within_s


class Candidate(NamedTuple):
    """A URL that left the frontier; `start_at` ≥ now is when its host is due."""

    id: int
    url: str
    host: Host
    priority: float
    start_at: float
