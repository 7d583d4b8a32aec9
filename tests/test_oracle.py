"""The oracle: no crawl is above its curve."""

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.metrics.measures import recall_curve
from focus.metrics.oracle import oracle_curve, reachable_targets

Graph = dict[int, list[int]]

NODES = 8
GRAPHS = st.dictionaries(
    st.integers(0, NODES - 1), st.lists(st.integers(0, NODES - 1), max_size=3), max_size=NODES
)
SEEDS = st.lists(st.integers(0, NODES - 1), min_size=1, max_size=2)
RELEVANT = st.sets(st.integers(0, NODES - 1))


def best_possible(graph: Graph, seeds: list[int], targets: frozenset[int]) -> list[float]:
    """Recall of the best crawl for each number of requests: every set is tried."""
    best = [0] * (NODES + 1)
    for chosen in product((False, True), repeat=NODES):
        pages = {page for page in range(NODES) if chosen[page]}
        visited, todo = set(), [seed for seed in seeds if seed in pages]
        while todo:
            page = todo.pop()
            if page not in visited:
                visited.add(page)
                todo += [link for link in graph.get(page, ()) if link in pages]
        if visited == pages:
            best[len(pages)] = max(best[len(pages)], len(pages & targets))
    curve = [max(best[: k + 1]) for k in range(1, NODES + 1)]
    return [number / len(targets) if targets else 0.0 for number in curve]


def random_crawl(graph: Graph, seeds: list[int], rng: Random) -> list[int]:
    """Any crawl that obeys its links."""
    order: list[int] = []
    waiting = list(dict.fromkeys(seeds))
    known = set(waiting)
    while waiting:
        order.append(waiting.pop(rng.randrange(len(waiting))))
        new = [link for link in dict.fromkeys(graph.get(order[-1], ())) if link not in known]
        known.update(new)
        waiting += new
    return order


def test_oracle_curve_example_matches_docstring() -> None:
    graph = {"seed": ["a", "t2"], "a": ["t1"]}
    assert oracle_curve(graph, ["seed"], {"t1", "t2"}, 5) == [0, 0.5, 0.5, 1, 1]


def test_reachable_targets_exclude_seeds_and_unlinked_pages() -> None:
    graph = {0: [1, 2], 2: [3]}
    assert reachable_targets(graph, [0, 5], {0, 1, 3, 4, 5}) == {1, 3}
    assert reachable_targets(graph, [], {1}) == frozenset()


def test_oracle_curve_path_over_targets_has_no_cost() -> None:
    graph = {0: [1, 9], 1: [2], 2: [3], 9: [3]}
    assert oracle_curve(graph, [0], {1, 2, 3}, 4) == pytest.approx([0, 1 / 3, 2 / 3, 1])


@given(GRAPHS, SEEDS, RELEVANT)
def test_oracle_curve_bounds_best_crawl(graph: Graph, seeds: list[int], relevant: set[int]) -> None:
    targets = reachable_targets(graph, seeds, relevant)
    bound = oracle_curve(graph, seeds, targets, NODES)
    best = best_possible(graph, seeds, targets)
    assert all(b >= c - 1e-12 for b, c in zip(bound, best, strict=True))


@given(st.integers(0, 2**32))
def test_oracle_curve_random_graph_is_monotone_bound(seed: int) -> None:
    rng = Random(seed)
    graph = {page: rng.choices(range(200), k=rng.randrange(6)) for page in range(200)}
    seeds = rng.sample(range(200), 3)
    targets = reachable_targets(graph, seeds, rng.sample(range(200), 40))
    bound = oracle_curve(graph, seeds, targets, 200)
    assert bound == sorted(bound)
    curve = recall_curve(random_crawl(graph, seeds, rng), targets, 200)
    assert all(b >= c - 1e-12 for b, c in zip(bound, curve, strict=True))
