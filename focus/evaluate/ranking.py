"""Ranks ways of crawling: measures, differences, and tests of their significance.

From what each trial fetched, and labels, to measures per trial; their means over seed
orders, per topic; and over topics, which are the unit of every statistic. Formulas and
sources are in `focus.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

import msgspec

from focus.i18n import mark
from focus.metrics import measures as measure
from focus.metrics.significance import (
    bootstrap_band,
    bootstrap_interval,
    count_wins,
    easiest_topic,
    holm_correction,
    mean,
    wilcoxon_test,
)

Measures = dict[str, float | None]
"""A number for each name in MEASURES; None where it is undefined, such as a share never reached."""

MEASURES = {
    "recall_T": mark("recall after |T| requests, T the targets"),
    "recall_2T": mark("recall after 2|T| requests"),
    "auc": mark("mean recall over the budget"),
    "oracle_share": mark("auc as a share of the oracle's, which no crawl exceeds"),
    "harvest": mark("relevant share of the labelled pages fetched"),
    "harvest_requests": mark("relevant pages per request, every request counting"),
    "harvest_last": mark("the same over the last 5 % of the budget"),
    "average_precision": mark("mean over ten rounds of harvest_requests so far (P1 5.2)"),
    "efficiency_per_min": mark("relevant pages per minute of the virtual clock (P1 eq. 5-3)"),
    "requests_50": mark("requests until half of the targets were fetched"),
    "requests_80": mark("requests until 80 % of the targets were fetched"),
    "requests_90": mark("requests until 90 % of the targets were fetched"),
    "hosts": mark("hosts that targets were fetched from"),
    "model_precision": mark("precision of the relevance model over the labelled pages fetched"),
    "model_recall": mark("recall of the relevance model over the labelled pages fetched"),
    "found": mark("targets fetched"),
    "relevant": mark("pages labelled relevant that were fetched, seeds among them"),
    "labelled": mark("labelled pages fetched"),
    "unlabelled": mark("pages fetched that have no label"),
    "requests": mark("requests made"),
    "robots": mark("requests for a robots.txt"),
    "redirects": mark("requests answered with a redirect"),
    "failures": mark("requests that failed"),
    "seconds": mark("length of the crawl by the virtual clock"),
}  # fmt: skip
TESTED = ("recall_T", "recall_2T", "auc", "oracle_share", "harvest")
"""Measures with intervals over topics, and with a test against the baseline."""

POINTS = 101
"""Points of a curve, evenly over the budget, both ends included."""

_ROUNDS = 10
_LAST = 0.05
_DECIMALS = 6


class Cost(msgspec.Struct, frozen=True):
    """Time and memory of a trial; differs from run to run.

    engine_ms    CPU time per request of everything but the analysis of pages
    analysis_ms  time per page to parse and score it, when that was done
    """

    seconds: float = 0.0
    engine_ms: float = 0.0
    analysis_ms: float = 0.0
    peak_rss_mb: float = 0.0


class TrialResult(msgspec.Struct, frozen=True):
    """A crawl that was run for comparison.

    pages    per request the number of the page that it brought, -1 for none (robots.txt,
             redirect, failure)
    said     per request 1 or 0: whether the relevance model took that page for relevant
    seconds  of the virtual clock
    """

    key: str
    variant: str
    topic: str
    order: int
    pages: list[int]
    said: list[int]
    robots: int = 0
    redirects: int = 0
    failures: int = 0
    seconds: float = 0.0
    stop: str = ""
    cost: Cost = Cost()


class TopicTruth(msgspec.Struct, frozen=True):
    """A topic's relevant pages, by its labels.

    page_of   number of a page -> the number it is counted as (`TrialResult.pages` has the first)
    labels    of pages, by the second
    targets   relevant pages that can be reached, seeds excluded
    oracle    recall that no crawl exceeds, over the budget
    """

    topic: str
    page_of: Sequence[int]
    labels: Mapping[int, bool]
    targets: frozenset[int]
    budget: int
    oracle: Sequence[float]
    host_of: Callable[[int], str]


class Mean(msgspec.Struct, frozen=True):
    """A measure over topics: mean, 95 % bootstrap interval, mean without the easiest topic.

    topics     how many it is defined for
    low, high  None of one topic: it has no interval
    """

    value: float | None
    topics: int
    low: float | None = None
    high: float | None = None
    without_easiest: float | None = None


class Versus(msgspec.Struct, frozen=True):
    """A measure against the baseline's: ratio of the means, its 95 % bootstrap interval,
    paired Wilcoxon p, the same after Holm, topics won, lost and drawn."""

    ratio: float | None
    low: float | None
    high: float | None
    p: float
    p_holm: float
    wins: int
    losses: int
    ties: int


class TopicScore(msgspec.Struct, frozen=True):
    """One topic: means over seed orders, the orders, and the mean recall at POINTS."""

    topic: str
    measures: Measures
    orders: list[Measures]
    curve: list[float]


class VariantScore(msgspec.Struct):
    """One variant over all topics; `curve` with its bootstrap band."""

    variant: str
    measures: dict[str, Mean]
    curve: list[float]
    band: list[tuple[float, float]]
    topics: list[TopicScore]
    versus: dict[str, Versus] = {}


# -- one trial ----------------------------------------------------------------------


def recall(outcome: TrialResult, ground: TopicTruth) -> list[float]:
    """Recall after 1, 2, … requests, to the end of the budget."""
    order = [ground.page_of[number] if number >= 0 else -1 for number in outcome.pages]
    return measure.recall_curve(order, ground.targets, ground.budget)


def measures(outcome: TrialResult, ground: TopicTruth) -> Measures:
    """All of MEASURES for one trial. A page fetched twice counts the first time."""
    curve, targets = recall(outcome, ground), len(ground.targets)
    fetched = _first_times(outcome, ground)
    labels = [ground.labels.get(page) if page >= 0 else None for page in fetched]
    gains = [label is True for label in labels]
    last = max(1, round(_LAST * ground.budget))
    rounds = measure.cumulative_precision(gains, max(1, -(-ground.budget // _ROUNDS)))
    said = zip((bool(said) for said in outcome.said), labels, strict=True)
    model = measure.classification_quality(said)
    relevant, labelled = sum(gains), sum(label is not None for label in labels)
    found: Measures = {
        "recall_T": _at(curve, targets),
        "recall_2T": _at(curve, 2 * targets),
        "auc": measure.area_under_recall(curve),
        "oracle_share": measure.share_of_oracle(curve, ground.oracle),
        "harvest": measure.harvest_rate(labels),
        "harvest_requests": measure.harvest_rate(gains),
        "harvest_last": measure.harvest_rate(gains[-last:]),
        "average_precision": measure.mean_cumulative_precision(rounds),
        "efficiency_per_min": measure.relevant_per_minute(relevant, outcome.seconds),
        "requests_50": measure.requests_to_recall(curve, 0.5),
        "requests_80": measure.requests_to_recall(curve, 0.8),
        "requests_90": measure.requests_to_recall(curve, 0.9),
        "hosts": measure.count_relevant_hosts(fetched, ground.targets, ground.host_of),
        "model_precision": model.precision,
        "model_recall": model.recall,
        "found": len(ground.targets.intersection(fetched)),
        "relevant": relevant,
        "labelled": labelled,
        "unlabelled": sum(page >= 0 for page in fetched) - labelled,
        "requests": len(outcome.pages),
        "robots": outcome.robots,
        "redirects": outcome.redirects,
        "failures": outcome.failures,
        "seconds": outcome.seconds,
    }
    return {name: _rounded(found[name]) for name in MEASURES}


def _first_times(outcome: TrialResult, ground: TopicTruth) -> list[int]:
    """The page of each request, -1 for none and for one that was fetched before."""
    seen: set[int] = set()
    fetched = []
    for number in outcome.pages:
        page = ground.page_of[number] if number >= 0 else -1
        fetched.append(-1 if page in seen else page)
        seen.add(page)
    return fetched


def _at(curve: Sequence[float], k: int) -> float | None:
    return measure.recall_at(curve, k) if k <= len(curve) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def thinned(curve: Sequence[float]) -> list[float]:
    """A curve at POINTS shares of the budget; it begins at 0."""
    steps = POINTS - 1
    places = [round(i * len(curve) / steps) for i in range(POINTS)]
    return [round(curve[place - 1], _DECIMALS) if place else 0.0 for place in places]


def beats_oracle(outcome: TrialResult, ground: TopicTruth) -> bool:
    """Whether a crawl was better than is possible: then the link graph lacks a link."""
    pairs = zip(recall(outcome, ground), ground.oracle, strict=True)
    return any(ours > best + 1e-9 for ours, best in pairs)


# -- over seed orders and topics ----------------------------------------------------


def variant_scores(
    outcomes: Iterable[TrialResult], grounds: Sequence[TopicTruth]
) -> list[VariantScore]:
    """A score per variant, in order of appearance; `compete` adds the tests."""
    by_variant: dict[str, dict[str, list[TrialResult]]] = {}
    for outcome in outcomes:
        by_variant.setdefault(outcome.variant, {}).setdefault(outcome.topic, []).append(outcome)
    return [
        _variant_score(variant, [_topic_score(of_topic[g.topic], g) for g in grounds])
        for variant, of_topic in by_variant.items()
    ]


def _topic_score(outcomes: list[TrialResult], ground: TopicTruth) -> TopicScore:
    ordered = sorted(outcomes, key=lambda outcome: outcome.order)
    orders = [measures(outcome, ground) for outcome in ordered]
    curves = [thinned(recall(outcome, ground)) for outcome in ordered]
    return TopicScore(
        topic=ground.topic,
        measures={name: _mean([each[name] for each in orders]) for name in MEASURES},
        orders=orders,
        curve=[_rounded(mean(points)) or 0.0 for points in zip(*curves, strict=True)],
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean; None if any of them is undefined, as a mean of the others would flatter."""
    known = [value for value in values if value is not None]
    return _rounded(mean(known)) if known and len(known) == len(values) else None


