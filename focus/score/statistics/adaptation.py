"""Adapts threshold and topic vector to the pages that a crawl finds (P5 2.2.1).

Judged pages go in one by one, the clock with each; when an interval is over, out comes
what is to be judged by from now on. Pure: the clock is whatever the caller counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from focus.score.statistics.vector import Vector, centroid, strongest_words, vector_length


class TopicAdjustment(NamedTuple):
    """A change of the threshold, and of the features beside the experts' keywords."""

    threshold: float
    features: dict[str, float]


class Adaptation:
    """The interval controller.

    keywords   the experts' words with their weights: they never leave the vector
    features   the other words of the topic vector, to begin with
    threshold  to begin with; it stays within low·threshold … high·threshold
    start      the clock now
    params     interval  length, in units of the clock
               expected  S, pages that should come in an interval
               alpha, beta, gamma, mu   of `moved_threshold`
               rate, features           of `moved_features`
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
        """A page has come; `terms`: its strongest words at length 1, {} for one off topic."""
        self._pages += 1
        if terms:
            self._relevant.append(terms)

    def advance(self, clock: float) -> TopicAdjustment | None:
        """The clock says: None while the interval lasts, or when it has changed nothing.

        An interval ends with the first call after its time, and the next begins there.
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
        low, high = (
            self._params["low"] * self._initial_threshold,
            self._params["high"] * self._initial_threshold,
        )
        return min(high, max(low, adjusted))


def adjusted_threshold(
    threshold: float,
    counts: tuple[int, int, int],
    expected: float,
    intervals: int,
    *,
    params: Mapping[str, float],
) -> float:
    """P5's three rules. `counts`: (f, F, r), pages of this interval, of all, relevant of this.

    1. f > S and F > S·n: more pages than wanted come in, ×α (1 < α < 1.1)
    2. and r < μ·f: most of them off topic, ×β in place of α (1.1 < β < 1.5)
    3. f < S and F < S·n: too few, ×γ (0.9 < γ < 1)

    Worked, T = 0.2, S = 50, n = 2, α = 1.05, β = 1.2, γ = 0.95, μ = 0.3: f = 60, F = 110,
    r = 30: 0.21; r = 10: 0.24; f = 40, F = 90: 0.19; f = 60, F = 90: 0.2.
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
    """q' = (1 - λ)·q + λ·‖q‖·centroid of the interval's relevant pages (λ chosen).

    q is keywords and features together; keywords keep the weights that experts gave them,
    of the other words the `number` strongest stay. Worked, λ = 0.1: q = {足球: 1}, two
    pages {足球: 0.8, 英超: 0.6} and {足球: 1}: centroid {足球: 0.9, 英超: 0.3}, so 英超
    gets 0.1 · 1 · 0.3 = 0.03.
    """
    if not pages:
        return dict(features)
    length = vector_length({**features, **keywords})
    adjusted = {word: (1.0 - rate) * weight for word, weight in features.items()}
    for word, weight in centroid(pages).items():
        adjusted[word] = adjusted.get(word, 0.0) + rate * length * weight
    return strongest_words({w: x for w, x in adjusted.items() if w not in keywords}, number)
