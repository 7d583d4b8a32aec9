"""Best-first: a link has the relevance of the page that contains it (P1 2.2.4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from focus.errors import ConfigError
from focus.records import Link
from focus.score.graph.pagerank import PageRank
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class BestFirst(Strategy):
    """priority(c) = relevance(u) of the most relevant parent u so far.

    bound   maximum number of waiting URLs; beyond it the least relevant are dropped, the newest
            first. They are not added again.

    Example: a page of relevance 0.7 gives each of its links 0.7.
    """

    name = "best-first"
    source = "P1 2.2.4.2"
    summary = "relevance of the parent page"
    published_model = "cosine"
    published_topic = "features"
    defaults = {"bound": 1e6}
    width = 1

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        super().__init__(params, graph, as_published=as_published)
        if params["bound"] < 1.0:
            raise ConfigError(
                "--param bound={bound:g}: best-first keeps so many URLs waiting; give a "
                "number from 1",
                bound=params["bound"],
            )

    @property
    def max_waiting(self) -> float:
        return self.params["bound"]

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        return [(parent.relevance,)] * len(links)

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return link_evidence[0]
