"""URL structure: links with an address like their page are likely on its topic (P3 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class UrlStructure(Strategy):
    """v(c) = α·(1 + k)·sim(u) + β·sim(anchor(c)) (P3 eq. 5-3, 5-4, Table 5-2).

    k       1 if c has host and URL pattern of u, ½ if only the host, else 0
    depth   links of pages at this many links from a seed are not followed

    In the published form sim is eq. 5-2 (`euclid`) for the anchor as for the page, on one scale:
    the vector of an anchor of n words has 1/n of each word's idf. Links with v = 0 are dropped. In
    the tuned form sim(anchor) is the relevance of the anchor text. Links with v = 0 wait behind all
    others, so that a crawl from an off-topic seed goes on, and chains of next pages, which can be
    dozens of links long, are followed to their ends.

    Example, α = 0.6, β = 0.4, u of relevance 0.5: an anchor without the keyword, to a page of the
    same host and pattern, gives 0.6·2·0.5 = 0.6; to another pattern on the host 0.45; to another
    host 0.3, and 0.7 with the keyword in its anchor. As published, the keyword in an anchor of 4
    words has sim 1/4, so it gives 0.4.
    """

    name = "url-structure"
    source = "P3 eq. 5-3, 5-4, Table 5-2"
    summary = "relevance of parent and anchor, higher for URLs similar to the parent's"
    published_model = "euclid"
    published_topic = "features"
    defaults = {"alpha": 0.6, "beta": 0.4, "depth": 100.0}
    published = {"alpha": 0.6, "beta": 0.4, "depth": 3.0}
    width = 1
    url_patterns = True
    euclids = True

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        if parent.depth >= self.params["depth"]:
            return [None] * len(links)
        alpha, beta = self.params["alpha"], self.params["beta"]
        inherited = alpha * parent.relevance
        anchors = [link.euclid_score if self.as_published else link.anchor_score for link in links]
        values = (
            (1.0 + url_similarity(parent, link)) * inherited + beta * anchor
            for link, anchor in zip(links, anchors, strict=True)
        )
        return [(v,) if v > 0.0 or not self.as_published else None for v in values]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return link_evidence[0]


def url_similarity(parent: Parent, link: Link) -> float:
    """Return k of P3 Table 5-2: 1, ½ or 0."""
    if link.host != parent.host:
        return 0.0
    return 1.0 if link.pattern == parent.pattern else 0.5
