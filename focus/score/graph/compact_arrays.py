"""Compact arrays: small values for a few of very many ids.

Ids are those of URLs: dense, from 0 up. An object in a dict costs some hundred bytes for each
page of a crawl; here it is 36 at most and half a byte for each id, and what the thing itself takes.

    Numbering  some ids, numbered as they come
    Rows       a row of ids for each of them
    Tallies    a tally for each of them
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
    """Numbers from 1 up for those ids that were entered; `ids` has them in that order.

    Eight ids side by side share a block, which has a place once one of them is entered: where
    one id in a hundred is, that takes 0.8 bytes an id, one in ten 2.8, all 4.5.
    """

    __slots__ = ("_blocks", "_numbers", "ids")

    def __init__(self) -> None:
        self.ids = array("I")
        self._blocks = array("I")  # of each eight ids their block; 0: the empty one
        self._numbers = array("I", bytes(4 * 8))

    def reserve(self, size: int) -> None:
        """Make room for ids under `size`."""
        missing_blocks = ((size + 7) >> 3) - len(self._blocks)
        if missing_blocks > 0:
            self._blocks.frombytes(bytes(4 * missing_blocks))

    def number(self, key: int) -> int:
        """The number of an id, 0 if it has none."""
        block = key >> 3
        return (
            self._numbers[self._blocks[block] << 3 | key & 7]
            if 0 <= block < len(self._blocks)
            else 0
        )

    def numbers(self, keys: npt.NDArray[np.intp]) -> npt.NDArray[np.uint32]:
        """The same of many ids, all under the `reach`."""
        import numpy as np

        blocks, numbers = np.frombuffer(self._blocks, "u4"), np.frombuffer(self._numbers, "u4")
        result: npt.NDArray[np.uint32] = numbers[blocks[keys >> 3].astype(np.intp) << 3 | keys & 7]
        return result

    def add(self, key: int) -> int:
        """Number an id that has none yet."""
        self.reserve(key + 1)
        block = key >> 3
        if not self._blocks[block]:
            self._blocks[block] = len(self._numbers) >> 3
            self._numbers.frombytes(bytes(4 * 8))
        self.ids.append(key)
        self._numbers[self._blocks[block] << 3 | key & 7] = len(self.ids)
        return len(self.ids)


class Rows(Mapping[int, Sequence[int]]):
    """A row of ids for each of some ids; each is entered once."""

    __slots__ = ("_ends", "_values", "numbering")

    def __init__(self) -> None:
        self.numbering = Numbering()
        self._values = array("I")
        self._ends = array("Q", [0])

    def add(self, key: int, row: array[int]) -> int:
        """Enter the row of an id that has none yet; the id's number."""
        self._values.extend(row)
        self._ends.append(len(self._values))
        return self.numbering.add(key)

    def row_at(self, number: int) -> array[int]:
        """The row of a number."""
        ends = self._ends
        return self._values[ends[number - 1] : ends[number]]

    def as_arrays(
        self,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
        """Ids; 0 and where the row of each ends; all rows, one behind the other.

        Views: nothing can be entered while they are held.
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
    """Counts for each of some ids."""

    __slots__ = ("_fetched", "_numbering", "_yielded")

    def __init__(self) -> None:
        self._numbering = Numbering()
        self._fetched = array("I", [0])
        self._yielded = array("d", [0.0])

    def get(self, key: int) -> Tally | None:
        """A copy of what was counted for an id; None if nothing was."""
        number = self._numbering.number(key)
        return Tally(self._fetched[number], self._yielded[number]) if number else None

    def add(self, key: int, more: Tally) -> Tally:
        """Count more for an id; what that comes to."""
        number = self._numbering.number(key)
        if not number:
            number = self._numbering.add(key)
            self._fetched.append(0)
            self._yielded.append(0.0)
        self._fetched[number] += more.requests
        self._yielded[number] += more.rewards
        return Tally(self._fetched[number], self._yielded[number])
