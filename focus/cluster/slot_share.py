"""Splits the workers' slots between shards by their best priorities.

Every shard tells all others the priorities of its best waiting URLs, thinned out to `POINTS`.
Together the shards can ask for some number of URLs soon: a shard's share of the slots is its
share of the best so many URLs of all. One that has none among these still gets a little, so that
it can find better ones. With one shard the share is 1, whatever waits.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from focus.frontier import Frontier
from focus.records import UrlState

POINTS = 32
PER_QUEUE = 8  # of a queue's heap are looked at: its best are among the first
LEAST = 0.05  # of a fair share


def sketch(frontier: Frontier, wanted: int) -> list[float]:
    """Every (wanted / POINTS)th of the `wanted` best waiting priorities, the best first.

    Fewer wait: the list is shorter in proportion. One pass over the queues.
    """
    best = heapq.nlargest(max(1, wanted), _heads(frontier))
    if not best:
        return []
    return [
        best[at * wanted // POINTS] for at in range(POINTS) if at * wanted // POINTS < len(best)
    ]


def _heads(frontier: Frontier) -> Iterable[float]:
    url_table = frontier.url_table
    waits = UrlState.WAITING
    for queue in frontier.queues:
        for negated, url_id in queue.heap[:PER_QUEUE]:
            if url_table.state[url_id] == waits and url_table.priority[url_id] == -negated:
                yield queue.bonus - negated


def share(own: int, sketches: Mapping[int, Sequence[float]]) -> float:
    """A shard's share of the slots, by all shards' sketches (its own among them), each of as
    many `wanted`. Worked: own [9, 5, 1], other [8, 7, 6]; of the best 3 points 9, 8, 7 it has
    one: 1/3.
    """
    if len(sketches) < 2:
        return 1.0
    points = sorted(
        ((-value, shard) for shard, values in sketches.items() for value in values),
    )[:POINTS]
    fair = 1.0 / len(sketches)
    if not points:
        return fair
    mine = sum(1 for _, shard in points if shard == own) / len(points)
    return max(mine, LEAST * fair)
