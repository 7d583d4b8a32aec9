"""The oracle: never beaten, and not far above what can be done."""

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.metrics.measures import area_under_recall, recall_curve
from focus.metrics.oracle import oracle_curve, oracle_order, reachable_targets

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
        held, todo = set(), [seed for seed in seeds if seed in pages]
        while todo:
            page = todo.pop()
            if page not in held:
                held.add(page)
                todo += [link for link in graph.get(page, ()) if link in pages]
        if held == pages:
            best[len(pages)] = max(best[len(pages)], len(pages & targets))
    curve = [max(best[: k + 1]) for k in range(1, NODES + 1)]
    return [found / len(targets) if targets else 0.0 for found in curve]


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


def test_worked_number() -> None:
    graph = {"seed": ["a", "t2"], "a": ["t1"]}
    assert oracle_curve(graph, ["seed"], {"t1", "t2"}, 5) == [0, 0.5, 0.5, 1, 1]
    assert oracle_order(graph, ["seed"], {"t1", "t2"}, 9) == ["seed", "t2", "a", "t1"]


def test_targets_exclude_seeds_and_what_no_link_leads_to() -> None:
    graph = {0: [1, 2], 2: [3]}
    assert reachable_targets(graph, [0, 5], {0, 1, 3, 4, 5}) == {1, 3}
    assert reachable_targets(graph, [], {1}) == frozenset()


def test_a_way_over_targets_costs_nothing_extra() -> None:
    graph = {0: [1, 9], 1: [2], 2: [3], 9: [3]}
    assert oracle_curve(graph, [0], {1, 2, 3}, 4) == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_the_order_prefers_the_hub_that_opens_more() -> None:
    graph = {0: [1, 2], 1: [10], 2: [3], 3: [11, 12, 13, 14]}
    order = oracle_order(graph, [0], {10, 11, 12, 13, 14}, 20)
    assert order[:4] == [0, 2, 3, 11]
    assert order[-1] == 10


@given(GRAPHS, SEEDS, RELEVANT)
def test_no_crawl_beats_the_curve(graph: Graph, seeds: list[int], relevant: set[int]) -> None:
    targets = reachable_targets(graph, seeds, relevant)
    bound = oracle_curve(graph, seeds, targets, NODES)
    best = best_possible(graph, seeds, targets)
    assert all(b >= c - 1e-12 for b, c in zip(bound, best, strict=True))
    possible = recall_curve(oracle_order(graph, seeds, targets, NODES), targets, NODES)
    assert all(c >= p - 1e-12 for c, p in zip(best, possible, strict=True))
    assert possible[-1:] == [1.0 if targets else 0.0]


@given(st.integers(0, 2**32))
def test_larger_webs_too(seed: int) -> None:
    rng = Random(seed)
    graph = {page: rng.choices(range(200), k=rng.randrange(6)) for page in range(200)}
    seeds = rng.sample(range(200), 3)
    targets = reachable_targets(graph, seeds, rng.sample(range(200), 40))
    bound = oracle_curve(graph, seeds, targets, 200)
    assert bound == sorted(bound)
    for order in (random_crawl(graph, seeds, rng), oracle_order(graph, seeds, targets, 200)):
        curve = recall_curve(order, targets, 200)
        assert all(b >= c - 1e-12 for b, c in zip(bound, curve, strict=True))


@given(GRAPHS, SEEDS, RELEVANT)
def test_the_possible_order_obeys_the_links(
    graph: Graph, seeds: list[int], relevant: set[int]
) -> None:
    order = oracle_order(graph, seeds, reachable_targets(graph, seeds, relevant), 50)
    known = set(seeds)
    for page in order:
        assert page in known
        known.update(graph.get(page, ()))
    assert len(order) == len(set(order))


def test_the_possible_order_is_far_above_chance() -> None:
    rng = Random(5)
    graph = {page: rng.choices(range(500), k=5) for page in range(500)}
    targets = reachable_targets(graph, [0], range(0, 500, 10))
    good = recall_curve(oracle_order(graph, [0], targets, 150), targets, 150)
    blind = recall_curve(random_crawl(graph, [0], rng), targets, 150)
    assert area_under_recall(good) > 3 * area_under_recall(blind)
