"""The URL table: every URL that a crawl knows, with its state, in compact columns.

One row per URL, addressed by its id (dense, in order of discovery), in compact
columns: about 15 bytes a URL for the fingerprint table, 16 for the columns and 4 for each float
of evidence, where a Python dict of objects would need several hundred.
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

_WAITING = int(UrlState.WAITING)  # asked of its class, it takes eight times as long
_SHARDS = 256
_FIRST_SLOTS = 16
_MAX_LOAD = 0.66
_HEAD = Struct("=Q")
_LAST_NARROW = 65_535  # number that 2 bytes have room for
_SLACK = 1e-6
"""Evidence is better when it exceeds what is kept of it, as float32, by more than this."""


class Fingerprints:
    """A map from 16-byte fingerprint to id, by the first 8 bytes of it.

    Ids are given from 0 up. Open addressing over 256 shards, each grown on its own, so
    that no growth stops the loop for long (20,000 entries a shard at 5 million URLs). Two
    of n URLs collide with odds n²/2⁶⁵: 7 in ten million at 5 million URLs.
    """

    def __init__(self) -> None:
        self._heads = array("Q")  # by id
        self._slots = [_empty(_FIRST_SLOTS) for _ in range(_SHARDS)]  # id + 1; 0: free
        self._used = [0] * _SHARDS

    def find(self, fingerprint: bytes) -> int:
        """The id of a fingerprint, -1 when it is not known."""
        return self.find_all((fingerprint,))[0]

    def find_all(self, fingerprints: Sequence[bytes]) -> list[int]:
        """`find` for many, at half the cost each."""
        found: list[int] = []
        heads, shards = self._heads, self._slots
        for wanted in array("Q", b"".join(fingerprints))[::2]:
            slots = shards[wanted & 255]
            mask = len(slots) - 1
            slot = (wanted >> 8) & mask
            while (number := slots[slot]) and heads[number - 1] != wanted:
                slot = (slot + 1) & mask
            found.append(number - 1)
        return found

    def add(self, fingerprint: bytes) -> int:
        """Enter a fingerprint that is not known yet; its id."""
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
        """Enter many that are not known yet, 8 bytes each; they are found after `index`."""
        self._heads.frombytes(heads.tobytes())

    def index(self) -> None:
        """Give all that were entered their places anew."""
        import numpy as np

        heads = np.frombuffer(self._heads, np.uint64)
        shards = (heads & np.uint64(255)).astype(np.uint8)
        ends = np.cumsum(np.bincount(shards, minlength=_SHARDS))
        ids = np.argsort(shards, kind="stable").astype(np.uint32)
        for shard, members in enumerate(np.split(ids, ends[:-1])):
            self._used[shard] = len(members)
            if len(members):
                self._slots[shard] = _filled(heads[members], members + np.uint32(1))
            else:  # of a small table most are: .01 s saved at every start
                self._slots[shard] = _empty(_FIRST_SLOTS)

    def _grow(self, shard: int, size: int) -> array[int]:
        heads, slots, mask = self._heads, _empty(size), size - 1
        for number in self._slots[shard]:
            if number:
                slot = (heads[number - 1] >> 8) & mask
                while slots[slot]:
                    slot = (slot + 1) & mask
                slots[slot] = number
        self._slots[shard] = slots
        return slots


def _last(ids: Column) -> Column:
    """Where each id stands for the last time."""
    import numpy as np

    return len(ids) - 1 - np.unique(ids[::-1], return_index=True)[1]


def _empty(size: int) -> array[int]:
    return array("I", bytes(4 * size))


def _filled(heads: npt.NDArray[np.uint64], numbers: npt.NDArray[np.uint32]) -> array[int]:
    """A shard's slots: all try theirs at once, who finds it taken tries the next."""
    import numpy as np

    slots = _empty(max(_FIRST_SLOTS, 1 << int(len(numbers) / _MAX_LOAD).bit_length()))
    mask, taken = len(slots) - 1, np.frombuffer(slots, np.uint32)
    at = (heads >> np.uint64(8)).astype(np.intp) & mask
    while len(numbers):
        free = taken[at] == 0
        taken[at[free]] = numbers[free]
        left = taken[at] != numbers
        at, numbers = (at[left] + 1) & mask, numbers[left]
    return slots


class RunLengths:
    """A number for each id, where many that follow each other have the same: an entry a run."""

    def __init__(self) -> None:
        self._firsts = array("I")
        self._values = array("H")

    def __getitem__(self, url_id: int) -> int:
        return self._values[bisect_right(self._firsts, url_id) - 1]

    def append(self, url_id: int, value: int) -> None:
        """The number of the id behind the last."""
        if not self._values or self._values[-1] != value:
            self._firsts.append(url_id)
            self._values.append(value)

    def extend(self, first: int, values: Column) -> None:
        """The numbers of many from that id on."""
        import numpy as np

        starts = np.append(0, 1 + np.flatnonzero(values[1:] != values[:-1]))
        self._firsts.frombytes((first + starts).astype(np.uint32).tobytes())
        self._values.frombytes(values[starts].tobytes())


