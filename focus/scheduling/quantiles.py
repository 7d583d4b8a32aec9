"""Estimates priority quantiles of a frontier's waiting URLs from a sample of the known URLs.

waiting_sample  queues and priorities of a sample of the waiting URLs
nth_best        priority of the n-th best URL
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

TARGET_SAMPLE_RANK = 30  # about this many of the n best URLs are in the sample
MAX_SAMPLE = 20_000  # known URLs that are examined at most, about 0.3 ms


class WaitingUrls(Protocol):
    """The part of a frontier that is sampled."""

    @property
    def url_table(self) -> UrlTable:
        """Table of all known URLs."""

    @property
    def queues(self) -> Sequence[Queue]:
        """Queues by id."""


def waiting_sample(
    url_table: UrlTable, step: int
) -> tuple[npt.NDArray[np.unsignedinteger], npt.NDArray[np.float64]]:
    """Return queue ids and priorities (without bonus) of the waiting among every `step`-th URL."""
    import numpy as np

    waits = np.frombuffer(url_table.state, np.uint8)[::step] == UrlState.WAITING
    queue_ids = np.asarray(url_table.queue)[::step][waits]
    return queue_ids, np.frombuffer(url_table.priority)[::step][waits]


def nth_best(frontier: WaitingUrls, n: float, now: float, within_s: float = math.inf) -> float:
    """Return the estimated priority of the n-th best waiting URL, -inf if fewer wait.

    The sample takes known URLs at equal distances, so that it contains about `TARGET_SAMPLE_RANK`
    of the n best, and leaves out hosts that are not due within `within_s` seconds.

    Example: for n = 960 every 32nd of 200,000 URLs is examined; the result is the priority of the
    30th best of these.
    """
    import numpy as np

    waiting = frontier.url_table.counts[UrlState.WAITING]
    if n >= waiting:
        return -math.inf
    step = max(1, int(n) // TARGET_SAMPLE_RANK, len(frontier.url_table) // MAX_SAMPLE)
    priorities = _sample_priorities(frontier, step, now, within_s)
    rank = max(1, round(n / step))
    return float(np.partition(priorities, -rank)[-rank]) if rank <= len(priorities) else -math.inf


def _sample_priorities(
    frontier: WaitingUrls, step: int, now: float, within_s: float
) -> npt.NDArray[np.float64]:
    """Return priorities of a 1-in-`step` sample of waiting URLs whose host is due in time."""
    import numpy as np

    queues = frontier.queues
    queue_ids, priorities = waiting_sample(frontier.url_table, step)
    bonus, is_used = np.full(len(queues), -math.inf), np.zeros(len(queues), bool)
    is_used[queue_ids] = True
    for number in np.flatnonzero(is_used).tolist():
        queue = queues[number]
        if queue.host.is_due_within(now, within_s):
            bonus[number] = queue.bonus
    sample: npt.NDArray[np.float64] = priorities + bonus[queue_ids]
    return sample[sample > -math.inf]
