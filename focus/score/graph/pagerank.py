"""Incremental PageRank on the part of the web crawled so far, by residual push.

P1 recomputes the ranks of all crawled pages for every page, which is quadratic. Here a new page
adds its own share and pushes it along its links until the remaining residual is negligible, so that
a page costs about as much as it has links.

The system solved is (I - d·Pᵀ)·p = (1 - d)·v with v = 1 for every known URL and P the rows of
fetched pages (1/out-degree each); unfetched pages and pages without links leak. Divided by its sum,
p is PageRank with the mass of dangling pages spread evenly. The state is p and a residual r ≥ 0
with p* = p + (I - d·Pᵀ)⁻¹·r, so p ≤ p* and ‖p* - p‖₁ ≤ Σr / (1 - d). Stored are the ranks p + r,
and r of fetched pages only, because nothing else is pushed. A row is added whole and once, so
residuals stay positive. (Push: Berkhin 2006, Andersen et al. 2006; D-Iteration is the same pair.)

Ranks are float32; those of fetched pages are summed in double precision, because a share of 0.0001
would be lost in the float32 rank of a home page, which is some thousands.

Example: page 0 links to 1 and 2, nothing else is known, d = 0.85. p(0) = 0.15,
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
"""Smallest residual that is pushed, in units of the teleport share."""

WIDE_PAGE_LINKS = 20
"""Pages with more out-links have a proportionally larger threshold.

