"""Limits of a crawl: pages, requests, bytes, relevant pages, time, harvest."""

from __future__ import annotations

import msgspec

from focus.config import CrawlConfig, LimitConfig
from focus.engine.recent_harvest import RecentHarvest
from focus.engine.unit_of_work import Totals, UnitOfWork
from focus.scheduling.priority_gate import Budget


class RoundTotals(msgspec.Struct):
    """Totals of a revisit round; revisits count as pages."""

    requested_pages: int
    requests: int
    bytes: int
    relevant: int


def reached_limit(limits: LimitConfig, totals: Totals | RoundTotals) -> str:
    """Which limit on what is counted is reached_limit, "" if none."""
    for name, limit, value in (
        ("max-pages", limits.max_pages, totals.requested_pages),
        ("max-requests", limits.max_requests, totals.requests),
        ("max-bytes", limits.max_bytes, totals.bytes),
        ("target", limits.target, totals.relevant),
    ):
        if limit is not None and value >= limit:
            return f"{name} reached"
    return ""


def round_totals(totals: Totals) -> RoundTotals:
    """Return the totals since the current revisit round began."""
    return RoundTotals(
        requested_pages=totals.requested_pages - totals.round_pages,
        requests=totals.requests - totals.round_requests,
        bytes=totals.bytes - totals.round_bytes,
        relevant=totals.relevant - totals.round_relevant,
    )


class Limits:
    """Limits of one crawl.

    Counts are over all runs of the crawl; with `--refresh`, over the runs of a revisit round.

    began_at  start of this run on the crawl's clock
    """

    def __init__(
        self,
        config: CrawlConfig,
        unit_of_work: UnitOfWork,
        recent_harvest: RecentHarvest,
        *,
        began_at: float,
    ) -> None:
        self._limits = config.limits
        self._by_round = config.refresh_s is not None
        self._is_eager = config.eager
        self._unit_of_work = unit_of_work
        self._recent_harvest = recent_harvest
        self._began_at = began_at

    def reached_limit(self, now: float) -> str:
        """Return the reason for ending the crawl now, "" if no limit is reached."""
        if reason := reached_limit(self._limits, self._counted):
            return reason
        share = self._limits.stop_harvest
        if share is not None and self._recent_harvest.is_below(share):
            return "stop-harvest reached"
        ends_at = self.ends_at()
        return "max-time reached" if ends_at is not None and now >= ends_at else ""

    @property
    def _counted(self) -> Totals | RoundTotals:
        totals = self._unit_of_work.totals
        return round_totals(totals) if self._by_round else totals

    def ends_at(self) -> float | None:
        """Return the time at which `--max-time` ends the run, None without that limit."""
        max_time_s = self._limits.max_time_s
        return None if max_time_s is None else self._began_at + max_time_s

    def remaining_requests(self) -> int | None:
        """Return how many requests may still be sent or be in flight, None without such a limit."""
        limits, totals = self._limits, self._counted
        pairs = ((limits.max_pages, totals.requested_pages), (limits.max_requests, totals.requests))
        return min((limit - so_far for limit, so_far in pairs if limit is not None), default=None)

    def budget(self, *, is_idle: bool) -> Budget | None:
        """Return the use of the request limit for the frontier, None without a limit."""
        # Revisits wait behind new links; none of them needs a minimum priority.
        is_again = self._by_round and self._unit_of_work.totals.refreshed_from
        if self._is_eager or is_again or self.remaining_requests() is None:
            return None
        return Budget(self._counted.requests, is_idle)
