"""Fish-Search: relevant pages extend the search, off-topic pages end it (P1 3.1, Table 3-1)."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class FishSearch(Strategy):
    """priority(c) is 1, ½ or 0 (P1 Table 3-1; De Bra and Post 1994).

    u relevant       its first a·W links get 1, the others 0; all keep its depth allowance
    u not relevant   its first W links get ½, the others 0; their allowance is one less
    allowance 0      the links of the page are not followed
    D                allowance of a seed

    A page is relevant if its relevance is over the threshold of the model. A URL with several
    in-links keeps the largest priority and the largest allowance.

    The tuned form has larger W and D, because the first 20 links of a page are its navigation, and
    two off-topic pages in a row are common.

    Example, W = 20, a = 1.5, D = 2: the 30th link of a relevant seed gets 1 and allowance 2, the
    31st 0 and 2; the first link of an irrelevant seed gets ½ and 1.
    """

    name = "fish-search"
    source = "P1 Table 3-1"
    summary = "three bands by the parent's relevance, with width and depth"
    published_model = "boolean"
    defaults = {"W": 40.0, "a": 1.5, "D": 6.0}
    published = {"W": 20.0, "a": 1.5, "D": 2.0}
    width = 2

    def seed(self) -> LinkEvidence:
        return (1.0, self.params["D"])

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        allowance = parent.link_evidence[1]
        if allowance <= 0:
            return [None] * len(links)
        relevant = self.is_relevant(parent)
        width = int(self.params["W"] * (self.params["a"] if relevant else 1.0))
        score = self.leading_link_score(parent)
        child_allowance = allowance if relevant else allowance - 1.0
        return [(score if n < width else 0.0, child_allowance) for n in range(len(links))]

    def is_relevant(self, parent: Parent) -> bool:
        """Return whether a page keeps the depth allowance and the width of its links."""
        return parent.relevant

    def leading_link_score(self, parent: Parent) -> float:
        """Return the priority of the first links of a page."""
        return 1.0 if parent.relevant else 0.5

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return link_evidence[0]
