"""Formats a comparison for a terminal, with a table per relevance model and mask."""

from __future__ import annotations

from itertools import chain

from msgspec.structs import asdict

from focus.evaluate.comparison import Comparison, VariantGroup
from focus.evaluate.ranking import VariantScore
from focus.i18n import mark, say
from focus.text.formatting import format_count, format_table


def comparison_lines(comparison: Comparison) -> list[str]:
    """Return the tables, remarks on the input, and the time used."""
    tables = [[*_group_table(comparison, group), ""] for group in comparison.groups]
    notes = [
        say("Note: {count:,} {what}, such as {example}", **asdict(remark))
        for remark in comparison.remarks
    ]
    timing_text = say(
        "{trials:,} crawls ({continued:,} of them earlier) in {seconds:,.0f} s with {jobs} "
        "processes; at most {peak_rss_mb:,.0f} MB of memory each",
        **asdict(comparison.timing),
    )
    return [*chain.from_iterable(tables), *notes, timing_text]


def _group_table(comparison: Comparison, group: VariantGroup) -> list[str]:
    """Return a table of the most important measures, and notes on them."""
    ranked = sorted(group.scores, key=lambda score: -(score.measures["auc"].value or 0.0))
    rows = [_COLUMN_TITLES, *(_variant_row(comparison, score) for score in ranked)]
    head = say(
        "relevance {relevance}{setting}; {topics}; judged by {judge}",
        relevance=group.relevance,
        setting=group.setting,
        topics=format_count(len(comparison.topics), "topic"),
        judge=comparison.judge,
    )
    return [
        head,
        *format_table(rows, right_aligned=range(1, len(_COLUMN_TITLES))),
        *map(say, _NOTES),
    ]


_COLUMN_TITLES = ["strategy", "AUC", "95 %", "R@T", "ratio", "p Holm", "W/L", "harvest", "ms"]
_NOTES = (
    mark("  AUC: mean recall over the requests, with its bootstrap interval over topics"),
    mark("  R@T: recall with as many requests as there are targets"),
    mark("  ratio, p, W/L: AUC against the baseline's, topics won and lost"),
    mark("  harvest: relevant share of the labelled pages; ms: CPU per page"),
    mark("  results.csv and report.html have the other measures"),
)


def _variant_row(comparison: Comparison, score: VariantScore) -> list[str]:
    auc, versus = score.measures["auc"], score.versus.get("auc")
    return [
        comparison.variant(score.variant).label,
        _measure_text(auc.value),
        "-" if auc.low is None else f"{_measure_text(auc.low)}-{_measure_text(auc.high)}",
        _measure_text(score.measures["recall_T"].value),
        "" if versus is None else f"{versus.ratio or 0:.2f}",
        "baseline" if versus is None else f"{versus.p_holm:.3f}",
        "" if versus is None else f"{versus.wins}/{versus.losses}",
        _measure_text(score.measures["harvest"].value),
        f"{sum(comparison.timing.ms_per_page[score.variant]):.1f}",
    ]


def _measure_text(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".replace("0.", ".", 1)
