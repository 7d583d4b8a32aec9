"""Compact arrays: small values for a few of very many ids.

Ids are those of URLs: dense, from 0. An object in a dict takes some hundred bytes for each page of
a crawl; here it takes at most 36 and half a byte per id, in addition to the value itself.

    Numbering  consecutive numbers for some ids
    Rows       a row of ids for some ids
    Tallies    a tally for some ids
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from focus.records import Tally

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Numbering:
    """Numbers from 1 for the ids that were added; `ids` has them in this order.

    Eight consecutive ids share a block, which is allocated when one of them is added. If one id in
    a hundred is added, this takes 0.8 bytes per id; for one in ten 2.8, for all 4.5.
    """

    __slots__ = ("_blocks", "_numbers", "ids")

    def __init__(self) -> None:
        self.ids = array("I")
        self._blocks = array("I")  # block of each group of eight ids; block 0 is empty
        self._numbers = array("I", bytes(4 * 8))

    def reserve(self, size: int) -> None:
        """Allocate space for ids under `size`."""
        missing_blocks = ((size + 7) >> 3) - len(self._blocks)
        if missing_blocks > 0:
            self._blocks.frombytes(bytes(4 * missing_blocks))

    def number(self, key: int) -> int:
        """Return the number of an id, 0 if it was not added."""
        block = key >> 3
        return (
            self._numbers[self._blocks[block] << 3 | key & 7]
            if 0 <= block < len(self._blocks)
            else 0
        )

    def numbers(self, keys: npt.NDArray[np.intp]) -> npt.NDArray[np.uint32]:
        """Return the numbers of many ids, all under the reserved size."""
        import numpy as np

        blocks, numbers = np.frombuffer(self._blocks, "u4"), np.frombuffer(self._numbers, "u4")
        result: npt.NDArray[np.uint32] = numbers[blocks[keys >> 3].astype(np.intp) << 3 | keys & 7]
        return result

    def add(self, key: int) -> int:
        """Add an id that has no number, and return its number."""
        self.reserve(key + 1)
        block = key >> 3
        if not self._blocks[block]:
            self._blocks[block] = len(self._numbers) >> 3
            self._numbers.frombytes(bytes(4 * 8))
        self.ids.append(key)
        self._numbers[self._blocks[block] << 3 | key & 7] = len(self.ids)
        return len(self.ids)

    def add_all(self, keys: npt.NDArray[np.intp]) -> None:
        """Add many distinct ids that have no numbers."""
        import numpy as np

        self.reserve(int(keys.max(initial=-1)) + 1)
        blocks = np.frombuffer(self._blocks, "u4")
        new = np.unique(keys >> 3)
        new = new[blocks[new] == 0]
        blocks[new] = (len(self._numbers) >> 3) + np.arange(len(new))
        self._numbers.frombytes(bytes(4 * 8 * len(new)))
        numbers = np.arange(len(self.ids) + 1, len(self.ids) + 1 + len(keys))
        np.frombuffer(self._numbers, "u4")[blocks[keys >> 3].astype(np.intp) << 3 | keys & 7] = (
            numbers
        )
        self.ids.frombytes(keys.astype("u4").tobytes())


class Rows(Mapping[int, Sequence[int]]):
    """Read-only mapping of some ids to a row of ids; a row is added once."""

    __slots__ = ("_ends", "_values", "numbering")

    def __init__(self) -> None:
        self.numbering = Numbering()
        self._values = array("I")
        self._ends = array("Q", [0])

    def add(self, key: int, row: array[int]) -> int:
        """Add the row of an id that has none, and return the number of the id."""
        self._values.extend(row)
        self._ends.append(len(self._values))
        return self.numbering.add(key)

    def add_all(
        self, keys: npt.NDArray[np.intp], rows: bytes, counts: npt.NDArray[np.intp]
    ) -> None:
        """Add the concatenated rows of many distinct ids that have none, with their lengths."""
        self._ends.frombytes((len(self._values) + counts.cumsum()).astype("u8").tobytes())
        self._values.frombytes(rows)
        self.numbering.add_all(keys)

    def row_at(self, number: int) -> array[int]:
        """Return the row with a number."""
        ends = self._ends
        return self._values[ends[number - 1] : ends[number]]

    def as_arrays(
        self,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
        """Return ids, row ends (beginning with 0) and the concatenated rows.

        The arrays are views; nothing can be added while they exist.
        """
        import numpy as np

        ids, ends, rows = self.numbering.ids, self._ends, self._values
        return np.frombuffer(ids, "u4"), np.frombuffer(ends, "u8"), np.frombuffer(rows, "u4")

    def __getitem__(self, source: int) -> array[int]:
        if number := self.numbering.number(source):
            return self.row_at(number)
        raise KeyError(source)

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbering.ids)

    def __len__(self) -> int:
        return len(self.numbering.ids)


class Tallies:
    """Tallies for some ids."""

    __slots__ = ("_fetched", "_numbering", "_yielded")

    def __init__(self) -> None:
        self._numbering = Numbering()
        self._fetched = array("I", [0])
        self._yielded = array("d", [0.0])

    def get(self, key: int) -> Tally | None:
        """Return a copy of the tally of an id, None if it has none."""
        number = self._numbering.number(key)
        return Tally(self._fetched[number], self._yielded[number]) if number else None

    def restore(self, rows: Sequence[tuple[int, int, float]]) -> None:
        """Add the tallies of an earlier run: (id, requests, rewards) of ids that have none."""
        import numpy as np

        self._numbering.add_all(np.array([key for key, _, _ in rows], np.intp))
        self._fetched.extend([requests for _, requests, _ in rows])
        self._yielded.extend([rewards for _, _, rewards in rows])

    def add(self, key: int, more: Tally) -> Tally:
        """Add to the tally of an id and return the sum."""
        number = self._numbering.number(key)
        if not number:
            number = self._numbering.add(key)
            self._fetched.append(0)
            self._yielded.append(0.0)
        self._fetched[number] += more.requests
        self._yielded[number] += more.rewards
        return Tally(self._fetched[number], self._yielded[number])
