"""Measures against numbers worked by hand, and what must hold of any crawl."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.metrics import measures as m

MARKS = st.lists(st.sampled_from([True, False, None]), max_size=40)
ORDERS = st.lists(st.integers(0, 30), max_size=40)
TARGETS = st.sets(st.integers(0, 30), max_size=15)


def test_harvest_rate_ignores_unjudged_marks() -> None:
    assert m.harvest_rate([True, False, None, True]) == pytest.approx(2 / 3)
    assert m.harvest_rate([None]) == m.harvest_rate([]) == 0.0


def test_recall_curve_counts_a_target_once_and_stays_flat() -> None:
    assert m.recall_curve("axb", set("abcd"), 4) == [0.25, 0.25, 0.5, 0.5]
    assert m.recall_curve("aab", set("ab"), 3) == [0.5, 0.5, 1.0]
    assert m.recall_curve("ab", (), 2) == [0.0, 0.0]


@given(ORDERS, TARGETS, st.integers(0, 60))
def test_recall_curve_is_monotone(order: list[int], targets: set[int], budget: int) -> None:
    curve = m.recall_curve(order, targets, budget)
    assert (len(curve), curve) == (budget, sorted(curve))
    assert all(0 <= recall <= 1 for recall in curve)
    if targets and budget >= len(order):
        assert m.recall_at(curve, budget) == len(set(order) & targets) / len(targets) or not budget


def test_recall_at_k_returns_value_of_curve() -> None:
    curve = [0.25, 0.5]
    assert [m.recall_at(curve, k) for k in (0, 1, 2, 9)] == [0.0, 0.25, 0.5, 0.5]
    assert m.recall_at([], 3) == 0.0


def test_area_under_recall_and_share_of_oracle_examples() -> None:
    assert m.area_under_recall([0, 0.5, 0.5, 1]) == 0.5
    assert m.share_of_oracle([0, 0, 0, 1], [0, 0.5, 0.5, 1]) == 0.5
    assert m.share_of_oracle([0, 0], [0, 0]) == 0.0
    assert m.area_under_recall([]) == 0.0


def test_requests_to_recall_returns_first_request() -> None:
    curve = [0, 0.5, 0.5, 1]
    assert [m.requests_to_recall(curve, share) for share in (0.5, 0.8, 1.0)] == [2, 4, 4]
    assert m.requests_to_recall([0.5], 0.8) is None
    assert m.requests_to_recall(m.recall_curve(range(10), range(10), 10), 0.7) == 7


@given(ORDERS, TARGETS.filter(bool), st.floats(0.01, 1))
def test_requests_to_recall_fits_curve(order: list[int], targets: set[int], share: float) -> None:
    curve = m.recall_curve(order, targets, 40)
    k = m.requests_to_recall(curve, share)
    reached = [recall >= share - 1e-12 for recall in curve]
    assert (k is None and not any(reached)) or (k is not None and reached.index(True) == k - 1)


def test_count_relevant_hosts_counts_each_host_once() -> None:
    assert (
        m.count_relevant_hosts(["a/1", "a/2", "b/1", "c/1"], {"a/1", "a/2", "b/1"}, lambda u: u[0])
        == 2
    )


def test_mean_cumulative_precision_example_matches_docstring() -> None:
    rounds = m.cumulative_precision([True, True, False, False, True], 2)
    assert rounds == [1, 0.5, 0.6]
    assert m.mean_cumulative_precision(
        m.cumulative_precision([True, True, False, False, True, False], 2)
    ) == (pytest.approx(2 / 3))
    assert m.cumulative_precision([], 2) == []
    assert m.mean_cumulative_precision([]) == 0.0


def test_mean_cumulative_precision_drifting_crawl_matches_p1() -> None:
    """102 of 1,000 pages can average 16.52 % only as the mean of the precision so far."""
    ranks = [31, 17, 11, 9, 8, 7, 6, 5, 4, 4]
    marks = [n < item for item in ranks for n in range(100)]
    assert sum(marks) == 102
    expected = pytest.approx(0.1652, abs=0.002)
    assert m.mean_cumulative_precision(m.cumulative_precision(marks, 100)) == expected


def test_relevant_per_minute_converts_seconds() -> None:
    assert m.relevant_per_minute(30, 90) == 20
    assert m.relevant_per_minute(3, 0) == 0.0


def test_classification_quality_ignores_unlabelled_pairs() -> None:
    pairs = [(True, True)] * 2 + [(True, False)] + [(False, True)] * 3 + [(True, None)] * 7
    assert m.classification_quality(pairs) == pytest.approx((2 / 3, 2 / 5, 1 / 2))
    assert m.classification_quality([]) == (0, 0, 0)
    assert m.classification_quality([(False, False)]) == (0, 0, 0)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30))
def test_classification_quality_f1_is_harmonic_mean(pairs: list[tuple[bool, bool]]) -> None:
    p, r, f = m.classification_quality(pairs)
    assert f == pytest.approx(2 * p * r / (p + r) if p + r else 0)
