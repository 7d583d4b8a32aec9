"""Writes the HTML report of a comparison: curves, tables, inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from focus.evaluate.comparison import Comparison, TopicFacts, Variant, VariantGroup
from focus.evaluate.ranking import MEASURES, TESTED, TopicScore, VariantScore
from focus.report.charts import Frame, Series, chart, key
from focus.report.page import page, table
from focus.report.pictures import curves
from focus.text.formatting import count

_ORACLE = "oracle (no crawl exceeds it)"
_FRAME = Frame(
    width=860,
    height=440,
    x_label="requests, share of the budget",
    x_ticks=[(share / 4, f"{25 * share} %") for share in range(5)],
    y_label="recall, mean over topics",
    left=56,
    top=42,
    bottom=52,
    wide=True,
)


def comparison_html(comparison: Comparison) -> str:
    """The whole page."""
    parts = [
        "<h1>Comparison of crawls</h1>",
        f"<p>{_summary(comparison)}</p>",
        *(f'<p class="warn">{text}</p>' for text in _warnings(comparison)),
        *(_group(comparison, group) for group in comparison.groups),
        "<h2>Topics</h2>",
        _topics(comparison.topics),
        "<h2>Variants</h2>",
        _variants(comparison),
        "<h2>What went in</h2>",
        _inputs(comparison),
        "<h2>Measures</h2>",
        _definitions(comparison),
    ]
    return page("focus compare", parts)


def comparison_pictures(comparison: Comparison) -> dict[str, str]:
    """The curves of each group as an SVG document, by a name for its file."""
    found = {}
    for group in comparison.groups:
        masked = "" if group.mask == "none" else f"-masked-{group.mask}"
        masked += "-skip" if group.unrecorded == "skip" else ""
        title = f"Recall over requests: relevance {group.relevance}{group.setting}"
        drawn = curves(_FRAME, _series(comparison, group), title=title)
        found[f"recall-{group.relevance}{masked}"] = drawn
    return found


def _summary(comparison: Comparison) -> str:
    settings, archive = comparison.settings, comparison.inputs["archive"]["name"]
    return escape(
        f"{archive}: {count(len(comparison.variants), 'variant')} on "
        f"{count(len(comparison.topics), 'topic')}, {count(settings['seed_orders'], 'seed order')} "
        f"each, budget {settings['budget']}, {count(settings['concurrency'], 'request')} at once. "
        f"Judged by {comparison.judge}. The topic is the unit of all means, intervals and tests."
    )


def _warnings(comparison: Comparison) -> Iterable[str]:
    if comparison.judge != "labels":
        yield (
            f"{escape(comparison.judge)}: a relevance model judges here, not labels. Crawls that "
            "the same model guided are marked self-judged; their figures flatter them."
        )
    for remark in comparison.remarks:
        yield escape(f"{remark.count:,} {remark.what}, e.g. {remark.example}")


# -- a group of variants --------------------------------------------------------------


def _group(comparison: Comparison, group: VariantGroup) -> str:
    names = [_name(comparison, each) for each in group.scores]
    series = _series(comparison, group)
    return "\n".join(
        [
            f"<section><h2>Relevance {escape(group.relevance + group.setting)}</h2>",
            key(series),
            chart(_FRAME, series, title="Recall over requests"),
            '<p class="note">Bands: bootstrap 95 % over topics, of the best variant and the '
            "baseline; of others when pointed at. A click on a name hides its line.</p>",
            "<h3>Over all topics</h3>",
            _ranking(comparison, group),
            "<h3>Against the baseline</h3>" if group.baseline else "",
            _tests(comparison, group) if group.baseline else "",
            "<h3>Topic by topic</h3>",
            _by_topic(comparison, group, names),
            "</section>",
        ]
    )


def _name(comparison: Comparison, score: VariantScore) -> str:
    variant = comparison.variant(score.variant)
    return variant.label + (" [self-judged]" if variant.self_judged else "")


def _series(comparison: Comparison, group: VariantGroup) -> list[Series]:
    best = max(group.scores, key=lambda each: each.measures["auc"].value or 0.0)
    strong = {best.variant, group.baseline}
    lines = [
        Series(_name(comparison, each), number, each.curve, each.band, each.variant in strong)
        for number, each in enumerate(group.scores)
    ]
    points = zip(*(topic.oracle for topic in comparison.topics), strict=True)
    oracle = [sum(point) / len(point) for point in points]
    return [*lines, Series(_ORACLE, -1, oracle)]


def _ranking(comparison: Comparison, group: VariantGroup) -> str:
    shown = (
        "recall_T", "recall_2T", "auc", "oracle_share", "harvest", "harvest_requests",
        "harvest_last", "hosts", "requests_50", "requests_80", "efficiency_per_min",
        "model_precision", "model_recall", "labelled", "unlabelled",
    )  # fmt: skip
    heads = ["variant", "auc 95 %", *(_head(name) for name in shown)]
    heads += ["auc w/o easiest", "ms/page"]
    rows = []
    for each in _ranked(group):
        auc, ms = each.measures["auc"], comparison.timing.ms_per_page[each.variant]
        cells = [_number(each.measures[name].value, name) for name in shown]
        ends = _ends(auc.low, auc.high)
        rows.append(
            [
                _name(comparison, each),
                ends,
                *cells,
                _number(auc.without_easiest, "auc"),
                f"{sum(ms):.1f}",
            ]
        )
    note = f"The easiest topic of this group is {group.easiest}. " if group.easiest else ""
    return table(heads, rows) + (
        f'<p class="note">{escape(note)}Requests to a share: mean over topics, only where it was '
        "reached in every seed order. ms/page: CPU time of analysis and engine.</p>"
    )


def _tests(comparison: Comparison, group: VariantGroup) -> str:
    heads = [
        "variant",
        "measure",
        "ratio",
        "95 % of ratio",
        "p",
        "p (Holm)",
        "won",
        "lost",
        "drawn",
    ]
    rows = []
    for each in _ranked(group):
        for name in TESTED:
            if (v := each.versus.get(name)) is not None:
                ends = _ends(v.low, v.high)
                counted = [str(v.wins), str(v.losses), str(v.ties)]
                rows.append([_name(comparison, each), _head(name), _number(v.ratio, "auc"), ends,
                             f"{v.p:.4f}", f"{v.p_holm:.4f}", *counted])  # fmt: skip
    baseline = comparison.variant(str(group.baseline)).label
    return (
        f'<p class="note">Baseline: {escape(baseline)}. Paired Wilcoxon signed-rank test over '
        f"{count(len(comparison.topics), 'topic')}, two-sided; Holm over the variants of a measure."
        "</p>" + table(heads, rows)
    )


def _by_topic(comparison: Comparison, group: VariantGroup, names: Sequence[str]) -> str:
    cards = []
    for number, facts in enumerate(comparison.topics):
        scores = [each.topics[number] for each in group.scores]
        cards.append(_card(facts, scores, names))
    heads = ["variant", *(facts.name for facts in comparison.topics)]
    rows = [
        [_name(comparison, each), *(_number(t.measures["auc"], "auc") for t in each.topics)]
        for each in _ranked(group)
    ]
    return f'<div class="cards">{"".join(cards)}</div><h3>auc by topic</h3>{table(heads, rows)}'


def _card(facts: TopicFacts, scores: Sequence[TopicScore], names: Sequence[str]) -> str:
    ticks = [(share / 2, f"{facts.budget * share // 2:,}") for share in range(3)]
    frame = Frame(width=300, height=190, x_label="", x_ticks=ticks, left=30, bottom=22)
    lines = [Series(names[number], number, score.curve) for number, score in enumerate(scores)]
    lines.append(Series(_ORACLE, -1, facts.oracle))
    return (
        f"<figure><figcaption><b>{escape(facts.name)}</b> {count(facts.targets, 'target')}"
        f"</figcaption>{chart(frame, lines, title=f'Recall over requests, {facts.name}')}</figure>"
    )


def _ranked(group: VariantGroup) -> list[VariantScore]:
    return sorted(group.scores, key=lambda each: -(each.measures["auc"].value or 0.0))


# -- tables -------------------------------------------------------------------------


def _topics(topics: Sequence[TopicFacts]) -> str:
    heads = ["topic", "keywords", "seeds", "relevant", "targets", "pages that can be reached",
             "budget", "auc of the oracle"]  # fmt: skip
    return table(
        heads,
        [
            [t.name, ", ".join(t.keywords), str(len(t.seeds)), f"{t.relevant:,}", f"{t.targets:,}",
             f"{t.reachable_pages:,}", f"{t.budget:,}", f"{t.oracle_auc:.3f}"]
            for t in topics
        ],
    )  # fmt: skip


def _variants(comparison: Comparison) -> str:
    def numbers(params: dict[str, float]) -> str:
        return " ".join(f"{name}={value:g}" for name, value in params.items())

    def row(v: Variant) -> list[str]:
        return [v.strategy, v.form, v.relevance, v.mask, v.unrecorded, numbers(v.params),
                numbers(v.model_params)]  # fmt: skip

    heads = ["strategy", "form", "relevance", "mask", "unrecorded", "parameters",
             "set for the model"]  # fmt: skip
    return table(heads, [row(each) for each in comparison.variants])


def _inputs(comparison: Comparison) -> str:
    timing = comparison.timing
    rows = [[what, each["name"], each["sha256"]] for what, each in comparison.inputs.items()]
    settings = ", ".join(f"{name} {value}" for name, value in comparison.settings.items())
    return (
        table(["input", "name", "SHA-256"], rows)
        + f'<p class="note">Settings: {escape(settings)}. {timing.trials:,} crawls in '
        f"{timing.seconds:,.0f} s over {count(timing.jobs, 'worker')} "
        f"({timing.continued:,} done before); peak memory of one {timing.peak_rss_mb:,.0f} MB.</p>"
    )


def _definitions(comparison: Comparison) -> str:
    return table(
        ["measure", "meaning"], [[_head(n), text] for n, text in comparison.measures.items()]
    )


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
