"""Topic-PageRank: weighted sum of importance and relevance (P1 eq. 4-2, Table 4-2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat

from focus.records import Link
from focus.score.graph.pagerank import PageRank
from focus.score.graph.shares import ImportanceShares
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class TopicPageRank(Strategy):
    """priority(c) = γ·R(c) + (1 - γ)·max(sim(u), anchor(c)), the tuned form (P1's text, 4.2.1).

    R(c)       local PageRank of the link's target so far, divided by the largest in the graph
    sim(u)     relevance of the best parent; the relevance of the anchor counts if it is larger
    γ          0.06, so that importance only breaks ties (P1: 0.8, see docs/papers.md). Chosen on
               five topics of a recorded web: AUC on five others 0.285 (γ = 0.2) → 0.305; on a
               generated web 0.408 → 0.411, and 0.449 with γ = 0

    With `raw` = 1 R is not divided by the largest.

    In the published form (P1 Table 4-2) the links of u get W(u) = γ·R(u)/N_u + (1 - γ)·sim(u), with
    R of eq. 4-1, not scaled (score/graph/shares.py), and N_u the number of links of u: its first
    a·W links if W(u) > T, otherwise its first W; the others get 0. The depth allowance D stays the
    same if sim(u) > T and is one less otherwise; at 0 no link is followed.

    Examples: γ = 0.2, R(c) a quarter of the largest, sim 0.6: 0.05 + 0.48 = 0.53. As published, γ =
    0.8, a seed (R = 1) with 40 links and sim 1.2: 0.8/40 + 0.2·1.2 = 0.26.
    """

    name = "topic-pagerank"
    source = "P1 eq. 4-2, Table 4-2"
    summary = "local PageRank mixed with relevance"
    published_model = "position"
    defaults = {"gamma": 0.06, "raw": 0.0}
    published = {"gamma": 0.8, "raw": None, "T": 0.5, "W": 20.0, "a": 1.5, "D": 2.0}
    follows_graph = True
    remainder = "importance"

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        super().__init__(params, graph, as_published=as_published)
        self._gamma = params["gamma"]
        if as_published:
            self.width = 2  # W, and the depth allowance
            self._shares = ImportanceShares()
            graph.listeners.append(self._shares.add)
        else:
            self.width = 1
            self._rank = graph.rank if params["raw"] else graph.scaled_rank

    def seed(self) -> LinkEvidence:
        return (0.0, self.params["D"]) if self.as_published else (0.0,)

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        if self.as_published:
            return self._published_evidence(parent, links)
        relevance = parent.relevance
        return [
            (score if (score := link.anchor_score) > relevance else relevance,) for link in links
        ]

    def _published_evidence(
        self, parent: Parent, links: Sequence[Link]
    ) -> Sequence[LinkEvidence | None]:
        p = self.params
        allowance = parent.link_evidence[1] - (0.0 if parent.relevance > p["T"] else 1.0)
        if parent.link_evidence[1] <= 0:
            return [None] * len(links)
        share = self._shares.importance(parent.id) / max(1, len(links))
        weight = self._mix(share, parent.relevance)
        width = int(p["W"] * (p["a"] if weight > p["T"] else 1.0))
        weights = chain(repeat(weight, width), repeat(0.0))
        return [(w, allowance) for w, _ in zip(weights, links, strict=False)]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        if self.as_published:
            return link_evidence[0]
        return self._mix(self._rank(url_id), link_evidence[0])

    def priority_parts(self, link_evidence: LinkEvidence) -> dict[str, float]:
        if self.as_published:
            return {"weight": link_evidence[0]}
        return {"similarity": (1.0 - self._gamma) * link_evidence[0]}

    def _mix(self, importance: float, similarity: float) -> float:
        return self._gamma * importance + (1.0 - self._gamma) * similarity
