"""Writes the HTML report of a comparison: its outcome in a sentence, curves, tables, inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup
from msgspec.structs import asdict

from focus.evaluate.comparison import Comparison, TopicFacts, Variant, VariantGroup
from focus.evaluate.ranking import MEASURES, TESTED, TopicScore, VariantScore
from focus.i18n import say
from focus.report.charts import Frame, Series, chart, key
from focus.report.page import rendered
from focus.report.pictures import curves
from focus.text.formatting import count

SURE = 0.05
"""Of p (Holm): a difference with less is called more than chance."""

_RANKED = (
    "recall_T", "recall_2T", "auc", "oracle_share", "harvest", "harvest_requests",
    "harvest_last", "hosts", "requests_50", "requests_80", "efficiency_per_min",
    "model_precision", "model_recall", "labelled", "unlabelled",
)  # fmt: skip


def comparison_html(comparison: Comparison) -> str:
    """The whole page."""
    return rendered(
        "comparison.html",
        summary=_summary(comparison),
        warnings=list(_warnings(comparison)),
        groups=[_group(comparison, each) for each in comparison.groups],
        topic_names=[each.name for each in comparison.topics],
        topics_counted=count(len(comparison.topics), "topic"),
        topics=[_topic(each) for each in comparison.topics],
        variants=[_variant(each) for each in comparison.variants],
        inputs=[[what, each["name"], each["sha256"]] for what, each in comparison.inputs.items()],
        took=_took(comparison),
        measures=[[_head(name), say(text)] for name, text in comparison.measures.items()],
    )


def comparison_pictures(comparison: Comparison) -> dict[str, str]:
    """The curves of each group as an SVG document, by a name for its file."""
    found = {}
    for group in comparison.groups:
        masked = "" if group.mask == "none" else f"-masked-{group.mask}"
        masked += "-skip" if group.unrecorded == "skip" else ""
        title = say("Recall over requests: {group}", group=_title(group))
        drawn = curves(_frame(), _series(comparison, group), title=title)
        found[f"recall-{group.relevance}{masked}"] = drawn
    return found


# -- head ---------------------------------------------------------------------------


def _verdict(comparison: Comparison, group: VariantGroup) -> str:
    """Who found most, and how much more than the baseline (without one, than the next)."""
    # With a budget of fewer requests than there are targets nobody has a recall after so many.
    has_recall = any(each.measures["recall_T"].value is not None for each in group.scores)
    measure = "recall_T" if has_recall else "auc"
    ranked = sorted(group.scores, key=lambda each: -_share(each, measure))
    best, others = ranked[0], ranked[1:]
    found = _found(comparison, best, measure)
    if not others:
        return say("{found}.", found=found)
    other = next((each for each in others if each.variant == group.baseline), others[0])
    against = say(
        "{found}; {other} {share:.0%}",
        found=found,
        other=_name(comparison, other),
        share=_share(other, measure),
    )
    versus = best.versus.get(measure) if other.variant == group.baseline else None
    if versus is None:
        return say("{found}.", found=against)
    if versus.p_holm < SURE:
        return say(
            "{found}. That is more than chance (p = {p:.4f}).", found=against, p=versus.p_holm
        )
    return say("{found}. That may be chance (p = {p:.2f}).", found=against, p=versus.p_holm)


def _share(score: VariantScore, measure: str) -> float:
    return score.measures[measure].value or 0.0


def _found(comparison: Comparison, best: VariantScore, measure: str) -> str:
    name, share = _name(comparison, best), _share(best, measure)
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


def _summary(comparison: Comparison) -> str:
    settings = comparison.settings
    return say(
        "{archive}: {variants} on {topics}, {orders} each, budget {budget}, {requests} at once. "
        "Judged by {judge}. The topic is the unit of all means, intervals and tests.",
        archive=comparison.inputs["archive"]["name"],
        variants=count(len(comparison.variants), "variant"),
        topics=count(len(comparison.topics), "topic"),
        orders=count(settings["seed_orders"], "seed order"),
        budget=settings["budget"],
        requests=count(settings["concurrency"], "request"),
        judge=say(comparison.judge),
    )


def _warnings(comparison: Comparison) -> Iterator[str]:
    if comparison.judge != "labels":
        yield say(
            "{judge}: a relevance model judges here, not labels. Crawls that the same model guided "
            "are marked self-judged; their figures flatter them.",
            judge=comparison.judge,
        )
    for remark in comparison.remarks:
        yield say("{count:,} {what}, e.g. {example}", **asdict(remark) | {"what": say(remark.what)})


def _took(comparison: Comparison) -> str:
    timing = comparison.timing
    return say(
        "Settings: {settings}. {trials:,} crawls in {seconds:,.0f} s over {workers} ({continued:,} "
        "done before); peak memory of one {peak_rss_mb:,.0f} MB.",
        settings=", ".join(f"{name} {value}" for name, value in comparison.settings.items()),
        workers=count(timing.jobs, "worker"),
        **asdict(timing),
    )


# -- a group of variants --------------------------------------------------------------


def _group(comparison: Comparison, group: VariantGroup) -> dict[str, object]:
    series = _series(comparison, group)
    ranked = sorted(group.scores, key=lambda each: -_share(each, "auc"))
    names = [_name(comparison, each) for each in group.scores]
    easiest = ""
    if group.easiest:
        easiest = say("The easiest topic of this group is {topic}. ", topic=group.easiest)
    return {
        "verdict": _verdict(comparison, group),
        "title": _title(group),
        "key": key(series),
        "chart": chart(_frame(), series, title=say("Recall over requests")),
        "measures": [_head(name) for name in _RANKED],
        "ranking": [_ranking(comparison, each) for each in ranked],
        "easiest": easiest,
        "baseline": comparison.variant(group.baseline).label if group.baseline else "",
        "tests": [row for each in ranked for row in _tests(comparison, each)],
        "cards": [
            _card(facts, [each.topics[at] for each in group.scores], names)
            for at, facts in enumerate(comparison.topics)
        ],
        "by_topic": [
            [_name(comparison, each), *(_number(t.measures["auc"], "auc") for t in each.topics)]
            for each in ranked
        ],
    }


def _title(group: VariantGroup) -> str:
    masked = "" if group.mask == "none" else say(", masked: {mask}", mask=group.mask)
    skipped = say(", unrecorded links left out") if group.unrecorded == "skip" else ""
    return say("Relevance {model}", model=group.relevance) + masked + skipped


def _name(comparison: Comparison, score: VariantScore) -> str:
    variant = comparison.variant(score.variant)
    return variant.label + (say(" [self-judged]") if variant.self_judged else "")


def _frame() -> Frame:
    return Frame(
        width=860,
        height=440,
        x_label=say("requests, share of the budget"),
        x_ticks=[(share / 4, f"{25 * share} %") for share in range(5)],
        y_label=say("recall, mean over topics"),
        left=56,
        top=42,
        bottom=52,
        wide=True,
    )


def _series(comparison: Comparison, group: VariantGroup) -> list[Series]:
    best = max(group.scores, key=lambda each: _share(each, "auc"))
    strong = {best.variant, group.baseline}
    lines = [
        Series(_name(comparison, each), number, each.curve, each.band, each.variant in strong)
        for number, each in enumerate(group.scores)
    ]
    points = zip(*(topic.oracle for topic in comparison.topics), strict=True)
    return [*lines, _oracle([sum(point) / len(point) for point in points])]


def _oracle(curve: Sequence[float]) -> Series:
    return Series(say("oracle (no crawl exceeds it)"), -1, curve)


def _ranking(comparison: Comparison, score: VariantScore) -> list[str]:
    auc = score.measures["auc"]
    return [
        _name(comparison, score),
        _ends(auc.low, auc.high),
        *(_number(score.measures[name].value, name) for name in _RANKED),
        _number(auc.without_easiest, "auc"),
        f"{sum(comparison.timing.ms_per_page[score.variant]):.1f}",
    ]


def _tests(comparison: Comparison, score: VariantScore) -> Iterable[list[str]]:
    for name in TESTED:
        if (v := score.versus.get(name)) is not None:
            yield [_name(comparison, score), _head(name), _number(v.ratio, "auc"),
                   _ends(v.low, v.high), f"{v.p:.4f}", f"{v.p_holm:.4f}", str(v.wins),
                   str(v.losses), str(v.ties)]  # fmt: skip


def _card(
    facts: TopicFacts, scores: Sequence[TopicScore], names: Sequence[str]
) -> dict[str, str | Markup]:
    ticks = [(share / 2, f"{facts.budget * share // 2:,}") for share in range(3)]
    frame = Frame(width=300, height=190, x_label="", x_ticks=ticks, left=30, bottom=22)
    lines = [Series(names[number], number, score.curve) for number, score in enumerate(scores)]
    title = say("Recall over requests: {group}", group=facts.name)
    return {
        "topic": facts.name,
        "targets": count(facts.targets, "target"),
        "chart": chart(frame, [*lines, _oracle(facts.oracle)], title=title),
    }


# -- tables -------------------------------------------------------------------------


def _topic(t: TopicFacts) -> list[str]:
    return [
        t.name, ", ".join(t.keywords), str(len(t.seeds)), f"{t.relevant:,}", f"{t.targets:,}",
        f"{t.reachable_pages:,}", f"{t.budget:,}", f"{t.oracle_auc:.3f}",
    ]  # fmt: skip


def _variant(v: Variant) -> list[str]:
    def numbers(params: dict[str, float]) -> str:
        return " ".join(f"{name}={value:g}" for name, value in params.items())

    return [v.strategy, v.form, v.relevance, v.mask, v.unrecorded, numbers(v.params),
            numbers(v.model_params)]  # fmt: skip


def _head(name: str) -> str:
    assert name in MEASURES
    return name.replace("_T", "@|T|").replace("_2T", "@2|T|").replace("_", " ")


_WHOLE = {"requests_50", "requests_80", "requests_90", "labelled", "unlabelled"}
_SHORT = {"hosts", "efficiency_per_min"}


def _ends(low: float | None, high: float | None) -> str:
    """An interval; of one topic there is none."""
    return "–" if low is None else f"{_number(low, 'auc')} – {_number(high, 'auc')}"


def _number(value: float | None, name: str) -> str:
    if value is None:
        return "–"
    return (
        f"{value:.0f}" if name in _WHOLE else f"{value:.1f}" if name in _SHORT else f"{value:.3f}"
    )
