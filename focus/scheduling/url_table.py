"""URL table: every known URL of a crawl, with its state, in compact columns.

A row is addressed by the URL's id; ids are dense and in order of discovery. A URL takes about
15 bytes in the fingerprint table and 20 in the columns; a Python object would take several hundred.
Link evidence takes 4 bytes for each float, once for all URLs that share it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from focus.records import UrlState

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Column: TypeAlias = "npt.NDArray[Any]"

_WAITING = int(UrlState.WAITING)  # an attribute of the enum takes eight times as long
_SHARDS = 256
_FIRST_SLOTS = 16
_MAX_LOAD = 0.66
_HEAD = Struct("=Q")
_MAX_RECENT_ROWS = 4096
_LAST_NARROW = 65_535  # largest number that fits into 2 bytes
_SLACK = 1e-6
"""Link evidence is better if it exceeds the stored float32 by more than this."""


class Fingerprints:
    """Map from 16-byte fingerprints to ids, by the first 8 bytes.

    Ids are assigned from 0. The map uses open addressing over 256 shards that grow separately, so
    that growth never blocks the loop for long (20,000 entries per shard at 5 million URLs). Two of
    n URLs collide with probability n²/2⁶⁵: 7 in ten million at 5 million URLs.
    """

    def __init__(self) -> None:
        self._heads = array("Q")  # by id
        self._slots = [_empty_slots(_FIRST_SLOTS) for _ in range(_SHARDS)]  # id + 1; 0: free
        self._used = [0] * _SHARDS

    def find(self, fingerprint: bytes) -> int:
        """Return the id of a fingerprint, -1 if it is unknown."""
        return self.find_all((fingerprint,))[0]

    def find_all(self, fingerprints: Sequence[bytes]) -> list[int]:
        """Return the id of each fingerprint, -1 if unknown, at half the cost of `find`."""
        ids: list[int] = []
        heads, shards = self._heads, self._slots
        for head in array("Q", b"".join(fingerprints))[::2]:
            slots = shards[head & 255]
            mask = len(slots) - 1
            slot = (head >> 8) & mask
            while (number := slots[slot]) and heads[number - 1] != head:
                slot = (slot + 1) & mask
            ids.append(number - 1)
        return ids

    def add(self, fingerprint: bytes) -> int:
        """Add an unknown fingerprint and return its id."""
        (head,) = _HEAD.unpack_from(fingerprint)
        self._heads.append(head)
        shard = head & 255
        slots = self._slots[shard]
        if self._used[shard] > len(slots) * _MAX_LOAD:
            slots = self._grow(shard, 2 * len(slots))
        self._used[shard] += 1
        mask = len(slots) - 1
        slot = (head >> 8) & mask
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = len(self._heads)
        return len(self._heads) - 1

    def extend(self, heads: Column) -> None:
        """Add unknown fingerprints (8 bytes each). `build_index` must follow."""
        self._heads.frombytes(heads.tobytes())

    def build_index(self) -> None:
        """Build the index of all fingerprints."""
        import numpy as np

        heads = np.frombuffer(self._heads, np.uint64)
        shards = (heads & np.uint64(255)).astype(np.uint8)
        ends = np.cumsum(np.bincount(shards, minlength=_SHARDS))
        ids = np.argsort(shards, kind="stable").astype(np.uint32)
        for shard, members in enumerate(np.split(ids, ends[:-1])):
            self._used[shard] = len(members)
            if len(members):
                self._slots[shard] = _fill_slots(heads[members], members + np.uint32(1))
            else:  # most shards of a small table are empty
                self._slots[shard] = _empty_slots(_FIRST_SLOTS)

    def _grow(self, shard: int, size: int) -> array[int]:
        heads, slots, mask = self._heads, _empty_slots(size), size - 1
        for number in self._slots[shard]:
            if number:
                slot = (heads[number - 1] >> 8) & mask
                while slots[slot]:
                    slot = (slot + 1) & mask
                slots[slot] = number
        self._slots[shard] = slots
        return slots


def _last_positions(ids: Column) -> Column:
    """Return the index of the last occurrence of each id."""
    import numpy as np

    return len(ids) - 1 - np.unique(ids[::-1], return_index=True)[1]


def _empty_slots(size: int) -> array[int]:
    return array("I", bytes(4 * size))


def _fill_slots(heads: npt.NDArray[np.uint64], numbers: npt.NDArray[np.uint32]) -> array[int]:
    """Return the slots of a shard, filled by linear probing of all numbers at once."""
    import numpy as np

    slots = _empty_slots(max(_FIRST_SLOTS, 1 << int(len(numbers) / _MAX_LOAD).bit_length()))
    mask, occupied = len(slots) - 1, np.frombuffer(slots, np.uint32)
    at = (heads >> np.uint64(8)).astype(np.intp) & mask
    while len(numbers):
        free = occupied[at] == 0
        occupied[at[free]] = numbers[free]
        remaining = occupied[at] != numbers
        at, numbers = (at[remaining] + 1) & mask, numbers[remaining]
    return slots


class RunLengths:
    """A number per id, run-length encoded."""

    def __init__(self) -> None:
        self._firsts = array("I")
        self._values = array("H")
        self._changed: dict[int, int] = {}

    def __getitem__(self, url_id: int) -> int:
        if url_id in self._changed:
            return self._changed[url_id]
        return self._values[bisect_right(self._firsts, url_id) - 1]

    def set(self, url_id: int, value: int) -> None:
        """Change the number of an id."""
        self._changed[url_id] = value

    def is_zero(self) -> bool:
        """Return whether the number of every id is 0."""
        return not any(self._values)

    def append(self, url_id: int, value: int) -> None:
        """Set the number of the next id."""
        if not self._values or self._values[-1] != value:
            self._firsts.append(url_id)
            self._values.append(value)

    def extend(self, first: int, values: Column) -> None:
        """Set the numbers of the ids from `first` on."""
        import numpy as np

        starts = np.append(0, 1 + np.flatnonzero(values[1:] != values[:-1]))
        self._firsts.frombytes((first + starts).astype(np.uint32).tobytes())
        self._values.frombytes(values[starts].tobytes())


class SparseNumbers(dict[int, int]):
    """A number per id, 0 for most ids."""

    def __missing__(self, url_id: int) -> int:
        return 0


class EvidenceRows:
    """Link evidence per id: `width` float32 numbers, stored once for ids that share them.

    Most links of a page give their targets the same evidence. A row that no id uses any longer
    stays until the next start; each URL leaves hardly any, because most have one in-link.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._format = Struct(f"{width}f")
        self._rows = array("f", bytes(4 * width))  # the first is that of new ids
        self._numbers = array("I")  # of the row of each id
        self._recent: dict[bytes, int] = {}  # numbers of the rows added last

    def append(self) -> None:
        """Add the next id, with zeros."""
        self._numbers.append(0)

    def __getitem__(self, url_id: int) -> tuple[float, ...]:
        return self._format.unpack_from(self._rows, self._numbers[url_id] * self._format.size)

    def __setitem__(self, url_id: int, values: Sequence[float]) -> None:
        row = array("f", values)
        row.extend(self[url_id][len(row) :])
        key = row.tobytes()
        number = self._recent.get(key)
        if number is None:
            if len(self._recent) == _MAX_RECENT_ROWS:
                self._recent.clear()
            number = self._recent[key] = self._add_rows(row)
        self._numbers[url_id] = number

    def _add_rows(self, rows: array[float]) -> int:
        """Add rows and return the number of the first."""
        first = len(self._rows) // self.width if self.width else 0
        self._rows.extend(rows)
        return first

    def column(self, index: int) -> Column:
        """Return one number of each id."""
        import numpy as np

        rows = np.frombuffer(self._rows, np.float32).reshape(-1, self.width)
        return rows[:, index][np.frombuffer(self._numbers, np.uint32)]

    def extend(self, rows: Column) -> None:
        """Add the next ids with their rows."""
        self._numbers.frombytes(self._add_runs(rows).tobytes())

    def replace(self, ids: Column, values: Column) -> None:
        """Replace the first numbers of different ids, as many as `values` has columns."""
        import numpy as np

        numbers = np.frombuffer(self._numbers, np.uint32)
        rows = np.frombuffer(self._rows, np.float32).reshape(-1, self.width)[numbers[ids]]
        width = min(self.width, values.shape[1])
        rows[:, :width] = values[:, :width]
        numbers[ids] = self._add_runs(rows)

    def _add_runs(self, rows: Column) -> Column:
        """Add rows, those in succession that are equal once, and return the number of each."""
        import numpy as np

        rows = np.ascontiguousarray(rows, np.float32)
        is_new = np.ones(len(rows), bool)
        is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        first = self._add_rows(array("f", rows[is_new].tobytes()))
        return (first - 1 + np.cumsum(is_new)).astype(np.uint32)


