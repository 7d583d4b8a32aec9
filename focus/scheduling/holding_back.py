"""Holds poor URLs back while a limited crawl has better to come.

With many requests at once every host that is due gets one, however poor. But where requests
are limited each of them costs a better one, which only rests. So a URL is asked for when it is
among the best of all that wait, or while nothing better is to come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from focus.scheduling.quantiles import WaitingUrls, nth_best
from focus.scheduling.queues import Candidate

EARLY = 8
"""After n requests the best n/8 of all waiting URLs may be asked for. One at a time, the last of
these would have its turn after n/8 more at the earliest: so that at any moment a crawl is an eighth
behind the best order at most, however many requests it has left. Development web, 64 at once,
four topics, recall at |T| requests of 3|T| + 20: n/4 .515, n/8 .498, n/16 .497, one at a time .494,
a quarter of those left .472; seconds of the virtual clock 679, 709, 752, 906 and 777."""
HOLD_S = 10.0  # seconds: nothing is held back for a host that rests or hangs for longer


class Budget(NamedTuple):
    """The requests of a crawl that limits them.

    spent     requests that were made, by all crawls that share the limits
    is_idle   no answer is to be expected now, so that nothing better may turn up
    """

    spent: int
    is_idle: bool


class Coming(WaitingUrls, Protocol):
    """A frontier that knows what comes up by itself."""

    def coming(self, by: float) -> Iterable[float]:
        """Priorities of the best URLs that hosts at rest, and retries, have until an instant."""


class OtherCrawls(Protocol):
    """Other crawls that share the limits of this one, and its hosts with it."""

    def made(self) -> tuple[int, int]:
        """Pages and requests of theirs, with those under way."""

    def nth_best(self, n: float) -> float:
        """The priority of the n-th best of all waiting URLs, ours among them."""

    def has_better(self, least: float) -> bool:
        """Whether one of them has a URL of that priority, which it can ask for soon."""


class HoldBack:
    """The least priority that a URL must have while better ones wait for their hosts.

    patient_until   when those under way will hang, and others be taken; None: nobody waits for it
    """

    def __init__(self, others: OtherCrawls | None) -> None:
        self._others = others
        self._least, self._until = -math.inf, 1  # seeds are equals
        self._gave_at = math.inf
        self.patient_until: float | None = None

    def choose(
        self,
        frontier: Coming,
        take: Callable[[float], Candidate | None],
        budget: Budget,
        now: float,
    ) -> Candidate | None:
        """What `take` finds that is good enough, or as good as any where nothing better is to come.

        take   the best URL that may be asked for now, if it has this priority
        """
        candidate = take(self._found(frontier, budget, now))
        if candidate is None and self._is_in_vain(frontier, budget, now):
            self.reconsider()
            candidate = take(self._found(frontier, budget, now))
            if candidate is None and self._is_in_vain(frontier, budget, now):
                candidate = take(-math.inf)
        if candidate is not None:
            self._gave_at = now
        until = self._gave_at + HOLD_S
        self.patient_until = until if candidate is None and now < until < math.inf else None
        return candidate

    def _found(self, frontier: WaitingUrls, budget: Budget, now: float) -> float:
        """The least priority: the n-th best, found anew when half as many were asked for."""
        if budget.spent >= self._until:
            n = 1 + budget.spent // EARLY
            self._until = budget.spent + 1 + n // 2
            if self._others is not None:
                self._least = self._others.nth_best(n)
            else:
                self._least = nth_best(frontier, n, now, HOLD_S)
        return self._least

    def _is_in_vain(self, frontier: Coming, budget: Budget, now: float) -> bool:
        """Whether nothing that good comes up soon, here or elsewhere."""
        if not budget.is_idle and now < self._gave_at + HOLD_S:
            return False  # answers may bring it
        if self._others is not None and self._others.has_better(self._least):
            return False
        return all(each < self._least for each in frontier.coming(now + HOLD_S))

    def reconsider(self) -> None:
        """Find the least priority anew: what waits is not what it was."""
        self._until = 0
