"""Gene: a message of relevance that fades on off-topic hops and is restored (P2 3.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import Carry, Parent, Strategy


def pack(hops: float, score: float) -> float:
    """Both keys in one: fewer hops are larger, then larger scores in 0…1.

    Half the score is added, so that no rounding reaches the next whole number.
    Worked: 3 hops, score 0.4: -3 + 0.2 = -2.8.
    """
    return 0.5 * score - hops


def hops_of(packed: float) -> int:
    """The hops of a packed key."""
    return -math.floor(packed)


class Gene(Strategy):
    """Sorted by m(c), then by sim(anchor(c)) (P2 3.3, eq. 1).

    m(c)    m₀ if sim(anchor(c)) > f, whatever u's m; else m(u)·b
    m₀      of a seed; it and b (in 0…1) say how much is left, the order is the same for all
    sim     cosine of the anchor's and the topic's words (eq. 1)

    m takes the values m₀·bⁿ only, n the hops since it was restored: n and sim go into one
    number (`pack`), of which the largest is kept. The priority is m₀·b^(n - sim/2): m
    itself where sim is 0, never as much as the next m.

    The paper's abstract restores m where a relevant *page* is met, its algorithm only by
    anchors. Tuned, both count: m(u) is m₀ if u turned out relevant. As published: anchors.

    Worked, m₀ = 100, b = 0.8, f = 0.2: off-topic anchor on a page with m = 80: m = 64; an
    anchor of 4 words, one of them the topic's (sim = 0.5): m = 100, priority
    100·0.8^-0.25 = 105.7.
    """

    name = "gene"
    source = "P2 3.3, eq. 1"
    summary = "hops since the last on-topic anchor, then the anchor's relevance"
    defaults = {"m0": 100.0, "b": 0.8, "f": 0.2}
    published = {"m0": 100.0, "b": 0.8, "f": 0.2}
    width = 1
    cosines = True

    def seed(self) -> Carry:
        return (pack(0, 1.0),)

    def carries(self, parent: Parent, links: Sequence[Link]) -> Sequence[Carry | None]:
        f = self.params["f"]
        restored = parent.relevant and not self.as_published
        faded = 1 if restored else hops_of(parent.carry[0]) + 1
        sims = [link.cosine_score for link in links]
        return [(pack(0 if sim > f else faded, sim),) for sim in sims]

    def priority(self, url_id: int, carry: Carry) -> float:
        return self.params["m0"] * self.params["b"] ** -carry[0]
