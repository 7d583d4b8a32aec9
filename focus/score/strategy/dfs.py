"""Depth-first: the links of the page fetched last come first (P1 2.2.2, P3 5.1)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from focus.records import SEED_PRIORITY, Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy

_POSITIONS = 1024
_MAX_PAGE = int(SEED_PRIORITY) - 1
_FIRST_FLOAT = 0x41800000  # the bits of 16.0: from there on float32s are over 1e-6 apart


class DepthFirst(Strategy):
    """priority(c) = n - place/1024: by the page fetched last, in document order within it.

    n        number of the parent among the fetched pages; 999,999 for all after that
    place    of the link on its page, 0 for the first, 1023 for all after that

    A link that stands on a later page too moves there, as on a stack. So the two numbers
    have to be compared as one: n·1024 + 1023 - place counts the float32s from 16 upwards,
    whose order is that of whole numbers. Seeds come before all links, as always.

    Worked: the second link of the third page: 3 - 1/1024 = 2.9990.
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
    """The float32 that many steps over 16."""
    value: float = struct.unpack("<f", struct.pack("<I", _FIRST_FLOAT + number))[0]
    return value


def _decode_float32(value: float) -> int:
    """Its steps over 16; 0 under that."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return max(0, bits - _FIRST_FLOAT)