A push costs as much as the page has links, so all pushes together cost at most
Σv·WIDE_PAGE_LINKS/ε edge operations."""

LOG_RISE_STEP = math.log(1.05)
"""A rise is reported when a rank passes a power of 1.05."""

MAX_PUSHES = 2000
"""Maximum number of edge operations per added page; the rest is done later."""

GROWTH_CHUNK = 65_536  # URLs for which space is allocated at a time

MIN_PUSHED_PAGES, MAX_PUSHED_PAGES = 32, 256
"""Pages pushed together, as arrays, which takes a fifth of the time of single pushes."""

MAX_DEFERRED_PAGES = 64
"""New pages whose ranks are distributed together if rises are not reported."""
MAX_GROUP_PAGES = 256
"""The same for pages of an earlier run."""


class PageRank:
    """PageRank of a growing graph whose nodes are URL ids.

    damping        d in (0, 1)
    epsilon        push threshold relative to 1 - d; smaller is more exact and slower
    prompt         push after each page and report every rise: P1's order, four times slower
    reports_rises  whether `add` returns ids whose rank rose; if not, pages distribute their
                   ranks in groups of 64
    listeners      called with each added page (source, its distinct targets); return the ids
                   whose value rose there (hits.py, shares.py)
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
        # By page number (0 is unused): rank, residual, and the residual above which it is pushed,
        # infinite while the page is pending.
        self._page_rank = array("d", [0.0])
        self._residual = array("d", [0.0])
        self._push_threshold = array("d", [math.inf])
        self._pending: list[int] = []  # page numbers in order of arrival
        self.largest_rank = self._teleport
        self.reports_rises = True
        self._deferred: list[int] = []  # ids whose ranks were not distributed yet
        self.listeners: list[Callable[[int, Sequence[int]], set[int]]] = []

    def __len__(self) -> int:
        return len(self._rank)

    @property
    def may_defer(self) -> bool:
        """Whether added pages may distribute their ranks later, because nothing reads them now."""
        return not (self.reports_rises or self.listeners)

    def reserve(self, size: int) -> None:
        """Allocate space for ids under `size`; a new URL has the teleport share as its rank."""
        new = size - len(self._rank)
        if new > 0:
            shares = array("f", [self._teleport]) * min(new, GROWTH_CHUNK)
            for start in range(0, new, GROWTH_CHUNK):
                self._rank.extend(shares[: new - start])
            self._rows.numbering.reserve(size)

    def rank(self, url_id: int) -> float:
        """Return the rank of a URL, in units in which the average known URL has at most 1.

        It is 0.15 for a URL that no fetched page links to.
        """
        return self._rank[url_id]

    def ranks(self, ids: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """Return the ranks of many URLs."""
        import numpy as np

        return np.frombuffer(self._rank, np.float32)[ids].astype(np.float64)

    def scaled_rank(self, url_id: int) -> float:
        """Return the rank divided by the largest in the graph, in (0, 1]."""
        share = self._rank[url_id] / self.largest_rank
        return share if share < 1.0 else 1.0

    def add(self, source: int, targets: Sequence[int]) -> set[int]:
        """Add the out-links of a fetched page; return the ids whose rank or listener value rose.

        Repeated targets and links to itself are ignored. Adding a page again changes nothing.
        """
        import numpy as np

        if self._rows.numbering.number(source):
            return set()
        self.reserve(max(source, *targets, 0) + 1 if targets else source + 1)
        row = self._add_row(source, targets)
        if self.may_defer:
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
        """Add many pages of an earlier run at a tenth of the cost.

        All pages distribute their initial ranks at the same time; what they receive becomes
        residual, and `push_all` must follow. If rises are not reported, they do so in groups when
        other pages are added later.
        """
        import numpy as np

        new_pages = [
            (page, links) for page, links in pages if not self._rows.numbering.number(page)
        ]
        rows = _clean_rows(new_pages)
        ids = np.array([page for page, _ in new_pages], np.intp)
        counts = np.fromiter(map(len, rows), np.intp, len(rows))
        self._rows.add_all(ids, b"".join(rows), counts)
        self._page_rank.frombytes(self.ranks(ids).tobytes())
        self._residual.frombytes(bytes(ids.nbytes))
        self._push_threshold.frombytes(self._thresholds(counts).tobytes())
        if self.may_defer:
            self._deferred += ids.tolist()
            return
        self._distribute_ranks(ids, rows)
        for listener in self.listeners:
            for (page, _), row in zip(new_pages, rows, strict=True):
                listener(page, row)

    def _distribute_deferred(self, min_pages: int) -> None:
        pages, self._deferred = self._deferred[:MAX_GROUP_PAGES], self._deferred[MAX_GROUP_PAGES:]
        self._distribute_ranks(pages, [self._rows[page] for page in pages])
        self._push(None, MAX_PUSHES * len(pages), min_pages)

    def _distribute_ranks(
        self, pages: Sequence[int] | npt.NDArray[np.intp], rows: Sequence[array[int]]
    ) -> None:
        """Distribute the current ranks of these pages along their rows."""
        import numpy as np

        counts = np.fromiter(map(len, rows), np.intp, len(rows))
        amounts = self.ranks(np.asarray(pages, np.intp))
        shares = self.damping * amounts / np.maximum(1, counts)
        self._add_shares(_id_array(b"".join(rows)), np.repeat(shares, counts), None)

    def _thresholds(self, counts: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """Return the residuals above which pages with these numbers of links are pushed."""
        import numpy as np

        wide = self._threshold * np.maximum(1.0, counts / WIDE_PAGE_LINKS)
        thresholds: npt.NDArray[np.float64] = np.where(counts > 0, wide, math.inf)
        return thresholds

    def _add_row(self, source: int, targets: Sequence[int]) -> array[int]:
        """Add the row of a new page: its distinct targets other than itself."""
        distinct = set(targets)  # mostly without duplicates, so a set is faster
        if len(distinct) < len(targets) or source in distinct:
            targets = _clean(source, targets)
        row = array("I", targets)
        self._rows.add(source, row)
        self._page_rank.append(self._rank[source])
        self._residual.append(0.0)
        self._push_threshold.append(
            self._threshold * max(1.0, len(row) / WIDE_PAGE_LINKS) if row else math.inf
        )
        return row

    def push_all(self) -> None:
        """Push until no residual is over its threshold, without the limit per page."""
        while self._deferred:
            self._distribute_deferred(1)
        self._push(None, math.inf, 1)

    def _push(self, risen: set[int] | None, max_operations: float, min_pages: int) -> None:
        """Push residuals over their threshold, in rounds, while at least `min_pages` pages wait."""
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
            np.frombuffer(self._push_threshold)[page_array] = self._thresholds(counts)
            targets = _id_array(b"".join(rows))
            operations += len(targets)
            self._add_shares(targets, np.repeat(shares, counts), risen)

    def _add_shares(
        self, targets: npt.NDArray[np.intp], shares: npt.NDArray[np.float64], risen: set[int] | None
    ) -> None:
        """Add the share of each target to its rank and, for a fetched page, to its residual.

        Ids whose rank rose are added to `risen`, unless it is None.
        """
        import numpy as np

        pages = self._rows.numbering.numbers(targets).astype(np.intp)
        is_fetched = pages > 0
        pages, page_shares = pages[is_fetched], shares[is_fetched]
        ranks, page_ranks = np.frombuffer(self._rank, np.float32), np.frombuffer(self._page_rank)
        before = ranks[:0] if risen is None else ranks[targets]
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
        """Return for each rank whether it passed a power of 1.05."""
        import numpy as np

        if not self._step:
            return now > before
        result: npt.NDArray[np.bool_] = np.floor(np.log(now) / self._step) > np.floor(
            np.log(before) / self._step
        )
        return result

    def residual(self, url_id: int) -> float:
        """Return the residual of a URL that was not pushed yet; 0 if it was not fetched."""
        return self._residual[self._rows.numbering.number(url_id)]

    def error_bound(self) -> float:
        """Return the largest possible ‖p* - p‖₁: the residual on fetched pages over 1 - d.

        URLs that were not fetched have no row, so their residual is already in their rank.
        """
        return sum(self._residual) / self._teleport

    @property
    def rows(self) -> Rows:
        """Distinct out-links of every fetched page."""
        return self._rows

    def out_links(self, source: int) -> Sequence[int]:
        """Return the distinct out-links of a fetched page, () for any other URL."""
        number = self._rows.numbering.number(source)
        return self._rows.row_at(number) if number else ()


def _clean(source: int, targets: Sequence[int]) -> list[int]:
    return [target for target in dict.fromkeys(targets) if target != source]


def _clean_rows(pages: Sequence[tuple[int, Sequence[int]]]) -> list[array[int]]:
    """Return for each page its distinct targets other than itself."""
    import numpy as np

    rows = [array("I", links) for _, links in pages]
    counts = [*map(len, rows)]
    targets = _id_array(b"".join(rows))
    numbers = np.repeat(np.arange(len(pages)), counts)
    is_own = targets == np.repeat(np.array([page for page, _ in pages], np.intp), counts)
    keys = np.sort(numbers << 32 | targets)
    is_repeated = keys[1:] == keys[:-1]
    for number in {*numbers[is_own].tolist(), *(keys[1:][is_repeated] >> 32).tolist()}:
        rows[number] = array("I", _clean(*pages[number]))
    return rows


def _id_array(packed: array[int] | bytes) -> npt.NDArray[np.intp]:
    """Return packed URL ids as array indices."""
    import numpy as np

    return np.frombuffer(packed, np.uint32).astype(np.intp)