class Sparse(dict[int, int]):
    """A number for each id, of which few are not 0."""

    def __missing__(self, url_id: int) -> int:
        return 0


class UrlColumns(NamedTuple):
    """URLs in order of id, without gaps: what the frontier keeps of them in memory.

    heads    the first 8 bytes of each key, as one number
    link_evidence  float32, one row each
    retries  (id, failed tries, not before) of those that wait for another try
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
    """Every URL of the crawl: state, priority, evidence, depth, queue.

    `width` is how many floats of evidence (`link_evidence`) the strategy keeps per URL; `depth`
    is the same for a page's new links, and `hops` is 0 but behind redirects.
    """

    def __init__(self, width: int = 0) -> None:
        self.width = width
        self.state = array("B")
        self.priority = array("d")
        self.depth = RunLengths()
        self.queue = array("H")  # "I" from the 65,537th on
        self.hops = Sparse()
        self.parent = array("i")
        self._link_evidence = array("f")
        self._blank = array("f", [0.0]) * width
        self._carried = Struct(f"{width}f")
        self._fingerprints = Fingerprints()
        self.counts = [0] * len(UrlState)

    def __len__(self) -> int:
        return len(self.state)

    def find(self, key: bytes) -> int:
        """The id of a fingerprint, -1 when it is not known."""
        return self._fingerprints.find(key)

    def find_all(self, keys: Sequence[bytes]) -> list[int]:
        """`find` for many keys at once."""
        return self._fingerprints.find_all(keys)

    def add(self, key: bytes, queue: int, depth: int, state: UrlState = UrlState.WAITING) -> int:
        """Enter a URL that is not known yet; its id. Priority and evidence are zero."""
        url_id = self._fingerprints.add(key)
        self.state.append(state)
        self.priority.append(0.0)
        self.depth.append(url_id, min(depth, 65535))
        try:
            self.queue.append(queue)
        except OverflowError:
            import numpy as np

            self._put_in(np.array([queue]))
        self.parent.append(-1)
        self._link_evidence.extend(self._blank)
        self.counts[state] += 1
        return url_id

    def restore(self, urls: UrlColumns) -> None:
        """Enter URLs as an earlier run knew them, in order of id.

        They are found by their keys once all are there (`restored`).
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
        self._link_evidence.frombytes(evidence.tobytes())
        self.state.frombytes(urls.states.tobytes())
        self.priority.frombytes(urls.priorities.tobytes())
        self._put_in(urls.queues)
        self.parent.frombytes(urls.parents.tobytes())
        for state, count in enumerate(np.bincount(urls.states, minlength=len(UrlState)).tolist()):
            self.counts[state] += count

    def _put_in(self, queues: Column) -> None:
        """The queues of the next URLs; as soon as a number is too large, 4 bytes for each."""
        import numpy as np

        if self.queue.typecode == "H" and queues.max() > _LAST_NARROW:
            self.queue = array("I", np.asarray(self.queue).astype(np.uint32).tobytes())
        self.queue.frombytes(queues.astype(self.queue.typecode).tobytes())

    def reweigh(self, ids: Column, parents: Column, priorities: Column, values: Column) -> None:
        """Enter better evidence for URLs that were restored, in the order in which it came.

        One row of `values` for each of `ids`; a parent below 0 leaves the one before.
        """
        import numpy as np

        last = _last(ids)
        np.frombuffer(self.priority)[ids[last]] = priorities[last]
        if width := min(self.width, values.shape[1]):
            table = np.frombuffer(self._link_evidence, np.float32).reshape(-1, self.width)
            table[ids[last], :width] = values[last, :width]
        told = np.flatnonzero(parents >= 0)
        told = told[_last(ids[told])]
        np.frombuffer(self.parent, np.int32)[ids[told]] = parents[told]

    def restored(self) -> None:
        """All URLs of the earlier run are there."""
        self._fingerprints.index()

    def link_evidence(self, url_id: int) -> tuple[float, ...]:
        """The evidence for a URL, as the strategy left it."""
        return self._carried.unpack_from(self._link_evidence, url_id * self._carried.size)

    def gains(self, url_id: int, link_evidence: Sequence[float]) -> bool:
        """Whether any of this evidence is better than what is kept."""
        kept, at = self._link_evidence, url_id * self.width
        for value in link_evidence:
            if value > kept[at] + _SLACK:
                return True
            at += 1
        return False

    def set_link_evidence(self, url_id: int, link_evidence: Sequence[float]) -> None:
        """Replace the evidence for a URL."""
        start = url_id * self.width
        for offset, value in enumerate(link_evidence):
            self._link_evidence[start + offset] = value

    def move(self, url_id: int, state: UrlState) -> None:
        """Change the state of a URL."""
        self.counts[self.state[url_id]] -= 1
        self.counts[state] += 1
        self.state[url_id] = state

    def is_waiting(self, url_id: int) -> bool:
        """Whether a URL is still to be fetched."""
        return self.state[url_id] == _WAITING

    def waiting(self) -> Iterable[int]:
        """All waiting ids in order of discovery (slow: walks every URL)."""
        return (i for i, state in enumerate(self.state) if state == _WAITING)