def _variant_score(variant: str, topics: list[TopicScore]) -> VariantScore:
    found = {}
    for name in MEASURES:
        known = _known(topics, name)
        ends = bootstrap_interval(known, Random(name), statistic=mean) if name in TESTED else None
        low, high = ends or (None, None)
        found[name] = Mean(
            _rounded(mean(known)) if known else None, len(known), _rounded(low), _rounded(high)
        )
    curves = [topic.curve for topic in topics]
    return VariantScore(
        variant=variant,
        measures=found,
        curve=[_rounded(mean(points)) or 0.0 for points in zip(*curves, strict=True)],
        band=[
            (round(low, _DECIMALS), round(high, _DECIMALS))
            for low, high in bootstrap_band(curves, Random("curve"))
        ],
        topics=topics,
    )


def _known(topics: Iterable[TopicScore], name: str) -> list[float]:
    values = (topic.measures[name] for topic in topics)
    return [value for value in values if value is not None]


def compete(group: Sequence[VariantScore], baseline: VariantScore | None) -> str | None:
    """Fill in the tests of a group against its baseline, and the means without the topic
    that is easiest for the group; that topic. All p of a measure are one family for Holm."""
    for name in TESTED:
        rivals = [each for each in group if each is not baseline] if baseline else []
        found = [_versus(each, baseline, name) for each in rivals if baseline]
        corrected = holm_correction([versus.p for versus in found])
        for each, versus, p_holm in zip(rivals, found, corrected, strict=True):
            versus = msgspec.structs.replace(versus, p_holm=_rounded(p_holm) or 0.0)
            each.versus = {**each.versus, name: versus}
    scores = [[topic.measures["auc"] or 0.0 for topic in each.topics] for each in group]
    number = easiest_topic(scores)
    if number is None or len(scores[0]) < 2:
        return None
    for each in group:
        others = [topic for i, topic in enumerate(each.topics) if i != number]
        each.measures = {
            name: msgspec.structs.replace(
                value,
                without_easiest=_rounded(mean(known)) if (known := _known(others, name)) else None,
            )
            for name, value in each.measures.items()
        }
    return group[0].topics[number].topic


def _versus(ours: VariantScore, theirs: VariantScore, name: str) -> Versus:
    both = [
        (a, b)
        for mine, other in zip(ours.topics, theirs.topics, strict=True)
        if (a := mine.measures[name]) is not None and (b := other.measures[name]) is not None
    ]
    left, right = [a for a, _ in both], [b for _, b in both]
    ends = None
    if _ratio(both) is not None:
        ends = bootstrap_interval(both, Random(name), statistic=lambda pairs: _ratio(pairs) or 0.0)
    low, high = ends or (None, None)
    counted = count_wins(left, right)
    return Versus(
        ratio=_rounded(_ratio(both)),
        low=_rounded(low),
        high=_rounded(high),
        p=_rounded(wilcoxon_test(left, right).p) or 0.0,
        p_holm=1.0,
        wins=counted.wins,
        losses=counted.losses,
        ties=counted.ties,
    )


def _ratio(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Mean of the first over the mean of the second; None if that is 0."""
    below = mean([b for _, b in pairs])
    return mean([a for a, _ in pairs]) / below if below else None
