"""Holds poor URLs back while a limited crawl has better to come.

With many requests at once every host that is due gets one, however poor. But where requests
are limited, those behind as many better ones would never have their turn: they are held back
while anything better is to come.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from focus.scheduling.quantiles import WaitingUrls, nth_best

BETTER_TO_COME = 4
"""Of n requests that are left a quarter is for URLs that wait now, as better ones will be found.
Development web, 64 at once, recall at |T| requests: all .46, half .52, a quarter .53, a tenth .52;
without a bound .03."""
HOLD_S = 10.0  # seconds: nothing is held back for a host that rests longer


class Budget(NamedTuple):
    """The requests that a crawl has left.

    left      requests, with those under way, before a limit; None: nothing limits them
    spent     requests that were made
    is_idle   nothing is under way, so that nothing better may turn up
    """

    left: int | None
    spent: int
    is_idle: bool


class OtherCrawls(Protocol):
    """Other crawls that share the limits of this one, and its hosts with it."""

    def made(self) -> tuple[int, int]:
        """Pages and requests of theirs, with those under way."""

    def nth_best(self, n: float) -> float:
        """The priority of the n-th best of all waiting URLs, ours among them."""

    def has_better(self, least: float) -> bool:
        """Whether one of them has a URL of that priority, which it can ask for soon."""


class HoldBack:
    """The least priority that a URL must have while better ones wait for their hosts."""

    def __init__(self, others: OtherCrawls | None) -> None:
        self._others = others
        self._least, self._until = -math.inf, 0.0

    def least(self, frontier: WaitingUrls, budget: Budget, now: float) -> float:
        """That priority, found anew after every eighth more requests than were made, or of those
        that are left: whichever are fewer, since at first every page changes what is best.
        """
        if budget.spent >= self._until:
            left, spent = budget.left, budget.spent
            self._until = math.inf if left is None else spent + 1 + min(left, spent) // 8
            better = math.inf if left is None else 1 + left // BETTER_TO_COME
            if self._others is not None:
                self._least = self._others.nth_best(better)
            else:
                self._least = nth_best(frontier, better, now + HOLD_S)
        return self._least

    def is_in_vain(self, due_at: float | None, now: float) -> bool:
        """Whether nothing better comes up soon, here (`due_at`) or elsewhere."""
        if self._others is not None and self._others.has_better(self._least):
            return False
        return due_at is None or due_at > now + HOLD_S

    def reconsider(self) -> None:
        """Find the least priority anew: the other crawls have changed."""
        self._until = 0.0
