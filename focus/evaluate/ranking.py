"""Ranks variants: measures, differences, and tests of their significance.

The fetched pages of a trial and the labels give measures per trial. Their means over seed orders
give measures per topic; topics are the unit of all statistics. Formulas and sources are in
`focus.metrics`.
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
    holm_correction,
    mean,
    wilcoxon_test,
)

Measures = dict[str, float | None]
"""A value for each name in MEASURES; None where it is undefined, such as a recall never reached."""

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
TESTED_MEASURES = ("recall_T", "recall_2T", "auc", "oracle_share", "harvest")
"""Measures with intervals over topics, and with a test against the baseline."""

CURVE_POINTS = 101
"""Number of points of a curve, at equal distances over the budget, both ends included."""

_ROUND_COUNT = 10
_LAST_SHARE = 0.05
_DECIMALS = 6


class Cost(msgspec.Struct, frozen=True):
    """Time and memory of a trial; differs from run to run.

    engine_ms    CPU time per request of everything except the analysis of pages
    analysis_ms  time to parse and score a page, measured when that was done
    """

    seconds: float = 0.0
    engine_ms: float = 0.0
    analysis_ms: float = 0.0
    peak_rss_mb: float = 0.0


class TrialResult(msgspec.Struct, frozen=True):
    """The result of a crawl for a comparison.

    pages     the number of the page that each request returned, -1 for none (robots.txt, redirect,
              failure)
    verdicts  1 for each request whose page the relevance model found relevant, 0 for others
    seconds   duration on the virtual clock
    """

    key: str
    variant: str
    topic: str
    order: int
    pages: list[int]
    verdicts: list[int] = msgspec.field(name="said")
    robots: int = 0
    redirects: int = 0
    failures: int = 0
    seconds: float = 0.0
    stop: str = ""
    cost: Cost = Cost()


class TopicTruth(msgspec.Struct, frozen=True):
    """The ground truth of a topic.

    canonical_page  number of a page (as in `TrialResult.pages`) -> the number it is counted as
    labels          whether a page is relevant, by the number it is counted as
    targets         relevant pages that are reachable, without seeds
    oracle          best possible recall after each request of the budget
    page_host       returns the host of a page
    """

    topic: str
    canonical_page: Sequence[int]
    labels: Mapping[int, bool]
    targets: frozenset[int]
    budget: int
    oracle: Sequence[float]
    page_host: Callable[[int], str]


class MeasureSummary(msgspec.Struct, frozen=True):
    """A measure over topics: mean and 95 % bootstrap interval.

    topics     number of topics for which it is defined
    low, high  None for a single topic, which has no interval
    """

    value: float | None
    topics: int
    low: float | None = None
    high: float | None = None


class BaselineTest(msgspec.Struct, frozen=True):
    """Comparison of a measure with the baseline's.

    It has the ratio of the means, its 95 % bootstrap interval, p of the paired Wilcoxon test
    before and after Holm's correction, and the numbers of topics won, lost and drawn.
    """

    ratio: float | None
    low: float | None
    high: float | None
    p: float
    p_holm: float
    wins: int
    losses: int
    ties: int


class TopicScore(msgspec.Struct, frozen=True):
    """Scores of a topic: means over seed orders, measures per order, and the mean curve."""

    topic: str
    measures: Measures
    orders: list[Measures]
    curve: list[float]


class VariantScore(msgspec.Struct):
    """Scores of a variant over all topics, with its curve and the curve's bootstrap band."""

    variant: str
    measures: dict[str, MeasureSummary]
    curve: list[float]
    band: list[tuple[float, float]]
    topics: list[TopicScore]
    versus: dict[str, BaselineTest] = {}


# -- one trial ----------------------------------------------------------------------


def recall_curve(outcome: TrialResult, truth: TopicTruth) -> list[float]:
    """Return the recall after 1, 2, … requests up to the budget."""
    order = [truth.canonical_page[number] if number >= 0 else -1 for number in outcome.pages]
    return measure.recall_curve(order, truth.targets, truth.budget)


