"""Estimates priority quantiles of a frontier's waiting URLs from a sample of the known URLs.

waiting_sample       the sample: queue and priority of those that wait
nth_best             the priority of the n-th best URL
priority_quantiles   priorities at some ranks, from the best to the worst
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from focus.records import UrlState
from focus.scheduling.queues import Queue
from focus.scheduling.url_table import UrlTable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RANKS = 30  # of the n best, about so many are in a sample
SAMPLE = 20_000  # known URLs that are looked at, at most: about .3 ms


class WaitingUrls(Protocol):
    """A frontier, as far as its waiting URLs are looked at."""

    @property
    def url_table(self) -> UrlTable:
        """Every known URL."""

    @property
    def queues(self) -> Sequence[Queue]:
        """The queues by number."""


def waiting_sample(
    url_table: UrlTable, step: int
) -> tuple[npt.NDArray[np.unsignedinteger], npt.NDArray[np.float64]]:
    """Queue and priority, without its queue's bonus, of every `step`-th known URL, if it waits."""
    import numpy as np

    waits = np.frombuffer(url_table.state, np.uint8)[::step] == UrlState.WAITING
    queue_of = np.asarray(url_table.queue)[::step][waits]
    return queue_of, np.frombuffer(url_table.priority)[::step][waits]


def nth_best(frontier: WaitingUrls, n: float, now: float, within_s: float = math.inf) -> float:
    """The priority of the n-th best waiting URL, -inf if none is worse.

    The sample takes known URLs at even distances, so that about `RANKS` of the n are in it,
    and leaves out hosts that do not come up `within_s`. Worked: n = 960, every 32nd of 200,000
    is looked at: the 30th best of these.
    """
    import numpy as np

    waiting = frontier.url_table.counts[UrlState.WAITING]
    if n >= waiting:
        return -math.inf
    step = max(1, int(n) // RANKS, len(frontier.url_table) // SAMPLE)
    priorities = _priorities(frontier, step, now, within_s)
    rank = max(1, round(n / step))
    return float(np.partition(priorities, -rank)[-rank]) if rank <= len(priorities) else -math.inf


def priority_quantiles(
    frontier: WaitingUrls, now: float, within_s: float = math.inf
) -> list[tuple[int, float]]:
    """(rank, priority) of some of the waiting URLs: the best, the worst, others in between at
    ranks that grow by a quarter each. Hosts that do not come up `within_s` are left out.
    """
    import numpy as np

    step = max(1, len(frontier.url_table) // SAMPLE)
    priorities = np.sort(_priorities(frontier, step, now, within_s))[::-1].tolist()
    steps, at = [], 1
    while at < len(priorities):
        steps.append((at * step, priorities[at - 1]))
        at += max(1, at // 4)
    return [*steps, (len(priorities) * step, priorities[-1])] if priorities else []


def _priorities(
    frontier: WaitingUrls, step: int, now: float, within_s: float
) -> npt.NDArray[np.float64]:
    """Of every `step`-th known URL that waits, of hosts that come up within so many seconds."""
    import numpy as np

    queues = frontier.queues
    places, priorities = waiting_sample(frontier.url_table, step)
    bonus, is_there = np.full(len(queues), -math.inf), np.zeros(len(queues), bool)
    is_there[places] = True
    for number in np.flatnonzero(is_there).tolist():
        queue = queues[number]
        if queue.host.comes_up(now, within_s):
            bonus[number] = queue.bonus
    worths: npt.NDArray[np.float64] = priorities + bonus[places]
    return worths[worths > -math.inf]
