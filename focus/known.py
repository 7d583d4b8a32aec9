"""Which URLs does this crawl know, and where does each stand?

One row per URL, addressed by its id (dense, in order of discovery), in compact
columns: about 16 bytes a URL for the fingerprint table and 30 for the columns,
where a Python dict of objects would need several hundred.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any

from focus.records import UrlState

_SHARDS = 256
_FIRST_SLOTS = 16
_MAX_LOAD = 0.66
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
        self.extend((fingerprint,))
        return len(self._heads) - 1

    def extend(self, fingerprints: Sequence[bytes]) -> None:
        """`add` for many."""
        fresh = array("Q", b"".join(fingerprints))[::2]
        before, used, shards = len(self._heads), self._used, self._slots
        self._heads.extend(fresh)
        for number, head in enumerate(fresh, before + 1):
            shard = head & 255
            slots = shards[shard]
            if used[shard] > len(slots) * _MAX_LOAD:
                self._grow(shard, 2 * len(slots))
                slots = shards[shard]
            used[shard] += 1
            mask = len(slots) - 1
            slot = (head >> 8) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = number

    def reserve(self, size: int) -> None:
        """Make room for so many at once."""
        slots = 1 << int(size / _SHARDS / _MAX_LOAD).bit_length()
        for shard in range(_SHARDS):
            if slots > len(self._slots[shard]):
                self._grow(shard, slots)

    def _grow(self, shard: int, size: int) -> None:
        heads, slots, mask = self._heads, _empty(size), size - 1
        for number in self._slots[shard]:
            if number:
                slot = (heads[number - 1] >> 8) & mask
                while slots[slot]:
                    slot = (slot + 1) & mask
                slots[slot] = number
        self._slots[shard] = slots


def _empty(size: int) -> array[int]:
    return array("I", bytes(4 * size))


class Known:
    """Every URL of the crawl: state, priority, evidence, depth, queue.

    `width` is how many floats of evidence (`carry`) the strategy keeps per URL.
    """

    def __init__(self, width: int = 0) -> None:
        self.width = width
        self.state = array("B")
        self.priority = array("d")
        self.depth = array("H")
        self.queue = array("I")
        self.hops = array("B")
        self.parent = array("i")
        self._carry = array("f")
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
        """Enter a URL that is not known yet; its id. Priority and carry are zero."""
        url_id = self._fingerprints.add(key)
        self.state.append(state)
        self.priority.append(0.0)
        self.depth.append(min(depth, 65535))
        self.queue.append(queue)
        self.hops.append(0)
        self.parent.append(-1)
        self._carry.extend([0.0] * self.width)
        self.counts[state] += 1
        return url_id

    def reserve(self, size: int) -> None:
        """Say how many URLs `restore` will bring."""
        self._fingerprints.reserve(size)

    def restore(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Enter URLs as an earlier run knew them: `store.UrlColumns` in order of id."""
        columns = tuple(zip(*rows, strict=True))
        keys, states, priorities, carries, depths, queues, hops = columns[1:8]
        self._fingerprints.extend(keys)
        self.state.extend(states)
        self.priority.extend(priorities)
        self.depth.extend(depths if max(depths) < 65536 else [min(d, 65535) for d in depths])
        self.queue.extend(queues)
        self.hops.extend(hops)
        self.parent.extend([-1 if parent is None else parent for parent in columns[10]])
        size = self._carried.size
        self._carry.frombytes(
            b"".join([(carry or b"")[:size].ljust(size, b"\0") for carry in carries])
        )
        for state, count in Counter(states).items():
            self.counts[state] += count

    def carry(self, url_id: int) -> tuple[float, ...]:
        """The evidence for a URL, as the strategy left it."""
        return self._carried.unpack_from(self._carry, url_id * self._carried.size)

    def gains(self, url_id: int, carry: Sequence[float]) -> bool:
        """Whether any of this evidence is better than what is kept."""
        kept, at = self._carry, url_id * self.width
        for value in carry:
            if value > kept[at] + _SLACK:
                return True
            at += 1
        return False

    def set_carry(self, url_id: int, carry: Sequence[float]) -> None:
        """Replace the evidence for a URL."""
        start = url_id * self.width
        for offset, value in enumerate(carry):
            self._carry[start + offset] = value

    def move(self, url_id: int, state: UrlState) -> None:
        """Change the state of a URL."""
        self.counts[self.state[url_id]] -= 1
        self.counts[state] += 1
        self.state[url_id] = state

    def is_waiting(self, url_id: int) -> bool:
        """Whether a URL is still to be fetched."""
        return self.state[url_id] == UrlState.WAITING

    def waiting(self) -> Iterable[int]:
        """All waiting ids in order of discovery (slow: walks every URL)."""
        return (i for i, state in enumerate(self.state) if state == UrlState.WAITING)
