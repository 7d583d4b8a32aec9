"""Depth-limited: breadth-first up to a depth (P1 2.2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class DepthLimited(Strategy):
    """In order of discovery; links of pages at `depth` links from a seed are not followed.

    P1's figure 2-6 with a preset depth of 2 fetches A, B, C: it counts the first page as 1, so its
    2 is depth = 1 here.

    Example: with depth = 1 the links of seeds are followed, the links of their targets are not.
    """

    name = "depth-limited"
    source = "P1 2.2.2"
    summary = "in order of discovery, up to a maximum depth"
    defaults = {"depth": 3.0}
    published = {"depth": 1.0}

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        is_at_limit = parent.depth >= self.params["depth"]
        return [None if is_at_limit else ()] * len(links)
