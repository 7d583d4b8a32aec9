"""P1's importance of pages, as its Table 4-1 works it out while it crawls.

R(u) = Σ R(v)/N_v over the pages v fetched before u that link to it (P1 eq. 4-1), without
damping and without a share for everybody. R(u) is worked out once, when u is fetched; u then
gives each of its N_u links R(u)/N_u, and a URL that waits stands by the *largest* of what it
was given, not by the sum (Table 4-1, lines 11 to 14).

Table 4-1 sets a seed's R to 1 (line 1) and every page's to 0 before it sums (line 5), which
would leave a seed, and so every page, with 0. Read here: a page that no fetched page links to
has 1. P1 looks through all fetched pages for u's parents; here what they gave is kept.

Worked number: seed 0 links to 1 and 2: each is given 1/2. 1 links to 2 alone: R(1) = 1/2,
2 is given 1/2 once more and stands by 1/2; fetched, R(2) = 1/2 + 1/2 = 1.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence


class ImportanceShares:
    """R of fetched pages and what waiting URLs were given, by URL id.

    `add` is a follower of the crawl's graph (see `pagerank.PageRank`).
    """

    def __init__(self) -> None:
        self._sum = array("d")
        self._largest = array("d")

    def importance(self, url_id: int) -> float:
        """R of a page if it were fetched now: 1 if nothing fetched links to it."""
        return (self._sum[url_id] if url_id < len(self._sum) else 0.0) or 1.0

    def largest_share(self, url_id: int) -> float:
        """The largest share that a URL was given; 0 if it was given none."""
        return self._largest[url_id] if url_id < len(self._largest) else 0.0

    def add(self, source: int, targets: Sequence[int]) -> set[int]:
        """Share out R of a page just fetched among its links; the ids that stand higher now."""
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
