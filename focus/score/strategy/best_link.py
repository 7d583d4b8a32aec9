"""Best link: all data about a link that is known before it is followed."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


def inherited_relevance(parent: Parent, parent_inherited: float, decay: float) -> float:
    """Return what a page passes on: its relevance, or its own inheritance, decayed.

    A relevant page restores the inheritance and an off-topic page decays it (tunnelling; P2 3.3,
    Shark-Search). Example: decay 0.5, relevance 0.1 and inheritance 0.8 give 0.4.
    """
    return parent.relevance if parent.relevant else max(parent.relevance, decay * parent_inherited)


class BestLink(Strategy):
    """priority = anchor·A + url·U + heading·H + home·S + inherit·I, each maximal over in-links.

    A, U, H   relevance of the anchor text, of the words of the URL, of the heading above, 0…1
    S         1 for a link within its host: another host costs a robots.txt request, and this one is
              known to be useful
    I         relevance of the parent, or the parent's I times `decay` if it is off topic

    Example with weights 2.5, 1.5, 1, 0.3, 1: an anchor with the keyword, to the same host, on a
    page of relevance 0.6, gives 3.4.
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
