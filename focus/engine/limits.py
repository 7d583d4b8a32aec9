"""Ends a crawl at its limits, and holds poor URLs back while a limited crawl has better to come.

With many requests at once every host that is due gets one, however poor. But where requests
are limited, those behind as many better ones would never have their turn: they are held back
while anything better is to come.
"""

from __future__ import annotations

import math
from typing import Protocol

from focus.config import CrawlConfig, LimitConfig
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.scheduling.quantiles import nth_best
from focus.scheduling.queues import Candidate

BETTER_TO_COME = 4
"""Of n requests that are left a quarter is for URLs that wait now, as better ones will be found.
Development web, 64 at once, recall at |T| requests: all .46, half .52, a quarter .53, a tenth .52;
without a bound .03."""
HOLD_S = 10.0  # seconds: nothing is held back for a host that rests longer


class OtherCrawls(Protocol):
    """Other crawls that share the limits of this one, and its hosts with it."""

    def made(self) -> tuple[int, int]:
        """Pages and requests of theirs, with those under way."""

    def nth_best(self, n: float) -> float:
        """The priority of the n-th best of all waiting URLs, ours among them."""

    def has_better(self, least: float) -> bool:
        """Whether one of them has a URL of that priority, which it can ask for soon."""


class Counted(Protocol):
    """The figures that limits bound."""

    pages: int
    requests: int
    bytes: int
    relevant: int


def reached(limits: LimitConfig, totals: Counted) -> str:
    """Which limit on what is counted is reached, "" if none."""
    for name, limit, value in (
        ("max-pages", limits.max_pages, totals.pages),
        ("max-requests", limits.max_requests, totals.requests),
        ("max-bytes", limits.max_bytes, totals.bytes),
        ("target", limits.target, totals.relevant),
    ):
        if limit is not None and value >= limit:
            return f"{name} reached"
    return ""


class Limits:
    """The limits of one crawl. `began_at`: this run's start, by the crawl's clock."""

    def __init__(
        self, config: CrawlConfig, frontier: Frontier, unit_of_work: UnitOfWork, *, began_at: float
    ) -> None:
        self.other_crawls: OtherCrawls | None = None
        self._limits = config.limits
        self._is_eager = config.eager
        self._frontier = frontier
        self._unit_of_work = unit_of_work
        self._began_at = began_at
        self._least, self._least_until = -math.inf, 0.0

    def reached(self, now: float) -> str:
        """Which limit is reached, "" if none."""
        if reason := reached(self._limits, self._unit_of_work.totals):
            return reason
        ends_at = self.ends_at()
        return "max-time reached" if ends_at is not None and now >= ends_at else ""

    def ends_at(self) -> float | None:
        """The instant of `--max-time`, if that is a limit."""
        most = self._limits.max_time_s
        return None if most is None else self._began_at + most

    def left(self) -> int | None:
        """Requests, with those under way, before a limit on pages or requests; None: neither."""
        limits, totals = self._limits, self._unit_of_work.totals
        pages, requests = self.other_crawls.made() if self.other_crawls is not None else (0, 0)
        pairs = (
            (limits.max_pages, totals.pages + pages),
            (limits.max_requests, totals.requests + requests),
        )
        return min((most - so_far for most, so_far in pairs if most is not None), default=None)

    def next(self, now: float, *, is_idle: bool) -> Candidate | None:
        """The best URL that may be asked for now and is not held back.

        is_idle   nothing is under way, so that nothing better may turn up
        """
        candidate = self._frontier.next(now, self._least_priority(now))
        if candidate is None and is_idle:
            due = self._frontier.next_due()
            holds = self.other_crawls is not None and self.other_crawls.has_better(self._least)
            if not holds and (due is None or due > now + HOLD_S):
                return self._frontier.next(now)  # nothing better will come up
        return candidate

    def reconsider(self) -> None:
        """Find the least priority anew: the other crawls have changed."""
        self._least_until = 0.0

    def _least_priority(self, now: float) -> float:
        """The priority that a URL must have while better ones wait for their hosts."""
        requests = self._unit_of_work.totals.requests
        if requests >= self._least_until:
            left = None if self._is_eager else self.left()
            self._least_until = math.inf if left is None else requests + 1 + left // 8
            better = math.inf if left is None else 1 + left // BETTER_TO_COME
            if self.other_crawls is not None:
                self._least = self.other_crawls.nth_best(better)
            else:
                self._least = nth_best(self._frontier, better, now + HOLD_S)
        return self._least
