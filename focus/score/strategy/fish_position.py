"""Fish-Search with continuous scores (P1 3.2, Table 3-3)."""

from __future__ import annotations

from focus.score.strategy.base import Parent
from focus.score.strategy.fish_search import FishSearch


class FishPosition(FishSearch):
    """Fish-Search in which the leading links get sim(u), the relevance of the page.

    W, a, D   as in `fish-search`
    T         u is relevant if sim(u) > T; 0 for the threshold of the relevance model

    P1 computes sim from the places of the keywords: the relevance model `position`.

    Example, T = 0.5: the 20th link of a page of relevance 0.4 gets 0.4, the 21st 0; the 30th link
    of a page of relevance 0.8 gets 0.8.
    """

    name = "fish-position"
    source = "P1 Table 3-3"
    summary = "parent's relevance, with width and depth"
    published_model = "position"
    defaults = {**FishSearch.defaults, "T": 0.0}
    published = {**FishSearch.published, "T": 0.5}

    def is_relevant(self, parent: Parent) -> bool:
        threshold = self.params["T"]
        return parent.relevance > threshold if threshold else parent.relevant

    def leading_link_score(self, parent: Parent) -> float:
        return parent.relevance
