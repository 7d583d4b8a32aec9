"""Incremental HITS against the slow obvious version, and its bounded cost."""

import random
from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focus.score.graph.compact_arrays import Rows
from focus.score.graph.hits import Hits, hubs_and_authorities, power_iteration
from focus.score.graph.pagerank import PageRank

Links = dict[int, list[int]]
ROWS = st.dictionaries(
    st.integers(0, 9), st.lists(st.integers(0, 14), max_size=8, unique=True), max_size=10
).map(lambda rows: {page: [t for t in row if t != page] for page, row in rows.items()})


def grown(rows: Links, **settings: float) -> Hits:
    hits = Hits(**settings)  # type: ignore[arg-type]
    for page, row in rows.items():
        hits.add(page, row)
    return hits


def settled(rows: Links) -> Hits:
    hits = grown(rows, tolerance=0.0)
    for _ in range(1000):
        hits.settle(10**9)
    return hits


def fast(rows: Links) -> tuple[dict[int, float], dict[int, float]]:
    hits = settled(rows)
    largest = max(hits.hub(page) for page in rows)
    targets = {target for row in rows.values() for target in row}
    return (
        {page: hits.hub(page) / largest for page in rows},
        {target: hits.authority(target) / largest for target in targets},
    )


VERSIONS = pytest.mark.parametrize("version", [fast, power_iteration])


@VERSIONS
def test_the_worked_number(version: type) -> None:
    hubs, authorities = version({0: [2, 3], 1: [3]})
    assert hubs[1] / hubs[0] == pytest.approx(0.7208, abs=1e-4)
    assert authorities[2] / authorities[3] == pytest.approx(0.5811, abs=1e-4)


@VERSIONS
def test_authority_is_the_sum_of_its_hubs_and_a_hub_that_of_its_authorities(version: type) -> None:
    """P1 figure 2-10: A, B, C link to D, D to E, F, G (and to A, so that it is one web)."""
    a, b, c, d, e, f, g = range(7)
    hubs, authorities = version({a: [d], b: [d], c: [d, e], d: [e, f, g, a]})
    assert authorities[d] == pytest.approx(hubs[a] + hubs[b] + hubs[c])
    mean = sum(hubs.values()) / len(hubs)
    value = (authorities[d] + mean) / hubs[a]
    assert sum(authorities[x] for x in (e, f, g, a)) + mean == pytest.approx(value * hubs[d])


@VERSIONS
def test_a_page_that_falls_out_of_the_web_is_still_above_nothing(version: type) -> None:
    hubs, authorities = version({0: [5, 6], 1: [5, 6], 2: [7]})
    assert 0.0 < authorities[7] < authorities[5]
    assert 0.0 < hubs[2] < hubs[0]


@given(ROWS)
@settings(deadline=None, max_examples=50)
def test_settles_to_the_eigenvector(rows: Links) -> None:
    hits = settled(rows)
    assert hits.residual() < 1e-6
    assert all(hits.hub(page) > 0.0 for page in rows)


@given(ROWS)
@settings(deadline=None)
def test_every_step_raises_the_eigenvalue(rows: Links) -> None:
    hits = grown(rows, tolerance=0.0)
    values = []
    for _ in range(20 if rows else 0):
        hits.settle(1)
        values.append(hits._eigenvalue())
    assert all(b >= a * (1.0 - 1e-12) for a, b in pairwise(values))


@given(ROWS)
@settings(deadline=None)
def test_authority_is_exactly_the_sum_of_hubs_at_any_time(rows: Links) -> None:
    hits = grown(rows)
    for target in range(15):
        total = sum(hits.hub(page) for page, row in rows.items() if target in row)
        assert hits.authority(target) == pytest.approx(total, abs=1e-9)


@given(ROWS)
@settings(deadline=None)
def test_the_risen_are_named(rows: Links) -> None:
    hits = Hits()
    for page, row in rows.items():
        before = [hits.authority(n) for n in range(15)]
        risen = hits.add(page, row)
        assert {n for n in range(15) if hits.authority(n) > before[n] + 1e-12} <= risen


