"""Counts the labelled pages of a recorded web that learned rules drop in a crawl without limits.

    python -m bench.dropped_labels ARCHIVE TOPICS LABELS [--requests N] [--strategy yield]

One crawl of the first topic begins at the seeds of all topics; links to pages that are not recorded
are requested (404), links to other hosts are left out. Printed are its requests, the URLs
that were dropped by each rule, and of these the pages with label 1 of any topic, which should be 0.
"""

import asyncio
import gzip
import json
import time
from collections import Counter
from collections.abc import Sequence

from bench.script import read_options
from focus.archive.replay import Archive
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig
from focus.crawler import Crawl
from focus.engine.transports import ReplayTransport
from focus.evaluate.judgments import page_key
from focus.evaluate.link_graph import PageIndex
from focus.evaluate.trial import Replay
from focus.records import Batch, DropReason
from focus.topic.topic import from_words, to_builtins

RULES = {str(DropReason.URL_RULE), str(DropReason.PAGE_VARIANT)}


class DroppedUrls:
    """Crawl store that remembers the URLs, and why learned rules dropped some."""

    def __init__(self) -> None:
        self.urls: dict[int, str] = {}
        self.reasons: dict[int, str] = {}

    async def write(self, batch: Batch) -> None:
        self.urls.update((row.id, row.url) for row in batch.urls)
        for outcome in batch.outcomes:
            self.reasons.pop(outcome.id, None)
            if outcome.reason in RULES and "fetched as" not in outcome.detail:
                self.reasons[outcome.id] = f"{outcome.reason}: {outcome.detail}"

    async def load_addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        return [(number, self.urls[number]) for number in ids]

    async def load_sources(self, ids: Sequence[int]) -> dict[int, bytes]:
        return {}


def main() -> None:
    """Crawl, and print what was dropped."""
    options = read_options(__doc__)
    topics = json.loads(options.topics.read_text("utf-8"))
    lines = gzip.decompress(options.labels.read_bytes()).decode().splitlines()[1:]
    labelled = {page_key(row[0]) for row in (line.split("\t") for line in lines) if row[2] == "1"}
    topic = to_builtins(from_words(",".join(topics[0]["keywords"])))
    analysis = AnalysisConfig(topic=topic, url_patterns=True, contexts=True, titles=True)
    config = CrawlConfig(
        seeds=tuple(dict.fromkeys(seed for row in topics for seed in row["seeds"])),
        strategy=options.strategy,
        concurrency=1,
        limits=LimitConfig(max_requests=options.requests),
        analysis=analysis,
    )
    store = DroppedUrls()
    with Archive.open(options.archive) as archive:
        index = PageIndex(archive)
        hosts = tuple({url.split("/")[2] for url in index.urls})
        replay = Replay(archive, index, analysis, hosts)
        transport = ReplayTransport(replay, replay, start=replay.recorded_at)
        crawl = Crawl(config, transport, crawl_store=store)
        crawl.add_seeds(config.seeds)
        started_at = time.process_time()
        end = asyncio.run(crawl.run())
        seconds = time.process_time() - started_at
    pages = {number for number in replay.pages if number >= 0}
    print(f"{len(replay.pages):,} requests, {len(pages):,} pages, {seconds:.0f} s CPU: {end}")
    print(Counter(reason.partition(":")[0] for reason in store.reasons.values()))
    lost = [number for number in store.reasons if page_key(store.urls[number]) in labelled]
    print(f"{len(lost)} of {len(labelled):,} labelled pages dropped")
    for number in lost[:20]:
        print(f"  {store.urls[number]}  {store.reasons[number]}")


if __name__ == "__main__":
    main()
