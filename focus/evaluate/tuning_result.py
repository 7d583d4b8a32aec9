"""Defines the result of a tuning, and whether its gain is significant.

A tuning as JSON, schema "focus-tuning/1": the fields of `Tuned`.
"""

from __future__ import annotations

from random import Random

import msgspec

from focus.evaluate.comparison import TopicFacts, Variant
from focus.evaluate.judgments import Remark
from focus.evaluate.search_space import Range
from focus.metrics.significance import bootstrap, mean, wins

SCHEMA = "focus-tuning/1"


class Tried(msgspec.Struct, frozen=True):
    """Values that were tried, and their mean AUC on the half searched on."""

    values: dict[str, float]
    auc: float


class Confirmed(msgspec.Struct, frozen=True):
    """The best values against the defaults on the other half.

    gain    difference of the AUCs, with its 95 % bootstrap interval over `unit`s
            (None over one)
    topics  topic -> AUC with the best values, and with the defaults
    """

    auc: float
    auc_defaults: float
    gain: float
    low: float | None
    high: float | None
    unit: str
    units: int
    wins: int
    losses: int
    ties: int
    topics: dict[str, tuple[float, float]]


class Tuned(msgspec.Struct, frozen=True):
    """The result of a search; the same from the same order, apart from `seconds` and `continued`.

    halves   what the halves consist of: "topics" or "seed orders"
    values   owner (strategy or relevance model) -> the best numbers of those searched for
    """

    judge: str
    variant: Variant
    ranges: tuple[Range, ...]
    inputs: dict[str, dict[str, str]]
    remarks: list[Remark]
    topics: list[TopicFacts]
    halves: str
    train: list[str]
    confirm: list[str]
    defaults: Tried
    best: Tried
    tried: list[Tried]
    confirmed: Confirmed
    values: dict[str, dict[str, float]]
    seed: int
    crawls: int
    continued: int
    seconds: float
    schema: str = SCHEMA


def compared(
    ours: dict[str, list[float]], theirs: dict[str, list[float]], halves: str
) -> Confirmed:
    """The AUCs of two sets of values on the same crawls (topic -> by seed order)."""
    topics = {name: (mean(aucs), mean(theirs[name])) for name, aucs in ours.items()}
    if halves == "topics":
        pairs = list(topics.values())
    else:
        pairs = [pair for name in ours for pair in zip(ours[name], theirs[name], strict=True)]
    left, right = [a for a, _ in topics.values()], [b for _, b in topics.values()]
    ends = bootstrap(pairs, Random("gain"), statistic=lambda drawn: mean([a - b for a, b in drawn]))
    counted = wins([a for a, _ in pairs], [b for _, b in pairs])
    return Confirmed(
        auc=round(mean(left), 6),
        auc_defaults=round(mean(right), 6),
        gain=round(mean(left) - mean(right), 6),
        low=None if ends is None else round(ends.low, 6),
        high=None if ends is None else round(ends.high, 6),
        unit="topic" if halves == "topics" else "crawl",
        units=len(pairs),
        wins=counted.wins,
        losses=counted.losses,
        ties=counted.ties,
        topics={name: (round(a, 6), round(b, 6)) for name, (a, b) in topics.items()},
    )
