"""How important is each URL on the part of the web crawled so far?

Incremental local PageRank by residual push. P1 walks all crawled pages anew for
every page, which is quadratic; here a new page injects its own share and pushes
it on until nothing worth mentioning is left, so that a page costs about as much as
it has links.

The system solved is (I - d·Pᵀ)·p = (1 - d)·v with v = 1 for every known URL, P the
rows of fetched pages (1/out-degree each); unfetched and link-less pages leak.
Divided by its sum, p is PageRank with the mass of dangling pages spread evenly.
State: p and a residual r ≥ 0 with p* = p + (I - d·Pᵀ)⁻¹·r, so p ≤ p* and
‖p* - p‖₁ ≤ Σr / (1 - d); kept are the ranks p + r, and r of fetched pages alone, as
nothing else is pushed. A row is inserted whole and once, so residuals stay
positive. (Push: Berkhin 2006, Andersen et al. 2006; D-Iteration is the same pair.)

Worked number: page 0 links to 1 and 2, nothing else known, d = 0.85. p(0) = 0.15,
p(1) + r(1) = 0.15 + 0.85·0.15/2 = 0.21375.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence

DAMPING = 0.85
EPSILON = 0.01
"""Residual of a page, in units of the teleport share, under which nothing is pushed."""

WIDE = 20
"""Out-links from which on a page's threshold grows with their number: a push costs as much
as the page has links, so all pushes together cost at most Σv·WIDE/ε edge operations."""

TOLD = 1.05
"""A rank has risen when it is so many times what it was when that was last told."""

MAX_PUSHES = 2000
"""Edge operations per added page; the queue is carried over, the bound stays valid."""


class PageRank:
    """PageRank of a growing graph whose nodes are URL ids.

    damping   d in (0, 1)
    epsilon   push threshold relative to 1 - d; smaller = more exact, slower
    followers are told of each page added: (source, its distinct targets) -> ids whose
              number rose there (score/hits.py)
    """

    def __init__(self, damping: float = DAMPING, epsilon: float = EPSILON) -> None:
        self.damping = damping
        self._teleport = 1.0 - damping
        self._threshold = epsilon * self._teleport
        self._rank = array("d")
        self._residual: dict[int, float] = {}
        self._next = array("f")  # the rank at which a URL has risen again
        self._rows: dict[int, array[int]] = {}
        self._pending: deque[int] = deque()
        self._queued: set[int] = set()
        self.largest = self._teleport
        self.followers: list[Callable[[int, Sequence[int]], set[int]]] = []

    def __len__(self) -> int:
        return len(self._rank)

    def grow(self, size: int) -> None:
        """Make room for ids under `size`; a new URL starts with its teleport share."""
        new = size - len(self._rank)
        if new > 0:
            self._rank.extend([self._teleport] * new)
            self._next.extend([TOLD * self._teleport] * new)

    def rank(self, url_id: int) -> float:
        """The rank of a URL, in units where the average known URL has at most 1.

        0.15 for a URL that nothing fetched links to.
        """
        return self._rank[url_id]

    def scaled(self, url_id: int) -> float:
        """The rank divided by the largest of the graph, in (0, 1]."""
        share = self._rank[url_id] / self.largest
        return share if share < 1.0 else 1.0

    def add(self, source: int, targets: Sequence[int], *, pushes: float = MAX_PUSHES) -> set[int]:
        """Insert the out-links of a page just fetched; the ids whose rank rose, here or there.

        Repeated targets and links to itself count nothing. A page is added once;
        adding it again changes nothing. `pushes` 0: `settle` follows, which for many
        pages together costs a quarter of what it does page by page.
        """
        if source in self._rows:
            return set()
        self.grow(max(source, *targets, 0) + 1 if targets else source + 1)
        row = array("I", dict.fromkeys(t for t in targets if t != source))
        self._rows[source] = row
        self._residual[source] = 0.0
        risen: set[int] = set()
        self._spread(row, self._rank[source], risen)
        self._push(risen, pushes)
        for follower in self.followers:
            risen |= follower(source, row)
        return risen

    def settle(self) -> None:
        """Push on until no residual is over its threshold, without the cap per page."""
        self._push(set(), math.inf)

    def _spread(self, row: array[int], amount: float, risen: set[int]) -> None:
        """Hand d·amount to the out-links of a page in equal shares."""
        if not row:
            return
        share = self.damping * amount / len(row)
        ranks, residuals, risen_at = self._rank, self._residual, self._next
        threshold, queued = self._threshold, self._queued
        for target in row:
            ranks[target] = rank = ranks[target] + share
            if rank > risen_at[target]:
                risen_at[target] = TOLD * rank
                risen.add(target)
                if rank > self.largest:
                    self.largest = rank
            if target in residuals:
                residuals[target] = residual = residuals[target] + share
                if residual > threshold and target not in queued:
                    self._queue(target, residual)

    def _queue(self, page: int, residual: float) -> None:
        """Have a page pushed, if what lies on it is worth its links."""
        if residual * WIDE > self._threshold * len(self._rows[page]):
            self._queued.add(page)
            self._pending.append(page)

    def _push(self, risen: set[int], limit: float) -> None:
        """Push residuals over their threshold, first come first served."""
        work = 0
        while self._pending and work < limit:
            source = self._pending.popleft()
            self._queued.discard(source)
            amount = self._residual[source]
            self._residual[source] = 0.0
            row = self._rows[source]
            work += len(row)
            self._spread(row, amount, risen)

    def error_bound(self) -> float:
        """Largest possible ‖p* - p‖₁: the residual on fetched pages over 1 - d.

        Unfetched URLs have no row, so what lies on them is already in their rank.
        """
        return sum(self._residual.values()) / self._teleport

    @property
    def rows(self) -> Mapping[int, Sequence[int]]:
        """The distinct out-links of every fetched page."""
        return self._rows

    def row(self, source: int) -> Sequence[int]:
        """The distinct out-links of a fetched page, () for any other URL."""
        return self._rows.get(source, ())


def power_iteration(
    rows: dict[int, Sequence[int]], size: int, damping: float = DAMPING, tolerance: float = 1e-12
) -> list[float]:
    """The slow obvious version: iterate p ← (1-d) + d·Pᵀp until it stands still.

    Same units as `PageRank.rank`. Stops when the L1 change is under tolerance·size.
    """
    ranks = [1.0 - damping] * size
    links = {s: [t for t in dict.fromkeys(row) if t != s] for s, row in rows.items()}
    while True:
        fresh = [1.0 - damping] * size
        for source, row in links.items():
            for target in row:
                fresh[target] += damping * ranks[source] / len(row)
        change = sum(abs(a - b) for a, b in zip(fresh, ranks, strict=True))
        ranks = fresh
        if change <= tolerance * size:
            return ranks
