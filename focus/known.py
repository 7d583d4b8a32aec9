"""Which URLs does this crawl know, and where does each stand?

One row per URL, addressed by its id (dense, in order of discovery), in compact
columns: about 25 bytes a URL for the fingerprint table and 30 for the columns,
where a Python dict of objects would need several hundred.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from focus.records import UrlState

_SHARDS = 256
_FIRST_SLOTS = 16
_MAX_LOAD = 0.66


class Fingerprints:
    """A map from 16-byte fingerprint to id, by the first 8 bytes of it.

    Open addressing over 256 shards, each grown on its own, so that no growth
    stops the loop for long (20,000 entries a shard at 5 million URLs). Two of
    n URLs collide with odds n²/2⁶⁵: 7 in ten million at 5 million URLs.
    """

    def __init__(self) -> None:
        self._keys = [array("Q", bytes(8 * _FIRST_SLOTS)) for _ in range(_SHARDS)]
        self._ids = [array("I", bytes(4 * _FIRST_SLOTS)) for _ in range(_SHARDS)]
        self._used = [0] * _SHARDS

    def find(self, fingerprint: bytes) -> int:
        """The id of a fingerprint, -1 when it is not known."""
        wanted = int.from_bytes(fingerprint[:8], "little") or 1
        shard = wanted & 255
        keys = self._keys[shard]
        mask = len(keys) - 1
        slot = (wanted >> 8) & mask
        while found := keys[slot]:
            if found == wanted:
                return self._ids[shard][slot]
            slot = (slot + 1) & mask
        return -1

    def add(self, fingerprint: bytes, url_id: int) -> None:
        """Enter a fingerprint that is not known yet."""
        wanted = int.from_bytes(fingerprint[:8], "little") or 1
        shard = wanted & 255
        if self._used[shard] > len(self._keys[shard]) * _MAX_LOAD:
            self._grow(shard)
        self._put(self._keys[shard], self._ids[shard], wanted, url_id)
        self._used[shard] += 1

    @staticmethod
    def _put(keys: array[int], ids: array[int], wanted: int, url_id: int) -> None:
        mask = len(keys) - 1
        slot = (wanted >> 8) & mask
        while keys[slot]:
            slot = (slot + 1) & mask
        keys[slot] = wanted
        ids[slot] = url_id

    def _grow(self, shard: int) -> None:
        old_keys, old_ids = self._keys[shard], self._ids[shard]
        size = 2 * len(old_keys)
        keys, ids = array("Q", bytes(8 * size)), array("I", bytes(4 * size))
        for wanted, url_id in zip(old_keys, old_ids, strict=True):
            if wanted:
                self._put(keys, ids, wanted, url_id)
        self._keys[shard], self._ids[shard] = keys, ids


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
        self._fingerprints = Fingerprints()
        self.counts = [0] * len(UrlState)

    def __len__(self) -> int:
        return len(self.state)

    def find(self, key: bytes) -> int:
        """The id of a fingerprint, -1 when it is not known."""
        return self._fingerprints.find(key)

    def add(self, key: bytes, queue: int, depth: int, state: UrlState = UrlState.WAITING) -> int:
        """Enter a URL that is not known yet; its id. Priority and carry are zero."""
        url_id = len(self.state)
        self._fingerprints.add(key, url_id)
        self.state.append(state)
        self.priority.append(0.0)
        self.depth.append(min(depth, 65535))
        self.queue.append(queue)
        self.hops.append(0)
        self.parent.append(-1)
        self._carry.extend([0.0] * self.width)
        self.counts[state] += 1
        return url_id

    def restore(self, key: bytes, queue: int, depth: int, state: int, priority: float) -> None:
        """Enter a URL as an earlier run knew it, in order of id."""
        url_id = self.add(key, queue, depth, UrlState(state))
        self.priority[url_id] = priority

    def carry(self, url_id: int) -> tuple[float, ...]:
        """The evidence for a URL, as the strategy left it."""
        start = url_id * self.width
        return tuple(self._carry[start : start + self.width])

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
