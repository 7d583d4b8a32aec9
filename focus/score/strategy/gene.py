"""Gene: a message of relevance that decays on off-topic links and is restored (P2 3.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from focus.errors import ConfigError
from focus.records import Link
from focus.score.graph.pagerank import PageRank
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


def pack_key(hops: float, score: float) -> float:
    """Return both keys in one number: fewer hops are larger, then larger scores in 0…1.

    Half of the score is added, so that rounding never reaches the next whole number.
    Example: 3 hops and score 0.4 give -3 + 0.2 = -2.8.
    """
    return 0.5 * score - hops


def unpack_hops(packed: float) -> int:
    """Return the hops of a packed key."""
    return -math.floor(packed)


class GeneBase(Strategy):
    """The common part of `gene` and `gene-authority`: similarity of a link and the topic.

    sim(c) = w·anchor(c) + (1 - w)·relevance(u)

    In the papers w = 1, anchor(c) is the cosine of the words of anchor and topic, and the page does
    not count. P2's abstract, however, restores the message at a relevant *page*. In the tuned form
    the page counts: w < 1 and anchor(c) is the relevance of the anchor text.

    `decay_param` is the name of the parameter that multiplies the message on an off-topic link.
    """

    cosines = True
    decay_param: ClassVar[str]

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        super().__init__(params, graph, as_published=as_published)
        if not 0.0 < params[self.decay_param] < 1.0:
            raise ConfigError(
                "--param {factor}={share:g}: {name} needs a number between 0 and 1",
                factor=self.decay_param,
                share=params[self.decay_param],
                name=self.name,
            )

    def link_similarities(self, parent: Parent, links: Sequence[Link]) -> list[float]:
        """Return sim of each link, 0…1."""
        w = self.params["w"]
        page_part = (1.0 - w) * min(1.0, parent.relevance)
        if self.as_published:
            return [w * link.cosine_score + page_part for link in links]
        return [w * link.anchor_score + page_part for link in links]


class Gene(GeneBase):
    """Order by m(c), then by sim(c) (P2 3.3, eq. 1).

    m(c)    m₀ if sim(c) > f, whatever u's m; else m(u)·b
    m₀      of a seed; it and b (in 0…1) scale the message, the order is the same for all values
    sim(c)  similarity of the link, see `GeneBase`

    m only takes the values m₀·bⁿ, n the hops since it was restored. n and sim are packed into one
    number (`pack_key`), whose maximum is kept. The priority is m₀·b^(n - sim/2): m itself if sim is
    0, and always less than the next m.

    Example, m₀ = 100, b = 0.8, f = 0.2, w = 1: an off-topic anchor on a page with m = 80 gives m =
    64; an anchor of 4 words, one of them the topic's (cosine 0.5), gives m = 100 and priority
    100·0.8^-0.25 = 105.7.
    """

    name = "gene"
    source = "P2 3.3, eq. 1"
    summary = "hops since the last on-topic link, then the link's relevance"
    published_model = "cosine"
    published_topic = "features"
    defaults = {"m0": 100.0, "b": 0.8, "f": 0.2, "w": 0.3}
    published = {"m0": 100.0, "b": 0.8, "f": 0.2, "w": 1.0}
    width = 1
    decay_param = "b"

    def seed(self) -> LinkEvidence:
        return (pack_key(0, 1.0),)

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        f, next_hops = self.params["f"], unpack_hops(parent.link_evidence[0]) + 1
        return [
            (pack_key(0 if sim > f else next_hops, sim),)
            for sim in self.link_similarities(parent, links)
        ]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return float(self.params["m0"] * self.params["b"] ** -link_evidence[0])
