"""Shares limits between shards: each one's part of a budget, and the worth of a URL among all.

Where requests are limited a crawl holds back URLs that would use them up before better ones
come (`scheduling/priority_gate.py`). A shard cannot know by itself which these are. So each tells
the others the priority quantiles of its waiting URLs (`scheduling/quantiles.py`), and all hold
back below the same priority: that of the n-th best URL of all shards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from focus.cluster.messages import ShardStatus
from focus.crawler import Crawl
from focus.scheduling.priority_gate import MAX_WAIT_S
from focus.scheduling.quantiles import priority_quantiles

Quantiles = Sequence[tuple[int, float]]


def quantiles_of(crawl: Crawl) -> list[tuple[int, float]]:
    """Priority quantiles of the waiting URLs; none where nothing is held back."""
    limits, config = crawl.config.limits, crawl.config
    is_limited = limits.max_pages is not None or limits.max_requests is not None
    if config.eager or not is_limited:
        return []
    return priority_quantiles(crawl.frontier, crawl.transport.now(), MAX_WAIT_S)


def nth_best(n: float, all_quantiles: Iterable[Quantiles]) -> float:
    """The priority of the n-th best URL of all, -inf if there are fewer.

    Between two ranks all are taken for as good as the lower one. Worked: [(1, 9), (2, 5)] and
    [(1, 7), (3, 6)]: the second best has 7, the fourth 6, the fifth 5.
    """
    steps: list[tuple[float, int]] = []
    for rungs in all_quantiles:
        before = 0
        for rank, value in rungs:
            steps.append((value, rank - before))
            before = rank
    total = 0
    for value, number in sorted(steps, reverse=True):
        total += number
        if total >= n:
            return value
    return -math.inf


class OtherShards:
    """The other shards, as `Crawl` knows them. `update` is called every second."""

    def __init__(self) -> None:
        self._made = (0, 0)
        self._own: Quantiles = ()
        self._theirs: list[Quantiles] = []
        self._is_moving = False
        self._moved_at = -math.inf

    def update(
        self,
        own: ShardStatus,
        others: Sequence[ShardStatus],
        totals: Mapping[str, float],
        now: float,
    ) -> None:
        """Take in the status of all; `totals` of all but our own."""
        away = sum(each.in_flight for each in others)
        made = (int(totals.get("page_requests", 0)) + away, int(totals.get("requests", 0)) + away)
        if made != self._made:
            self._moved_at = now
        self._is_moving = now - self._moved_at < 2 * MAX_WAIT_S
        self._made = made
        self._own, self._theirs = own.quantiles, [each.quantiles for each in others]

    def spent_totals(self) -> tuple[int, int]:
        return self._made

    def nth_best(self, n: float) -> float:
        return nth_best(n, (self._own, *self._theirs))

    def has_better(self, least: float) -> bool:
        """Not so if none of them has moved for long: then all wait for each other."""
        return self._is_moving and any(
            quantiles and quantiles[0][1] >= least for quantiles in self._theirs
        )
