"""Incremental PageRank against the slow obvious version and its stated bound."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focus.score.graph.pagerank import DAMPING, EPSILON, LOG_RISE_STEP, PageRank

ROUNDING = 1e-6  # of 15 ranks in float32
ROWS = st.dictionaries(st.integers(0, 14), st.lists(st.integers(0, 14), max_size=8), max_size=15)


def power_iteration(rows: dict[int, list[int]], size: int) -> list[float]:
    """Ranks by the iteration p ← (1-d) + d·Pᵀp until their sum changes by less than 1e-12·size."""
    ranks = [1.0 - DAMPING] * size
    links = {s: [t for t in dict.fromkeys(row) if t != s] for s, row in rows.items()}
    while True:
        fresh = [1.0 - DAMPING] * size
        for source, row in links.items():
            for target in row:
                fresh[target] += DAMPING * ranks[source] / len(row)
        change = sum(abs(a - b) for a, b in zip(fresh, ranks, strict=True))
        ranks = fresh
        if change <= 1e-12 * size:
            return ranks


def test_rank_example_matches_docstring() -> None:
    graph = PageRank()
    graph.add(0, [1, 2])
    assert graph.rank(0) == pytest.approx(0.15)
    assert graph.rank(1) == pytest.approx(0.21375)


def reserved(**options: Any) -> PageRank:
    graph = PageRank(**options)
    graph.reserve(15)
    return graph


def ranks(graph: PageRank) -> list[float]:
    return [graph.rank(n) for n in range(15)]


@given(ROWS)
@settings(deadline=None)
def test_rank_is_within_error_bound_of_power_iteration(rows: dict[int, list[int]]) -> None:
    graph = reserved(epsilon=0.01)
    for source, targets in rows.items():
        graph.add(source, targets)
    exact = power_iteration(rows, 15)
    settled = [graph.rank(n) - graph.residual(n) for n in range(15)]
    error = sum(abs(a - b) for a, b in zip(exact, settled, strict=True))
    assert error <= graph.error_bound() + ROUNDING
    assert all(mine <= true + ROUNDING for mine, true in zip(settled, exact, strict=True))


@pytest.mark.parametrize("reports_rises", [True, False])
@given(ROWS)
@settings(deadline=None)
def test_rank_after_push_all_is_exact(reports_rises: bool, rows: dict[int, list[int]]) -> None:
    graph = reserved(epsilon=1e-6)
    graph.reports_rises = reports_rises
    reports = [graph.add(source, targets) for source, targets in rows.items()]
    assert reports_rises or not any(reports)
    links = {source: set(targets) - {source} for source, targets in rows.items()}
    assert {source: set(row) for source, row in graph.rows.items()} == links
    graph.push_all()
    assert ranks(graph) == pytest.approx(power_iteration(rows, 15), abs=1e-4)


@given(ROWS)
@settings(deadline=None)
def test_add_reports_noticeable_rises(rows: dict[int, list[int]]) -> None:
    graph = reserved()
    reported = ranks(graph)
    before = list(reported)
    for source, targets in rows.items():
        risen = graph.add(source, targets)
        now = ranks(graph)
        assert all(b >= a for a, b in zip(before, now, strict=True))
        for n in risen:
            reported[n] = now[n]
        limits = [math.exp(LOG_RISE_STEP) * old * 1.001 for old in reported]
        assert all(rank <= limit for rank, limit in zip(now, limits, strict=True))
        before = now


@given(ROWS)
@settings(deadline=None)
def test_add_prompt_graph_reports_every_rise(rows: dict[int, list[int]]) -> None:
    graph = reserved(prompt=True)
    before = ranks(graph)
    for source, targets in rows.items():
        risen = graph.add(source, targets)
        now = ranks(graph)
        assert risen == {n for n in range(15) if now[n] > before[n]}
        assert all(graph.residual(n) <= EPSILON * 0.151 for n, row in graph.rows.items() if row)
        before = now


def test_add_ignores_repeated_and_self_links() -> None:
    plain, odd = PageRank(), PageRank()
    plain.add(0, [1, 2])
    odd.add(0, [1, 0, 2, 1])
    assert [plain.rank(n) for n in range(3)] == [odd.rank(n) for n in range(3)]


def test_scaled_rank_is_share_of_largest() -> None:
    graph = PageRank()
    for source in (1, 2, 3):
        graph.add(source, [0])
    assert graph.scaled_rank(0) == pytest.approx(1.0, abs=0.05)
    assert graph.scaled_rank(1) == pytest.approx(0.15 / graph.rank(0), rel=0.05)


def test_rank_large_values_are_summed_in_double() -> None:
    graph = PageRank()
    pages, links = 2_000, 21
    graph.add(0, [])
    for page in range(1, pages + 1):
        graph.add(page, [0, *range(pages + 1, pages + links)])
    expected = pages * 0.85 * 0.15 / links
    assert graph.rank(0) == pytest.approx(0.15 + expected, rel=1e-7)
    assert graph.rank(pages + 1) != pytest.approx(0.15 + expected, rel=1e-6)  # nobody fetched it
