"""Formats a comparison for a terminal, with a table per relevance model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from textwrap import wrap

from msgspec.structs import asdict

from focus.evaluate.comparison import Comparison, VariantGroup
from focus.evaluate.ranking import VariantScore
from focus.i18n import mark, say
from focus.text.formatting import cell_width, format_count, format_table


def comparison_lines(comparison: Comparison, *, width: int = 160) -> list[str]:
    """Return the tables, remarks on the input, and the time used."""
    tables = [[*_group_table(comparison, group, width), ""] for group in comparison.groups]
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


def _group_table(comparison: Comparison, group: VariantGroup, width: int) -> list[str]:
    """Return a table with the columns that fit into the width, and notes on them."""
    ranked = sorted(group.scores, key=lambda score: -(score.measures["auc"].value or 0.0))
    rows = [_COLUMN_TITLES, *(_variant_row(comparison, score) for score in ranked)]
    columns = _fitting_columns(rows, width)
    topics = format_count(len(comparison.topics), "topic")
    lines = [
        say(
            "relevance {relevance}{setting}; {topics}; judged by {judge}",
            relevance=group.relevance,
            setting=group.setting,
            topics=topics,
            judge=comparison.judge,
        )
    ]
    lines += format_table(
        [[row[column] for column in columns] for row in rows], right_aligned=range(1, len(columns))
    )
    left_out = [
        _COLUMN_TITLES[column] for column in range(len(_COLUMN_TITLES)) if column not in columns
    ]
    notes = [
        say(_COLUMN_MEANINGS[_COLUMN_TITLES[column]])
        for column in columns
        if _COLUMN_TITLES[column] in _COLUMN_MEANINGS
    ]
    if group.easiest and "w/o easy" not in left_out:
        notes.append(say("easiest topic: {easiest}", easiest=group.easiest))
    if left_out:
        notes.append(
            say(
                "not shown for lack of space: {left_out} (see results.csv)",
                left_out=", ".join(left_out),
            )
        )
    return [*lines, *wrap("; ".join(notes), width, initial_indent="  ", subsequent_indent="  ")]


def _fitting_columns(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the indices of the most important columns that fit, always including the first two."""
    widths = [max(map(cell_width, column)) + 2 for column in zip(*rows, strict=True)]
    columns: list[int] = []
    for column in sorted(
        range(len(_COLUMN_TITLES)),
        key=lambda column: _COLUMNS_BY_IMPORTANCE.index(_COLUMN_TITLES[column]),
    ):
        if len(columns) < 2 or sum(widths[column] for column in (*columns, column)) <= width:
            columns.append(column)
    return sorted(columns)


_COLUMN_TITLES = [
    "strategy", "R@T", "R@2T", "AUC", "95 %", "oracle", "ratio", "p Holm", "W/L", "w/o easy",
    "harvest", "labels", "hosts", "to 50 %", "model P/R", "ms",
]  # fmt: skip
_COLUMNS_BY_IMPORTANCE = [
    "strategy", "AUC", "95 %", "R@T", "ratio", "p Holm", "W/L", "harvest", "R@2T", "oracle",
    "to 50 %", "w/o easy", "hosts", "model P/R", "labels", "ms",
]  # fmt: skip
_COLUMN_MEANINGS = {
    "R@T": mark("R@T: recall with as many requests as there are targets"),
    "95 %": mark("95 %: bootstrap interval of the AUC over topics"),
    "oracle": mark("oracle: AUC as a share of the best possible"),
    "ratio": mark("ratio, p, W/L: AUC against the baseline's"),
    "w/o easy": mark("w/o easy: without the easiest topic"),
    "harvest": mark("harvest: share of labelled pages"),
    "labels": mark("labels: pages fetched with one/without"),
    "to 50 %": mark("to 50 %: requests to half of the targets (topics that got there)"),
    "ms": mark("ms: CPU per page"),
}


def _variant_row(comparison: Comparison, score: VariantScore) -> list[str]:
    m = score.measures
    auc, versus = m["auc"], score.versus.get("auc")
    ms = comparison.timing.ms_per_page[score.variant]
    half = m["requests_50"]
    return [
        comparison.variant(score.variant).label,
        _measure_text(m["recall_T"].value),
        _measure_text(m["recall_2T"].value),
        _measure_text(auc.value),
        "-" if auc.low is None else f"{_measure_text(auc.low)}-{_measure_text(auc.high)}",
        _measure_text(m["oracle_share"].value),
        "" if versus is None else f"{versus.ratio or 0:.2f}",
        "baseline" if versus is None else f"{versus.p_holm:.3f}",
        "" if versus is None else f"{versus.wins}/{versus.losses}",
        _measure_text(auc.without_easiest),
        _measure_text(m["harvest"].value),
        f"{m['labelled'].value or 0:.0f}/{m['unlabelled'].value or 0:.0f}",
        f"{m['hosts'].value or 0:.1f}",
        f"{half.value:.0f} ({half.topics})" if half.value is not None else "-",
        f"{_measure_text(m['model_precision'].value)}/{_measure_text(m['model_recall'].value)}",
        f"{sum(ms):.1f}",
    ]


def _measure_text(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".replace("0.", ".", 1)
