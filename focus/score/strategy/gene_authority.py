"""Gene with authority: hops over links with low anchor similarity and low rank (P5 2.3)."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent
from focus.score.strategy.gene import GeneBase, pack_key


class GeneAuthority(GeneBase):
    """Order by Val(c), then by val(c) = t·R(c)/max R + (1 - t)·sim(c) (P5 2.3).

    Val(c)   Val(u) if val(c) > f, else Val(u)·r; nothing restores it; Val₀ for a seed
    R        local PageRank (score/graph/pagerank.py); when it changes, val and Val change, too
    t        P5 does not give the weights of the two; one half in the published form
    sim(c)   similarity of the link, see `GeneBase`

    Val only takes the values Val₀·rⁿ. A URL keeps -n of its best parent and the best sim; whether
    its own link costs a hop is decided when its priority is computed. The priority is Val₀·r^(n -
    val/2), as in `gene`.

    Example, Val₀ = 100, r = 0.8, f = 0.15, t = 0.5, w = 1: c, linked from a seed, has a tenth of
    the largest rank. Without the keyword: val = 0.05, Val = 80, priority 80·0.8^-0.025 = 80.45.
    With the keyword alone in the anchor: val = 0.55, Val = 100, priority 106.3.
    """

    name = "gene-authority"
    source = "P5 2.3"
    summary = "hops since the last good link, then local PageRank and the link's relevance"
    published_model = "adaptive"
    published_topic = "features"
    defaults = {"Val0": 100.0, "r": 0.8, "f": 0.2, "t": 0.1, "w": 0.3}
    published = {"Val0": 100.0, "r": 0.8, "f": 0.15, "t": 0.5, "w": 1.0}
    width = 2
    follows_graph = True
    decay_param = "r"

    def seed(self) -> LinkEvidence:
        return (1.0, 1.0)

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        hops = self._poor_hops(parent.id, parent.link_evidence)
        return [(-hops, sim) for sim in self.link_similarities(parent, links)]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        key = pack_key(
            self._poor_hops(url_id, link_evidence), self._combined_value(url_id, link_evidence[1])
        )
        return float(self.params["Val0"] * self.params["r"] ** -key)

    def _poor_hops(self, url_id: int, link_evidence: LinkEvidence) -> float:
        """Return n of a URL: that of its best parent, plus one for a poor link; 0 for a seed."""
        is_poor = self._combined_value(url_id, link_evidence[1]) <= self.params["f"]
        return max(0.0, is_poor - link_evidence[0])

    def _combined_value(self, url_id: int, sim: float) -> float:
        t = self.params["t"]
        return t * self.graph.scaled_rank(url_id) + (1.0 - t) * sim
