"""Strategies: what a link gives its target, on drawn tiny cases and worked numbers."""

from __future__ import annotations

import hashlib

import pytest

from focus.errors import ConfigError
from focus.records import Link, Tally
from focus.score.pagerank import PageRank
from focus.score.strategy import STRATEGIES, Parent, Strategy, make_strategy
from focus.score.strategy.best_link import inherited
from focus.score.strategy.yielding import shrunk_rate


def link(name: str, anchor: float = 0.0, **scores: float) -> Link:
    url = f"http://h/{name}"
    key = hashlib.md5(url.encode()).digest()
    return Link(url=url, key=key, host="h", anchor_score=anchor, **scores)  # type: ignore[arg-type]


def parent(strategy: Strategy, relevance: float, **known: object) -> Parent:
    fields = {"id": 0, "nth": 1, "depth": 0, "host": "h", "shape": "", "carry": strategy.seed()}
    return Parent(relevance=relevance, relevant=relevance > 0.5, **{**fields, **known})  # type: ignore[arg-type]


def make(name: str, *, as_published: bool = False, **params: float) -> Strategy:
    graph = PageRank()
    graph.grow(100)
    return make_strategy(name, params, graph, as_published=as_published)


def priorities(strategy: Strategy, page: Parent, links: list[Link]) -> list[float | None]:
    carries = strategy.carries(page, links)
    return [
        None if carry is None else strategy.priority(n + 1, carry)
        for n, carry in enumerate(carries)
    ]


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("published", [False, True])
def test_every_strategy_gives_finite_priorities(name: str, published: bool) -> None:
    strategy = make(name, as_published=published)
    found = priorities(strategy, parent(strategy, 0.7), [link(str(n), n / 5) for n in range(5)])
    assert all(p is None or abs(p) < 1e6 for p in found)
    assert len(strategy.seed()) == strategy.width


@pytest.mark.parametrize("name", STRATEGIES)
def test_more_evidence_never_lowers_a_priority(name: str) -> None:
    strategy = make(name)
    low = strategy.priority(1, (0.1,) * strategy.width)
    high = strategy.priority(1, (0.9,) * strategy.width)
    assert high >= low


def test_breadth_first_knows_no_difference() -> None:
    bfs = make("bfs")
    assert priorities(bfs, parent(bfs, 0.9), [link("a", 1.0), link("b")]) == [0.0, 0.0]


def test_best_first_takes_the_parent_s_relevance() -> None:
    strategy = make("best-first")
    found = priorities(strategy, parent(strategy, 0.7), [link("a", 1.0), link("b")])
    assert found == [0.7, 0.7]


def test_best_link_worked_number() -> None:
    strategy = make("best-link", anchor=2.5, url=1.5, heading=1.0, home=0.3, inherit=1.0)
    assert priorities(strategy, parent(strategy, 0.6), [link("a", 1.0)]) == [pytest.approx(3.4)]


def test_tunnelling_decays_off_topic_and_is_restored() -> None:
    strategy = make("best-link")
    off = parent(strategy, 0.1, carry=(0.0, 0.0, 0.0, 0.0, 0.8))
    assert inherited(off, 0.8, 0.5) == pytest.approx(0.4)
    assert inherited(parent(strategy, 0.9), 0.2, 0.5) == 0.9


def test_pagerank_order_follows_the_graph() -> None:
    strategy = make("pagerank")
    strategy.graph.add(0, [1, 2])
    strategy.graph.add(3, [2])
    assert strategy.priority(2, ()) > strategy.priority(1, ())


def test_topic_pagerank_mixes_scaled_rank_and_similarity() -> None:
    strategy = make("topic-pagerank", gamma=0.2)
    strategy.graph.add(0, [1])
    strategy.graph.largest = 4 * strategy.graph.rank(5)
    assert strategy.priority(5, (0.6, 0.0)) == pytest.approx(0.05 + 0.48)


def test_topic_pagerank_as_published_has_width_and_depth() -> None:
    strategy = make("topic-pagerank", as_published=True, gamma=0.2, W=2, a=1.5, D=2)
    strategy.graph.largest = 10.0
    links = [link(str(n)) for n in range(5)]
    relevant = strategy.carries(parent(strategy, 1.5), links)
    assert [c is not None and c[0] > 0 for c in relevant] == [True, True, True, False, False]
    assert all(c is not None and c[1] == 2 for c in relevant)
    off = strategy.carries(parent(strategy, 0.1), links)
    assert [c is not None and c[0] > 0 for c in off] == [True, True, False, False, False]
    assert all(c is not None and c[1] == 1 for c in off)
    ended = strategy.carries(parent(strategy, 1.5, carry=(0.0, 0.0)), links)
    assert ended == [None] * 5


def test_yield_learns_where_pages_pay() -> None:
    strategy = make("yield")
    host = Tally(40, 8.0)
    good, bad, unknown = Tally(20, 15.0), Tally(20, 0.0), Tally()
    bonus = [strategy.bonus(queue, host) for queue in (good, unknown, bad)]
    assert bonus == sorted(bonus, reverse=True)
    assert strategy.bonus(unknown, Tally()) == 0.0
    assert strategy.hub_bonus(good) > 0.0 > strategy.hub_bonus(bad)


def test_yield_worked_number() -> None:
    strategy = make("yield", p0=0.5, k=4.0, weight=0.9)
    assert strategy.bonus(Tally(20, 15.0), Tally(40, 8.0)) == pytest.approx(0.61, abs=0.005)


def test_shrunk_rate_worked_number() -> None:
    assert shrunk_rate(Tally(4, 3.0), 0.1, 4.0) == pytest.approx(0.425)


def test_unknown_strategies_and_parameters_are_named() -> None:
    with pytest.raises(ConfigError, match="best-link"):
        make("best-lnk")
    with pytest.raises(ConfigError, match="gamma"):
        make("topic-pagerank", gama=0.3)
