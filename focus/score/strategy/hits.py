"""HITS order: URLs with the highest authority first, whatever the topic (P1 2.2.4.1, P3 5.2.2)."""

from __future__ import annotations

from collections.abc import Mapping

from focus.score.graph.hits import Hits
from focus.score.graph.pagerank import PageRank
from focus.score.strategy.base import LinkEvidence, Strategy


class HitsOrder(Strategy):
    """priority(c) = a(c), the authority of c in the graph so far (see score/graph/hits.py).

    Authorities are computed again when the graph has grown by a tenth. Example: if the only two
    fetched pages link to c alone, a(c) is the sum of their hub values, 1 + 1.
    """

    name = "hits"
    source = "P1 2.2.4.1; P3 5.2.2"
    summary = "local HITS authority of the link's target"
    follows_graph = True

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        super().__init__(params, graph, as_published=as_published)
        self.hits = Hits(graph.rows)
        graph.listeners.append(self.hits.add)

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return self.hits.authority(url_id)
