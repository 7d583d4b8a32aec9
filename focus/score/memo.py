"""Remembers the scores of texts that come again and again, such as anchors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Memo(dict[str, T]):
    """A function's answers by text: `memo[text]` makes one if there is none yet.

    With `most` answers it is emptied: a cache that looks for its oldest entry takes as
    long for each text that is there as this does for one that is not.
    """

    def __init__(self, compute: Callable[[str], T], capacity: int) -> None:
        super().__init__()
        self._compute, self._capacity = compute, capacity

    def __missing__(self, text: str) -> T:
        if len(self) >= self._capacity:
            self.clear()
        value = self[text] = self._compute(text)
        return value