class UrlColumns(NamedTuple):
    """Columns of consecutive URLs in order of id, as loaded from the database.

    heads          first 8 bytes of each key, as one number
    link_evidence  float32, one row per URL
    retries        (id, failed tries, earliest time) of URLs that wait for a retry
    """

    first: int
    heads: Column
    states: Column
    depths: Column
    queues: Column
    hops: Column
    parents: Column
    priorities: Column
    link_evidence: Column
    retries: list[tuple[int, int, float | None]]


class UrlTable:
    """Every URL of the crawl: state, priority, link evidence, depth, queue, parent.

    `width` is the number of floats of link evidence that the strategy stores per URL. `hops` counts
    the redirects that led to a URL.
    """

    def __init__(self, width: int = 0) -> None:
        self.width = width
        self.state = array("B")
        self.priority = array("d")
        self.depth = RunLengths()
        self.queue = array("H")  # "I" from the 65,537th queue on
        self.hops = SparseNumbers()
        self.parent = array("i")
        self._evidence = EvidenceRows(width)
        self._fingerprints = Fingerprints()
        self.counts = [0] * len(UrlState)

    def __len__(self) -> int:
        return len(self.state)

    def find(self, key: bytes) -> int:
        """Return the id of a fingerprint, -1 if it is unknown."""
        return self._fingerprints.find(key)

    def find_all(self, keys: Sequence[bytes]) -> list[int]:
        """Return the id of each fingerprint, -1 if it is unknown."""
        return self._fingerprints.find_all(keys)

    def add(self, key: bytes, queue: int, depth: int, state: UrlState = UrlState.WAITING) -> int:
        """Add an unknown URL and return its id. Priority and link evidence are zero."""
        url_id = self._fingerprints.add(key)
        self.state.append(state)
        self.priority.append(0.0)
        self.depth.append(url_id, min(depth, 65535))
        try:
            self.queue.append(queue)
        except OverflowError:
            import numpy as np

            self._append_queues(np.array([queue]))
        self.parent.append(-1)
        self._evidence.append()
        self.counts[state] += 1
        return url_id

    def restore(self, urls: UrlColumns) -> None:
        """Add URLs of an earlier run, in order of id.

        They are found by their keys after `build_index`, which must follow the last call.
        """
        import numpy as np

        evidence = np.zeros((len(urls.states), self.width), np.float32)
        width = min(self.width, urls.link_evidence.shape[1])
        evidence[:, :width] = urls.link_evidence[:, :width]
        self.depth.extend(len(self), urls.depths)
        redirected = np.flatnonzero(urls.hops)
        ids = (len(self) + redirected).tolist()
        self.hops.update(zip(ids, urls.hops[redirected].tolist(), strict=True))
        self._fingerprints.extend(urls.heads)
        self._evidence.extend(evidence)
        self.state.frombytes(urls.states.tobytes())
        self.priority.frombytes(urls.priorities.tobytes())
        self._append_queues(urls.queues)
        self.parent.frombytes(urls.parents.tobytes())
        for state, count in enumerate(np.bincount(urls.states, minlength=len(UrlState)).tolist()):
            self.counts[state] += count

    def _append_queues(self, queues: Column) -> None:
        """Append queue ids; from the first one over 65,535 on each takes 4 bytes."""
        import numpy as np

        if self.queue.typecode == "H" and queues.max() > _LAST_NARROW:
            self.queue = array("I", np.asarray(self.queue).astype(np.uint32).tobytes())
        self.queue.frombytes(queues.astype(self.queue.typecode).tobytes())

    def apply_link_evidence(
        self, ids: Column, parents: Column, priorities: Column, values: Column
    ) -> None:
        """Replace priority and link evidence of restored URLs, in the given order.

        `values` has one row per id. A parent below 0 leaves the parent unchanged.
        """
        import numpy as np

        last = _last_positions(ids)
        np.frombuffer(self.priority)[ids[last]] = priorities[last]
        if self.width:
            self._evidence.replace(ids[last], values[last])
        has_parent = np.flatnonzero(parents >= 0)
        has_parent = has_parent[_last_positions(ids[has_parent])]
        np.frombuffer(self.parent, np.int32)[ids[has_parent]] = parents[has_parent]

    def build_index(self) -> None:
        """Build the index after the last call of `restore`."""
        self._fingerprints.build_index()

    def link_evidence(self, url_id: int) -> tuple[float, ...]:
        """Return the link evidence of a URL."""
        return self._evidence[url_id]

    def evidence_column(self, index: int) -> Column:
        """Return one number of the link evidence of every URL."""
        return self._evidence.column(index)

    def improves(self, url_id: int, link_evidence: Sequence[float]) -> bool:
        """Return whether any of these values is better than the stored one."""
        for value, stored in zip(link_evidence, self._evidence[url_id], strict=False):
            if value > stored + _SLACK:
                return True
        return False

    def set_link_evidence(self, url_id: int, link_evidence: Sequence[float]) -> None:
        """Replace the link evidence of a URL."""
        self._evidence[url_id] = link_evidence

    def set_state(self, url_id: int, state: UrlState) -> None:
        """Set the state of a URL."""
        self.counts[self.state[url_id]] -= 1
        self.counts[state] += 1
        self.state[url_id] = state

    def is_waiting(self, url_id: int) -> bool:
        """Return whether a URL is waiting."""
        return self.state[url_id] == _WAITING

    def waiting_ids(self) -> Iterable[int]:
        """Yield all waiting ids in order of discovery. Slow: it passes over every URL."""
        return (i for i, state in enumerate(self.state) if state == _WAITING)
