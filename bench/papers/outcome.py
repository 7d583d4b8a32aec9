"""Outcomes of a paper's experiment, and verdicts on the paper's claims.

`bench.papers.run` stores an `ExperimentResult` for each experiment and web as JSON in
bench/results and prints its `report`. docs/results.md explains measures and verdicts.
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


class TopicFacts(msgspec.Struct, frozen=True):
    """A topic's number of relevant pages, of those that links lead to, and of seeds."""

    name: str
    relevant: int
    targets: int
    seeds: int


class TopicResult(msgspec.Struct, frozen=True):
    """The result of one way of crawling for one topic, as means over orders of the seeds.

    Attributes:
        numbers: Measure -> value.
        rounds: Relevant pages in each round, by labels.
        own_rounds: Relevant pages in each round, by the judge that steered the crawl.
        thirds: Recall after each third of the crawl.
        stop: Reason why the crawl ended.
    """

    topic: str
    numbers: dict[str, float]
    rounds: list[float]
    own_rounds: list[float]
    thirds: list[float]
    stop: str


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
        return all(topic.stop != "frontier empty" for topic in self.topics)


class ExperimentResult(msgspec.Struct, frozen=True):
    """The results of an experiment on one web."""

    focus: str
    web: str
    pages: int
    archive: str
    topics: list[TopicFacts]
    ways: list[WayResult]

    def way(self, name: str) -> WayResult | None:
        """Return the way with this name, or None."""
        return next((way for way in self.ways if way.name == name), None)


def verdict(result: ExperimentResult, claim: Claim, form: str, measure: str) -> str:
    """Return whether a claim holds and the figures compared, or "" if it was not tested."""
    if claim.peak is not None:
        return _peak_verdict(result, claim.peak, form, measure)
    better = result.way(f"{claim.better}, {FORMS[form]}")
    worse = result.way(f"{claim.worse}, {FORMS[form]}")
    if better is None or worse is None:
        return ""
    pairs = zip(better.topics, worse.topics, strict=True)
    judgement = _judge([a.numbers[measure] - b.numbers[measure] for a, b in pairs])
    figures = [_figure(measure, way.mean(measure)) for way in (better, worse)]
    return f"{judgement}: {' to '.join(figures)}"


def _judge(differences: Sequence[float]) -> str:
    if len(differences) < MIN_TOPICS:
        middle = mean(differences)
        return "ahead" if middle > 0 else "behind" if middle < 0 else "equal"
    low, high = bootstrap_interval(differences, Random("claim"), statistic=mean) or (0.0, 0.0)
    return "**holds**" if low > 0 else "**does not hold**" if high < 0 else "open"


def _peak_verdict(result: ExperimentResult, peak: float, form: str, measure: str) -> str:
    """Compare the ways that differ in α; those that ended early have too few pages to count."""
    values = {
        way.params["alpha"]: way.mean(measure)
        for way in result.ways
        if way.form == form and "alpha" in way.name and way.is_complete
    }
    if not values:
        return ""
    best = max(values.values())
    alphas = [alpha for alpha, value in values.items() if value >= best - 1e-9]
    judgement = "**does not hold**" if peak not in alphas else "**holds**"
    if peak in alphas and len(alphas) > 1:
        judgement = "open"
    return (
        f"{judgement}: best {_figure(measure, best)} at α = {', '.join(map('{:g}'.format, alphas))}"
    )


def _figure(measure: str, value: float) -> str:
    return f"{value:,.0f}" if measure.endswith("relevant") else f"{100 * value:.1f} %"


def report(experiment: Experiment, result: ExperimentResult) -> str:
    """Return a table of all ways and a table of all claims in Markdown."""
    head = ["crawler", "guided by", "pages", "relevant", "precision", "by its own judge", "recall"]
    ways = [
        [
            way.name,
            way.relevance,
            f"{way.mean('pages'):,.0f}",
            *(_figure(name, way.mean(name)) for name in ("relevant", "precision")),
            *(_figure(name, way.mean(name)) for name in ("own_relevant", "recall")),
        ]
        for way in result.ways
    ]
    claims = table(
        ["claim", "the paper", "form", "by labels", "by its own judge"],
        list(_claim_rows(experiment, result)),
    )
    reason = experiment.other.get(result.web)
    note = f"No verdict on the {result.web} web: {reason}\n\n" if reason else ""
    return f"{table(head, ways)}\n{note or claims}"


def _claim_rows(experiment: Experiment, result: ExperimentResult) -> Iterator[list[str]]:
    for claim in experiment.claim:
        for form, name in FORMS.items():
            is_own = claim.measure in OWN_MEASURES
            own = verdict(result, claim, form, f"own_{claim.measure}") if is_own else ""
            if by_labels := verdict(result, claim, form, claim.measure):
                yield [claim.text, claim.paper, name, by_labels, own]
