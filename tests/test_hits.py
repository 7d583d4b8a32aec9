"""HITS against a plain power iteration, and the points at which it is computed anew."""

import random
from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focus.score.graph.compact_arrays import Rows
from focus.score.graph.hits import Hits, hubs_and_authorities
from focus.score.graph.pagerank import PageRank

Links = dict[int, list[int]]
ROWS = st.dictionaries(
    st.integers(0, 9), st.lists(st.integers(0, 14), max_size=8, unique=True), max_size=10
).map(lambda rows: {page: [t for t in row if t != page] for page, row in rows.items()})


def power_iteration(rows: Links) -> tuple[dict[int, float], dict[int, float]]:
    """Hubs and authorities by 500 plain steps; the largest hub is 1."""
    hubs = dict.fromkeys(rows, 1.0)
    authorities: dict[int, float] = {}
    for _ in range(500):
        authorities = {}
        for page, row in rows.items():
            for target in row:
                authorities[target] = authorities.get(target, 0.0) + hubs[page]
        mean = sum(hubs.values()) / len(hubs)
        fresh = {page: sum(authorities[t] for t in row) + mean for page, row in rows.items()}
        hubs = {page: value / max(fresh.values()) for page, value in fresh.items()}
    return hubs, authorities


def packed(rows: Mapping[int, Sequence[int]]) -> Rows:
    relinked = Rows()
    for page, row in rows.items():
        relinked.add(page, array("I", row))
    return relinked


def grow_graph(rows: Links) -> Hits:
    """HITS that has seen the graph grow page by page."""
    graph = PageRank()
    hits = Hits(graph.rows)
    graph.listeners.append(hits.add)
    for page, row in rows.items():
        graph.add(page, row)
    return hits


def portal_web(pages: int) -> Links:
    """Sites of very different size with a menu each, and links anywhere."""
    rng = random.Random(7)
    menus = [rng.sample(range(5000), 12) for _ in range(20)]
    rows: Links = {}
    for page in range(10_000, 10_000 + pages):
        site = menus[min(19, int(rng.paretovariate(0.8)))]
        rows[page] = list(dict.fromkeys([*site, *rng.sample(range(5000), 12)]))
    return rows


def test_authority_example_matches_docstring() -> None:
    rows = {0: [2, 3], 1: [3]}
    scores, hits = hubs_and_authorities(packed(rows)), grow_graph(rows)
    assert scores.hubs[1] / scores.hubs[0] == pytest.approx(0.7208, abs=0.01)
    assert hits.authority(2) / hits.authority(3) == pytest.approx(0.5811, abs=0.01)


def test_authority_equals_sum_of_hubs() -> None:
    """P1 figure 2-10: A, B, C link to D, D to E, F, G (and to A, so that it is one web)."""
    a, b, c, d, e, f, g = range(7)
    rows = {a: [d], b: [d], c: [d, e], d: [e, f, g, a]}
    hubs = dict(zip(rows, hubs_and_authorities(packed(rows)).hubs.tolist(), strict=True))
    hits = grow_graph(rows)
    assert hits.authority(d) == pytest.approx(hubs[a] + hubs[b] + hubs[c], abs=0.05)
    assert hits.authority(e) == pytest.approx(hubs[c] + hubs[d], abs=0.05)


@given(ROWS)
@settings(deadline=None)
def test_hub_of_every_page_is_positive(rows: Links) -> None:
    assert (hubs_and_authorities(packed(rows)).hubs > 0.0).all()


def test_add_graph_grown_by_tenth_recomputes_authorities() -> None:
    graph = PageRank()
    hits, computed = Hits(graph.rows), []
    for page in range(300):
        targets = [1000, 2000 + page]
        graph.add(page, targets)
        if hits.add(page, targets):
            computed.append(page + 1)
    assert computed[:22] == [*range(1, 21), 22, 24]
    assert all(after == before + max(1, before // 10) for before, after in pairwise(computed))
    assert hits.authority(2000 + computed[-1] - 1) > hits.authority(2299) == 0.0


@given(ROWS)
@settings(deadline=None)
def test_add_returns_ids_with_higher_authority(rows: Links) -> None:
    graph = PageRank()
    hits = Hits(graph.rows)
    for page, row in rows.items():
        graph.add(page, row)
        before = [hits.authority(n) for n in range(15)]
        risen = hits.add(page, row)
        assert risen == {n for n in range(15) if hits.authority(n) > 1.01 * before[n]}


def test_authorities_after_resume_equal_uninterrupted_crawl() -> None:
    rows = portal_web(333)
    graph = PageRank()
    hits, whole = Hits(graph.rows), grow_graph(rows)
    graph.listeners.append(hits.add)
    graph.reserve(11_000)
    pages = list(rows.items())
    graph.restore(pages[:200])
    graph.restore(pages[200:])
    targets = {target for row in rows.values() for target in row}
    assert [*map(hits.authority, targets)] == [*map(whole.authority, targets)]


def test_authorities_growing_graph_are_near_exact() -> None:
    rows = portal_web(600)
    hits, (_, exact) = grow_graph(rows), power_iteration(rows)
    largest, largest_exact = max(map(hits.authority, exact)), max(exact.values())
    errors = [abs(hits.authority(n) / largest - exact[n] / largest_exact) for n in exact]
    assert max(errors) < 0.05


def test_authority_empty_graph_is_zero() -> None:
    assert Hits(Rows()).authority(3) == 0.0


def test_hubs_and_authorities_equal_scaled_power_iteration() -> None:
    rows = {page: [t for t in row if t != page] for page, row in portal_web(300).items()}
    rows[0] = list(rows)[:50]  # a page that leads to others, so that some have authority
    hubs, authorities = power_iteration(rows)
    largest = max(authorities.get(page, 0.0) for page in rows)
    scores = hubs_and_authorities(packed(rows))
    assert scores.ids.tolist() == list(rows)
    assert scores.hubs.max() == scores.authorities.max() == 1.0
    for page, hub, authority in zip(*(column.tolist() for column in scores), strict=True):
        assert hub == pytest.approx(hubs[page], abs=0.05)
        assert authority == pytest.approx(authorities.get(page, 0.0) / largest, abs=0.05)


def test_hubs_and_authorities_without_links() -> None:
    assert not len(hubs_and_authorities(packed({})).ids)
    assert hubs_and_authorities(packed({0: [], 1: []})).authorities.tolist() == [0.0, 0.0]


def test_hubs_and_authorities_large_graph_uses_few_sweeps() -> None:
    # One page's hub lasts where all others have one link in common: 3 sweeps see the order.
    rows = {0: [1000, 1001, 1002], **{page: [1000 + page] for page in range(1, 9)}}
    scores = hubs_and_authorities(packed(rows), max_link_visits=1)
    assert scores.hubs.argmax() == 0 and scores.hubs[1] > scores.hubs[3]


def test_hubs_and_authorities_split_graph_is_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = packed({0: [], **portal_web(40), 99: [], 98: [1]})
    whole = hubs_and_authorities(rows)
    monkeypatch.setattr("focus.score.graph.hits._LINKS_PER_PART", 50)
    in_parts = hubs_and_authorities(rows)
    assert in_parts.hubs == pytest.approx(whole.hubs)
    assert in_parts.authorities == pytest.approx(whole.authorities)
