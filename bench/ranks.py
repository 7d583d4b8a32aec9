"""Measures what PageRank costs a page, and its distance from the exact one.

    python -m bench.ranks [--pages 100000] [--links 97] [--json FILE]

A seeded graph that grows as a crawl does: each page links to 10 new URLs and to popular old
ones; pages are fetched in order of discovery. The exact ranks are iterated with numpy, apart
from the code that is measured. CPU time.
"""

from __future__ import annotations

import random
import time
from array import array

import numpy as np

from bench.script import read_options, tell
from focus.score.graph.pagerank import DAMPING, EPSILON, PageRank
from tests.support.processes import peak_mib

FRESH = 10
BATCH = 1000


def targets(page: int, links: int, rng: random.Random) -> list[int]:
    """Where a page links to: its ten new URLs, and old ones, small numbers more often."""
    first = 1 + page * FRESH
    old = [int(first * rng.random() ** 2) for _ in range(links - FRESH)]
    return [*range(first, first + FRESH), *old]


def exact(heads: array[int], tails: array[int], urls: int) -> np.ndarray:
    """p = (1 - d) + d·Pᵀp by plain iteration, until nothing moves by 1e-10 of the sum."""
    source, target = np.frombuffer(heads, "u4"), np.frombuffer(tails, "u4")
    weight = DAMPING / np.bincount(source, minlength=urls)[source]
    ranks = np.full(urls, 1.0 - DAMPING)
    while True:
        fresh = (1.0 - DAMPING) + np.bincount(target, weight * ranks[source], minlength=urls)
        change = np.abs(fresh - ranks).sum()
        ranks = fresh
        if change < 1e-10 * ranks.sum():
            return ranks


def measure(pages: int, links: int = 97) -> dict[str, object]:
    """Cost by page, at the end and over all, and the error beside its bound."""
    rng, graph = random.Random(1), PageRank()
    heads, tails = array("I"), array("I")
    costs = []
    slowest = 0.0
    for first in range(0, pages, BATCH):
        rows = [targets(page, links, rng) for page in range(first, min(pages, first + BATCH))]
        began = time.thread_time()
        for page, row in enumerate(rows, first):
            graph.add(page, row)
        costs.append((time.thread_time() - began) / len(rows))
        slowest = max(slowest, costs[-1])
        for page, row in enumerate(rows, first):
            unique = dict.fromkeys(each for each in row if each != page)
            heads.extend([page] * len(unique))
            tails.extend(unique)
    urls = len(graph)
    mib = peak_mib()
    truth = exact(heads, tails, urls)
    ours = np.array([graph.rank(url) for url in range(urls)])
    top = [set(np.argsort(-ranks)[:1000].tolist()) for ranks in (ours, truth)]
    return {
        "pages": pages,
        "urls": urls,
        "edges": len(heads),
        "epsilon": EPSILON,
        "ms_per_page": round(1000 * sum(costs) / len(costs), 4),
        "ms_per_page_at_the_end": round(1000 * sum(costs[-5:]) / len(costs[-5:]), 4),
        "ms_per_page_slowest_thousand": round(1000 * slowest, 4),
        "error_l1": float(np.abs(truth - ours).sum()),
        "bound_l1": graph.error_bound(),
        "error_relative": float(np.abs(truth - ours).sum() / truth.sum()),
        "top_1000_shared": len(top[0] & top[1]),
        "peak_mib": round(mib, 1),
    }


def main() -> None:
    """Print what it costs."""
    given = read_options(__doc__)
    tell(measure(given.pages, given.links), given.json)


if __name__ == "__main__":
    main()
