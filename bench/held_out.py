"""Tries a strategy's parameters on topics and webs that they were not tuned on.

    python -m bench.held_out ARCHIVE TOPICS LABELS [ALIASES] [--strategy yield]
        [--relevance evidence] [--set NUMBERS]… [--names A,B] [--masks none] [--orders 2]
        [--runs FILE]

Each `--set` changes numbers of the strategy (or `evidence.bias=-3`, of the model); without
any, a standard list of single changes is tried. For every mask: AUC as a share of the
oracle's by topic and in the mean; then the topics are halved in two ways, the best
setting of one half is tried on the other, and compared with the defaults there.

`--runs` keeps what was run, and a run that is in there is not made again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.script import read_options, table
from focus.archive.replay import Archive
from focus.config import CrawlConfig, LimitConfig, PolitenessConfig
from focus.evaluate.compare import seed_order
from focus.evaluate.ground_truth import (
    Inputs,
    JudgedWeb,
    Prepared,
    Spec,
    analysis_of,
    judge_of,
    prepare,
)
from focus.evaluate.judgments import Remarks, read_topics, select
from focus.evaluate.link_graph import PageIndex, link_graph
from focus.evaluate.ranking import measures
from focus.evaluate.trial import Replay, Trial, run_trial
from focus.evaluate.variants import variants

STANDARD = (
    "", "home=0", "home=0.5", "home=1", "hub=0", "hub=1", "weight=0.5", "weight=1.3",
    "inherit=0", "inherit=1", "anchor=1.5", "anchor=3.5", "url=0.75", "p0=0.3", "k=3", "k=12",
)  # fmt: skip


class Key(NamedTuple):
    """A setting under a mask, for a topic."""

    mask: str
    setting: str
    topic: str


Shares = dict[Key, float]
"""AUC over the oracle's, mean of the seed orders."""


def prepared(arguments: Any) -> list[Prepared]:
    """The topics with targets, budgets and oracles."""
    spec = Spec(
        archive=arguments.archive,
        topics=arguments.topics,
        labels=arguments.labels,
        aliases=arguments.aliases,
        variants=(),
        out=Path(),
        names=tuple(filter(None, arguments.names.split(","))),
    )
    tasks = select(read_topics(arguments.topics.read_text("utf-8"), "topics"), spec.names)
    remarks = Remarks()
    with Archive.open(spec.archive) as archive:
        graph = link_graph(spec.archive, archive, jobs=1, progress=lambda *_: None)
        web = JudgedWeb(PageIndex(archive), graph, archive.digest, archive.damage)
    return prepare(spec, tasks, web, judge_of(spec, tasks, web, Inputs(spec), remarks), remarks)


def numbers(setting: str) -> list[tuple[str, float]]:
    """ "hub=0 k=4" → [("hub", 0.0), ("k", 4.0)]."""
    pairs = (each.partition("=") for each in setting.split())
    return [(name, float(value)) for name, _, value in pairs]


def trials(one: Prepared, mask: str, setting: str, arguments: Any) -> Iterator[Trial]:
    """The crawls of a topic by a setting."""
    (variant,) = variants(
        [arguments.strategy],
        relevance=[arguments.relevance],
        masks=[mask],
        params=numbers(setting),
    )
    analysis = analysis_of(one.task, variant.relevance, variant.model_params, variant)
    for order in range(arguments.orders):
        config = CrawlConfig(
            seeds=seed_order(one.task, order),
            strategy=variant.strategy,
            params=variant.params,
            concurrency=1,
            politeness=PolitenessConfig(delay_s=1.0),
            limits=LimitConfig(max_requests=one.ground.budget),
            analysis=analysis,
        )
        yield Trial("", variant.id, one.task.name, order, config)


def run(arguments: Any, settings: Sequence[str], masks: Sequence[str]) -> Shares:
    """Every setting under every mask for every topic, as far as it was not run before."""
    shares = _earlier(arguments.runs)
    with Archive.open(arguments.archive) as archive:
        index = PageIndex(archive)
        for one in prepared(arguments):
            for mask in masks:
                replays: dict[str, Replay] = {}
                for setting in settings:
                    key = Key(mask, setting, one.task.name)
                    if key in shares:
                        continue
                    found = []
                    for trial in trials(one, mask, setting, arguments):
                        model = str(trial.config.analysis.params)
                        if model not in replays:
                            replays[model] = Replay(archive, index, trial.config.analysis)
                        outcome = run_trial(trial, replays[model])
                        found.append(measures(outcome, one.ground)["oracle_share"] or 0.0)
                    shares[key] = sum(found) / len(found)
                    if arguments.runs:
                        with arguments.runs.open("a", encoding="utf-8") as file:
                            file.write(json.dumps([*key, shares[key]], ensure_ascii=False) + "\n")
    return shares


def _earlier(path: Path | None) -> Shares:
    if path is None or not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {Key(*row[:3]): row[3] for row in rows}


def mean(shares: Mapping[Key, float], mask: str, setting: str, topics: Sequence[str]) -> float:
    """Of a setting over topics."""
    return sum(shares[Key(mask, setting, topic)] for topic in topics) / len(topics)


def halves(topics: Sequence[str]) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Two ways to halve, each taken both ways: every second topic, and first and last."""
    middle = len(topics) // 2
    pairs = [(topics[::2], topics[1::2]), (topics[:middle], topics[middle:])]
    return [each for a, b in pairs for each in ((a, b), (b, a))]


def report(shares: Shares, settings: Sequence[str], masks: Sequence[str]) -> None:
    """Two tables per mask."""
    for mask in masks:
        topics = list(dict.fromkeys(key.topic for key in shares if key.mask == mask))
        rows = [
            (
                s or "defaults",
                mean(shares, mask, s, topics),
                *(shares[Key(mask, s, topic)] for topic in topics),
            )
            for s in settings
        ]
        print(f"\nMask {mask}: AUC over the oracle's\n")
        print(table(["setting", "mean", *topics], rows))
        if len(topics) < 4 or "" not in settings:
            continue
        confirmed = []
        for a, b in halves(topics):
            best = max(settings, key=lambda s, a=a: mean(shares, mask, s, a))  # type: ignore[misc]
            on_b = [mean(shares, mask, s, b) for s in (best, "")]
            confirmed.append((" ".join(a), best or "defaults", mean(shares, mask, best, a), *on_b))
        print()
        print(table(["tuned on", "best", "there", "elsewhere", "defaults elsewhere"], confirmed))


def main() -> None:
    """Run what is missing, print."""
    arguments = read_options(__doc__)
    settings = ["", *arguments.set] if arguments.set else list(STANDARD)
    masks = arguments.masks.split(",")
    shares = run(arguments, settings, masks)
    report(shares, settings, masks)


if __name__ == "__main__":
    main()
