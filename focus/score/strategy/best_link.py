"""Best link: everything that is known of a link before it is followed."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


def inherited_relevance(parent: Parent, parent_inherited: float, decay: float) -> float:
    """What a page hands down: its relevance, or what it got itself, decayed.

    A relevant page restores it, an off-topic hop decays it (tunnelling; P2 3.3,
    Shark-Search). Worked, decay 0.5: relevance 0.1 and 0.8 passed on: 0.4.
    """
    return parent.relevance if parent.relevant else max(parent.relevance, decay * parent_inherited)


class BestLink(Strategy):
    """priority = anchor·A + url·U + heading·H + home·S + inherit·I, each the best over in-links.

    A, U, H   relevance of the anchor text, of the URL's words, of the heading above, 0…1
    S         1 for a link within its host: a page elsewhere costs a robots.txt more, and
              a site that pays is known
    I         relevance of the parent, or its own I times `decay` when it is off topic

    Worked (2.5, 1.5, 1, 0.3, 1): anchor with the keyword, to the same host, on a page of
    relevance 0.6: 3.4.
    """

    name = "best-link"
    source = "P2, P3 and Shark-Search combined"
    summary = "parent, anchor, URL words and heading, best over all in-links"
    defaults = {
        "anchor": 2.5,
        "url": 1.5,
        "heading": 1.0,
        "home": 1.5,
        "inherit": 1.0,
        "decay": 0.5,
    }
    width = 5
    has_independent_evidence = True

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence]:
        inherited = inherited_relevance(parent, parent.link_evidence[4], self.params["decay"])
        page_host = parent.host
        return [
            (
                link.anchor_score,
                link.url_score,
                link.heading_score,
                float(link.host == page_host),
                inherited,
            )
            for link in links
        ]

    def priority_parts(self, link_evidence: LinkEvidence) -> dict[str, float]:
        names = ("anchor", "url", "heading", "home", "inherit")
        return {
            name: self.params[name] * value
            for name, value in zip(names, link_evidence, strict=True)
        }

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        p = self.params
        anchor, url, heading, same_host, inherited = link_evidence
        return (
            p["anchor"] * anchor
            + p["url"] * url
            + p["heading"] * heading
            + p["home"] * same_host
            + p["inherit"] * inherited
        )
