"""Defines the result of a comparison, and the files that hold it.

results.json, schema "focus-comparison/1" (fields as in `Comparison`; the same from the same
input, apart from `timing`):

    schema    name and version; a change that breaks readers raises the version
    judge     "labels" or "self-judged: MODEL"
    inputs    file or "code" -> {name, sha256}
    settings  budget, seed_orders, concurrency, delay_s, points of a curve …
    remarks   [{what, count, example}]: input that could not be used
    topics    [{name, keywords, seeds, relevant, targets, budget, oracle}]
    variants  [{id, strategy, form, relevance, mask, params, model_params, self_judged, unrecorded}]
    groups    [{relevance, mask, baseline, easiest, scores, unrecorded}]: variants that share
              a relevance model, a mask and the way with links not recorded; a score has
              `measures` (name -> value, interval, without_easiest), `versus` (name -> ratio,
              interval, p, p_holm, wins …), `curve` with `band` and `topics` with
              the same for each, and for each seed order
    measures  name -> meaning
    timing    seconds, CPU ms per page, peak memory: differs from run to run

results.csv has a line per variant, topic and seed order, with all measures.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import msgspec

from focus.errors import ConfigError
from focus.evaluate.judgments import Remark
from focus.evaluate.ranking import MEASURES, VariantScore
from focus.storage.whole_file import write_whole
from focus.text.formatting import spreadsheet_text

SCHEMA = "focus-comparison/1"


class Variant(msgspec.Struct, frozen=True):
    """One way of crawling. form: tuned | published; mask: none | meta | urls | both.

    params        all numbers of the strategy
    model_params  those of the relevance model that were set for this comparison
    self_judged   the judge is the very model that guided it
    unrecorded    ask | skip: links that the recording cannot answer are followed, or left out
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
        """Strategy, and the form if it is not the tuned one."""
        return self.strategy if self.form == "tuned" else f"{self.strategy} ({self.form})"


class TopicFacts(msgspec.Struct, frozen=True):
    """A topic: how many relevant pages it has, how many can be reached, the oracle's curve."""

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
    """Variants that differ in strategy and parameters only."""

    relevance: str
    mask: str
    baseline: str | None
    easiest: str | None
    scores: list[VariantScore]
    unrecorded: str = "ask"

    @property
    def setting(self) -> str:
        """What its crawls had hidden or left out, for a title; "" for nothing."""
        masked = "" if self.mask == "none" else f", masked: {self.mask}"
        return masked + (", unrecorded links left out" if self.unrecorded == "skip" else "")


class Timing(msgspec.Struct, frozen=True):
    """The time a comparison took. ms_per_page: variant -> CPU ms per page, analysis and engine."""

    seconds: float
    trials: int
    continued: int
    jobs: int
    peak_rss_mb: float
    ms_per_page: dict[str, tuple[float, float]]


class Comparison(msgspec.Struct, frozen=True):
    """Everything that a comparison found (see the head of the module)."""

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
        """The variant of that id."""
        return next(each for each in self.variants if each.id == name)


def save(comparison: Comparison, folder: Path) -> None:
    """Write results.json and results.csv, each whole or not at all; ExportError if that fails."""
    text = msgspec.json.format(msgspec.json.encode(comparison), indent=1) + b"\n"
    write_whole(folder / "results.json", text)
    write_whole(folder / "results.csv", _csv(comparison).encode())


def load(path: Path) -> Comparison:
    """Read a results.json. Raises ConfigError for a file that is none."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Comparison)
    except OSError as error:
        raise ConfigError("{path}: cannot be read: {error}", path=path, error=error) from None
    except msgspec.MsgspecError as error:
        raise ConfigError(
            "{path}: is no results.json of `focus compare`: {error}", path=path, error=error
        ) from None
    if found.schema != SCHEMA:
        raise ConfigError(
            "{path}: has schema {schema}, this focus reads {known}",
            path=path,
            schema=found.schema,
            known=SCHEMA,
        )
    return found


def _csv(comparison: Comparison) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    of_variant = ("strategy", "form", "relevance", "mask", "unrecorded")
    writer.writerow((*of_variant, "topic", "order", *MEASURES))
    for group in comparison.groups:
        for score in group.scores:
            variant = comparison.variant(score.variant)
            names = [getattr(variant, name) for name in of_variant]
            for topic in score.topics:
                for order, numbers in enumerate(topic.orders):
                    name = spreadsheet_text(topic.topic)
                    writer.writerow((*names, name, order, *(numbers[m] for m in MEASURES)))
    return out.getvalue()
