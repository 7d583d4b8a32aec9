"""PageRank order: the most linked-to first, whatever the topic (P1 Table 4-1, eq. 4-1)."""

from __future__ import annotations

from focus.score.strategy.base import LinkEvidence, Strategy


class PageRankOrder(Strategy):
    """priority(c) = R(c), the local PageRank that c has so far (see score/graph/pagerank.py)."""

    name = "pagerank"
    source = "P1 Table 4-1, eq. 4-1"
    summary = "local PageRank of the link's target"
    moves = True

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return self.graph.rank(url_id)
