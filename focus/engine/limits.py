"""Ends a crawl at its limits."""

from __future__ import annotations

import msgspec

from focus.config import CrawlConfig, LimitConfig
from focus.engine.recent_harvest import RecentHarvest
from focus.engine.unit_of_work import Totals, UnitOfWork
from focus.scheduling.priority_gate import Budget, PeerCrawls


class RoundTotals(msgspec.Struct):
    """The totals of a round of a crawl that looks again at its pages; looks count as pages."""

    pages: int
    requests: int
    bytes: int
    relevant: int


def reached(limits: LimitConfig, totals: Totals | RoundTotals) -> str:
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


def of_round(totals: Totals) -> RoundTotals:
    """The totals since the present round began."""
    return RoundTotals(
        pages=totals.pages + totals.looked - totals.round_pages,
        requests=totals.requests - totals.round_requests,
        bytes=totals.bytes - totals.round_bytes,
        relevant=totals.relevant - totals.round_relevant,
    )


class Limits:
    """The limits of one crawl, which it may share with others.

    They count over all its runs; where it looks again at its pages, over those of a round.

    began_at  this run's start, by the crawl's clock
    """

    def __init__(
        self,
        config: CrawlConfig,
        unit_of_work: UnitOfWork,
        recent_harvest: RecentHarvest,
        others: PeerCrawls | None,
        *,
        began_at: float,
    ) -> None:
        self._limits = config.limits
        self._by_round = config.refresh_s is not None
        self._is_eager = config.eager
        self._unit_of_work = unit_of_work
        self._recent_harvest = recent_harvest
        self._others = others
        self._began_at = began_at

    def reached(self, now: float) -> str:
        """Which limit is reached, "" if none."""
        if reason := reached(self._limits, self._counted):
            return reason
        share = self._limits.stop_harvest
        if share is not None and self._recent_harvest.is_below(share):
            return "stop-harvest reached"
        ends_at = self.ends_at()
        return "max-time reached" if ends_at is not None and now >= ends_at else ""

    @property
    def _counted(self) -> Totals | RoundTotals:
        totals = self._unit_of_work.totals
        return of_round(totals) if self._by_round else totals

    def ends_at(self) -> float | None:
        """The instant of `--max-time`, if that is a limit."""
        most = self._limits.max_time_s
        return None if most is None else self._began_at + most

    def left(self) -> int | None:
        """Requests, with those under way, before a limit on pages or requests; None: neither."""
        limits, totals = self._limits, self._counted
        pages, requests = self._others.spent_totals() if self._others is not None else (0, 0)
        pairs = (
            (limits.max_pages, totals.pages + pages),
            (limits.max_requests, totals.requests + requests),
        )
        return min((most - so_far for most, so_far in pairs if most is not None), default=None)

    def budget(self, *, is_idle: bool) -> Budget | None:
        """What the frontier holds poor URLs back by; None: it holds none."""
        # Behind new links come pages to look at again: nothing of what waits is poor.
        is_again = self._by_round and self._unit_of_work.totals.refreshed_from
        if self._is_eager or is_again or self.left() is None:
            return None
        theirs = self._others.spent_totals()[1] if self._others is not None else 0
        return Budget(self._counted.requests + theirs, is_idle)
