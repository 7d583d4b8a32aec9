"""Measures what proposed keywords bring: `yield` with a topic's own words and with these.

    python -m bench.expansion ARCHIVE TOPICS OUT [--requests 300] [--limit 12]
        [--max-weight 0.15] [--orders 3] [--topic NAME]… [--jobs 2]

For each topic a pilot crawl of the archive (its requests are the price of the expansion; they
are not part of the budget below) brings pages; what `focus topic expand` proposes from them is
added to the topic's keywords. Then `focus compare` runs both, `yield` under `evidence`, budget
3|T| + 20, against the labels beside TOPICS_JSON. No label is read before that.

OUT_FOLDER gets expanded.json (topics with the proposed keywords), plain/ and expanded/ (what
`focus compare` writes). Printed: a markdown table of the share of the oracle's AUC.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from bench.script import read_options, table
from focus.evaluate.compare import compare
from focus.evaluate.comparison import Comparison
from focus.evaluate.ground_truth import Spec
from focus.evaluate.judgments import TopicTask, read_topics, select
from focus.evaluate.variants import variants
from focus.learn.memory_crawl import PageSource, pilot
from focus.learn.topics import Widening, sample, widen, widened
from focus.score.statistics.expansion import TopicExpansion
from focus.topic.topic import Topic

Shares = dict[str, list[float]]
"""Topic -> share of the oracle's AUC, a number for each seed order."""


def expanded(
    task: TopicTask, archive: Path, plan: Widening, requests: int
) -> tuple[Topic, TopicExpansion]:
    """A topic with the words that a pilot crawl makes one propose."""
    web = PageSource(archive=archive)
    pilot_crawl = pilot(
        task.topic, list(task.seeds), web, requests=requests, watch=lambda event: None
    )
    pages = asyncio.run(pilot_crawl).pages
    found = widen(task.topic, (sample(page.url, page.html) for page in pages), plan)
    return widened(task.topic, found), found


def entry(task: TopicTask, topic: Topic) -> dict[str, object]:
    """A topic as topics.json has it."""
    keywords = [f"{each.text}:{each.weight:g}" for each in topic.keywords]
    return {"name": task.name, "keywords": keywords, "seeds": list(task.seeds)}


def shares(comparison: Comparison) -> Shares:
    """What each topic came to."""
    (group,) = comparison.groups
    return {
        topic.topic: [each["oracle_share"] or 0.0 for each in topic.orders]
        for topic in group.scores[0].topics
    }


def compared(given: Any, topics: Path, out: Path, strategies: Sequence[str]) -> Comparison:
    """These strategies for these topics, against the labels beside those of the command."""
    folder = Path(given.topics).parent
    beside = {name: folder / file for name, file in LABELS.items() if (folder / file).exists()}
    spec = Spec(
        archive=Path(given.archive),
        topics=topics,
        variants=tuple(variants(strategies)),
        out=out,
        names=tuple(given.topic),
        seed_orders=given.orders,
        jobs=given.jobs,
        **beside,
    )
    return compare(spec)


LABELS = {"labels": "labels.tsv.gz", "hubs": "hubs.tsv", "aliases": "aliases.tsv"}


def rows(plain: Shares, wide: Shares, words: dict[str, str]) -> Iterator[list[object]]:
    """A line per topic, and the mean of all."""
    pairs = [(name, mean(plain[name]), mean(wide[name])) for name in plain]
    pairs.append(("mean", mean(was for _, was, _ in pairs), mean(now for *_, now in pairs)))
    for name, was, now in pairs:
        yield [name, was, now, f"{now - was:+.3f}", words.get(name, "")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Pilot crawls, expansions, both comparisons, the table."""
    given = read_options(__doc__, arguments)
    out, source = Path(given.out), Path(given.topics)
    out.mkdir(parents=True, exist_ok=True)
    tasks = select(read_topics(source.read_text("utf-8"), str(source), source.parent), given.topic)
    plan = Widening(given.limit, given.max_weight)
    entries, words = [], {}
    for task in tasks:
        topic, found = expanded(task, Path(given.archive), plan, given.requests)
        entries.append(entry(task, topic))
        words[task.name] = ", ".join(f"{each.word} {each.weight:g}" for each in found.proposals)
        print(f"{task.name}: {found.on} pages on topic, {found.off} off: {words[task.name]}")
    wide = out / "expanded.json"
    wide.write_text(json.dumps(entries, ensure_ascii=False, indent=1), "utf-8")
    before = shares(compared(given, source, out / "plain", ["yield"]))
    after = shares(compared(given, wide, out / "expanded", ["yield"]))
    head = ["topic", "own words", "expanded", "difference", "proposed"]
    print(table(head, [*rows(before, after, words)]))


if __name__ == "__main__":
    main()
