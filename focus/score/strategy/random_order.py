"""Random order, as a baseline for comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import pack

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class RandomOrder(Strategy):
    """priority(c) = a number in 0…1 that depends on the key of the URL and `seed` only.

    The URL gets the same number from every link, so the order is a repeatable draw without
    replacement from the known URLs. Every other strategy should beat it.

    Example: if the first 3 bytes of the hash are 0x800000, the number is 0.5.
    """

    name = "random"
    source = "baseline"
    summary = "random order, as a baseline"
    defaults = {"seed": 0.0}
    width = 1

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        salt = pack("<d", self.params["seed"])
        return [(_hash_to_unit_interval(link.key, salt),) for link in links]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return link_evidence[0]


def _hash_to_unit_interval(key: bytes, salt: bytes) -> float:
    """Return a multiple of 2^-24 in 0…1, which is exact in a float32."""
    return int.from_bytes(blake2b(key, digest_size=3, salt=salt).digest(), "big") / 2**24
