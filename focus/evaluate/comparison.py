"""The result of a comparison as a record, and the files that contain it.

results.json, schema "focus-comparison/1" (fields as in `Comparison`; equal input gives equal
content, except for `timing`):

    schema    name and version; an incompatible change raises the version
    judge     "labels" or "self-judged: MODEL"
    inputs    file or "code" -> {name, sha256}
    settings  budget, seed_orders, concurrency, delay_s, points of a curve …
    remarks   [{what, count, example}]: input that could not be used
    topics    [{name, keywords, seeds, relevant, targets, budget, oracle}]
    variants  [{id, strategy, form, relevance, mask, params, model_params, self_judged, unrecorded}]
    groups    [{relevance, mask, baseline, scores, unrecorded}]: variants that share a
              relevance model, a mask and the treatment of unrecorded links; a score has
              `measures` (name -> value, interval), `versus` (name -> ratio,
              interval, p, p_holm, wins …), `curve` with `band`, and `topics` with the same
              for each topic and each seed order
    measures  name -> meaning
    timing    seconds, CPU ms per page, peak memory; differs from run to run

results.csv has a line per variant, topic and seed order, with all measures.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import msgspec

from focus.evaluate.judgments import Remark
from focus.evaluate.ranking import MEASURES, VariantScore
from focus.storage.whole_file import write_whole
from focus.text.formatting import spreadsheet_text

SCHEMA = "focus-comparison/1"


class Variant(msgspec.Struct, frozen=True):
    """A strategy with form, relevance model, mask and parameters.

    Attributes:
        form: "tuned" or "published".
        mask: "none", "meta", "urls" or "both".
        params: All parameters of the strategy.
        model_params: Parameters of the relevance model that were set for this comparison.
        self_judged: Whether the judge is the same model that guided the crawl.
        unrecorded: "ask" if links that are not in the archive are followed, "skip" if they are
            left out.
    """

    id: str
    strategy: str
    form: str
    relevance: str
    mask: str
    params: dict[str, float]
    model_params: dict[str, float]
    self_judged: bool = False
    unrecorded: str = "ask"

    @property
    def label(self) -> str:
        """Name of the strategy, with the form unless it is tuned."""
        return self.strategy if self.form == "tuned" else f"{self.strategy} ({self.form})"


class TopicFacts(msgspec.Struct, frozen=True):
    """A topic with the numbers of its relevant and reachable pages, and the oracle's curve."""

    name: str
    keywords: list[str]
    seeds: list[str]
    relevant: int
    targets: int
    reachable_pages: int
    budget: int
    oracle: list[float]
    oracle_auc: float


class VariantGroup(msgspec.Struct, frozen=True):
    """Variants that differ only in strategy and parameters."""

    relevance: str
    mask: str
    baseline: str | None
    scores: list[VariantScore]
    unrecorded: str = "ask"

    @property
    def setting(self) -> str:
        """What the group's crawls hid or left out, as part of a title; empty if nothing."""
        masked = "" if self.mask == "none" else f", masked: {self.mask}"
        return masked + (", unrecorded links left out" if self.unrecorded == "skip" else "")


class Timing(msgspec.Struct, frozen=True):
    """Time used by a comparison; `ms_per_page` maps a variant to CPU ms of analysis and engine."""

    seconds: float
    trials: int
    continued: int
    jobs: int
    peak_rss_mb: float
    ms_per_page: dict[str, tuple[float, float]]


class Comparison(msgspec.Struct, frozen=True):
    """The complete result of a comparison; the module's docstring explains the fields."""

    judge: str
    inputs: dict[str, dict[str, str]]
    settings: dict[str, Any]
    remarks: list[Remark]
    topics: list[TopicFacts]
    variants: list[Variant]
    groups: list[VariantGroup]
    timing: Timing
    measures: dict[str, str] = msgspec.field(default_factory=lambda: dict(MEASURES))
    schema: str = SCHEMA

    def variant(self, name: str) -> Variant:
        """Return the variant with that id."""
        return next(variant for variant in self.variants if variant.id == name)


def save_comparison(comparison: Comparison, folder: Path) -> None:
    """Write results.json and results.csv, each completely or not at all.

    Raises ExportError if a file cannot be written.
    """
    text = msgspec.json.format(msgspec.json.encode(comparison), indent=1) + b"\n"
    write_whole(folder / "results.json", text)
    write_whole(folder / "results.csv", _results_csv(comparison).encode())


def _results_csv(comparison: Comparison) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    variant_fields = ("strategy", "form", "relevance", "mask", "unrecorded")
    writer.writerow((*variant_fields, "topic", "order", *MEASURES))
    for group in comparison.groups:
        for score in group.scores:
            variant = comparison.variant(score.variant)
            names = [getattr(variant, name) for name in variant_fields]
            for topic in score.topics:
                for order, numbers in enumerate(topic.orders):
                    name = spreadsheet_text(topic.topic)
                    writer.writerow((*names, name, order, *(numbers[m] for m in MEASURES)))
    return out.getvalue()
