"""HTML report of a comparison: outcome, curves, tables, inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import asdict

from focus.evaluate.comparison import Comparison, TopicFacts, VariantGroup
from focus.evaluate.ranking import MEASURES, TESTED_MEASURES, VariantScore
from focus.i18n import say
from focus.report.charts import Frame, Series, legend, line_chart
from focus.report.page import render_report
from focus.text.formatting import format_count

SIGNIFICANCE_LEVEL = 0.05
"""A difference with a smaller p value (after Holm's correction) is reported as more than chance."""

_RANKING_MEASURES = (
    "recall_T", "recall_2T", "auc", "oracle_share", "harvest", "harvest_requests",
    "harvest_last", "hosts", "requests_50", "requests_80", "efficiency_per_min",
    "model_precision", "model_recall", "labelled", "unlabelled",
)  # fmt: skip


def comparison_html(comparison: Comparison) -> str:
    """Return the report as an HTML page."""
    return render_report(
        "comparison.html",
        summary=_summary_text(comparison),
        warnings=list(_warning_texts(comparison)),
        groups=[_group_section(comparison, group) for group in comparison.groups],
        topics_counted=format_count(len(comparison.topics), "topic"),
        topics=[_topic_row(topic) for topic in comparison.topics],
        measures=[[_column_title(name), say(text)] for name, text in comparison.measures.items()],
    )


# -- head ---------------------------------------------------------------------------


def _verdict(comparison: Comparison, group: VariantGroup) -> str:
    """Return a sentence that compares the best variant with the baseline, or with the next best."""
    # A budget of fewer requests than targets leaves recall@|T| without a value.
    has_recall = any(score.measures["recall_T"].value is not None for score in group.scores)
    measure = "recall_T" if has_recall else "auc"
    ranked = sorted(group.scores, key=lambda score: -_measure_value(score, measure))
    best, others = ranked[0], ranked[1:]
    statement = _recall_statement(comparison, best, measure)
    if not others:
        return say("{found}.", found=statement)
    runner_up = next((score for score in others if score.variant == group.baseline), others[0])
    against = say(
        "{found}; {other} {share:.0%}",
        found=statement,
        other=_variant_name(comparison, runner_up),
        share=_measure_value(runner_up, measure),
    )
    versus = best.versus.get(measure) if runner_up.variant == group.baseline else None
    if versus is None:
        return say("{found}.", found=against)
    if versus.p_holm < SIGNIFICANCE_LEVEL:
        return say(
            "{found}. That is more than chance (p = {p:.4f}).", found=against, p=versus.p_holm
        )
    return say("{found}. That may be chance (p = {p:.2f}).", found=against, p=versus.p_holm)


def _measure_value(score: VariantScore, measure: str) -> float:
    return score.measures[measure].value or 0.0


def _recall_statement(comparison: Comparison, best: VariantScore, measure: str) -> str:
    name, share = _variant_name(comparison, best), _measure_value(best, measure)
    if measure == "auc":
        return say(
            "In the mean over its requests, {variant} had found {share:.0%} of the relevant pages",
            variant=name,
            share=share,
        )
    return say(
        "{variant} found {share:.0%} of the relevant pages after as many requests as there are "
        "relevant pages",
        variant=name,
        share=share,
    )


def _summary_text(comparison: Comparison) -> str:
    settings = comparison.settings
    return say(
        "{archive}: {variants} on {topics}, {orders} each, budget {budget}, {requests} at once. "
        "Judged by {judge}. The topic is the unit of all means, intervals and tests.",
        archive=comparison.inputs["archive"]["name"],
        variants=format_count(len(comparison.variants), "variant"),
        topics=format_count(len(comparison.topics), "topic"),
        orders=format_count(settings["seed_orders"], "seed order"),
        budget=settings["budget"],
        requests=format_count(settings["concurrency"], "request"),
        judge=say(comparison.judge),
    )


def _warning_texts(comparison: Comparison) -> Iterator[str]:
    if comparison.judge != "labels":
        yield say(
            "{judge}: a relevance model judges here, not labels. Crawls that the same model guided "
            "are marked self-judged; their figures flatter them.",
            judge=comparison.judge,
        )
    for remark in comparison.remarks:
        yield say("{count:,} {what}, e.g. {example}", **asdict(remark) | {"what": say(remark.what)})


# -- a group of variants --------------------------------------------------------------


def _group_section(comparison: Comparison, group: VariantGroup) -> dict[str, object]:
    series = _recall_series(comparison, group)
    ranked = sorted(group.scores, key=lambda score: -_measure_value(score, "auc"))
    return {
        "verdict": _verdict(comparison, group),
        "title": _group_title(group),
        "key": legend(series),
        "chart": line_chart(_curve_frame(), series, title=say("Recall over requests")),
        "measures": [_column_title(name) for name in _RANKING_MEASURES],
        "ranking": [_ranking_row(comparison, score) for score in ranked],
        "baseline": comparison.variant(group.baseline).label if group.baseline else "",
        "tests": [row for score in ranked for row in _test_rows(comparison, score)],
    }


def _group_title(group: VariantGroup) -> str:
    masked = "" if group.mask == "none" else say(", masked: {mask}", mask=group.mask)
    skipped = say(", unrecorded links left out") if group.unrecorded == "skip" else ""
    return say("Relevance {model}", model=group.relevance) + masked + skipped


def _variant_name(comparison: Comparison, score: VariantScore) -> str:
    variant = comparison.variant(score.variant)
    return variant.label + (say(" [self-judged]") if variant.self_judged else "")


def _curve_frame() -> Frame:
    return Frame(
        width=860,
        height=440,
        x_label=say("requests, share of the budget"),
        x_ticks=[(share / 4, f"{25 * share} %") for share in range(5)],
        y_label=say("recall, mean over topics"),
        margin_left=56,
        margin_top=42,
        margin_bottom=52,
        is_wide=True,
    )


def _recall_series(comparison: Comparison, group: VariantGroup) -> list[Series]:
    best = max(group.scores, key=lambda score: _measure_value(score, "auc"))
    strong = {best.variant, group.baseline}
    lines = [
        Series(
            _variant_name(comparison, score),
            number,
            score.curve,
            score.band,
            score.variant in strong,
        )
        for number, score in enumerate(group.scores)
    ]
    points = zip(*(topic.oracle for topic in comparison.topics), strict=True)
    oracle = [sum(point) / len(point) for point in points]
    return [*lines, Series(say("oracle (no crawl exceeds it)"), -1, oracle)]


def _ranking_row(comparison: Comparison, score: VariantScore) -> list[str]:
    auc = score.measures["auc"]
    return [
        _variant_name(comparison, score),
        _interval_text(auc.low, auc.high),
        *(_measure_text(score.measures[name].value, name) for name in _RANKING_MEASURES),
        f"{sum(comparison.timing.ms_per_page[score.variant]):.1f}",
    ]


def _test_rows(comparison: Comparison, score: VariantScore) -> Iterable[list[str]]:
    for name in TESTED_MEASURES:
        if (test := score.versus.get(name)) is not None:
            yield [
                _variant_name(comparison, score), _column_title(name),
                _measure_text(test.ratio, "auc"), _interval_text(test.low, test.high),
                f"{test.p:.4f}", f"{test.p_holm:.4f}",
                str(test.wins), str(test.losses), str(test.ties),
            ]  # fmt: skip


# -- tables -------------------------------------------------------------------------


def _topic_row(facts: TopicFacts) -> list[str]:
    return [
        facts.name, ", ".join(facts.keywords), str(len(facts.seeds)),
        f"{facts.relevant:,}", f"{facts.targets:,}",
        f"{facts.reachable_pages:,}", f"{facts.budget:,}", f"{facts.oracle_auc:.3f}",
    ]  # fmt: skip


def _column_title(measure: str) -> str:
    assert measure in MEASURES
    return measure.replace("_T", "@|T|").replace("_2T", "@2|T|").replace("_", " ")


_INTEGER_MEASURES = {"requests_50", "requests_80", "requests_90", "labelled", "unlabelled"}
_ONE_DECIMAL_MEASURES = {"hosts", "efficiency_per_min"}


def _interval_text(low: float | None, high: float | None) -> str:
    """Return the two ends of an interval; with a single topic there is no interval."""
    return "–" if low is None else f"{_measure_text(low, 'auc')} – {_measure_text(high, 'auc')}"


def _measure_text(value: float | None, measure: str) -> str:
    if value is None:
        return "–"
    return (
        f"{value:.0f}"
        if measure in _INTEGER_MEASURES
        else f"{value:.1f}"
        if measure in _ONE_DECIMAL_MEASURES
        else f"{value:.3f}"
    )
