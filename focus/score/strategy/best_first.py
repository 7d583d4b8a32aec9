"""Best-first: a link is worth what the page is worth that it stands on (P1 2.2.4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import Carry, Parent, Strategy


class BestFirst(Strategy):
    """priority(c) = relevance(u), of the best parent u seen so far.

    Worked: a page of relevance 0.7 gives each of its links 0.7.
    """

    name = "best-first"
    source = "P1 2.2.4.2"
    summary = "relevance of the parent page"
    width = 1

    def carries(self, parent: Parent, links: Sequence[Link]) -> Sequence[Carry | None]:
        return [(parent.relevance,)] * len(links)

    def priority(self, url_id: int, carry: Carry) -> float:
        return carry[0]
