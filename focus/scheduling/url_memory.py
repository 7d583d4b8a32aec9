"""Bounds how many addresses of waiting URLs memory holds; those of the rest are in the store.

    spill    let the worst of the longest queues go, once they are in the store
    recall   ids whose addresses are needed: of URLs that came first, and of queues run dry
    reopen   after a restart all that waits is in the store

Each queue has in its heap its URLs in memory, and those that better evidence was found for since
they were let go. The ids of all that were let go are in `away`; of what is not in the heap none is
better than `floor`, so that a queue is `hungry` when its best URL may be one of them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from focus.records import UrlState
from focus.scheduling.queues import IdGaps, Key, Queue
from focus.scheduling.url_table import UrlTable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_WAITING = int(UrlState.WAITING)  # asked of its class, it takes eight times as long
RUN = 10_000  # entries sorted at once: about 5 ms in which no other thread can run
AT_ONCE = 500_000  # URLs sorted by queue at once, to need little memory


class UrlMemory:
    """The addresses of waiting URLs that memory holds.

    urls      id -> URL
    deferred  ids that wait for an instant of their own, and stand in no queue
    hungry    queues whose next URL has to come from the store
    missed    ids that came first in their queue, and whose addresses have to
    capacity  addresses that there is room for
    """

    KEEP = 8  # URLs that a trimmed queue keeps at least

    def __init__(self, url_table: UrlTable, queues: list[Queue], capacity: int) -> None:
        self.urls: dict[int, str] = {}
        self.deferred: set[int] = set()
        self.hungry: set[int] = set()
        self.missed: set[int] = set()
        self._aside = 0.0  # what waits in the store under this id is laid aside
        self._url_table = url_table
        self._queues = queues
        self._capacity = capacity

    @property
    def is_full(self) -> bool:
        """Whether more addresses are held than there is room for."""
        return len(self.urls) > self._capacity

    @property
    def is_short(self) -> bool:
        """Whether addresses have to come from the store."""
        return bool(self.hungry or self.missed)

    def is_true(self, entry: Key) -> bool:
        """Whether a heap entry still says the truth about its URL."""
        url_id, url_table = entry[1], self._url_table
        return (
            url_table.state[url_id] == _WAITING
            and url_table.priority[url_id] == -entry[0]
            and url_id not in self.deferred
        )

    def is_live(self, entry: Key) -> bool:
        """Whether it does, and its URL can be taken; where its address is missed, it is noted."""
        if not self.is_true(entry):
            return False
        if entry[1] not in self.urls:
            self.missed.add(entry[1])
            return False
        return True

    def brings(self, entry: Key, queue: Queue) -> bool:
        """Whether a URL in the store, of which this is now true, is to be brought when it comes
        first; if not, it stays with the rest, or is laid aside.
        """
        return entry[1] >= self._aside and (queue.floor is None or entry < queue.floor)

    def live(self, queue: Queue) -> Iterable[Key]:
        """The true entries of a queue, each once, in no order."""
        return dict.fromkeys(entry for entry in queue.heap if self.is_true(entry))

    def forget(self, ids: Iterable[int]) -> None:
        """URLs that wait no longer."""
        for url_id in ids:
            self.urls.pop(url_id, None)
            self.deferred.discard(url_id)

    # `spill` and `recall` walk over many URLs. They may run in a thread, with no lock, as
    # long as nothing else is asked of the frontier meanwhile but `sent`.

    def spill(self) -> list[Queue]:
        """Let go of the worst URLs, which must all be in the store: what an `is_full` one does.

        Returns the queues that have another head now; `Frontier.relist` must follow.
        """
        keep, changed = self._share(), []
        for queue in self._queues:
            if len(queue.heap) > keep:
                head, live = queue.heap[0], _in_order(self.live(queue))
                queue.heap, rest = live[:keep], live[keep:]
                for url_id in sorted(url_id for _, url_id in rest):
                    if self.urls.pop(url_id, None) is not None:
                        queue.away.append(url_id)
                if rest:
                    queue.floor = min(rest[0], queue.floor or rest[0])
                if live[:1] != [head]:
                    changed.append(queue)
        return changed

    @property
    def to_look_through(self) -> int:
        """How many ids a `recall` has to look at."""
        return sum(len(self._queues[queue_id].away) for queue_id in self.hungry)

    def recall(self) -> list[int]:
        """Ids that wait in the store and are needed here; `Frontier.refill` must follow."""
        states, urls = self._url_table.state, self.urls
        missed = {each for each in self.missed if states[each] == _WAITING and each not in urls}
        found = missed.union(*(self._best_away(self._queues[each]) for each in self.hungry))
        self.hungry.clear()
        self.missed.clear()
        return sorted(found)

    def _best_away(self, queue: Queue) -> list[int]:
        """The best ids of a hungry queue: half as many as it may keep here.

        One pass over all that it has in the store.
        """
        import numpy as np

        limit = (self._share() + 1) // 2
        away = np.unique(queue.away.ids())  # let go twice, it is there twice
        away = away[np.frombuffer(self._url_table.state, np.uint8)[away] == _WAITING]
        worths = np.frombuffer(self._url_table.priority)[away]
        found = _largest(worths, limit + 1 + len(self.deferred))
        keys = zip((-worths[found]).tolist(), away[found].tolist(), found.tolist(), strict=True)
        best = sorted(key for key in keys if key[1] not in self.deferred)
        queue.floor = best[limit][:2] if len(best) > limit else None
        del best[limit:]
        queue.away = _packed(np.delete(away, [place for *_, place in best]))
        return [url_id for _, url_id, _ in best]

    def bring(self, url_id: int, url: str) -> Queue:
        """Let a URL that `recall` has named stand in its queue again."""
        queue = self._queues[self._url_table.queue[url_id]]
        self.urls[url_id] = url
        heapq.heappush(queue.heap, (-self._url_table.priority[url_id], url_id))
        return queue

    def take_up(self) -> bool:
        """When nothing else waits: let what was laid aside be recalled; whether there is any."""
        for queue in self._queues:
            queue.away = IdGaps()
        self._aside = 0.0
        self.reopen()
        return any(queue.away for queue in self._queues)

    def reopen(self) -> None:
        """After a restart: all that waits is in the store."""
        import numpy as np

        states = np.frombuffer(self._url_table.state, np.uint8)
        owners = np.asarray(self._url_table.queue)
        for start in range(0, len(states), AT_ONCE):
            ids = start + np.flatnonzero(states[start : start + AT_ONCE] == _WAITING)
            ids = ids[np.argsort(owners[ids], kind="stable")]
            names, firsts = np.unique(owners[ids], return_index=True)
            for queue_id, part in zip(names.tolist(), np.split(ids, firsts)[1:], strict=True):
                self._queues[queue_id].away.extend(part)
        self._look_away()

    def lay_aside(self, before: float) -> None:
        """After `reopen`: let nothing that waits now be taken, of URLs under that id."""
        self._aside = before
        for queue in self._queues:
            ids = queue.away.ids()
            queue.away = _packed(ids[ids >= before])
            self.hungry.discard(queue.id)
        self.deferred.intersection_update([each for each in self.deferred if each >= before])
        self._look_away()

    def _look_away(self) -> None:
        for queue in self._queues:
            queue.floor = (-math.inf, -1) if queue.away else None

    def _share(self) -> int:
        """How many URLs a queue may keep in memory when there is not room for all."""
        return max(self.KEEP, self._capacity // (2 * max(1, len(self._queues))))


def _packed(ids: npt.NDArray[np.int64]) -> IdGaps:
    gaps = IdGaps()
    gaps.extend(ids)
    return gaps


def _largest(values: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.intp]:
    """Where the `most` largest are, and all that equal the least of them."""
    import numpy as np

    if len(values) <= most:
        return np.arange(len(values))
    return np.flatnonzero(values >= np.partition(values, -most)[-most])


def _in_order(entries: Iterable[Key]) -> list[Key]:
    """Sorted, in steps that are short enough for other threads to come in between."""
    left = list(entries)
    return list(heapq.merge(*(sorted(left[n : n + RUN]) for n in range(0, len(left), RUN))))
