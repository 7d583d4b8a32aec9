"""TopicAdaptation of threshold and topic vector to the pages of a crawl (P5 2.2.1).

Judged pages are added one by one. When an interval is over, `advance` returns the new threshold and
features. The clock is any number that the caller counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from focus.score.statistics.vector import Vector, centroid, strongest_words, vector_length


class TopicAdjustment(NamedTuple):
    """A new threshold, and new features in addition to the topic's keywords."""

    threshold: float
    features: dict[str, float]


class TopicAdaptation:
    """Controller that changes threshold and features after each interval.

    keywords   words chosen by a person, with weights; they stay in the vector
    features   initial other words of the topic vector
    threshold  initial threshold; it stays within low·threshold … high·threshold
    start      present value of the clock
    params     interval  length, in units of the clock
               expected  S, expected pages per interval
               alpha, beta, gamma, mu   of `adjusted_threshold`
               rate, features           of `adjusted_features`
    """

    def __init__(
        self,
        *,
        keywords: Vector,
        features: Vector,
        threshold: float,
        start: float,
        params: Mapping[str, float],
    ) -> None:
        self._keywords = dict(keywords)
        self._features = dict(features)
        self._threshold = self._initial_threshold = threshold
        self._params = params
        self._ends_at = start + params["interval"]
        self._intervals = self._all_pages = self._pages = 0
        self._relevant: list[Vector] = []

    def add_page(self, terms: Vector) -> None:
        """Count a page; `terms` are its strongest words at length 1, {} if it is off topic."""
        self._pages += 1
        if terms:
            self._relevant.append(terms)

    def advance(self, clock: float) -> TopicAdjustment | None:
        """Return the adjustment at the end of an interval, None if there is no change.

        An interval ends with the first call after its time, and the next one begins then.
        """
        if clock < self._ends_at:
            return None
        self._ends_at = clock + self._params["interval"]
        self._intervals += 1
        self._all_pages += self._pages
        before = TopicAdjustment(self._threshold, self._features)
        self._threshold = self._next_threshold()
        self._features = adjusted_features(
            self._keywords,
            self._features,
            self._relevant,
            rate=self._params["rate"],
            number=int(self._params["features"]),
        )
        self._pages, self._relevant = 0, []
        adjustment = TopicAdjustment(self._threshold, self._features)
        return None if adjustment == before else adjustment

    def _next_threshold(self) -> float:
        adjusted = adjusted_threshold(
            self._threshold,
            (self._pages, self._all_pages, len(self._relevant)),
            self._params["expected"],
            self._intervals,
            params=self._params,
        )
        low = self._params["low"] * self._initial_threshold
        high = self._params["high"] * self._initial_threshold
        return min(high, max(low, adjusted))


def adjusted_threshold(
    threshold: float,
    counts: tuple[int, int, int],
    expected: float,
    intervals: int,
    *,
    params: Mapping[str, float],
) -> float:
    """Return the threshold by P5's three rules.

    counts  (f, F, r): pages of this interval, of all intervals, relevant pages of this interval

    1. f > S and F > S·n: more pages than expected, ×α (1 < α < 1.1)
    2. and r < μ·f: most of them off topic, ×β instead of α (1.1 < β < 1.5)
    3. f < S and F < S·n: fewer than expected, ×γ (0.9 < γ < 1)

    Examples, T = 0.2, S = 50, n = 2, α = 1.05, β = 1.2, γ = 0.95, μ = 0.3: f = 60, F = 110, r = 30
    gives 0.21; r = 10 gives 0.24; f = 40, F = 90 gives 0.19; f = 60, F = 90 gives 0.2.
    """
    pages, all_pages, relevant = counts
    if pages > expected and all_pages > expected * intervals:
        return threshold * params["beta" if relevant < params["mu"] * pages else "alpha"]
    if pages < expected and all_pages < expected * intervals:
        return threshold * params["gamma"]
    return threshold


def adjusted_features(
    keywords: Vector, features: Vector, pages: list[Vector], *, rate: float, number: int
) -> dict[str, float]:
    """Return the features of q' = (1 - λ)·q + λ·‖q‖·centroid of the interval's relevant pages.

    q contains keywords and features; keywords keep their weights, and of the other words the
    `number` strongest are kept. P5 does not give λ.

    Example, λ = 0.1: q = {足球: 1}, pages {足球: 0.8, 英超: 0.6} and {足球: 1}: centroid {足球:
    0.9, 英超: 0.3}, so 英超 gets 0.1 · 1 · 0.3 = 0.03.
    """
    if not pages:
        return dict(features)
    length = vector_length({**features, **keywords})
    adjusted = {word: (1.0 - rate) * weight for word, weight in features.items()}
    for word, weight in centroid(pages).items():
        adjusted[word] = adjusted.get(word, 0.0) + rate * length * weight
    return strongest_words({w: x for w, x in adjusted.items() if w not in keywords}, number)
