"""Measures what a topic's features bring to its links: keyword alone, with examples, expanded.

    python -m bench.features ARCHIVE TOPICS OUT [--examples 5] [--requests 300] [--orders 1]
        [--topic NAME]… [--jobs 1] [--strategy NAME]…

Three descriptions of each topic: its keywords as TOPICS has them; with the features of so many
example pages (labelled pages drawn at random, as a user who knows them would give; the crawl
still has to find them); with the keywords that `focus topic expand` proposes from a pilot
crawl of so many requests. Each is crawled by yield, best-link, gene and gene-authority, tuned,
judged by `evidence`, budget 3|T| + 20, with the labels beside TOPICS. Printed: a markdown table
of the share of the oracle's AUC, and topics won and lost against the keyword alone.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import msgspec

from bench.expansion import LABELS, compared, expanded
from bench.script import read_options, table
from focus.archive.replay import Archive
from focus.evaluate.judgments import TopicTask, read_topics, select
from focus.learn.topics import Widening, build, sample
from focus.text.charset import decode
from focus.topic.topic import Topic
from focus.topic.topic_file import to_toml

STRATEGIES = ("yield", "best-link", "gene", "gene-authority")
FORMS = ("keyword", "examples", "expanded")
CLEAR = 0.005  # less is no win and no loss

Shares = dict[str, dict[str, float]]
"""Strategy -> topic -> share of the oracle's AUC, the mean over seed orders."""


def with_examples(task: TopicTask, archive: Archive, urls: Sequence[str], number: int) -> Topic:
    """The topic with the features of pages drawn from these."""
    pages = []
    for url in Random(f"examples/{task.name}").sample(urls, min(number, len(urls))):
        answer = archive.lookup(url)
        text, _ = decode(answer.body, dict(answer.headers).get("content-type"))
        pages.append(sample(url, text))
    return build(task.topic, pages, [])


def labelled(folder: Path, topic: str) -> list[str]:
    """The relevant pages of a topic by the labels there."""
    with gzip.open(folder / LABELS["labels"], "rt", encoding="utf-8") as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        return sorted(row[0] for row in rows if row[1:3] == [topic, "1"])


def described(given: Any, tasks: Sequence[TopicTask]) -> dict[str, Path]:
    """Form -> the topics file of it, written into the output folder."""
    out, archive = Path(given.out), Path(given.archive)
    files = {}
    with Archive.open(archive, cache_dir=out) as recorded:
        for form in FORMS:
            entries = []
            for task in tasks:
                topic = task.topic
                if form == "examples":
                    urls = labelled(Path(given.topics).parent, task.name)
                    topic = with_examples(task, recorded, urls, given.examples)
                elif form == "expanded":
                    topic, _ = expanded(task, archive, Widening(12, 0.15), given.requests)
                name = f"{form}.{len(entries)}.toml"
                (out / name).write_text(to_toml(topic), "utf-8")
                entries.append({"name": task.name, "file": name, "seeds": list(task.seeds)})
            files[form] = out / f"{form}.json"
            files[form].write_text(json.dumps(entries, ensure_ascii=False, indent=1), "utf-8")
    return files


def crawled(given: Any, topics: Path, out: Path) -> Shares:
    """All strategies for these topics."""
    (group,) = compared(given, topics, out, given.strategy or STRATEGIES).groups
    return {
        score.variant.partition("/")[0]: {
            topic.topic: mean([each["oracle_share"] or 0.0 for each in topic.orders])
            for topic in score.topics
        }
        for score in group.scores
    }


def rows(found: dict[str, Shares]) -> Iterator[list[object]]:
    """A line for each strategy: means, and wins and losses against the keyword."""
    for strategy, plain in found["keyword"].items():
        line: list[object] = [strategy, mean(plain.values())]
        for form in FORMS[1:]:
            other = found[form][strategy]
            gaps = [other[topic] - plain[topic] for topic in plain]
            won, lost = sum(gap > CLEAR for gap in gaps), sum(gap < -CLEAR for gap in gaps)
            line += [mean(other.values()), f"{won}/{lost}"]
        yield line


def main(arguments: Sequence[str] | None = None) -> None:
    """Describe, crawl, print."""
    given = read_options(__doc__, arguments)
    out, source = Path(given.out), Path(given.topics)
    out.mkdir(parents=True, exist_ok=True)
    tasks = select(read_topics(source.read_text("utf-8"), str(source), source.parent), given.topic)
    files = described(given, tasks)
    found = {form: crawled(given, file, out / form) for form, file in files.items()}
    (out / "shares.json").write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    print(
        table(["strategy", "keyword", "examples", "won/lost", "expanded", "won/lost"], rows(found))
    )


if __name__ == "__main__":
    main()
