"""HITS: hubs and authorities on the part of the web crawled so far.

HITS (Kleinberg 1999; P1 2.2.4.1, P3 5.2.2): h(u) = Σ a(c) over the links u→c, a(c) = Σ h(u)
over the links to c, up to one factor: h is the principal eigenvector of A·Aᵀ, A the links
of the fetched pages. Where the graph falls apart that is not unique, so each page gets the
mean of all h on top (Langville and Meyer's remedy, the matrix J/n): M = A·Aᵀ + J/n, with
one positive eigenvector. It moves the eigenvalue, as a rule some hundreds, by at most 1.

Example: page 0 links to 2 and 3, page 1 to 3. M = [[2.5, 1.5], [1.5, 1.5]], its eigenvalue is
3.581, h(1)/h(0) = 1.081/1.5 = 0.721, a(2)/a(3) = 1/1.721 = 0.581 (without J/n: 0.618).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from focus.score.graph.compact_arrays import Rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TOLERANCE = 0.01
"""Relative change of a value that counts as a change."""

MAX_SWEEPS = 50
"""Maximum number of passes over all links."""

MAX_LINK_VISITS = 200_000_000
"""Links that all sweeps together may visit: ten sweeps over 200,000 pages of 97 links, two seconds
of CPU. The largest hubs and authorities are in their order after three or four passes."""

_MIN_SWEEPS = 3  # whatever they cost
_LINKS_PER_PART = 100_000  # of larger parts each array would be memory new from the system


class Hits:
    """Authorities in a growing graph, computed again when it has grown by a tenth.

    In between they are reused, and a URL with new links only has 0. Values have no unit: only
    comparisons within one graph mean anything.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._authorities = array("d")
        self._next_update = 1  # number of pages at which they are computed again

    def authority(self, url_id: int) -> float:
        """Return the authority of a URL; 0 if no page linked to it at the last computation."""
        return self._authorities[url_id] if url_id < len(self._authorities) else 0.0

    def add(self, source: int, targets: Sequence[int]) -> set[int]:
        """Update after a page was added to the graph; return the ids whose authority rose."""
        import numpy as np

        pages = self._rows.numbering.number(source)
        if pages < self._next_update:
            return set()
        self._next_update = pages + max(1, pages // 10)
        _, authorities = _power_iteration(self._rows, pages, MAX_LINK_VISITS // 10)
        before = np.zeros(len(authorities))
        before[: len(self._authorities)] = self._authorities
        self._authorities = array("d", authorities.tobytes())
        return set(np.flatnonzero(authorities > before * (1.0 + TOLERANCE)).tolist())


class HubsAuthorities(NamedTuple):
    """Pages by id, with hub and authority of each divided by the largest in the graph: 0…1."""

    ids: npt.NDArray[np.uint32]
    hubs: npt.NDArray[np.float64]
    authorities: npt.NDArray[np.float64]


def hubs_and_authorities(rows: Rows, *, max_link_visits: int = MAX_LINK_VISITS) -> HubsAuthorities:
    """Return hub and authority of every page of a complete graph.

    Example: 0 links to 2 and 3, 1 to 3, both to each other: page 1 has 0.72 of the hub of page 0.
    """
    hubs, authorities = _power_iteration(rows, len(rows), max_link_visits)
    ids, _, _ = rows.as_arrays()
    page_authorities = authorities[ids]
    if len(ids):
        page_authorities /= page_authorities.max() or 1.0
    return HubsAuthorities(ids, hubs, page_authorities)


def _power_iteration(
    rows: Rows, pages: int, max_link_visits: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the hub of each of the first `pages` pages, and the authority of each URL by id.

    Power iteration h ← M·h until a sweep changes fewer than a hundredth of the hubs by more than
    `TOLERANCE`, at most `MAX_SWEEPS` sweeps and `max_link_visits` links. The largest hub is 1.
    """
    import numpy as np

    ids, ends, targets = rows.as_arrays()
    ids, ends, targets = ids[:pages], ends[: pages + 1], targets[: ends[pages]]
    hubs = np.ones(pages)
    authorities = np.zeros(1 + int(max(ids.max(initial=0), targets.max(initial=0))))
    if not pages:
        return hubs, authorities
    parts = [*_split(ends, targets)]
    for _ in range(max(_MIN_SWEEPS, min(MAX_SWEEPS, max_link_visits // max(1, len(targets))))):
        authorities[:] = 0.0
        for part in parts:
            np.add.at(authorities, part.targets, np.repeat(hubs[part.pages], part.counts))
        new_hubs = (
            np.concatenate([part.sum_over_targets(authorities) for part in parts]) + hubs.mean()
        )
        new_hubs /= new_hubs.max()
        changed = np.count_nonzero(np.abs(new_hubs - hubs) > TOLERANCE * hubs)
        hubs = new_hubs
        if changed * 100 < pages:
            break
    return hubs, authorities


class _Part(NamedTuple):
    """Some pages of a graph: their slice of all pages, link counts and targets."""

    pages: slice
    counts: npt.NDArray[np.intp]
    targets: npt.NDArray[np.uint32]

    def sum_over_targets(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the sum of the values of each page's targets."""
        import numpy as np

        sums, has_links = np.zeros(len(self.counts)), self.counts > 0
        starts = np.cumsum(self.counts) - self.counts
        if has_links.any():
            sums[has_links] = np.add.reduceat(values[self.targets], starts[has_links])
        return sums


def _split(ends: npt.NDArray[np.uint64], targets: npt.NDArray[np.uint32]) -> Iterator[_Part]:
    """Yield parts of consecutive pages with about `_LINKS_PER_PART` links; `ends` begins with 0."""
    import numpy as np

    offsets = ends.astype(np.intp)
    first = 0
    while first < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[first] + _LINKS_PER_PART))
        last = min(max(first + 1, end), len(offsets) - 1)
        counts = np.diff(offsets[first : last + 1])
        yield _Part(slice(first, last), counts, targets[offsets[first] : offsets[last]])
        first = last
