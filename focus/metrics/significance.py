"""Significance tests and confidence intervals over topics.

The topic is the unit (pages of one crawl are not independent): every sample holds
one number per topic, the mean over its seed orders. Randomness comes in as `rng`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")

EXACT_UP_TO = 25
"""Pairs up to which the signed-rank distribution is counted out."""


class SignedRank(NamedTuple):
    """w: rank sum of the positive differences; p: two-sided; n: differences not zero."""

    w: float
    p: float
    n: int


class Wins(NamedTuple):
    """Topics won, lost and drawn against a baseline."""

    wins: int
    losses: int
    ties: int


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    low: float
    high: float


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean, summed exactly; 0.0 of nothing."""
    return math.fsum(values) / len(values) if values else 0.0


def wilcoxon(ours: Sequence[float], theirs: Sequence[float]) -> SignedRank:
    """Return the paired signed-rank test of whether differences lie around zero (Wilcoxon 1945).

    Differences of zero fall out; |d| are ranked, ties get their mean rank; w is the
    rank sum of the positive ones. Up to 25 pairs p is exact: the share of the 2^n
    equally likely sign patterns whose rank sum is as far from its mean n(n+1)/4. Above
    that, the normal approximation with the variance corrected for ties and a
    continuity correction of 1/2.

    Worked number: five pairs, all won: w = 15, p = 2 / 2^5 = 0.0625.
    """
    # Rounded, since ties and zeros must not hang on the last bit of a float.
    exact = [round(a - b, 12) for a, b in zip(ours, theirs, strict=True)]
    differences = [difference for difference in exact if difference]
    n = len(differences)
    if n == 0:
        return SignedRank(0.0, 1.0, 0)
    doubled = _doubled_ranks([abs(difference) for difference in differences])
    twice_w = sum(rank for rank, d in zip(doubled, differences, strict=True) if d > 0)
    p = _exact_p(doubled, twice_w) if n <= EXACT_UP_TO else _normal_p(doubled, twice_w)
    return SignedRank(twice_w / 2, p, n)


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the mean rank of each value, from 1: whole numbers also for ties."""
    below, ranks = 0, {}
    for value, count in sorted(Counter(values).items()):
        ranks[value] = 2 * below + count + 1
        below += count
    return [ranks[value] for value in values]


def _exact_p(doubled: Sequence[int], twice_w: int) -> float:
    """Share of sign patterns as extreme as this one, by counting rank sums."""
    patterns = [1] + [0] * sum(doubled)
    for rank in doubled:
        for total in range(len(patterns) - 1, rank - 1, -1):
            patterns[total] += patterns[total - rank]
    lower = min(twice_w, sum(doubled) - twice_w)
    return min(1.0, 2 * sum(patterns[: lower + 1]) / (1 << len(doubled)))


def _normal_p(doubled: Sequence[int], twice_w: int) -> float:
    """Two-sided p of the normal approximation; the ranks' squares hold the ties."""
    deviation = math.sqrt(sum(rank * rank for rank in doubled) / 4) / 2
    distance = abs(twice_w - sum(doubled) / 2) / 2
    return math.erfc(max(0.0, distance - 0.5) / deviation / math.sqrt(2))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number, in the order given (Holm 1979).

    With p sorted upward, p'_(i) = max over j <= i of min(1, (m - j + 1) · p_(j)): the
    chance of any false claim stays under the level. Worked number:
    (0.01, 0.04, 0.03) -> (0.03, 0.06, 0.06).
    """
    corrected, highest = [0.0] * len(p_values), 0.0
    for done, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - done) * p_values[index]))
        corrected[index] = highest
    return corrected


def bootstrap(
    sample: Sequence[Item],
    rng: Random,
    *,
    statistic: Callable[[Sequence[Item]], float],
    level: float = 0.95,
    resamples: int = 10_000,
) -> Interval | None:
    """Percentile interval of a statistic over topics (Efron 1979); None of fewer than two.

    Draws as many topics as there are, with replacement, `resamples` times, and takes
    the (1 ± level)/2 quantiles of the statistic. For a ratio of two strategies let an
    item be the pair of a topic, so that pairs stay together.
    """
    if len(sample) < 2:
        return None  # whatever is drawn from one value is that value
    found = [statistic(rng.choices(sample, k=len(sample))) for _ in range(resamples)]
    return _middle(found, level)


def bootstrap_band(
    curves: Sequence[Sequence[float]], rng: Random, *, level: float = 0.95, resamples: int = 1000
) -> list[Interval]:
    """Pointwise interval of the mean curve over topics, [] of fewer than two.

    Curves are of one length.
    """
    if len(curves) < 2:
        return []
    draws = [rng.choices(range(len(curves)), k=len(curves)) for _ in range(resamples)]
    times = [Counter(draw).items() for draw in draws]
    return [
        _middle([sum(point[i] * n for i, n in drawn) / len(curves) for drawn in times], level)
        for point in zip(*curves, strict=True)
    ]


def _middle(values: list[float], level: float) -> Interval:
    """The ends of the middle `level` of some values (nearest rank)."""
    values.sort()
    cut = (1 - level) / 2
    last = len(values) - 1
    return Interval(values[round(cut * last)], values[round((1 - cut) * last)])


def wins(ours: Sequence[float], theirs: Sequence[float]) -> Wins:
    """On how many topics ours is above, below and equal to theirs."""
    above = sum(a > b for a, b in zip(ours, theirs, strict=True))
    below = sum(a < b for a, b in zip(ours, theirs, strict=True))
    return Wins(above, below, len(ours) - above - below)


def easiest(scores: Sequence[Sequence[float]]) -> int | None:
    """The topic with the highest mean over all strategies (rows), None without topics.

    A single easy topic can carry a mean: the table is shown without it as well.
    """
    means = [mean(column) for column in zip(*scores, strict=True)]
    return means.index(max(means)) if means else None
