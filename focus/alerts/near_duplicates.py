"""Search for the earlier match of an alert whose text a page repeats, or which it continues.

Texts are compared by simhash. Pages of one site share a frame and often a template of the day, so
that at most 3 bits may differ. Pages of different sites share only the text, and a reprint adds
tags, notes and links of its own: at most 10 bits may differ, about one word in eight. (Of 1,900
pages of a recorded web about ten topics, pairs on one site within 4 to 10 bits were other days of
the same column; no pair on different sites was unlike.)
"""

from __future__ import annotations

from focus.admission.near_duplicates import NearDuplicates
from focus.score.index_pages import series_address
from focus.urls.normal_form import url_host

MAX_BITS_BETWEEN_SITES = 10  # bits


class AlertTexts:
    """Fingerprints of the texts of an alert's matches."""

    def __init__(self) -> None:
        self._near_duplicates = NearDuplicates()
        self._numbers: list[int] = []
        self._hashes: list[int] = []
        self._hosts: list[str] = []
        self._by_series: dict[str, tuple[int, str]] = {}  # address of page 1 -> match and its URL

    def add(self, number: int, simhash: int, url: str) -> None:
        """Add a text; a simhash of 0 means that there is none."""
        self._by_series.setdefault(series_address(url), (number, url))
        if simhash:
            self._near_duplicates.add(number, simhash)
            self._numbers.append(number)
            self._hashes.append(simhash)
            self._hosts.append(url_host(url))

    def find(self, simhash: int, url: str) -> int | None:
        """Return the match whose text this one repeats or continues, or None."""
        first, first_url = self._by_series.get(series_address(url), (None, ""))
        if first is not None and first_url != url:
            return first
        if not simhash:
            return None
        if (number := self._near_duplicates.find(simhash)) is not None:
            return number
        host, fewest_bits, match = url_host(url), MAX_BITS_BETWEEN_SITES + 1, None
        for index, known_hash in enumerate(self._hashes):
            if (bits := (known_hash ^ simhash).bit_count()) < fewest_bits and self._hosts[
                index
            ] != host:
                fewest_bits, match = bits, self._numbers[index]
        return match
