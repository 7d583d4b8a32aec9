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

    def __init__(self, make: Callable[[str], T], most: int) -> None:
        super().__init__()
        self._make, self._most = make, most

    def __missing__(self, text: str) -> T:
        if len(self) >= self._most:
            self.clear()
        answer = self[text] = self._make(text)
        return answer
