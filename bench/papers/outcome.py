"""Outcomes of a paper's experiment, and verdicts on the paper's claims.

`bench.papers.run` stores an `ExperimentResult` for each experiment and kind of web as JSON in
bench/results. docs/results.md shows the `report` of all of them.
"""

from collections.abc import Iterator, Sequence
from random import Random

import msgspec

from bench.papers.experiment import FORMS, Claim, Experiment
from bench.script import table
from focus.metrics.significance import bootstrap_interval, mean

MIN_TOPICS = 4
"""The smallest number of topics for which a confidence interval is computed."""

OWN_MEASURES = {"relevant", "precision", "average_precision"}
"""Measures that are also computed by the judge that steered the crawl, as `own_MEASURE`."""


class TopicResult(msgspec.Struct, frozen=True):
    """The means of one way of crawling for one topic, over webs and orders of the seeds.

    Attributes:
        numbers: Measure -> value.
        is_complete: Whether no crawl ran out of links before its limit.
    """

    topic: str
    numbers: dict[str, float]
    is_complete: bool = True


class WayResult(msgspec.Struct, frozen=True):
    """The results of one way of crawling for all topics."""

    name: str
    strategy: str
    form: str
    relevance: str
    params: dict[str, float]
    topics: list[TopicResult]

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over topics."""
        return mean([topic.numbers[measure] for topic in self.topics])

    @property
    def is_complete(self) -> bool:
        """Whether no crawl ran out of links before its limit."""
        return all(topic.is_complete for topic in self.topics)


class ExperimentResult(msgspec.Struct, frozen=True):
    """The results of an experiment on generated webs or on a recorded one.

    Attributes:
        web: "generated-0.1" for generated webs at a tenth of the paper's size, or "recorded".
        pages: Mean number of pages of a web.
        webs: Number of webs.
    """

    web: str
    pages: int
    webs: int
    ways: list[WayResult]
    command: str = ""
    commit: str = ""
    date: str = ""

    def way(self, name: str) -> WayResult | None:
        """Return the way with this name, or None."""
        return next((way for way in self.ways if way.name == name), None)


def merge_webs(results: Sequence[ExperimentResult]) -> ExperimentResult:
    """Return the means over webs, topic by topic."""
    first = results[0]
    ways = []
    for number, way in enumerate(first.ways):
        per_web = [result.ways[number].topics for result in results]
        topics = [_merge_topics(same) for same in zip(*per_web, strict=True)]
        ways.append(msgspec.structs.replace(way, topics=topics))
    pages = round(mean([result.pages for result in results]))
    return ExperimentResult(first.web, pages, len(results), ways)


def _merge_topics(topics: Sequence[TopicResult]) -> TopicResult:
    names = topics[0].numbers
    numbers = {name: round(mean([t.numbers[name] for t in topics]), 6) for name in names}
    return TopicResult(topics[0].topic, numbers, all(t.is_complete for t in topics))


def verdict(result: ExperimentResult, claim: Claim, form: str, measure: str) -> str:
    """Return whether a claim holds and the figures compared, or "" if it was not tested."""
    better, worse = _compared_ways(result, claim, form, measure)
    if better is None or worse is None:
        return ""
    pairs = zip(better.topics, worse.topics, strict=True)
    differences = [a.numbers[measure] - b.numbers[measure] for a, b in pairs]
    interval = bootstrap_interval(differences, Random("claim"), statistic=mean)
    figures = " to ".join(_figure(measure, way.mean(measure)) for way in (better, worse))
    if interval is None or len(differences) < MIN_TOPICS:
        return f"no interval: {figures}"
    low, high = interval
    judgement = "**holds**" if low > 0 else "**does not hold**" if high < 0 else "open"
    bounds = " to ".join(_figure(measure, bound).removesuffix(" %") for bound in interval)
    return f"{judgement}: {figures} ({bounds})"


def _compared_ways(
    result: ExperimentResult, claim: Claim, form: str, measure: str
) -> tuple[WayResult | None, WayResult | None]:
    """Return the ways that a claim compares: with `peak`, that α and the best of the others.

    Ways that ended early have too few pages to count.
    """
    if claim.peak is None:
        names = (f"{name}, {FORMS[form]}" for name in (claim.better, claim.worse))
        return result.way(next(names)), result.way(next(names))
    swept = [way for way in result.ways if way.form == form and "alpha" in way.name]
    at_peak = [way for way in swept if way.params["alpha"] == claim.peak and way.is_complete]
    others = [way for way in swept if way.params["alpha"] != claim.peak and way.is_complete]
    best = max(others, key=lambda way: way.mean(measure), default=None)
    return (at_peak[0] if at_peak else None), best


def _figure(measure: str, value: float) -> str:
    if not measure.endswith("relevant"):
        return f"{100 * value:.1f} %"
    return f"{value:.1f}" if abs(value) < 100 else f"{value:,.0f}"


def report(experiments: dict[str, Experiment], results: dict[str, list[ExperimentResult]]) -> str:
    """Return Markdown tables: verdicts by form and judge, then conditions of each experiment."""
    parts = []
    webs = sorted({result.web for group in results.values() for result in group})
    for title, form, prefix in (
        ("As published, by labels", "published", ""),
        ("As published, by the model that steered the crawl", "published", "own_"),
        ("Tuned, by labels", "tuned", ""),
    ):
        rows = [row for name in results for row in _claim_rows(
            name, experiments[name], results[name], webs, form, prefix
        )]  # fmt: skip
        head = ["experiment", "claim", "the paper", *webs]
        parts.append(f"## {title}\n\n{table(head, rows)}")
    conditions = [
        [name, result.web, result.webs, f"{result.pages:,}", len(result.ways[0].topics),
         f"{result.ways[0].mean('pages'):,.0f}", f"`{result.command}`", result.commit, result.date]
        for name, ofs in results.items() for result in ofs
    ]  # fmt: skip
    head = ["experiment", "web", "webs", "pages of a web", "topics", "pages of a crawl"]
    head += ["command", "commit", "date"]
    return "\n".join([*parts, f"## Conditions\n\n{table(head, conditions)}"])


def _claim_rows(
    name: str,
    experiment: Experiment,
    results: Sequence[ExperimentResult],
    webs: Sequence[str],
    form: str,
    prefix: str,
) -> Iterator[list[str]]:
    by_web = {result.web: result for result in results}
    for claim in experiment.claim:
        if prefix and claim.measure not in OWN_MEASURES:
            continue
        cells = [
            verdict(by_web[web], claim, form, prefix + claim.measure) if web in by_web else ""
            for web in webs
        ]
        if any(cells):
            yield [name, claim.text, claim.paper, *cells]
