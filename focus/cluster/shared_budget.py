"""What do the other shards leave of a common limit, and have they better to ask for?

Where requests are limited a crawl holds back what would use them up before its turn: see
`limits.Limits`. A shard cannot say by itself what that is. So each tells the others how
many of its waiting URLs are worth how much (`Frontier.ladder`), and all hold back by the
same worth: that of the n-th best URL of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from focus.cluster.messages import ShardStatus
from focus.crawler import Crawl
from focus.engine.limits import HOLD_S
from focus.scheduling.quantiles import ladder

Ladder = Sequence[tuple[int, float]]


def ladder_of(crawl: Crawl) -> list[tuple[int, float]]:
    """What a crawl says of what waits in it; nothing where nothing is held back."""
    limits, config = crawl.config.limits, crawl.config
    is_limited = limits.max_pages is not None or limits.max_requests is not None
    if config.eager or not is_limited:
        return []
    return ladder(crawl.frontier, crawl.transport.now() + HOLD_S)


def worth(n: float, ladders: Iterable[Ladder]) -> float:
    """What the n-th best URL of all is worth, -inf if there are fewer.

    Between two rungs all are taken for as good as the lower one. Worked: [(1, 9), (2, 5)] and
    [(1, 7), (3, 6)]: the second best is worth 7, the fourth 6, the fifth 5.
    """
    steps: list[tuple[float, int]] = []
    for rungs in ladders:
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
    """The other shards, as `Crawl` knows them. `hear` tells of them every second."""

    def __init__(self) -> None:
        self._made = (0, 0)
        self._own: Ladder = ()
        self._theirs: list[Ladder] = []
        self._is_moving = False
        self._moved_at = -math.inf

    def hear(
        self,
        own: ShardStatus,
        others: Sequence[ShardStatus],
        totals: Mapping[str, float],
        now: float,
    ) -> None:
        """How all stand; `totals` of all but our own."""
        away = sum(each.in_flight for each in others)
        made = (int(totals.get("pages", 0)) + away, int(totals.get("requests", 0)) + away)
        if made != self._made:
            self._moved_at = now
        self._is_moving = now - self._moved_at < 2 * HOLD_S
        self._made = made
        self._own, self._theirs = own.ladder, [each.ladder for each in others]

    def made(self) -> tuple[int, int]:
        return self._made

    def worth(self, n: float) -> float:
        return worth(n, (self._own, *self._theirs))

    def has_better(self, least: float) -> bool:
        """Not so if none of them has moved for long: then all wait for each other."""
        return self._is_moving and any(ladder and ladder[0][1] >= least for ladder in self._theirs)
