"""Significance tests and confidence intervals over topics.

The topic is the unit, because pages of one crawl are not independent: a sample contains one number
per topic, the mean over its seed orders. Randomness is the argument `rng`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")

MAX_EXACT_PAIRS = 25
"""Largest number of pairs for which the signed-rank distribution is enumerated."""


class SignedRank(NamedTuple):
    """Result of a signed-rank test.

    w   rank sum of the positive differences
    p   two-sided p-value
    n   number of differences other than zero
    """

    w: float
    p: float
    n: int


class WinCounts(NamedTuple):
    """Numbers of topics won, lost and tied against a baseline."""

    wins: int
    losses: int
    ties: int


class Interval(NamedTuple):
    """Confidence interval."""

    low: float
    high: float


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, summed exactly; 0.0 for no values."""
    return math.fsum(values) / len(values) if values else 0.0


def wilcoxon_test(ours: Sequence[float], theirs: Sequence[float]) -> SignedRank:
    """Return the paired signed-rank test of whether differences lie around zero (Wilcoxon 1945).

    Differences of zero are removed; |d| are ranked, ties get their mean rank; w is the rank sum of
    the positive differences. Up to 25 pairs p is exact: the share of the 2^n equally likely sign
    patterns whose rank sum is at least as far from its mean n(n+1)/4. For more pairs it is the
    normal approximation with the variance corrected for ties and a continuity correction of 1/2.

    Example: five pairs, all won, give w = 15 and p = 2 / 2^5 = 0.0625.
    """
    # Rounded, so that ties and zeros do not depend on the last bit of a float.
    exact = [round(a - b, 12) for a, b in zip(ours, theirs, strict=True)]
    differences = [difference for difference in exact if difference]
    n = len(differences)
    if n == 0:
        return SignedRank(0.0, 1.0, 0)
    doubled = _doubled_ranks([abs(difference) for difference in differences])
    twice_w = sum(rank for rank, d in zip(doubled, differences, strict=True) if d > 0)
    p = _exact_p(doubled, twice_w) if n <= MAX_EXACT_PAIRS else _normal_p(doubled, twice_w)
    return SignedRank(twice_w / 2, p, n)


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return twice the mean rank (from 1) of each value, which is an integer even for ties."""
    below, ranks = 0, {}
    for value, count in sorted(Counter(values).items()):
        ranks[value] = 2 * below + count + 1
        below += count
    return [ranks[value] for value in values]


def _exact_p(doubled: Sequence[int], twice_w: int) -> float:
    """Return the share of sign patterns at least as extreme, by counting rank sums."""
    patterns = [1] + [0] * sum(doubled)
    for rank in doubled:
        for total in range(len(patterns) - 1, rank - 1, -1):
            patterns[total] += patterns[total - rank]
    lower = min(twice_w, sum(doubled) - twice_w)
    return min(1.0, 2 * sum(patterns[: lower + 1]) / (1 << len(doubled)))


def _normal_p(doubled: Sequence[int], twice_w: int) -> float:
    """Return the two-sided p of the normal approximation, corrected for ties."""
    deviation = math.sqrt(sum(rank * rank for rank in doubled) / 4) / 2
    distance = abs(twice_w - sum(doubled) / 2) / 2
    return math.erfc(max(0.0, distance - 0.5) / deviation / math.sqrt(2))


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple tests, in the given order (Holm 1979).

    With p sorted upward, p'_(i) = max over j <= i of min(1, (m - j + 1) · p_(j)): the
    probability of any false claim stays below the level.

    Example: (0.01, 0.04, 0.03) gives (0.03, 0.06, 0.06).
    """
    corrected, highest = [0.0] * len(p_values), 0.0
    for done, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - done) * p_values[index]))
        corrected[index] = highest
    return corrected


def bootstrap_interval(
    sample: Sequence[Item],
    rng: Random,
    *,
    statistic: Callable[[Sequence[Item]], float],
    resamples: int = 10_000,
) -> Interval | None:
    """Return the percentile interval of a statistic over topics (Efron 1979).

    Resamples the topics with replacement `resamples` times and takes the quantiles 0.025 and
    0.975 of the statistic. For a ratio of two strategies an item should be the pair of a topic, so
    that pairs stay together. Returns None for fewer than two topics.
    """
    if len(sample) < 2:
        return None  # every resample of one value is the same
    statistics = [statistic(rng.choices(sample, k=len(sample))) for _ in range(resamples)]
    return _central_interval(statistics)


def bootstrap_band(
    curves: Sequence[Sequence[float]], rng: Random, *, resamples: int = 1000
) -> list[Interval]:
    """Return the pointwise interval of the mean curve over topics, [] for fewer than two.

    All curves must have the same length.
    """
    if len(curves) < 2:
        return []
    draws = [rng.choices(range(len(curves)), k=len(curves)) for _ in range(resamples)]
    draw_counts = [Counter(draw).items() for draw in draws]
    return [
        _central_interval(
            [sum(point[i] * n for i, n in counts) / len(curves) for counts in draw_counts]
        )
        for point in zip(*curves, strict=True)
    ]


def _central_interval(values: list[float]) -> Interval:
    """Return the interval of the middle 95 % of the values (nearest rank)."""
    values.sort()
    last = len(values) - 1
    return Interval(values[round(0.025 * last)], values[round(0.975 * last)])


def count_wins(ours: Sequence[float], theirs: Sequence[float]) -> WinCounts:
    """Return on how many topics `ours` is above, below and equal to `theirs`."""
    above = sum(a > b for a, b in zip(ours, theirs, strict=True))
    below = sum(a < b for a, b in zip(ours, theirs, strict=True))
    return WinCounts(above, below, len(ours) - above - below)
