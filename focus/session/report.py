"""The report of a run, as `--summary` writes it."""

from __future__ import annotations

import msgspec

from focus.config import RunPaths
from focus.crawler import Crawl
from focus.engine.outages import Outage
from focus.engine.unit_of_work import Totals
from focus.records import UrlState
from focus.store import CrawlInfo

REVISIT_COUNTS = ("looked", "unchanged", "changed", "gone", "unanswered")


class RunReport(msgspec.Struct, frozen=True):
    """Outcome of a run; `--summary` writes it as JSON.

    totals   counts of the crawl over all its runs; `run_*` fields count this run only
    outage   the outage during which the run ended
    archive_damage  why parts of a recorded web could not be read
    revisits  number of revisits in this run by result (fields of `Totals`)
    redirected_seeds  seed -> host, if every seed redirected to another site
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
    revisits: dict[str, int] = msgspec.field(name="again", default_factory=dict)
    redirected_seeds: dict[str, str] = msgspec.field(name="led_away", default_factory=dict)

    @property
    def answered_revisits(self) -> int:
        """Number of revisits in this run that had a response."""
        return self.revisits.get("looked", 0)


def make_report(
    crawl: Crawl,
    info: CrawlInfo,
    totals_before: Totals,
    reason: str,
    duration_s: float,
    paths: RunPaths,
) -> RunReport:
    """Return the report of a run that ended for `reason` after `seconds`.

    before: The totals of the crawl when the run began.
    """
    totals, unit_of_work = crawl.unit_of_work.totals, crawl.unit_of_work
    pages = totals.pages - totals_before.pages
    topic = crawl.config.analysis.topic
    return RunReport(
        crawl=info.id,
        resumed=info.is_resumed,
        stop_reason=reason,
        strategy=crawl.config.strategy,
        topic=str(topic.get("name", "")),
        totals=totals,
        run_requests=totals.requests - totals_before.requests,
        run_pages=pages,
        run_seconds=round(duration_s, 3),
        pages_per_second=round(pages / duration_s, 2) if duration_s > 0 else 0.0,
        harvest_rate=round(totals.relevant / totals.pages, 4) if totals.pages else 0.0,
        states={state.name.lower(): crawl.url_table.counts[state] for state in UrlState},
        hosts=len(crawl.frontier.hosts),
        failures=dict(unit_of_work.failures.most_common()),
        dropped=dict(unit_of_work.drops.most_common()),
        seed_failures=dict(crawl.seeds.failures),
        redirected_seeds=crawl.seeds.redirected_away(),
        database=str(paths.db),
        outage=crawl.outages.current,
        warc=str(paths.warc) if paths.warc else None,
        revisits={
            name: getattr(totals, name) - getattr(totals_before, name) for name in REVISIT_COUNTS
        },
    )