def measure_trial(outcome: TrialResult, truth: TopicTruth) -> Measures:
    """Return all MEASURES of one trial. A page that is fetched twice counts the first time."""
    curve, targets = recall_curve(outcome, truth), len(truth.targets)
    fetched = _first_fetches(outcome, truth)
    labels = [truth.labels.get(page) if page >= 0 else None for page in fetched]
    gains = [label is True for label in labels]
    last = max(1, round(_LAST_SHARE * truth.budget))
    rounds = measure.cumulative_precision(gains, max(1, -(-truth.budget // _ROUND_COUNT)))
    verdict_labels = zip(
        (bool(verdict_labels) for verdict_labels in outcome.verdicts), labels, strict=True
    )
    model = measure.classification_quality(verdict_labels)
    relevant, labelled = sum(gains), sum(label is not None for label in labels)
    values: Measures = {
        "recall_T": _recall_at(curve, targets),
        "recall_2T": _recall_at(curve, 2 * targets),
        "auc": measure.area_under_recall(curve),
        "oracle_share": measure.share_of_oracle(curve, truth.oracle),
        "harvest": measure.harvest_rate(labels),
        "harvest_requests": measure.harvest_rate(gains),
        "harvest_last": measure.harvest_rate(gains[-last:]),
        "average_precision": measure.mean_cumulative_precision(rounds),
        "efficiency_per_min": measure.relevant_per_minute(relevant, outcome.seconds),
        "requests_50": measure.requests_to_recall(curve, 0.5),
        "requests_80": measure.requests_to_recall(curve, 0.8),
        "requests_90": measure.requests_to_recall(curve, 0.9),
        "hosts": measure.count_relevant_hosts(fetched, truth.targets, truth.page_host),
        "model_precision": model.precision,
        "model_recall": model.recall,
        "found": len(truth.targets.intersection(fetched)),
        "relevant": relevant,
        "labelled": labelled,
        "unlabelled": sum(page >= 0 for page in fetched) - labelled,
        "requests": len(outcome.pages),
        "robots": outcome.robots,
        "redirects": outcome.redirects,
        "failures": outcome.failures,
        "seconds": outcome.seconds,
    }
    return {name: _round_value(values[name]) for name in MEASURES}


def _first_fetches(outcome: TrialResult, truth: TopicTruth) -> list[int]:
    """Return the page of each request, -1 for none and for a page that was fetched before."""
    seen: set[int] = set()
    fetched = []
    for number in outcome.pages:
        page = truth.canonical_page[number] if number >= 0 else -1
        fetched.append(-1 if page in seen else page)
        seen.add(page)
    return fetched


def _recall_at(curve: Sequence[float], requests: int) -> float | None:
    return measure.recall_at(curve, requests) if requests <= len(curve) else None


def _round_value(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def sample_curve(curve: Sequence[float]) -> list[float]:
    """Return a curve at CURVE_POINTS shares of the budget; it begins with 0."""
    steps = CURVE_POINTS - 1
    indices = [round(i * len(curve) / steps) for i in range(CURVE_POINTS)]
    return [round(curve[index - 1], _DECIMALS) if index else 0.0 for index in indices]


def beats_oracle(outcome: TrialResult, truth: TopicTruth) -> bool:
    """Return whether a crawl exceeds the oracle, which means that the link graph lacks a link."""
    pairs = zip(recall_curve(outcome, truth), truth.oracle, strict=True)
    return any(recall > best + 1e-9 for recall, best in pairs)


# -- over seed orders and topics ----------------------------------------------------


def score_variants(
    outcomes: Iterable[TrialResult], truths: Sequence[TopicTruth]
) -> list[VariantScore]:
    """Return a score per variant, in order of appearance; `add_tests` adds the tests."""
    by_variant: dict[str, dict[str, list[TrialResult]]] = {}
    for outcome in outcomes:
        by_variant.setdefault(outcome.variant, {}).setdefault(outcome.topic, []).append(outcome)
    return [
        _score_variant(
            variant, [_score_topic(results_by_topic[truth.topic], truth) for truth in truths]
        )
        for variant, results_by_topic in by_variant.items()
    ]


def _score_topic(outcomes: list[TrialResult], truth: TopicTruth) -> TopicScore:
    ordered = sorted(outcomes, key=lambda outcome: outcome.order)
    orders = [measure_trial(outcome, truth) for outcome in ordered]
    curves = [sample_curve(recall_curve(outcome, truth)) for outcome in ordered]
    return TopicScore(
        topic=truth.topic,
        measures={
            name: _complete_mean([order_measures[name] for order_measures in orders])
            for name in MEASURES
        },
        orders=orders,
        curve=[_round_value(mean(points)) or 0.0 for points in zip(*curves, strict=True)],
    )


def _complete_mean(values: Sequence[float | None]) -> float | None:
    """Return the mean, or None if any value is undefined, since the mean of the rest misleads."""
    defined = [value for value in values if value is not None]
    return _round_value(mean(defined)) if defined and len(defined) == len(values) else None


def _score_variant(variant: str, topics: list[TopicScore]) -> VariantScore:
    summaries = {}
    for name in MEASURES:
        values = _defined_values(topics, name)
        interval = (
            bootstrap_interval(values, Random(name), statistic=mean)
            if name in TESTED_MEASURES
            else None
        )
        low, high = interval or (None, None)
        summaries[name] = MeasureSummary(
            _round_value(mean(values)) if values else None,
            len(values),
            _round_value(low),
            _round_value(high),
        )
    curves = [topic.curve for topic in topics]
    return VariantScore(
        variant=variant,
        measures=summaries,
        curve=[_round_value(mean(points)) or 0.0 for points in zip(*curves, strict=True)],
        band=[
            (round(low, _DECIMALS), round(high, _DECIMALS))
            for low, high in bootstrap_band(curves, Random("curve"))
        ],
        topics=topics,
    )


def _defined_values(topics: Iterable[TopicScore], name: str) -> list[float]:
    values = (topic.measures[name] for topic in topics)
    return [value for value in values if value is not None]


def add_tests(group: Sequence[VariantScore], baseline: VariantScore | None) -> None:
    """Add to each score its tests against the baseline.

    All p values of a measure are one family for Holm's correction.
    """
    for name in TESTED_MEASURES:
        others = [score for score in group if score is not baseline] if baseline else []
        tests = [_test_against(score, baseline, name) for score in others if baseline]
        corrected = holm_correction([versus.p for versus in tests])
        for score, versus, p_holm in zip(others, tests, corrected, strict=True):
            versus = msgspec.structs.replace(versus, p_holm=_round_value(p_holm) or 0.0)
            score.versus = {**score.versus, name: versus}


def _test_against(score: VariantScore, baseline: VariantScore, name: str) -> BaselineTest:
    pairs = [
        (a, b)
        for topic, baseline_topic in zip(score.topics, baseline.topics, strict=True)
        if (a := topic.measures[name]) is not None
        and (b := baseline_topic.measures[name]) is not None
    ]
    own_values, baseline_values = [a for a, _ in pairs], [b for _, b in pairs]
    interval = None
    if _ratio_of_means(pairs) is not None:
        interval = bootstrap_interval(
            pairs, Random(name), statistic=lambda pairs: _ratio_of_means(pairs) or 0.0
        )
    low, high = interval or (None, None)
    win_counts = count_wins(own_values, baseline_values)
    return BaselineTest(
        ratio=_round_value(_ratio_of_means(pairs)),
        low=_round_value(low),
        high=_round_value(high),
        p=_round_value(wilcoxon_test(own_values, baseline_values).p) or 0.0,
        p_holm=1.0,
        wins=win_counts.wins,
        losses=win_counts.losses,
        ties=win_counts.ties,
    )


def _ratio_of_means(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean of the first values over the mean of the second, or None if that is 0."""
    divisor = mean([b for _, b in pairs])
    return mean([a for a, _ in pairs]) / divisor if divisor else None
