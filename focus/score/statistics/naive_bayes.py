"""Naive Bayes with calibrated probabilities (P3 4.4).

    train_naive_bayes  word counts of labelled pages and features → NaiveBayes
    cross_validate     log-odds of each page by a model trained on other pages
    fit_calibration    these log-odds → a calibration to probabilities

Words are not independent: 500 words that mostly repeat each other give posteriors of 0 and 1, and
thousands of pages with the same number. This decides well and orders badly. So the log-odds are
used, and a logistic function fitted to pages that the model has not seen turns them into the
relevance (Platt 1999).
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
"""Log-odds of a page that the model had not seen, and whether it is on topic."""

_SPREAD = (1.0, 10.0)  # standard deviations of scale and offset: a weak prior


class NaiveBayes(msgspec.Struct, frozen=True):
    """Log-odds of "on topic" = base + Σ weight of the words on the page.

    base      ln P(on)/P(off) + Σ over all words of ln P(without it|on)/P(without it|off)
    weights   word -> change of the log-odds by its presence
    """

    base: float
    weights: dict[str, float]

    def log_odds(self, words: Words) -> float:
        """Return ln P(on|page) - ln P(off|page) (P3 eq. 4-6), independent of word order."""
        weight = self.weights.get
        return self.base + math.fsum(w for word in words if (w := weight(word)) is not None)


def train_naive_bayes(counts: WordCounts, features: Iterable[str]) -> NaiveBayes:
    """Return naive Bayes over the presence of words, Laplace-smoothed (P3 eq. 4-9, 4-10).

    P(c) = (n_c + 1) / (n + 2), P(word|c) = (n_cw + 1) / (n_c + 2): two classes, two values.

    Example: 3 pages on, 1 off; the word on 2 of the 3 and not on the 1: P(on) = 4/6, P(w|on) = 3/5,
    P(w|off) = 1/3. A page with it has ln(2) + ln(9/5) = 1.281, one without
    ln(2) + ln((2/5)/(2/3)) = 0.182.
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
    """Relevance = σ(scale · log-odds + offset); (1, 0) gives the posterior itself."""

    scale: float = 1.0
    offset: float = 0.0

    def probability(self, log_odds: float) -> float:
        """Return the relevance, 0…1. Example, scale 0.1, offset -1: 30 → σ(2) = 0.881."""
        return sigmoid(self.scale * log_odds + self.offset)


UNCALIBRATED = Calibration()


def fit_calibration(scored: Sequence[ScoredLabel], prior: Calibration | None = None) -> Calibration:
    """Return the calibration of pages that the model had not seen (Platt 1999).

    Platt's targets, (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2), replace 1 and 0, so that classes that do not
    overlap give no step function. `prior` is the former calibration; it changes only as far as the
    pages require (the scale keeps its order of magnitude).
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


# -- evaluation ----------------------------------------------------------------

FeatureSelector = Callable[[WordCounts], Sequence[str]]
"""Selects features by the training pages alone."""


def make_feature_selector(method: str, number: int) -> FeatureSelector:
    """Return a selector of the best `number` words by a method of `feature_selection`."""
    return lambda counts: select_words(counts, method, number)


def make_folds(samples: Sequence[LabelledWords], k: int, rng: Random) -> list[list[int]]:
    """Return indices of the samples in k folds, with each class evenly distributed."""
    order = list(range(len(samples)))
    rng.shuffle(order)
    order.sort(key=lambda at: samples[at][1])
    return [sorted(order[part::k]) for part in range(k)]


def cross_validate(
    samples: Sequence[LabelledWords],
    parts: Sequence[Sequence[int]],
    select_features: FeatureSelector,
) -> list[ScoredLabel]:
    """Return the log-odds of each sample by a model of the other folds, in order of samples."""
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

    quality    precision, recall and F1 at a probability of 0.5
    brier      mean of (p - label)²
    distinct   number of different probabilities, to 12 digits: how fine an order they give
    """

    quality: Quality
    brier: float
    distinct: int


def evaluate_probabilities(
    probabilities: Sequence[float], labels: Sequence[bool]
) -> ClassifierTest:
    """Return the measures of these probabilities against labels."""
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
    """Return the measures of cross-validated pages, uncalibrated and calibrated.

    Each fold is calibrated by the others, so that no page influences its own probability.
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
    """Return the mean of (p - label)²: 0 is perfect, 0.25 is always ½.

    Example: 0.8 on topic and 0.3 off topic give 0.065.
    """
    errors = [(p - label) ** 2 for p, label in zip(probabilities, labels, strict=True)]
    return sum(errors) / len(errors) if errors else 0.0
