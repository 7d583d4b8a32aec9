"""A comparison on a terminal: a table per relevance model, mask and way with missing links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from textwrap import wrap

from msgspec.structs import asdict

from focus.evaluate.comparison import Comparison, VariantGroup
from focus.evaluate.ranking import VariantScore
from focus.i18n import mark, say
from focus.text.formatting import cell_width, format_count, format_table


def board_lines(comparison: Comparison, *, width: int = 160) -> list[str]:
    """The tables, what there is to remark, and what it took."""
    tables = [[*_table(comparison, group, width), ""] for group in comparison.groups]
    notes = [
        say("Note: {count:,} {what}, e.g. {example}", **asdict(remark))
        for remark in comparison.remarks
    ]
    took = say(
        "{trials:,} crawls ({continued:,} of them done before) in {seconds:,.0f} s over "
        "{jobs} processes; peak memory of one {peak_rss_mb:,.0f} MB",
        **asdict(comparison.timing),
    )
    return [*chain.from_iterable(tables), *notes, took]


def _table(comparison: Comparison, group: VariantGroup, width: int) -> list[str]:
    """A table of the columns that there is room for, with whole figures."""
    ranked = sorted(group.scores, key=lambda score: -(score.measures["auc"].value or 0.0))
    rows = [_HEADS, *(_row(comparison, each) for each in ranked)]
    shown = _fitting(rows, width)
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
        [[row[at] for at in shown] for row in rows], right_aligned=range(1, len(shown))
    )
    left_out = [_HEADS[at] for at in range(len(_HEADS)) if at not in shown]
    notes = [say(_MEANINGS[_HEADS[at]]) for at in shown if _HEADS[at] in _MEANINGS]
    if group.easiest and "w/o easy" not in left_out:
        notes.append(say("easiest topic: {easiest}", easiest=group.easiest))
    if left_out:
        notes.append(
            say(
                "no room for {left_out} (a wider terminal or results.csv has them)",
                left_out=", ".join(left_out),
            )
        )
    return [*lines, *wrap("; ".join(notes), width, initial_indent="  ", subsequent_indent="  ")]


def _fitting(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The most telling columns that fit, in their order; the first two always."""
    widths = [max(map(cell_width, column)) + 2 for column in zip(*rows, strict=True)]
    chosen: list[int] = []
    for at in sorted(range(len(_HEADS)), key=lambda at: _TELLING.index(_HEADS[at])):
        if len(chosen) < 2 or sum(widths[each] for each in (*chosen, at)) <= width:
            chosen.append(at)
    return sorted(chosen)


_HEADS = [
    "strategy", "R@T", "R@2T", "AUC", "95 %", "oracle", "ratio", "p Holm", "W/L", "w/o easy",
    "harvest", "labels", "hosts", "to 50 %", "model P/R", "ms",
]  # fmt: skip
_TELLING = [
    "strategy", "AUC", "95 %", "R@T", "ratio", "p Holm", "W/L", "harvest", "R@2T", "oracle",
    "to 50 %", "w/o easy", "hosts", "model P/R", "labels", "ms",
]  # fmt: skip
_MEANINGS = {
    "R@T": mark("R@T: recall after as many requests as there are targets"),
    "95 %": mark("95 %: bootstrap interval of the AUC over topics"),
    "oracle": mark("oracle: AUC as a share of the best possible"),
    "ratio": mark("ratio, p, W/L: AUC against the baseline's"),
    "w/o easy": mark("w/o easy: without the easiest topic"),
    "harvest": mark("harvest: among labelled pages"),
    "labels": mark("labels: pages fetched with one/without"),
    "to 50 %": mark("to 50 %: requests to half of the targets (topics that got there)"),
    "ms": mark("ms: CPU per page"),
}


def _row(comparison: Comparison, score: VariantScore) -> list[str]:
    m = score.measures
    auc, against = m["auc"], score.versus.get("auc")
    ms = comparison.timing.ms_per_page[score.variant]
    reached = m["requests_50"]
    return [
        comparison.variant(score.variant).label,
        _number(m["recall_T"].value),
        _number(m["recall_2T"].value),
        _number(auc.value),
        "-" if auc.low is None else f"{_number(auc.low)}-{_number(auc.high)}",
        _number(m["oracle_share"].value),
        "" if against is None else f"{against.ratio or 0:.2f}",
        "baseline" if against is None else f"{against.p_holm:.3f}",
        "" if against is None else f"{against.wins}/{against.losses}",
        _number(auc.without_easiest),
        _number(m["harvest"].value),
        f"{m['labelled'].value or 0:.0f}/{m['unlabelled'].value or 0:.0f}",
        f"{m['hosts'].value or 0:.1f}",
        f"{reached.value:.0f} ({reached.topics})" if reached.value is not None else "-",
        f"{_number(m['model_precision'].value)}/{_number(m['model_recall'].value)}",
        f"{sum(ms):.1f}",
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".replace("0.", ".", 1)
