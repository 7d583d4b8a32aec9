"""Finds the text that another one repeats, among those that an alert has.

Texts are compared by their simhash (`duplicates`). Pages of one site share a frame, and often
a template of the day: there 3 bits may differ. Between sites nothing is shared but the text
itself, and a reprint has its own tags, notes and links among it: 10 bits, which is about one
word in eight. (On 1,900 pages of a recorded web about ten topics, pairs of one site within 4
to 10 bits were other days of the same column, and none of two sites were unlike.)
"""

from __future__ import annotations

from focus.admission.near_duplicates import NearDuplicates
from focus.urls.normal_form import host_of

ABROAD = 10  # bits


class AlertTexts:
    """The texts that an alert has, by number."""

    def __init__(self) -> None:
        self._alike = NearDuplicates()
        self._numbers: list[int] = []
        self._hashes: list[int] = []
        self._hosts: list[str] = []

    def add(self, number: int, simhash: int, url: str) -> None:
        """Take in a text; 0: there is none."""
        if simhash:
            self._alike.add(number, simhash)
            self._numbers.append(number)
            self._hashes.append(simhash)
            self._hosts.append(host_of(url))

    def find(self, simhash: int, url: str) -> int | None:
        """The text that this one repeats; None: it is new."""
        if not simhash:
            return None
        if (number := self._alike.find(simhash)) is not None:
            return number
        host, best, found = host_of(url), ABROAD + 1, None
        for at, other in enumerate(self._hashes):
            if (bits := (other ^ simhash).bit_count()) < best and self._hosts[at] != host:
                best, found = bits, self._numbers[at]
        return found
