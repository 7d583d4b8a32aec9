"""Measures the share of the harvest that is kept when a crawl is spread over shards.

    python -m bench.cluster.harvest ARCHIVE TOPICS LABELS [ALIASES] [--topic-files DIR]
        [--names A,B] [--orders 2] [--slots 64] [--strategy yield] [--budgets 1,3] [--shards 1,2,4]
        [--no-exchange] [--json FILE]

Each crawl makes as many requests as a topic has relevant pages, or three times as many, plus
20, once by one process and once by each number of shards (`tests.support.virtual_cluster`: the real
frontier, leases, credit and levels under a virtual clock, so that the same comes out
everywhere). Told is the share of the labelled relevant pages that was found, as a mean over
topics and orders of the seeds, and that against the one process; and the virtual time.
"""

import asyncio
import json
from collections.abc import Sequence
from statistics import mean
from typing import Any, NamedTuple

from bench.labelled import World, open_world
from bench.script import read_options, table
from focus.archive.replay import Archive
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig
from focus.crawler import Crawl, Event
from focus.engine.transports import ReplayTransport
from focus.evaluate.compare import seed_order
from focus.evaluate.link_graph import PageIndex
from focus.evaluate.trial import Replay
from focus.records import UrlState
from focus.topic.topic import to_builtins
from tests.support.virtual_cluster import Form, crawl

EXTRA = 20  # requests: robots.txt files and seeds, as `focus compare` has them


class Found(NamedTuple):
    """What one crawl came to: recall, and virtual seconds."""

    recall: float
    seconds: float


def alone(config: CrawlConfig, replay: Replay) -> list[Event]:
    """By one process."""
    events: list[Event] = []
    replay.begin()
    transport = ReplayTransport(replay, replay, start=replay.recorded_at)
    engine = Crawl(config, transport, observe=events.append)
    engine.sow(config.seeds)
    asyncio.run(engine.run())
    return events


def found(events: Sequence[Event], world: World, topic: str, budget: int) -> Found:
    """What the first `budget` requests found of what there is."""
    labels, first = world.labels[topic], events[:budget]
    pages = {world.page_of(event.url) for event in first if event.state is UrlState.DONE}
    relevant = sum(labels.values())
    seconds = first[-1].at - first[0].at if first else 0.0
    return Found(sum(bool(labels.get(page)) for page in pages) / relevant, seconds)


def forms(given: Any) -> dict[str, Form | None]:
    """The ways of spreading a crawl that are compared; None: one process."""
    named: dict[str, Form | None] = {"one process": None}
    for shards in map(int, given.shards.split(",")):
        plural = "s" if shards > 1 else ""
        named[f"{shards} shard{plural}"] = Form(shards, given.slots)
        if shards > 1 and given.no_exchange:
            named[f"{shards} shards, no exchange"] = Form(shards, given.slots, exchanges=False)
    return named


def measure(world: World, given: Any) -> dict[str, dict[str, list[Found]]]:
    """budget -> way -> what each topic and order of seeds came to."""
    results: dict[str, dict[str, list[Found]]] = {}
    with Archive.open(world.path) as archive:
        index = PageIndex(archive)
        for topic, task in world.tasks.items():
            analysis = AnalysisConfig(
                topic=to_builtins(task.topic),
                relevance="evidence",
                url_patterns=True,
                contexts=True,
                cosines=True,
                keep="none",
            )
            replay = Replay(archive, index, analysis)
            for times in given.budgets.split(","):
                budget = round(float(times) * sum(world.labels[topic].values())) + EXTRA
                for order in range(given.orders):
                    config = CrawlConfig(
                        seeds=seed_order(task, order),
                        strategy=given.strategy,
                        concurrency=given.slots,
                        limits=LimitConfig(max_requests=budget),
                        analysis=analysis,
                    )
                    for name, form in forms(given).items():
                        events = (
                            alone(config, replay)
                            if form is None
                            else crawl(config, replay, form).events
                        )
                        came = found(events, world, topic, budget)
                        results.setdefault(times, {}).setdefault(name, []).append(came)
    return results


def rows(results: dict[str, dict[str, list[Found]]]) -> list[list[object]]:
    """A line per budget and way."""
    lines: list[list[object]] = []
    for times, ways in results.items():
        base = ways["one process"]
        for name, crawls in ways.items():
            recall = mean(each.recall for each in crawls)
            kept = recall / mean(each.recall for each in base)
            worst = min(
                each.recall / one.recall
                for each, one in zip(crawls, base, strict=True)
                if one.recall
            )
            seconds = sum(each.seconds for each in crawls) / sum(each.seconds for each in base)
            lines.append([f"{times} × relevant", name, recall, kept, worst, seconds])
    return lines


def main() -> None:
    """Crawl, print, and write what was asked for."""
    given = read_options(__doc__)
    results = measure(open_world(given), given)
    head = ["requests", "way", "recall", "kept", "worst topic", "virtual time"]
    print(table(head, rows(results)))
    if given.json:
        given.json.write_text(json.dumps(results, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
