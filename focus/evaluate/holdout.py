"""Splits topics or seed orders into a half to search on and a half to confirm on."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from focus.errors import ConfigError
from focus.evaluate.compare import seed_order
from focus.evaluate.ground_truth import Prepared
from focus.evaluate.judgments import TopicTask

TOPICS_TO_HALVE = 4
"""With so many topics the halves are of topics, with fewer of each topic's seed orders."""

_ORDERS_LOOKED_AT = 50

Units = dict[str, list[int]]
"""Topic -> the seed orders that it is crawled with."""


class Halves(NamedTuple):
    """Topics (or orders) to search on and to confirm on, and which of the two was halved."""

    train: Units
    confirm: Units
    what: str


def split(prepared: Sequence[Prepared], orders: int, seed: int) -> Halves:
    """Two halves that share no crawl. ConfigError where there is only one crawl to have.

    Topics are dealt out at random if there are enough of them; the orders of a topic in
    turn, those that put its seeds alike counting once.
    """
    names = [each.task.name for each in prepared]
    distinct = {each.task.name: _distinct_orders(each.task, orders) for each in prepared}
    if len(names) >= TOPICS_TO_HALVE:
        dealt = list(names)
        Random(f"split/{seed}").shuffle(dealt)
        middle = (len(dealt) + 1) // 2
        first = set(dealt[:middle])
        return Halves(
            {name: distinct[name] for name in names if name in first},
            {name: distinct[name] for name in names if name not in first},
            "topics",
        )
    train = {name: found[::2] for name, found in distinct.items()}
    confirm = {name: found[1::2] for name, found in distinct.items() if len(found) > 1}
    if not confirm:
        raise ConfigError(
            "topic {name!r} cannot be halved: tuning needs topics with two seeds or more and "
            "--seed-orders of 2 or more, or {n} topics",
            name=names[0],
            n=TOPICS_TO_HALVE,
        )
    return Halves(train, confirm, "seed orders")


def _distinct_orders(task: TopicTask, wanted: int) -> list[int]:
    """Numbers of seed orders that differ, up to so many."""
    found: dict[tuple[str, ...], int] = {}
    for order in range(_ORDERS_LOOKED_AT):
        if len(found) < wanted:
            found.setdefault(seed_order(task, order), order)
    return list(found.values())


def crawls(units: Units) -> int:
    """How many that are."""
    return sum(len(orders) for orders in units.values())
