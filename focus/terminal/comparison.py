"""A comparison on a terminal: a table per relevance model, mask and way with missing links."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table

from focus.evaluate.comparison import Comparison, VariantGroup
from focus.evaluate.ranking import VariantScore


def board_lines(comparison: Comparison, *, width: int = 160) -> list[str]:
    """The tables, what there is to remark, and what it took."""
    console = Console(file=io.StringIO(), width=width, highlight=False, color_system=None)
    for group in comparison.groups:
        console.print(_table(comparison, group))
    if comparison.judged:
        console.print(_judged_table(comparison))
    out = console.file.getvalue()  # type: ignore[attr-defined]
    notes = [
        f"Note: {remark.count:,} {remark.what}, e.g. {remark.example}"
        for remark in comparison.remarks
    ]
    timing = comparison.timing
    took = (
        f"{timing.trials:,} crawls ({timing.continued:,} of them done before) in "
        f"{timing.seconds:,.0f} s over {timing.jobs} processes; peak memory of one "
        f"{timing.peak_rss_mb:,.0f} MB"
    )
    return [*(line.rstrip() for line in out.splitlines()), *notes, took]


def _table(comparison: Comparison, group: VariantGroup) -> Table:
    judged = comparison.judge
    number = len(comparison.topics)
    table = Table(
        title=f"relevance {group.relevance}{group.setting}; {number} topics; judged by {judged}",
        caption=_caption(group),
        box=box.SIMPLE,
        padding=(0, 1),
        collapse_padding=True,
        pad_edge=False,
    )
    heads = (
        "strategy", "R@T", "R@2T", "AUC", "95 %", "oracle", "ratio", "p Holm", "W/L", "w/o easy",
        "harvest", "labels", "hosts", "to 50 %", "model P/R", "ms",
    )  # fmt: skip
    for head in heads:
        table.add_column(head, justify="left" if head == "strategy" else "right", no_wrap=True)
    for each in sorted(group.scores, key=lambda s: -(s.measures["auc"].value or 0.0)):
        table.add_row(*_row(comparison, each))
    return table


def _judged_table(comparison: Comparison) -> Table:
    """The scores by judgments of a sample."""
    topics, caption = comparison.judged[0].topics, "recall of the sampled pages on topic"
    table = Table(
        title=f"by judgments of a sample; {topics} topics",
        caption=f"{caption}; in brackets 95 % over topics and pages",
        box=box.SIMPLE,
    )
    for head in ("way", "judged pages fetched", "harvest", "recall", "AUC"):
        table.add_column(head, justify="left" if head == "way" else "right", no_wrap=True)
    for each in sorted(comparison.judged, key=lambda score: -score.auc.value):
        numbers = (each.harvest, each.recall, each.auc)
        cells = (f"{_number(n.value)} ({_number(n.low)}-{_number(n.high)})" for n in numbers)
        table.add_row(each.variant, f"{each.judged:.0f}", *cells)
    return table


def _caption(group: VariantGroup) -> str:
    parts = [
        "AUC with its bootstrap interval over topics, as a share of the oracle's, against the "
        "baseline, and without the easiest topic",
        "harvest among labelled pages",
        "labels: pages fetched with one/without",
        "requests to 50 % of the targets (topics that got there)",
        "ms of CPU per page",
    ]
    return "; ".join(parts) + (f". Easiest topic: {group.easiest}" if group.easiest else "")


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
        f"{_number(auc.low)}-{_number(auc.high)}",
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
