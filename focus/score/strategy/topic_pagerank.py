"""Topic-PageRank: importance and relevance mixed (P1 eq. 4-2, Table 4-2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat

from focus.records import Link
from focus.score.graph.pagerank import PageRank
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class TopicPageRank(Strategy):
    """priority(c) = γ·R(c) + (1 - γ)·max(sim(u), anchor(c)), the tuned form (P1's text, 4.2.1).

    R(c)       the child's own local PageRank so far over the largest of the graph
    sim(u)     relevance of the best parent; the anchor's relevance may beat it
    γ          0.06: importance breaks ties rather than steers (P1: 0.8, see docs/results.md).
               By `focus tune` on five topics of a recorded web: AUC on five others
               .285 (γ = 0.2) → .305; on a generated web .408 → .411, and .449 with 0

    As published (P1 Table 4-2) the page's own W(u) = γ·R(u) + (1 - γ)·sim(u) goes to its
    first a·W children if W(u) > T, else to its first W children; the others get 0; the
    depth allowance D is kept if sim(u) > T, else one less, and at 0 nothing is followed.
    `raw` = 1 mixes the bare R of eq. 4-1, not scaled by the largest.

    Worked, γ = 0.2, R(c) a quarter of the largest, sim 0.6: 0.05 + 0.48 = 0.53.
    """

    name = "topic-pagerank"
    source = "P1 eq. 4-2, Table 4-2"
    summary = "local PageRank mixed with relevance"
    defaults = {"gamma": 0.06, "raw": 0.0, "T": 0.5, "W": 20.0, "a": 1.5, "D": 2.0}
    published = {"gamma": 0.8}
    moves = True

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        super().__init__(params, graph, as_published=as_published)
        self.width = 2 if as_published else 1  # only there is a depth allowance
        self._gamma = params["gamma"]
        self._rank = graph.rank if params["raw"] else graph.scaled

    def seed(self) -> LinkEvidence:
        return (0.0, self.params["D"])[: self.width]

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        if self.as_published:
            return self._published(parent, links)
        page = parent.relevance
        return [(score if (score := link.anchor_score) > page else page,) for link in links]

    def _published(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        p = self.params
        allowance = parent.link_evidence[1] - (0.0 if parent.relevance > p["T"] else 1.0)
        if parent.link_evidence[1] <= 0:
            return [None] * len(links)
        weight = self._mix(parent.id, parent.relevance)
        wide = int(p["W"] * (p["a"] if weight > p["T"] else 1.0))
        weights = chain(repeat(weight, wide), repeat(0.0))
        return [(w, allowance) for w, _ in zip(weights, links, strict=False)]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return link_evidence[0] if self.as_published else self._mix(url_id, link_evidence[0])

    def _mix(self, url_id: int, similarity: float) -> float:
        gamma = self._gamma
        return gamma * self._rank(url_id) + (1.0 - gamma) * similarity
