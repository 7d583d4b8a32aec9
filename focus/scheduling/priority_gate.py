"""Sets a minimum priority while a crawl with a request limit waits for better URLs.

With many concurrent requests every host that is due gets a request, whatever the priority of its
best URL. Where requests are limited, each of these replaces a better URL whose host is in its
crawl delay. So a URL is requested only if it is among the best of all waiting URLs, or if no
better URL becomes due soon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from focus.scheduling.quantiles import WaitingUrls, nth_best
from focus.scheduling.queues import Candidate

RESERVE_RATIO = 8
"""After n requests the best n/8 of all waiting URLs may be requested, so that a crawl is at most an
eighth behind the best order. Development web, 64 concurrent requests, four topics, recall at |T|
requests of 3|T| + 20: n/4 0.515, n/8 0.498, n/16 0.497, one request at a time 0.494; seconds of
the virtual clock: 679, 709, 752, 906."""
MAX_WAIT_S = 10.0  # seconds; the gate does not wait for hosts that are paused or silent for longer


class Budget(NamedTuple):
    """Use of the request limit.

    spent     requests made so far
    is_idle   no request is in flight, so no better URL can be discovered
    """

    spent: int
    is_idle: bool


class SchedulableUrls(WaitingUrls, Protocol):
    """A frontier that knows which URLs become due without further results."""

    def priorities_due_by(self, by: float) -> Iterable[float]:
        """Yield the priorities of the best URLs that become due until the time `by`."""


class PriorityGate:
    """The minimum priority of URLs while better ones wait for their hosts.

    waiting_until   time until which the gate waits for requests in flight; None if it does not
    """

    def __init__(self) -> None:
        self._min_priority, self._valid_until = -math.inf, 1  # all seeds are allowed
        self._released_at = math.inf
        self.waiting_until: float | None = None

    def choose(
        self,
        frontier: SchedulableUrls,
        take: Callable[[float], Candidate | None],
        budget: Budget,
        now: float,
    ) -> Candidate | None:
        """Return the URL to request next, or None to wait for a better one.

        take   returns the best URL whose host is due if it has at least the given priority
        """
        candidate = take(self._current_min_priority(frontier, budget, now))
        if candidate is None and self._is_better_unlikely(frontier, budget, now):
            self.reset()
            candidate = take(self._current_min_priority(frontier, budget, now))
            if candidate is None and self._is_better_unlikely(frontier, budget, now):
                candidate = take(-math.inf)
        if candidate is not None:
            self._released_at = now
        until = self._released_at + MAX_WAIT_S
        self.waiting_until = until if candidate is None and now < until < math.inf else None
        return candidate

    def _current_min_priority(self, frontier: WaitingUrls, budget: Budget, now: float) -> float:
        """Return the minimum priority, estimated anew after n/2 further requests."""
        if budget.spent >= self._valid_until:
            n = 1 + budget.spent // RESERVE_RATIO
            self._valid_until = budget.spent + 1 + n // 2
            self._min_priority = nth_best(frontier, n, now, MAX_WAIT_S)
        return self._min_priority

    def _is_better_unlikely(self, frontier: SchedulableUrls, budget: Budget, now: float) -> bool:
        """Return whether no URL above the minimum becomes due soon."""
        if not budget.is_idle and now < self._released_at + MAX_WAIT_S:
            return False  # results in flight may lead to one
        return all(
            priority < self._min_priority
            for priority in frontier.priorities_due_by(now + MAX_WAIT_S)
        )

    def reset(self) -> None:
        """Estimate the minimum priority anew, because the waiting URLs have changed."""
        self._valid_until = 0
