"""Limits the number of waiting URLs held in memory; the others are evicted to the database.

    evict             move the lowest-priority URLs of the longest queues to the database
    ids_to_load       ids whose addresses are needed in memory again
    mark_all_evicted  after a restart: all waiting URLs are in the database

The heap of a queue contains its URLs in memory, and evicted URLs whose priority has risen since.
`Queue.evicted_ids` lists all evicted URLs; none of those outside the heap comes before
`Queue.best_evicted`. A queue is exhausted when its best URL may be an evicted one.
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

_WAITING = int(UrlState.WAITING)  # an attribute of the enum takes eight times as long
SORT_CHUNK = 10_000  # entries sorted at once: about 5 ms in which no other thread can run
GROUP_CHUNK = 500_000  # URLs sorted by queue at once, to need little memory


class UrlCache:
    """Addresses of the waiting URLs that are held in memory.

    urls              id -> URL
    deferred          ids of URLs that wait for a retry; they stand in no queue
    exhausted_queues  queues whose next URL must be loaded from the database
    missing_ids       ids that came first in their queue but whose address is not in memory
    capacity          maximum number of addresses in memory
    """

    MIN_PER_QUEUE = 8  # URLs that a trimmed queue keeps at least

    def __init__(self, url_table: UrlTable, queues: list[Queue], capacity: int) -> None:
        self.urls: dict[int, str] = {}
        self.deferred: set[int] = set()
        self.exhausted_queues: set[int] = set()
        self.missing_ids: set[int] = set()
        self._first_included = 0.0  # what waits in the store under this id is laid aside
        self._url_table = url_table
        self._queues = queues
        self._capacity = capacity

    @property
    def is_over_capacity(self) -> bool:
        """Whether more addresses are in memory than `capacity`."""
        return len(self.urls) > self._capacity

    @property
    def needs_loading(self) -> bool:
        """Whether addresses must be loaded from the database."""
        return bool(self.exhausted_queues or self.missing_ids)

    def is_current(self, entry: Key) -> bool:
        """Return whether a heap entry still has its URL's current priority."""
        url_id, url_table = entry[1], self._url_table
        return (
            url_table.state[url_id] == _WAITING
            and url_table.priority[url_id] == -entry[0]
            and url_id not in self.deferred
        )

    def is_available(self, entry: Key) -> bool:
        """Return whether an entry is current and its address is in memory.

        The id of a current entry without address is added to `missing_ids`.
        """
        if not self.is_current(entry):
            return False
        if entry[1] not in self.urls:
            self.missing_ids.add(entry[1])
            return False
        return True

    def should_load(self, entry: Key, queue: Queue) -> bool:
        """Return whether an evicted URL with this new entry belongs into its queue's heap.

        It does when it now comes before the best of the other evicted URLs and is not excluded.
        """
        return entry[1] >= self._first_included and (
            queue.best_evicted is None or entry < queue.best_evicted
        )

    def current_entries(self, queue: Queue) -> Iterable[Key]:
        """Return the current entries of a queue without duplicates, in no particular order."""
        return dict.fromkeys(entry for entry in queue.heap if self.is_current(entry))

    def remove(self, ids: Iterable[int]) -> None:
        """Remove URLs that do not wait any longer."""
        for url_id in ids:
            self.urls.pop(url_id, None)
            self.deferred.discard(url_id)

    # `evict` and `ids_to_load` pass over many URLs. They may run in a thread without a lock, as
    # long as only `Frontier.record_send` is called meanwhile.

    def evict(self) -> list[Queue]:
        """Evict the lowest-priority URLs of the longest queues. They must be in the database.

        Returns the queues whose first URL changed. The caller must pass them to
        `Frontier.update_queues`.
        """
        keep, changed = self._queue_share(), []
        for queue in self._queues:
            if len(queue.heap) > keep:
                head, live = queue.heap[0], _sorted_in_chunks(self.current_entries(queue))
                queue.heap, rest = live[:keep], live[keep:]
                for url_id in sorted(url_id for _, url_id in rest):
                    if self.urls.pop(url_id, None) is not None:
                        queue.evicted_ids.append(url_id)
                if rest:
                    queue.best_evicted = min(rest[0], queue.best_evicted or rest[0])
                if live[:1] != [head]:
                    changed.append(queue)
        return changed

    @property
    def evicted_count(self) -> int:
        """Number of ids that `ids_to_load` has to examine."""
        return sum(len(self._queues[queue_id].evicted_ids) for queue_id in self.exhausted_queues)

    def ids_to_load(self) -> list[int]:
        """Return ids whose addresses are needed; the caller must pass these to `add_loaded`."""
        states, urls = self._url_table.state, self.urls
        missing = {
            queue_id
            for queue_id in self.missing_ids
            if states[queue_id] == _WAITING and queue_id not in urls
        }
        ids = missing.union(
            *(self._take_best_evicted(self._queues[queue_id]) for queue_id in self.exhausted_queues)
        )
        self.exhausted_queues.clear()
        self.missing_ids.clear()
        return sorted(ids)

    def _take_best_evicted(self, queue: Queue) -> list[int]:
        """Remove and return the best evicted ids of a queue: half as many as it may keep in memory.

        One pass over all evicted ids of the queue.
        """
        import numpy as np

        limit = (self._queue_share() + 1) // 2
        evicted = np.unique(queue.evicted_ids.ids())  # an id that was evicted twice is listed twice
        evicted = evicted[np.frombuffer(self._url_table.state, np.uint8)[evicted] == _WAITING]
        priorities = np.frombuffer(self._url_table.priority)[evicted]
        places = _indices_of_largest(priorities, limit + 1 + len(self.deferred))
        keys = zip(
            (-priorities[places]).tolist(), evicted[places].tolist(), places.tolist(), strict=True
        )
        best = sorted(key for key in keys if key[1] not in self.deferred)
        queue.best_evicted = best[limit][:2] if len(best) > limit else None
        del best[limit:]
        queue.evicted_ids = _pack(np.delete(evicted, [place for *_, place in best]))
        return [url_id for _, url_id, _ in best]

    def restore(self, url_id: int, url: str) -> Queue:
        """Put a URL that was loaded from the database back into its queue, which is returned."""
        queue = self._queues[self._url_table.queue[url_id]]
        self.urls[url_id] = url
        heapq.heappush(queue.heap, (-self._url_table.priority[url_id], url_id))
        return queue

    def include_excluded(self) -> bool:
        """Make excluded URLs available again. Return whether there are any."""
        for queue in self._queues:
            queue.evicted_ids = IdGaps()
        self._first_included = 0.0
        self.mark_all_evicted()
        return any(queue.evicted_ids for queue in self._queues)

    def mark_all_evicted(self) -> None:
        """Mark all waiting URLs as evicted, as they are after a restart."""
        import numpy as np

        states = np.frombuffer(self._url_table.state, np.uint8)
        owners = np.asarray(self._url_table.queue)
        for start in range(0, len(states), GROUP_CHUNK):
            ids = start + np.flatnonzero(states[start : start + GROUP_CHUNK] == _WAITING)
            ids = ids[np.argsort(owners[ids], kind="stable")]
            names, firsts = np.unique(owners[ids], return_index=True)
            for queue_id, part in zip(names.tolist(), np.split(ids, firsts)[1:], strict=True):
                self._queues[queue_id].evicted_ids.extend(part)
        self._reset_best_evicted()

    def exclude_ids_below(self, first_id: float) -> None:
        """Exclude the waiting URLs with an id below `first_id`, after `mark_all_evicted`."""
        self._first_included = first_id
        for queue in self._queues:
            ids = queue.evicted_ids.ids()
            queue.evicted_ids = _pack(ids[ids >= first_id])
            self.exhausted_queues.discard(queue.id)
        self.deferred.intersection_update(
            [url_id for url_id in self.deferred if url_id >= first_id]
        )
        self._reset_best_evicted()

    def _reset_best_evicted(self) -> None:
        for queue in self._queues:
            queue.best_evicted = (-math.inf, -1) if queue.evicted_ids else None

    def _queue_share(self) -> int:
        """Return how many URLs a queue may keep in memory when there is not room for all."""
        return max(self.MIN_PER_QUEUE, self._capacity // (2 * max(1, len(self._queues))))


def _pack(ids: npt.NDArray[np.int64]) -> IdGaps:
    gaps = IdGaps()
    gaps.extend(ids)
    return gaps


def _indices_of_largest(values: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.intp]:
    """Return the indices of the `count` largest values, ties with the smallest included."""
    import numpy as np

    if len(values) <= count:
        return np.arange(len(values))
    return np.flatnonzero(values >= np.partition(values, -count)[-count])


def _sorted_in_chunks(entries: Iterable[Key]) -> list[Key]:
    """Sort entries in chunks that are small enough to let other threads run in between."""
    unsorted = list(entries)
    return list(
        heapq.merge(
            *(sorted(unsorted[n : n + SORT_CHUNK]) for n in range(0, len(unsorted), SORT_CHUNK))
        )
    )
