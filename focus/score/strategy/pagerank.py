"""PageRank order: URLs with the highest rank first, whatever the topic (P1 Table 4-1, eq. 4-1)."""

from __future__ import annotations

from collections.abc import Mapping

from focus.score.graph.pagerank import PageRank
from focus.score.graph.shares import ImportanceShares
from focus.score.strategy.base import LinkEvidence, Strategy


class PageRankOrder(Strategy):
    """priority(c) = R(c), the local PageRank of c so far (see score/graph/pagerank.py).

    In the published form (P1 Table 4-1) R has no damping and no teleport share: priority(c) is the
    largest R(u)/N_u of the fetched pages u that link to c (see score/graph/shares.py).

    Example, as published: a seed with 4 links gives each 1/4; one of these, with 2 links, gives
    each 1/8.
    """

    name = "pagerank"
    source = "P1 Table 4-1, eq. 4-1"
    summary = "local PageRank of the link's target"
    published_model = "position"
    published_rule = True
    follows_graph = True

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        super().__init__(params, graph, as_published=as_published)
        self._rank = graph.rank
        if as_published:
            shares = ImportanceShares()
            graph.listeners.append(shares.add)
            self._rank = shares.largest_share

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return self._rank(url_id)
