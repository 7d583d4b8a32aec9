"""Random: no knowledge at all, as a yardstick for comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import pack

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class RandomOrder(Strategy):
    """priority(c) = a number in 0…1 drawn by the URL's key and `seed`.

    The same URL gets the same number from every link, so the order is a draw without
    replacement among the known URLs, repeatable anywhere. Every informed strategy must
    beat it; nobody wants to crawl so.

    Worked: the first 3 bytes of the hash are 0x800000: 0.5.
    """

    name = "random"
    source = "baseline"
    summary = "no order at all, for comparisons"
    defaults = {"seed": 0.0}
    width = 1

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        salt = pack("<d", self.params["seed"])
        return [(_hash_to_unit_interval(link.key, salt),) for link in links]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return link_evidence[0]


def _hash_to_unit_interval(key: bytes, salt: bytes) -> float:
    """0…1 in steps of 2^-24, which a float32 holds exactly."""
    return int.from_bytes(blake2b(key, digest_size=3, salt=salt).digest(), "big") / 2**24
