"""Naive Bayes with calibrated probabilities (P3 4.4).

    train       counts of labelled pages and the words to look at → NaiveBayes
    validate    k-fold cross-validation: log-odds of each page by the others
    calibrate   such log-odds → probabilities that mean what they say

Words are no independent witnesses: 500 of them that mostly repeat each other give
posteriors of 0 and 1, thousands of pages with the very same number. That decides well
and orders badly. So the log-odds are kept, and a logistic function fitted to pages that
the model has not seen turns them into the relevance (Platt 1999).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from random import Random

import msgspec

from focus.metrics.measures import Quality, classification_quality
from focus.score.statistics.feature_selection import (
    LabelledWords,
    WordCounts,
    Words,
    count_words,
    select_words,
)
from focus.score.statistics.logistic import fit_logistic, sigmoid

ScoredLabel = tuple[float, bool]
"""Log-odds of a page the model had not seen, and whether it is on topic."""

_SPREAD = (1.0, 10.0)  # of scale and offset, a priori: next to nothing is believed


class NaiveBayes(msgspec.Struct, frozen=True):
    """Log-odds of "on topic" = base + Σ weight of the words that the page has.

    base      ln P(on)/P(off) + Σ over all words of ln P(lacks it|on)/P(lacks it|off)
    weights   word -> what its presence adds to that
    """

    base: float
    weights: dict[str, float]

    def log_odds(self, words: Words) -> float:
        """ln P(on|page) - ln P(off|page) (P3 eq. 4-6), the same in any order of words."""
        weight = self.weights.get
        return self.base + math.fsum(w for word in words if (w := weight(word)) is not None)


def train_naive_bayes(counts: WordCounts, features: Iterable[str]) -> NaiveBayes:
    """Naive Bayes over the presence of these words, Laplace-smoothed (P3 eq. 4-9, 4-10).

    P(c) = (n_c + 1) / (n + 2), P(has the word|c) = (n_cw + 1) / (n_c + 2): two classes,
    two values. Worked: 3 pages on, 1 off; the word in 2 of the 3 and in none of the 1:
    P(on) = 4/6, P(w|on) = 3/5, P(w|off) = 1/3. A page with it: ln(2) + ln(9/5) = 1.281,
    one without: ln(2) + ln((2/5)/(2/3)) = 0.182.
    """
    base = math.log((counts.on + 1) / (counts.off + 1))
    weights: dict[str, float] = {}
    for word in dict.fromkeys(features):
        on, off = counts.words.get(word, (0, 0))
        p, q = (on + 1) / (counts.on + 2), (off + 1) / (counts.off + 2)
        lacks = math.log((1.0 - p) / (1.0 - q))
        base += lacks
        weights[word] = math.log(p / q) - lacks
    return NaiveBayes(base, weights)


class Calibration(msgspec.Struct, frozen=True):
    """Relevance = σ(scale · log-odds + offset); (1, 0) leaves the posterior as it is."""

    scale: float = 1.0
    offset: float = 0.0

    def probability(self, log_odds: float) -> float:
        """0…1. Worked, scale 0.1, offset -1: log-odds 30 → σ(2) = 0.881."""
        return sigmoid(self.scale * log_odds + self.offset)


UNCALIBRATED = Calibration()


def fit_calibration(scored: Sequence[ScoredLabel], prior: Calibration | None = None) -> Calibration:
    """The calibration that these unseen pages call for (Platt 1999).

    Platt's targets, (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2), stand for 1 and 0, so that classes
    which do not overlap give no step either. `prior`: what was believed so far, moved no
    more than the pages insist (a scale keeps its order of magnitude).
    """
    positive = sum(is_on for _, is_on in scored)
    high, low = (positive + 1) / (positive + 2), 1 / (len(scored) - positive + 2)
    size = max((abs(s) for s, _ in scored), default=1.0) or 1.0
    rows = [(s / size, 1.0) for s, _ in scored]
    targets = [high if is_on else low for _, is_on in scored]
    if prior is None:
        prior_params, spread = (1.0, 0.0), (_SPREAD[0] * size, _SPREAD[1])
    else:
        prior_params, spread = (prior.scale * size, prior.offset), (prior.scale * size / 2, 1.0)
    scale, offset = fit_logistic(rows, targets, prior=prior_params, spread=spread)
    return Calibration(max(scale, 1e-9) / size, offset)


# -- how good is it? ----------------------------------------------------------------

FeatureSelector = Callable[[WordCounts], Sequence[str]]
"""Picks the features by the training pages alone."""


def make_feature_selector(method: str, number: int) -> FeatureSelector:
    """The best `number` words by a method of `feature_selection`."""
    return lambda counts: select_words(counts, method, number)


def make_folds(samples: Sequence[LabelledWords], k: int, rng: Random) -> list[list[int]]:
    """Indices of the samples in k parts, each class spread evenly over them."""
    order = list(range(len(samples)))
    rng.shuffle(order)
    order.sort(key=lambda at: samples[at][1])
    return [sorted(order[part::k]) for part in range(k)]


def cross_validate(
    samples: Sequence[LabelledWords],
    parts: Sequence[Sequence[int]],
    select_features: FeatureSelector,
) -> list[ScoredLabel]:
    """The log-odds of each sample by a model of the other parts, in the samples' order."""
    all_counts = count_words(samples)
    scored: list[ScoredLabel | None] = [None] * len(samples)
    for part in parts:
        left_out = count_words(samples[at] for at in part)
        training_counts = all_counts.combine(left_out, -1)
        model = train_naive_bayes(training_counts, select_features(training_counts))
        for at in part:
            words, is_on = samples[at]
            scored[at] = (model.log_odds(words), is_on)
    return [score for score in scored if score is not None]


class ClassifierTest(msgspec.Struct, frozen=True):
    """Measures of a classifier on pages that it has not seen.

    quality    P, R and F at a probability of 0.5
    brier      mean of (p - label)²
    distinct   different probabilities, to 12 digits: what an order can be made of
    """

    quality: Quality
    brier: float
    distinct: int


def evaluate_probabilities(
    probabilities: Sequence[float], labels: Sequence[bool]
) -> ClassifierTest:
    """The verdict on these probabilities."""
    return ClassifierTest(
        quality=classification_quality(
            [(p > 0.5, y) for p, y in zip(probabilities, labels, strict=True)]
        ),
        brier=brier_score(probabilities, labels),
        distinct=len({round(p, 12) for p in probabilities}),
    )


def evaluate_classifier(
    scored: Sequence[ScoredLabel], parts: Sequence[Sequence[int]]
) -> tuple[ClassifierTest, ClassifierTest]:
    """Validated pages by their raw posteriors, and by calibrated ones.

    Each part is calibrated by the others, so that no page has a say in its own number.
    """
    calibrated = [0.0] * len(scored)
    for part in parts:
        left_out = set(part)
        calibration = fit_calibration(
            [score for at, score in enumerate(scored) if at not in left_out]
        )
        for at in part:
            calibrated[at] = calibration.probability(scored[at][0])
    labels = [is_on for _, is_on in scored]
    return evaluate_probabilities(
        [UNCALIBRATED.probability(s) for s, _ in scored], labels
    ), evaluate_probabilities(calibrated, labels)


def brier_score(probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    """Mean of (p - label)²: 0 perfect, 0.25 for always ½. Worked: 0.8 on, 0.3 off → 0.065."""
    errors = [(p - label) ** 2 for p, label in zip(probabilities, labels, strict=True)]
    return sum(errors) / len(errors) if errors else 0.0
