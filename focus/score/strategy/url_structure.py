"""URL structure: a link that looks like its page is likely about the same (P3 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class UrlStructure(Strategy):
    """v(c) = α·(1 + k)·sim(u) + β·sim(anchor(c)) (P3 eq. 5-3, 5-4, Table 5-2).

    k       1 if c has host and URL pattern of u, ½ if only the host, else 0
    depth   links of a page that many links from a seed are not followed

    As published sim is eq. 5-2 for the anchor as for the page (`euclid`), on one scale: the
    vector of an anchor of n words has 1/n of each word's idf; and a link of v = 0 is dropped.
    Tuned, sim(anchor) is the relevance of the anchor text, and a worthless link waits behind
    all others, so that the crawl does not die of an off-topic seed; and archives and tag
    pages, whose chains of next pages are dozens of links long, are followed to their ends.

    Worked, α = 0.6, β = 0.4: u of relevance 0.5; an anchor without keyword to a page of
    the same host and pattern: 0.6·2·0.5 = 0.6; elsewhere on the host 0.45; on another 0.3,
    and with the keyword in its anchor 0.7. As published, the keyword in an anchor of 4 words:
    sim 1/4, so 0.4.
    """

    name = "url-structure"
    source = "P3 eq. 5-3, 5-4, Table 5-2"
    summary = "parent's relevance, more for links that look like its URL, and the anchor's"
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
    """k of P3 Table 5-2: 1, ½ or 0."""
    if link.host != parent.host:
        return 0.0
    return 1.0 if link.pattern == parent.pattern else 0.5
