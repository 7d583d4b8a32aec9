"""Cache of scores by text, for texts that occur often, such as anchors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Memo(dict[str, T]):
    """Results of a function by text: `memo[text]` computes a missing one.

    When it contains `capacity` results it is emptied. Finding the oldest entry instead would cost
    as much on every hit as a recomputation costs on a miss.
    """

    def __init__(self, compute: Callable[[str], T], capacity: int) -> None:
        super().__init__()
        self._compute, self._capacity = compute, capacity

    def __missing__(self, text: str) -> T:
        if len(self) >= self._capacity:
            self.clear()
        value = self[text] = self._compute(text)
        return value
