"""P1's importance of pages, as its Table 4-1 computes it during a crawl.

R(u) = Σ R(v)/N_v over the pages v fetched before u that link to it (P1 eq. 4-1), without damping
and teleport share. R(u) is computed once, when u is fetched; u then gives each of its N_u links
R(u)/N_u, and a waiting URL is ranked by the *largest* share that it received, not by the sum (Table
4-1, lines 11 to 14).

Table 4-1 sets R of a seed to 1 (line 1) and R of every page to 0 before the sum (line 5), which
would leave every page with 0. It is read here as: a page that no fetched page links to has R = 1.
P1 searches all fetched pages for the parents of u; here the received shares are stored.

Example: seed 0 links to 1 and 2, each receives 1/2. 1 links to 2 alone: R(1) = 1/2, 2 receives
another 1/2 and is ranked by 1/2; when it is fetched, R(2) = 1/2 + 1/2 = 1.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence


class ImportanceShares:
    """R of fetched pages and the shares of waiting URLs, by URL id.

    `add` is a listener of the link graph of a crawl (see `pagerank.PageRank`).
    """

    def __init__(self) -> None:
        self._sum = array("d")
        self._largest = array("d")

    def importance(self, url_id: int) -> float:
        """Return R of a page if it were fetched now: 1 if no fetched page links to it."""
        return (self._sum[url_id] if url_id < len(self._sum) else 0.0) or 1.0

    def largest_share(self, url_id: int) -> float:
        """Return the largest share that a URL received, 0 if it received none."""
        return self._largest[url_id] if url_id < len(self._largest) else 0.0

    def add(self, source: int, targets: Sequence[int]) -> set[int]:
        """Distribute R of a fetched page to its links; return the ids whose largest share rose."""
        if not targets:
            return set()
        new = max(targets) + 1 - len(self._sum)
        if new > 0:
            for values in (self._sum, self._largest):
                values.frombytes(bytes(values.itemsize * new))
        share = self.importance(source) / len(targets)
        risen = {target for target in targets if share > self._largest[target]}
        for target in targets:
            self._sum[target] += share
        for target in risen:
            self._largest[target] = share
        return risen