def portal_web(pages: int) -> Links:
    """Sites of very different size with a menu each, and links anywhere."""
    rng = random.Random(7)
    menus = [rng.sample(range(5000), 12) for _ in range(20)]
    rows: Links = {}
    for page in range(10_000, 10_000 + pages):
        site = menus[min(19, int(rng.paretovariate(0.8)))]
        rows[page] = list(dict.fromkeys([*site, *rng.sample(range(5000), 12)]))
    return rows


def test_a_growing_web_is_followed_at_bounded_cost() -> None:
    rows = portal_web(600)
    hits = grown(rows, budget=100)
    assert hits.residual() < 0.05
    _, exact = power_iteration(rows, 1e-9)
    largest, largest_exact = max(map(hits.authority, exact)), max(exact.values())
    errors = [abs(hits.authority(n) / largest - exact[n] / largest_exact) for n in exact]
    assert max(errors) < 0.02


def test_values_stay_finite_and_positive_in_a_long_crawl() -> None:
    hits = grown(portal_web(3000), budget=50)
    values = [hits.authority(n) for n in range(5000)]
    assert all(0.0 <= value < 1e6 for value in values)


def test_a_page_is_added_once() -> None:
    hits = grown({0: [1, 2]})
    assert hits.add(0, [3]) == set()
    assert hits.authority(3) == 0.0


def test_it_follows_the_graph_of_pagerank() -> None:
    graph, hits = PageRank(), Hits()
    graph.followers.append(hits.add)
    risen = graph.add(0, [1, 2, 1, 0])
    assert risen == {1, 2}
    assert hits.authority(1) == hits.authority(2) > hits.authority(0) == 0.0


def test_nothing_is_known_of_an_empty_graph() -> None:
    assert (Hits().authority(3), Hits().hub(3), Hits().residual()) == (0.0, 0.0, 0.0)


def test_standing_is_the_power_iteration_s_as_shares_of_the_largest() -> None:
    rows = {page: [t for t in row if t != page] for page, row in portal_web(300).items()}
    rows[0] = list(rows)[:50]  # a page that leads to others, so that some have authority
    hubs, authorities = power_iteration(rows)
    largest = max(authorities.get(page, 0.0) for page in rows)
    found = hubs_and_authorities(packed(rows))
    assert found.ids.tolist() == list(rows)
    assert found.hubs.max() == found.authorities.max() == 1.0
    for page, hub, authority in zip(*(column.tolist() for column in found), strict=True):
        assert hub == pytest.approx(hubs[page], abs=0.05)
        assert authority == pytest.approx(authorities.get(page, 0.0) / largest, abs=0.05)


def packed(rows: Mapping[int, Sequence[int]]) -> Rows:
    found = Rows()
    for page, row in rows.items():
        found.add(page, array("I", row))
    return found


def test_standing_of_no_links_and_of_nothing() -> None:
    assert not len(hubs_and_authorities(packed({})).ids)
    assert hubs_and_authorities(packed({0: [], 1: []})).authorities.tolist() == [0.0, 0.0]


def test_standing_of_a_large_graph_is_looked_at_a_few_times_only() -> None:
    # One page's hub lasts where all others have one link in common: 3 sweeps see the order.
    rows = {0: [1000, 1001, 1002], **{page: [1000 + page] for page in range(1, 9)}}
    found = hubs_and_authorities(packed(rows), work=1)
    assert found.hubs.argmax() == 0 and found.hubs[1] > found.hubs[3]


def test_standing_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = packed({0: [], **portal_web(40), 99: [], 98: [1]})
    whole = hubs_and_authorities(rows)
    monkeypatch.setattr("focus.score.graph.hits._TOGETHER", 50)
    in_parts = hubs_and_authorities(rows)
    assert in_parts.hubs == pytest.approx(whole.hubs)
    assert in_parts.authorities == pytest.approx(whole.authorities)
