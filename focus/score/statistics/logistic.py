"""Logistic regression on few labels, by maximum a posteriori.

p = 1 / (1 + e^-z), z = Σ weight·feature. Each weight has a prior mean and a standard deviation: few
labels change it a little, many as far as the data require. Solved by Newton's method; the loss is
convex, so there is one solution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

FeatureValues = Sequence[float]

_MAX_STEPS = 100
_TOLERANCE = 1e-9


def sigmoid(z: float) -> float:
    """Return 1 / (1 + e^-z) for any z: 0 → 0.5, 2 → 0.881."""
    if z >= 0:
        return 1.0 / (1.0 + math.exp(-z))
    exponential = math.exp(z)
    return exponential / (1.0 + exponential)


def fit_logistic(
    rows: Sequence[FeatureValues],
    targets: FeatureValues,
    *,
    prior: FeatureValues,
    spread: FeatureValues,
) -> list[float]:
    """Return the weights that minimise Σ -ln P(target) + Σ (w - prior)² / (2·spread²).

    targets  0…1 per row; values in between are allowed

    Example: one row (1), target 1, prior 0, spread 1: w = 1 - σ(w), so w = 0.4011.
    """
    weights = list(prior)
    data = _TrainingData(rows, targets)
    best = _loss(data, weights, prior, spread)
    for _ in range(_MAX_STEPS):
        step = _newton_step(data, weights, prior, spread)
        factor, new_weights = 1.0, weights
        while factor > 1e-6:  # halve the step until the loss decreases
            new_weights = [w - factor * s for w, s in zip(weights, step, strict=True)]
            loss = _loss(data, new_weights, prior, spread)
            if loss <= best:
                break
            factor /= 2.0
        else:
            break
        is_converged = best - loss < _TOLERANCE
        weights, best = new_weights, loss
        if is_converged:
            break
    return weights


class _TrainingData(NamedTuple):
    """Rows with their targets."""

    rows: Sequence[FeatureValues]
    targets: FeatureValues


def _loss(
    data: _TrainingData, weights: FeatureValues, prior: FeatureValues, spread: FeatureValues
) -> float:
    total = sum(
        (w - m) ** 2 / (2.0 * s * s) for w, m, s in zip(weights, prior, spread, strict=True)
    )
    for row, target in zip(*data, strict=True):
        z = sum(map(float.__mul__, row, weights))
        total += max(z, 0.0) + math.log1p(math.exp(-abs(z))) - target * z
    return total


def _newton_step(
    data: _TrainingData, weights: FeatureValues, prior: FeatureValues, spread: FeatureValues
) -> list[float]:
    """Return H⁻¹·g of the loss."""
    size = range(len(weights))
    gradient = [(weights[i] - prior[i]) / spread[i] ** 2 for i in size]
    hessian = [[1.0 / spread[i] ** 2 if i == j else 0.0 for j in size] for i in size]
    for row, target in zip(*data, strict=True):
        p = sigmoid(sum(map(float.__mul__, row, weights)))
        non_zero = [i for i in size if row[i]]
        for i in non_zero:
            gradient[i] += (p - target) * row[i]
            for j in non_zero:
                hessian[i][j] += p * (1.0 - p) * row[i] * row[j]
    return _solve(hessian, gradient)


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Return x of matrix·x = right, by elimination; the matrix is positive definite."""
    size = len(right)
    rows = [[*matrix[i], right[i]] for i in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [x - factor * y for x, y in zip(rows[j], rows[i], strict=True)]
    x = [0.0] * size
    for i in reversed(range(size)):
        known = sum(rows[i][j] * x[j] for j in range(i + 1, size))
        x[i] = (rows[i][size] - known) / rows[i][i]
    return x
