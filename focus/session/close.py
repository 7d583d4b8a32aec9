"""Stores the results of a run: its report, and the graph scores of all pages."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from focus.crawler import Crawl
from focus.records import UrlState
from focus.score.graph.hits import hubs_and_authorities
from focus.session.report import RunReport
from focus.store import CrawlInfo, Store


async def finish_run(
    store: Store, crawl: Crawl, info: CrawlInfo, report: RunReport, *, now: float
) -> None:
    """Store the report of a run, and PageRank, hub and authority of all pages."""
    # If a finished crawl got no new page in this run, its graph scores are stored already.
    is_unchanged = info.is_finished and not report.run_pages and not report.answered_revisits
    await store.finish_crawl(
        info.id,
        reason=report.stop_reason,
        report_json=msgspec.json.encode(report, enc_hook=str).decode(),
        ranks=() if is_unchanged else _iter_ranks(crawl),
        now=now,
    )


def _iter_ranks(crawl: Crawl) -> Iterator[tuple[int, float, float, float]]:
    """Return (URL id, PageRank, hub, authority) of every page, in order of id."""
    import numpy as np

    crawl.graph.push_all()
    size = len(crawl.url_table.state)
    done = np.flatnonzero(np.frombuffer(crawl.url_table.state, np.uint8) == UrlState.DONE)
    standing, hubs, authorities = hubs_and_authorities(crawl.graph.rows), *np.zeros((2, size))
    hubs[standing.ids], authorities[standing.ids] = standing.hubs, standing.authorities
    columns = done, crawl.graph.ranks(done), hubs[done], authorities[done]
    return zip(*(column.tolist() for column in columns), strict=True)
