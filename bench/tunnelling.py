"""Counts the relevant pages that each strategy reaches through off-topic hops only.

    python -m bench.tunnelling ARCHIVE TOPICS LABELS [ALIASES] [--topic-files DIR] [--names A,B]
        [--relevance evidence] [--orders 2] [--budget 3.0] [--json FILE]

Each strategy crawls for each topic, budget times the relevant pages that its labels know
plus 20 requests. Of the labelled relevant pages that it fetched, those count as tunnelled
to which no path of fetched links leads from a seed over pages that the relevance model
took for relevant: on every path is an off-topic page in between (seeds are not asked;
redirects are no pages). Best-first with a hard threshold follows no link of a page under
it, seeds excepted, so it has none by construction: what it leaves lying is the point.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench.labelled import World, open_world
from bench.script import read_options, table
from focus.archive.replay import Archive
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig
from focus.crawler import Crawl, Event
from focus.engine.transports import ReplayTransport
from focus.evaluate.compare import seed_order
from focus.evaluate.judgments import TopicTask
from focus.evaluate.link_graph import PageIndex
from focus.evaluate.trial import Replay
from focus.records import Link, UrlState
from focus.score.relevance import model_class
from focus.score.strategy import STRATEGIES, LinkEvidence, Parent
from focus.score.strategy.best_first import BestFirst
from focus.topic.topic import to_builtins
from focus.urls.normal_form import fingerprint


class HardBestFirst(BestFirst):
    """Best-first that follows no link of an off-topic page, as P2 has it of its rivals."""

    name = "best-first, hard"

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        if not parent.relevant and parent.depth > 0:
            return [None] * len(links)
        return super().evidence(parent, links)


NAMES = (
    "best-first, hard", "best-first", "fish-search", "shark-search", "gene", "best-link", "yield",
)  # fmt: skip


class Reached(NamedTuple):
    """Relevant pages fetched, those of them tunnelled to, and requests made."""

    relevant: int
    tunnelled: int
    requests: int


def crawl(replay: Replay, config: CrawlConfig) -> tuple[Crawl, list[Event]]:
    """A crawl of the archive to its end."""
    replay.begin()
    events: list[Event] = []
    engine = Crawl(
        config, ReplayTransport(replay, replay, start=replay.recorded_at), observe=events.append
    )
    engine.sow(config.seeds)
    asyncio.run(engine.run())
    return engine, events


def reached(engine: Crawl, events: Sequence[Event], world: World, topic: str) -> Reached:
    """What a crawl that has ended found, and how it came there."""
    known, labels = engine.url_table, world.labels[topic]
    pages = {known.find(fingerprint(e.url)): e for e in events if e.state is UrlState.DONE}
    open_road = _reached_openly(engine, pages)
    seeds = {world.page_of(e.url) for i, e in pages.items() if known.depth[i] == 0}
    best: dict[str, bool] = {}
    for url_id, event in pages.items():
        page = world.page_of(event.url)
        if labels.get(page) and page not in seeds:
            best[page] = best.get(page, False) or url_id in open_road
    return Reached(len(best), sum(not is_open for is_open in best.values()), len(events))


def _reached_openly(engine: Crawl, pages: Mapping[int, Event]) -> set[int]:
    """URLs that a path leads to from a seed over relevant pages (and redirects) alone."""
    known = engine.url_table
    redirects: dict[int, list[int]] = {}
    for url_id, parent in enumerate(known.parent):
        if parent >= 0 and parent not in pages:
            redirects.setdefault(parent, []).append(url_id)
    todo = [i for i in range(len(known)) if known.depth[i] == 0]
    seen = set(todo)
    while todo:
        url_id = todo.pop()
        page = pages.get(url_id)
        if page is not None and not page.relevant and known.depth[url_id] > 0:
            continue
        for child in (*engine.graph.row(url_id), *redirects.get(url_id, ())):
            if child not in seen:
                seen.add(child)
                todo.append(child)
    return seen


def run(
    world: World,
    task: TopicTask,
    replay: Replay,
    analysis: AnalysisConfig,
    arguments: Any,
) -> Iterator[tuple[str, Reached]]:
    """Each strategy for one topic: sums over the seed orders."""
    budget = round(arguments.budget * sum(world.labels[task.name].values())) + 20
    for name in NAMES:
        found = []
        for order in range(arguments.orders):
            config = CrawlConfig(
                seeds=seed_order(task, order),
                strategy=name,
                concurrency=1,
                limits=LimitConfig(max_requests=budget),
                analysis=analysis,
            )
            found.append(reached(*crawl(replay, config), world, task.name))
        yield name, Reached(*(sum(column) for column in zip(*found, strict=True)))


def main() -> None:
    """Crawl, print, and write what was asked for."""
    arguments = read_options(__doc__)
    world = open_world(arguments)
    STRATEGIES[HardBestFirst.name] = HardBestFirst
    found: dict[str, dict[str, Reached]] = {name: {} for name in NAMES}
    with Archive.open(world.path) as archive:
        index = PageIndex(archive)
        for topic, task in world.tasks.items():
            analysis = AnalysisConfig(
                topic=to_builtins(task.topic),
                relevance=model_class(arguments.relevance).name,
                url_patterns=True,
                contexts=True,
                cosines=True,
                keep="none",
            )
            replay = Replay(archive, index, analysis)
            for name, result in run(world, task, replay, analysis, arguments):
                found[name][topic] = result
    rows = []
    for name, by_topic in found.items():
        total = [sum(column) for column in zip(*by_topic.values(), strict=True)]
        cells = [f"{r.tunnelled} / {r.relevant}" for r in by_topic.values()]
        rows.append((name, f"{total[1]} / {total[0]}", total[2], *cells))
    print("Tunnelled / relevant pages fetched, over all seed orders\n")
    print(table(["strategy", "all topics", "requests", *world.tasks], rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
