"""The report of a run, as `--report` writes it."""

from __future__ import annotations

import msgspec

from focus.config import RunPaths
from focus.crawler import Crawl
from focus.engine.outages import Outage
from focus.engine.unit_of_work import Totals
from focus.records import UrlState
from focus.store import CrawlInfo

LOOKS = ("looked", "unchanged", "changed", "gone", "unanswered")


class RunReport(msgspec.Struct, frozen=True):
    """The outcome of a run; `--report` writes it as JSON.

    totals are of the crawl over all its runs, `run_*` of this run alone; `outage` is the one
    that it ended in, `archive_damage` what of a recorded web could not be read. `again`: this
    run's looks at pages of earlier ones, by what came of them (`Totals`). `led_away`: seed ->
    host, where every single seed led to another site.
    """

    crawl: int
    resumed: bool
    stop_reason: str
    strategy: str
    topic: str
    totals: Totals
    run_requests: int
    run_pages: int
    run_seconds: float
    pages_per_second: float
    harvest_rate: float
    states: dict[str, int]
    hosts: int
    failures: dict[str, int]
    dropped: dict[str, int]
    seed_failures: dict[str, str]
    database: str
    outage: Outage | None = None
    warc: str | None = None
    archive_damage: str | None = None
    again: dict[str, int] = {}
    led_away: dict[str, str] = {}

    @property
    def run_looked(self) -> int:
        """Looks at pages of earlier runs that were answered in this one."""
        return self.again.get("looked", 0)


def make_report(
    crawl: Crawl,
    info: CrawlInfo,
    before: Totals,
    reason: str,
    seconds: float,
    paths: RunPaths,
) -> RunReport:
    """Return the report of a run that ended for `reason` after `seconds`.

    before: The totals of the crawl when the run began.
    """
    totals, unit_of_work = crawl.unit_of_work.totals, crawl.unit_of_work
    pages = totals.pages - before.pages
    topic = crawl.config.analysis.topic
    return RunReport(
        crawl=info.id,
        resumed=info.resumed,
        stop_reason=reason,
        strategy=crawl.config.strategy,
        topic=str(topic.get("name", "")),
        totals=totals,
        run_requests=totals.requests - before.requests,
        run_pages=pages,
        run_seconds=round(seconds, 3),
        pages_per_second=round(pages / seconds, 2) if seconds > 0 else 0.0,
        harvest_rate=round(totals.relevant / totals.pages, 4) if totals.pages else 0.0,
        states={state.name.lower(): crawl.url_table.counts[state] for state in UrlState},
        hosts=len(crawl.frontier.hosts),
        failures=dict(unit_of_work.failures.most_common()),
        dropped=dict(unit_of_work.drops.most_common()),
        seed_failures=dict(crawl.seeds.failures),
        led_away=crawl.seeds.redirected_away(),
        database=str(paths.db),
        outage=crawl.outages.current,
        warc=str(paths.warc) if paths.warc else None,
        again={name: getattr(totals, name) - getattr(before, name) for name in LOOKS},
    )
