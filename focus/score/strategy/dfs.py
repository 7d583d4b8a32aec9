"""Depth-first: the links of the page fetched last come first (P1 2.2.2, P3 5.1)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from focus.records import SEED_PRIORITY, Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy

_POSITIONS = 1024
_MAX_PAGE = int(SEED_PRIORITY) - 1
_FIRST_FLOAT = 0x41800000  # bits of 16.0; larger float32s are more than 1e-6 apart


class DepthFirst(Strategy):
    """priority(c) = n - place/1024: page fetched last first, in document order within it.

    n        number of the parent among the fetched pages, at most 999,999
    place    position of the link on its page, from 0, at most 1023

    A link that also occurs on a later page moves there, as on a stack. Both numbers therefore have
    to be compared as one: n·1024 + 1023 - place is the index of a float32 counted upwards from 16,
    and float32s are ordered like their indices. Seeds come before all links.

    Example: the second link of the third page: 3 - 1/1024 = 2.9990.
    """

    name = "dfs"
    source = "P1 2.2.2"
    summary = "links of the page fetched last, in document order"
    width = 1

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        first_link = min(parent.nth, _MAX_PAGE) * _POSITIONS + _POSITIONS - 1
        return [
            (_encode_float32(first_link - min(position, _POSITIONS - 1)),)
            for position in range(len(links))
        ]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return (_decode_float32(link_evidence[0]) + 1) / _POSITIONS - 1.0


def _encode_float32(number: int) -> float:
    """Return the float32 this many steps above 16."""
    value: float = struct.unpack("<f", struct.pack("<I", _FIRST_FLOAT + number))[0]
    return value


def _decode_float32(value: float) -> int:
    """Return the number of float32 steps above 16, 0 for smaller values."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return max(0, bits - _FIRST_FLOAT)
