"""Ends a crawl at its limits."""

from __future__ import annotations

from typing import Protocol

from focus.config import CrawlConfig, LimitConfig
from focus.engine.unit_of_work import UnitOfWork
from focus.scheduling.holding_back import Budget, OtherCrawls


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
    """The limits of one crawl, which it may share with others.

    began_at  this run's start, by the crawl's clock
    """

    def __init__(
        self,
        config: CrawlConfig,
        unit_of_work: UnitOfWork,
        others: OtherCrawls | None,
        *,
        began_at: float,
    ) -> None:
        self._limits = config.limits
        self._is_eager = config.eager
        self._unit_of_work = unit_of_work
        self._others = others
        self._began_at = began_at

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
        pages, requests = self._others.made() if self._others is not None else (0, 0)
        pairs = (
            (limits.max_pages, totals.pages + pages),
            (limits.max_requests, totals.requests + requests),
        )
        return min((most - so_far for most, so_far in pairs if most is not None), default=None)

    def budget(self, *, is_idle: bool) -> Budget:
        """What the frontier may give out: poor URLs are held back when that is little."""
        left = None if self._is_eager else self.left()
        return Budget(left, self._unit_of_work.totals.requests, is_idle)
