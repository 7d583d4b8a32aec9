"""Fish-Search: relevant pages feed the school, others starve it (P1 3.1, Table 3-1)."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class FishSearch(Strategy):
    """priority(c) in three bands: 1, ½ or 0 (P1 Table 3-1; De Bra and Post 1994).

    u relevant       its first a·W links get 1, its others 0; they keep its depth allowance
    u not relevant   its first W links get ½, its others 0; their allowance is one less
    allowance 0      the page's links are not followed
    D                allowance of a seed

    Relevant means over the model's threshold. A link found again keeps the larger band
    and the larger allowance.

    Tuned, the school is larger: the first 20 links of a page are its navigation, and two
    off-topic hops in a row are common.

    Worked, W = 20, a = 1.5, D = 2: the 30th link of a relevant seed gets 1 and allowance
    2, the 31st 0 and 2; the first of an irrelevant seed ½ and 1.
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
        """Whether a page feeds the school."""
        return parent.relevant

    def leading_link_score(self, parent: Parent) -> float:
        """What the first links of a page get."""
        return 1.0 if parent.relevant else 0.5

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return link_evidence[0]
