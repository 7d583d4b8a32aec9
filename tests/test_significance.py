"""Statistics against published and hand-worked numbers."""

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.metrics.significance import (
    MAX_EXACT_PAIRS,
    bootstrap_band,
    bootstrap_interval,
    count_wins,
    holm_correction,
    mean,
    wilcoxon_test,
)

FEW = st.lists(st.integers(-4, 4), max_size=9)


def all_signs_p(differences: list[int]) -> float:
    """Two-sided p by going through all sign patterns."""
    sizes = sorted(abs(d) for d in differences if d)
    rank = {size: sizes.index(size) + (sizes.count(size) + 1) / 2 for size in sizes}
    ranks = [rank[abs(d)] for d in differences if d]
    half = sum(ranks) / 2
    seen = abs(
        sum(r for r, d in zip(ranks, filter(None, differences), strict=True) if d > 0) - half
    )
    sums = [
        sum(r for r, plus in zip(ranks, signs, strict=True) if plus)
        for signs in product((0, 1), repeat=len(ranks))
    ]
    return sum(abs(total - half) >= seen - 1e-9 for total in sums) / len(sums)


def test_wilcoxon_all_pairs_won_has_smallest_p() -> None:
    result = wilcoxon_test([2, 3, 4, 5, 6], [1, 1, 1, 1, 1])
    assert (result.w, result.p, result.n) == (15, 0.0625, 5)


def test_wilcoxon_matches_textbook_table() -> None:
    # Ten pairs: w = 8 is the largest rank sum with two-sided p under 5 % (0.0488).
    differences = [1, 2, 5, -3, -4, -6, -7, -8, -9, -10]
    result = wilcoxon_test(differences, [0] * 10)
    assert (result.w, round(result.p, 4)) == (8, 0.0488)
    assert wilcoxon_test([1, -2, 3, -4, 5], [0] * 5).p == 0.8125  # w = 9: 26 of 32 patterns


def test_wilcoxon_without_differences_has_p_one() -> None:
    assert wilcoxon_test([1, 2], [1, 2]) == (0, 1, 0)
    assert wilcoxon_test([], []).p == 1
    with pytest.raises(ValueError, match="zip"):
        wilcoxon_test([1], [])


@given(FEW)
def test_wilcoxon_exact_p_equals_enumeration(differences: list[int]) -> None:
    result = wilcoxon_test(differences, [0] * len(differences))
    assert result.p == pytest.approx(all_signs_p(differences))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40))
def test_wilcoxon_is_symmetric(differences: list[float]) -> None:
    zero = [0.0] * len(differences)
    assert wilcoxon_test(differences, zero).p == wilcoxon_test(zero, differences).p


def test_wilcoxon_approximation_is_near_exact_p(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(2)
    differences = [rng.gauss(0.4, 1) for _ in range(MAX_EXACT_PAIRS)]
    exact = wilcoxon_test(differences, [0] * MAX_EXACT_PAIRS).p
    monkeypatch.setattr("focus.metrics.significance.MAX_EXACT_PAIRS", 0)
    assert wilcoxon_test(differences, [0] * MAX_EXACT_PAIRS).p == pytest.approx(exact, rel=0.05)


def test_holm_correction_example_matches_docstring() -> None:
    assert holm_correction([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_correction([0.9, 0.8]) == [1.0, 1.0]
    assert holm_correction([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_correction_raises_values_and_keeps_order(p_values: list[float]) -> None:
    corrected = holm_correction(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, corrected, strict=True))
    pairs = sorted(zip(p_values, corrected, strict=True))
    assert [q for _, q in pairs] == sorted(corrected)


def test_bootstrap_interval_is_seeded_and_contains_mean() -> None:
    sample = [0.1, 0.4, 0.35, 0.8, 0.6, 0.2]
    first = bootstrap_interval(sample, Random(1), statistic=mean, resamples=2000)
    assert first == bootstrap_interval(sample, Random(1), statistic=mean, resamples=2000)
    assert min(sample) < first.low < mean(sample) < first.high < max(sample)
    # Standard error of the mean is .0946 (n = 6, divided by n): about ±1.96 of it.
    assert first.high - first.low == pytest.approx(2 * 1.96 * 0.0946, rel=0.15)


def test_bootstrap_interval_keeps_pairs_together() -> None:
    pairs = [(2.0, 1.0), (4.0, 2.0), (10.0, 5.0)]
    ratio = bootstrap_interval(
        pairs,
        Random(1),
        statistic=lambda sample: sum(a for a, _ in sample) / sum(b for _, b in sample),
        resamples=200,
    )
    assert ratio == (2.0, 2.0)


def test_bootstrap_interval_fewer_than_two_values_is_none() -> None:
    assert bootstrap_interval([], Random(1), statistic=mean) is None
    assert bootstrap_interval([0.5], Random(1), statistic=mean, resamples=50) is None


def test_bootstrap_band_contains_mean_curve() -> None:
    rng = Random(3)
    curves = [[min(1.0, k * rng.uniform(0.01, 0.05)) for k in range(20)] for _ in range(8)]
    band = bootstrap_band(curves, Random(1), resamples=300)
    middle = [mean(point) for point in zip(*curves, strict=True)]
    assert all(b.low <= x <= b.high for b, x in zip(band, middle, strict=True))
    assert band[0] == (0, 0)
    assert bootstrap_band([], Random(1)) == bootstrap_band(curves[:1], Random(1)) == []


def test_count_wins_example() -> None:
    assert count_wins([1, 2, 3, 3], [0, 2, 4, 4]) == (1, 2, 1)
