"""Estimates from a stratified sample: a share with its interval, a judge's calibration.

A crawl has more pages than people can read. Some are drawn from each stratum, and each stands
for the pages of its stratum that were not: its weight is size / drawn (Horvitz and Thompson
1952; infAP and statAP score crawls and searches by such samples, Yilmaz and Aslam 2006).
Randomness comes in as `rng`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")

FEWEST = 5
"""Drawn of each stratum at least, where it has as many and the sample allows."""

Z95 = 1.96


class Drawn(NamedTuple):
    """An item of a sample: its stratum, and for how many items it stands."""

    stratum: str
    weight: float


class Estimate(NamedTuple):
    """A value with its 95 % confidence interval."""

    value: float
    low: float
    high: float


class Bin(NamedTuple):
    """Pages whose judge said so much (mean), and the share that people called relevant."""

    pages: int
    said: float
    found: float


def allocate(sizes: Mapping[str, int], number: int) -> dict[str, int]:
    """How many of each stratum are drawn: `FEWEST`, then in proportion to the square root.

    Small strata are where judges err; in proportion to their size they would have nobody.
    Worked, 90 and 10 pages, 20 to draw: 5 each, and of the other 10 √90 : √10 = 3 : 1, that
    is 13 and 7. Never more than there are.
    """
    least = min(FEWEST, number // max(1, len(sizes)))
    drawn = {name: min(size, least) for name, size in sizes.items()}
    while (left := number - sum(drawn.values())) > 0:
        open_ones = {name: math.sqrt(n) for name, n in sizes.items() if drawn[name] < n}
        if not open_ones:
            break
        total, before = sum(open_ones.values()), dict(drawn)
        for name, share in open_ones.items():
            drawn[name] = min(sizes[name], drawn[name] + int(left * share / total))
        if drawn == before:  # less than one for each: to the largest, one by one
            for name in sorted(open_ones, key=lambda name: (-open_ones[name], name))[:left]:
                drawn[name] += 1
    return drawn


def draw(
    strata: Mapping[str, Sequence[Item]], number: int, rng: Random
) -> list[tuple[Item, Drawn]]:
    """A stratified sample in random order, each item with what it stands for."""
    wanted = allocate({name: len(items) for name, items in strata.items()}, number)
    found = [
        (item, Drawn(name, len(items) / wanted[name]))
        for name, items in strata.items()
        if wanted[name]
        for item in rng.sample(list(items), wanted[name])
    ]
    rng.shuffle(found)
    return found


def share(strata: Mapping[str, tuple[float, Sequence[float]]]) -> Estimate:
    """The mean of all items from samples of each stratum: name -> (size, values in 0…1).

    m = Σ (N_h/N)·m_h, var = Σ (N_h/N)²·(1 - n_h/N_h)·s²_h/n_h (Cochran 1977, 5.9), s²_h the
    variance with a yes and a no added, so that a stratum of one kind is not taken for known.
    Worked: N = 100 of one stratum, 10 drawn, 5 yes: m = 0.5, s² = 12/11·(0.5)² = 0.273,
    var = 0.9·0.0273, ± 1.96·0.157 = 0.31.
    """
    total = sum(size for size, values in strata.values() if values)
    if not total:
        return Estimate(0.0, 0.0, 1.0)
    middle = variance = 0.0
    for size, values in strata.values():
        n = len(values)
        if not n:
            continue
        middle += size / total * sum(values) / n
        padded = [*values, 0.0, 1.0]
        mean = sum(padded) / len(padded)
        spread = sum((value - mean) ** 2 for value in padded) / (len(padded) - 1)
        variance += (size / total) ** 2 * max(0.0, 1.0 - n / size) * spread / n
    half = Z95 * math.sqrt(variance)
    return Estimate(middle, max(0.0, middle - half), min(1.0, middle + half))


def reliability(
    judged: Sequence[tuple[float, float, float]], bins: int = 5
) -> tuple[list[Bin], float]:
    """(What the judge said in 0…1, what people said, weight) -> bins, calibration error.

    The error is Σ weight·|said - found| over bins of equal width (expected calibration error,
    Naeini et al. 2015), 0 for a judge whose 0.7 is right seven times of ten. Worked, weights 1:
    0.9 yes, 0.9 no, 0.1 no: bins said 0.9 found 0.5, said 0.1 found 0: (2·0.4 + 0.1)/3 = 0.3.
    """
    groups: dict[int, list[tuple[float, float, float]]] = {}
    for row in judged:
        groups.setdefault(min(bins - 1, int(row[0] * bins)), []).append(row)
    found, error, total = [], 0.0, sum(weight for *_, weight in judged)
    for _, rows in sorted(groups.items()):
        mass = sum(weight for *_, weight in rows)
        said = sum(value * weight for value, _, weight in rows) / mass
        people = sum(value * weight for _, value, weight in rows) / mass
        found.append(Bin(len(rows), said, people))
        error += mass / total * abs(said - people)
    return found, error
