"""Incremental PageRank on the part of the web crawled so far.

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

Ranks are float32, those of fetched pages summed in double: to the rank of a home page, some
thousands, float32 could not add a share of 0.0001.

Worked number: page 0 links to 1 and 2, nothing else known, d = 0.85. p(0) = 0.15,
p(1) + r(1) = 0.15 + 0.85·0.15/2 = 0.21375.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from focus.score.graph.compact_arrays import Rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DAMPING = 0.85
EPSILON = 0.01
"""Residual of a page, in units of the teleport share, under which nothing is pushed."""

WIDE_PAGE_LINKS = 20
"""Out-links from which on a page's threshold grows with their number: a push costs as much
as the page has links, so all pushes together cost at most Σv·WIDE/ε edge operations."""

LOG_RISE_STEP = math.log(1.05)
"""A rank has risen when it passes a power of 1.05: its followers need not hear of less."""

MAX_PUSHES = 2000
"""Edge operations per added page; the queue is carried over, the bound stays valid."""

GROWTH_CHUNK = 65_536  # URLs for which room is made at once

MIN_PUSHED_PAGES, MAX_PUSHED_PAGES = 32, 256
"""Pages pushed at once. They wait until there are as many as are worth the arrays that they
are pushed as: a fifth of the time of one after the other."""

MAX_DEFERRED_PAGES = 64
"""New pages that wait together where no priority follows the ranks: the same, of their shares."""


class PageRank:
    """PageRank of a growing graph whose nodes are URL ids.

    damping   d in (0, 1)
    epsilon   push threshold relative to 1 - d; smaller = more exact, slower
    prompt    push for each page and tell of every rise: P1's order, at four times the cost
    is_followed   priorities follow the ranks; if not, pages hand on theirs 64 at a time, and
              nobody is told
    followers are told of each page added: (source, its distinct targets) -> ids whose
              number rose there (hits.py)
    """

    def __init__(
        self, damping: float = DAMPING, epsilon: float = EPSILON, *, prompt: bool = False
    ) -> None:
        self.damping = damping
        self._teleport = 1.0 - damping
        self._threshold = epsilon * self._teleport
        self._min_pushed, self._step = (1, 0.0) if prompt else (MIN_PUSHED_PAGES, LOG_RISE_STEP)
        self._rank = array("f")
        self._rows = Rows()
        # By the number of a page (0 is none): its rank, its residual, and from which on that is
        # pushed (infinite while it waits for that).
        self._page_rank = array("d", [0.0])
        self._residual = array("d", [0.0])
        self._push_threshold = array("d", [math.inf])
        self._pending: list[int] = []  # numbers, first come first served
        self.largest_rank = self._teleport
        self.reports_rises = True
        self._deferred: list[int] = []  # ids that have not handed on anything yet
        self.listeners: list[Callable[[int, Sequence[int]], set[int]]] = []

    def __len__(self) -> int:
        return len(self._rank)

    def reserve(self, size: int) -> None:
        """Make room for ids under `size`; a new URL starts with its teleport share."""
        new = size - len(self._rank)
        if new > 0:
            shares = array("f", [self._teleport]) * min(new, GROWTH_CHUNK)
            for start in range(0, new, GROWTH_CHUNK):
                self._rank.extend(shares[: new - start])
            self._rows.numbering.reserve(size)

    def rank(self, url_id: int) -> float:
        """The rank of a URL, in units where the average known URL has at most 1.

        0.15 for a URL that nothing fetched links to.
        """
        return self._rank[url_id]

    def ranks(self, ids: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """The ranks of many URLs."""
        import numpy as np

        return np.frombuffer(self._rank, np.float32)[ids].astype(np.float64)

    def scaled_rank(self, url_id: int) -> float:
        """The rank divided by the largest of the graph, in (0, 1]."""
        share = self._rank[url_id] / self.largest_rank
        return share if share < 1.0 else 1.0

    def add(self, source: int, targets: Sequence[int]) -> set[int]:
        """Insert the out-links of a page just fetched; the ids whose rank rose, here or there.

        Repeated targets and links to itself count nothing. A page is added once;
        adding it again changes nothing.
        """
        import numpy as np

        if self._rows.numbering.number(source):
            return set()
        self.reserve(max(source, *targets, 0) + 1 if targets else source + 1)
        row = self._add_row(source, targets)
        if not (self.reports_rises or self.listeners):
            self._deferred.append(source)
            if len(self._deferred) >= MAX_DEFERRED_PAGES:
                self._distribute_deferred(MIN_PUSHED_PAGES)
            return set()
        risen: set[int] = set()
        if row:
            share = self.damping * self._rank[source] / len(row)
            self._add_shares(_id_array(row), np.full(len(row), share), risen)
        self._push(risen, MAX_PUSHES, self._min_pushed)
        for listener in self.listeners:
            risen |= listener(source, row)
        return risen

    def restore(self, pages: Iterable[tuple[int, Sequence[int]]]) -> None:
        """`add` for many pages of an earlier run, at a tenth of the cost; `settle` follows.

        Each hands on what it has before all of them: what the others give it is residual.
        """
        new_pages = [
            (page, links) for page, links in pages if not self._rows.numbering.number(page)
        ]
        rows = [self._add_row(page, links) for page, links in new_pages]
        self._distribute_ranks([page for page, _ in new_pages], rows)
        for listener in self.listeners:
            for (page, _), row in zip(new_pages, rows, strict=True):
                listener(page, row)

    def _distribute_deferred(self, min_pages: int) -> None:
        """Let the pages that wait hand on what they have."""
        pages, self._deferred = self._deferred, []
        self._distribute_ranks(pages, [self._rows[page] for page in pages])
        self._push(None, MAX_PUSHES * len(pages), min_pages)

    def _distribute_ranks(self, pages: Sequence[int], rows: Sequence[array[int]]) -> None:
        """Hand on the ranks of these pages, as they are now, along their rows."""
        import numpy as np

        counts = np.fromiter(map(len, rows), np.intp, len(rows))
        amounts = np.array([self._rank[page] for page in pages])
        shares = self.damping * amounts / np.maximum(1, counts)
        self._add_shares(_id_array(b"".join(rows)), np.repeat(shares, counts), None)

    def _add_row(self, source: int, targets: Sequence[int]) -> array[int]:
        """The row of a new page."""
        distinct = set(targets)
        if len(distinct) < len(targets) or source in distinct:
            targets = [target for target in dict.fromkeys(targets) if target != source]
        row = array("I", targets)  # most are so as they come: half the time of a dict
        self._rows.add(source, row)
        self._page_rank.append(self._rank[source])
        self._residual.append(0.0)
        self._push_threshold.append(
            self._threshold * max(1.0, len(row) / WIDE_PAGE_LINKS) if row else math.inf
        )
        return row

    def push_all(self) -> None:
        """Push on until no residual is over its threshold, without the cap per page."""
        if self._deferred:
            self._distribute_deferred(1)
        self._push(None, math.inf, 1)

    def _push(self, risen: set[int] | None, max_operations: float, min_pages: int) -> None:
        """Push residuals over their threshold, in rounds, while `fewest` pages wait for it."""
        import numpy as np

        operations = 0
        while len(self._pending) >= min_pages and operations < max_operations:
            pages = self._pending[:MAX_PUSHED_PAGES]
            del self._pending[:MAX_PUSHED_PAGES]
            rows = [self._rows.row_at(page) for page in pages]
            counts = np.fromiter(map(len, rows), np.intp, len(rows))
            page_array, residual = np.array(pages), np.frombuffer(self._residual)
            shares = self.damping * residual[page_array] / counts
            residual[page_array] = 0.0
            np.frombuffer(self._push_threshold)[page_array] = self._threshold * np.maximum(
                1.0, counts / WIDE_PAGE_LINKS
            )
            targets = _id_array(b"".join(rows))
            operations += len(targets)
            self._add_shares(targets, np.repeat(shares, counts), risen)

    def _add_shares(
        self,
        targets: npt.NDArray[np.intp],
        shares: npt.NDArray[np.float64],
        risen: set[int] | None,
    ) -> None:
        """Hand its share to each target: to its rank and, of a fetched page, its residual.

        The ids whose rank has risen are added to `risen`; None: nobody asks.
        """
        import numpy as np

        pages = self._rows.numbering.numbers(targets).astype(np.intp)
        is_fetched = pages > 0
        pages, page_shares = pages[is_fetched], shares[is_fetched]
        ranks, page_ranks = np.frombuffer(self._rank, np.float32), np.frombuffer(self._page_rank)
        before = ranks[targets]
        np.add.at(ranks, targets, shares.astype(np.float32))
        np.add.at(page_ranks, pages, page_shares)
        ranks[targets[is_fetched]] = page_ranks[pages]
        now = ranks[targets]
        if risen is None:
            self.largest_rank = max(self.largest_rank, float(now.max(initial=0.0)))
        elif (has_risen := self._has_risen(before, now)).any():
            risen.update(targets[has_risen].tolist())
            self.largest_rank = max(self.largest_rank, float(now[has_risen].max()))
        residual, limit = np.frombuffer(self._residual), np.frombuffer(self._push_threshold)
        np.add.at(residual, pages, page_shares)
        for page in pages[residual[pages] > limit[pages]].tolist():
            if limit[page] < math.inf:
                limit[page] = math.inf
                self._pending.append(page)

    def _has_risen(
        self, before: npt.NDArray[np.float32], now: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.bool_]:
        """Which ranks have passed a step."""
        import numpy as np

        if not self._step:
            return now > before
        result: npt.NDArray[np.bool_] = np.floor(np.log(now) / self._step) > np.floor(
            np.log(before) / self._step
        )
        return result

    def residual(self, url_id: int) -> float:
        """What lies on a URL and was not pushed yet; 0 for one not fetched."""
        return self._residual[self._rows.numbering.number(url_id)]

    def error_bound(self) -> float:
        """Largest possible ‖p* - p‖₁: the residual on fetched pages over 1 - d.

        Unfetched URLs have no row, so what lies on them is already in their rank.
        """
        return sum(self._residual) / self._teleport

    @property
    def rows(self) -> Rows:
        """The distinct out-links of every fetched page."""
        return self._rows

    def out_links(self, source: int) -> Sequence[int]:
        """The distinct out-links of a fetched page, () for any other URL."""
        number = self._rows.numbering.number(source)
        return self._rows.row_at(number) if number else ()


def _id_array(packed: array[int] | bytes) -> npt.NDArray[np.intp]:
    """URL ids, as arrays are indexed by them."""
    import numpy as np

    return np.frombuffer(packed, np.uint32).astype(np.intp)
