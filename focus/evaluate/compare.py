"""Compares strategies by many crawls of one recorded web (`focus compare`).

    prepare   archive, its link graph, topics, labels: targets, budget and oracle per topic
    plan      every variant × topic × seed order as a trial of the real engine
    run       the trials over several processes; each is kept as it ends (runs.jsonl)
    judge     labels meet what was fetched, here and not before: scores, tests, files

An interrupted comparison goes on where it was: a trial whose archive, code and
configuration are the same is not run again. Labels do not enter a trial, except that
their number sets its budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from focus.archive.replay import Archive
from focus.config import CrawlConfig, LimitConfig, PolitenessConfig
from focus.errors import ExportError
from focus.evaluate.comparison import Comparison, Timing, Variant, VariantGroup, save
from focus.evaluate.ground_truth import (
    Inputs,
    JudgedWeb,
    Prepared,
    Spec,
    analysis_of,
    judge_of,
    prepare,
)
from focus.evaluate.judgments import Judge, Remarks, TopicTask, read_topics, select
from focus.evaluate.link_graph import BESIDE_A_CRAWL, PageIndex, Progress, code_digest, link_graph
from focus.evaluate.ranking import (
    POINTS,
    Cost,
    TrialResult,
    beats_oracle,
    compete,
    variant_scores,
)
from focus.evaluate.trial import Trial, TrialBatch, run_batches, trial_key
from focus.i18n import mark
from focus.score.strategy.base import OPTIONAL_LINK_SCORES

RUNS = "runs.jsonl"
_SETTINGS = ("budget", "seed_orders", "concurrency", "eager", "delay_s", "baseline")


def _silent(what: str, done: int, of: int) -> None:
    """No progress is told."""


def compare(spec: Spec, progress: Progress = _silent) -> Comparison:
    """Run a comparison, or what is missing of it, and write results.json and results.csv.

    Raises FocusError for input that cannot be used and for topics without targets.
    """
    began = time.perf_counter()
    web = open_web(spec, progress)
    inputs = Inputs(spec)
    text = inputs.text("topics", spec.topics)
    tasks = select(read_topics(text, spec.topics.name, spec.topics.parent), spec.names)
    remarks = Remarks()
    judge, prepared = judged(spec, tasks, web, inputs, remarks)
    trials = [
        trial
        for each in prepared
        for variant in spec.variants
        for trial in plan(spec, each, variant, orders=range(spec.seed_orders), web=web)
    ]
    outcomes, continued = run_trials(spec, trials, spec.out / RUNS, progress)
    groups = list(_groups(spec, outcomes, prepared, remarks))
    comparison = Comparison(
        judge=judge.kind,
        inputs={"archive": {"name": spec.archive.name, "sha256": web.digest}, **inputs.digests},
        settings={**{name: getattr(spec, name) for name in _SETTINGS}, "curve_points": POINTS},
        remarks=remarks.list(),
        topics=[each.facts for each in prepared],
        variants=list(spec.variants),
        groups=groups,
        timing=_timing(spec, outcomes, continued, time.perf_counter() - began),
    )
    save(comparison, spec.out)
    return comparison


def open_web(spec: Spec, progress: Progress) -> JudgedWeb:
    """The archive of a comparison and its link graph."""
    with Archive.open(spec.archive, cache_dir=spec.cache_dir) as archive:
        graph = link_graph(
            spec.archive, archive, jobs=spec.jobs, progress=progress, cache_dir=spec.cache_dir
        )
        return JudgedWeb(PageIndex(archive), graph, archive.digest, archive.damage)


def judged(
    spec: Spec, tasks: list[TopicTask], web: JudgedWeb, inputs: Inputs, remarks: Remarks
) -> tuple[Judge, list[Prepared]]:
    """Who judges, and the topics that have targets; what cannot be used is remarked."""
    if web.damage:
        remarks.add(mark("the archive is damaged"), web.damage)
    judge = judge_of(spec, tasks, web, inputs, remarks)
    return judge, prepare(spec, tasks, web, judge, remarks)


# -- the trials ---------------------------------------------------------------------


def seed_order(task: TopicTask, order: int) -> tuple[str, ...]:
    """The seeds of a topic, shuffled: the same everywhere for the same number."""
    seeds = list(task.seeds)
    Random(f"{task.name}/{order}").shuffle(seeds)
    return tuple(seeds)


def plan(
    spec: Spec,
    each: Prepared,
    variant: Variant,
    *,
    orders: Iterable[int],
    web: JudgedWeb,
    pages: int | None = None,
) -> Iterator[Trial]:
    """The crawls of one variant for one topic, one for each of these seed orders.

    pages   the crawl ends after so many pages, instead of the requests of its budget
    """
    code = _crawl_code()
    whole = web.graph.whole if variant.unrecorded == "skip" else None
    requests = each.ground.budget if pages is None else None
    limits = LimitConfig(max_requests=requests, max_pages=pages)
    analysis = analysis_of(each.task, variant.relevance, variant.model_params, variant)
    for order in orders:
        drawn = {"seed": float(order)} if "seed" in variant.params else {}
        config = CrawlConfig(
            seeds=seed_order(each.task, order),
            strategy=variant.strategy,
            params={**variant.params, **drawn},
            as_published=variant.form == "published",
            concurrency=spec.concurrency,
            eager=spec.eager,
            politeness=PolitenessConfig(delay_s=spec.delay_s),
            limits=limits,
            analysis=analysis,
        )
        key = trial_key(web.digest, code, config, whole)
        yield Trial(key, variant.id, each.task.name, order, config, whole)


@cache
def _crawl_code() -> str:
    """What of this program the result of a trial depends on."""
    return code_digest(without=BESIDE_A_CRAWL)


def batches(trials: Iterable[Trial], jobs: int) -> list[TrialBatch]:
    """Trials that score pages alike put together; the largest first, split if they are few."""
    alike: dict[tuple[bytes, bool], list[Trial]] = {}
    for trial in trials:
        bare = msgspec.structs.replace(
            trial.config.analysis, **dict.fromkeys(OPTIONAL_LINK_SCORES, False)
        )
        alike.setdefault((msgspec.json.encode(bare), trial.whole is None), []).append(trial)
    pieces = -(-jobs // max(1, len(alike)))
    parts = [part[at::pieces] for part in alike.values() for at in range(pieces)]
    parts.sort(key=len, reverse=True)
    found = []
    for part in filter(None, parts):
        analyses = [trial.config.analysis for trial in part]
        union = {
            name: any(getattr(each, name) for each in analyses) for name in OPTIONAL_LINK_SCORES
        }
        analysis = msgspec.structs.replace(analyses[0], **union)
        found.append(TrialBatch(analysis, tuple(part), part[0].whole))
    return found


def run_trials(
    spec: Spec, trials: list[Trial], runs: Path, progress: Progress
) -> tuple[list[TrialResult], int]:
    """All outcomes in the order of the trials, and how many were there before.

    runs   where outcomes are kept as they come, a line each, and found again
    """
    outcomes = _earlier(runs, {trial.key for trial in trials})
    continued = len(outcomes)
    missing = list({t.key: t for t in trials if t.key not in outcomes}.values())
    try:
        runs.parent.mkdir(parents=True, exist_ok=True)
        file = runs.open("ab", buffering=0)
    except OSError as error:
        raise ExportError(
            "{path}: cannot be written: {error}", path=runs.parent, error=error
        ) from None
    with file:
        if file.tell():
            file.write(b"\n")  # what a kill tore must not swallow the next line

        def done(outcome: TrialResult) -> None:
            outcomes[outcome.key] = outcome
            file.write(msgspec.json.encode(outcome) + b"\n")
            progress("crawling", len(outcomes), len(trials))

        progress("crawling", len(outcomes), len(trials))
        if missing:
            parts = batches(missing, spec.jobs)
            jobs = min(spec.jobs, len(parts))
            run_batches(spec.archive, parts, jobs=jobs, done=done, cache_dir=spec.cache_dir)
    # The same crawl may stand for several variants, so names come from the trial.
    return [
        msgspec.structs.replace(outcomes[t.key], variant=t.variant, topic=t.topic, order=t.order)
        for t in trials
    ], continued


def _earlier(path: Path, wanted: set[str]) -> dict[str, TrialResult]:
    """Outcomes that an earlier run left, by key; torn lines count for nothing."""
    if not path.exists():
        return {}
    found = {}
    decode: Callable[[bytes], TrialResult] = msgspec.json.Decoder(TrialResult).decode
    with path.open("rb") as file:
        for line in file:
            try:
                outcome = decode(line)
            except msgspec.MsgspecError:
                continue
            if outcome.key in wanted:
                found[outcome.key] = outcome
    return found


# -- what comes out -----------------------------------------------------------------


def _groups(
    spec: Spec, outcomes: list[TrialResult], prepared: list[Prepared], remarks: Remarks
) -> Iterator[VariantGroup]:
    grounds = [each.ground for each in prepared]
    by_topic = {ground.topic: ground for ground in grounds}
    for outcome in outcomes:
        if beats_oracle(outcome, by_topic[outcome.topic]):
            remarks.add(
                mark("crawls above the oracle: the link graph lacks a link"), outcome.variant
            )
    sets: dict[tuple[str, str, str], list[str]] = {}
    for variant in spec.variants:
        way = (variant.relevance, variant.mask, variant.unrecorded)
        sets.setdefault(way, []).append(variant.id)
    strategy, _, form = (spec.baseline or "").partition("/")
    wanted = [strategy, form or "tuned"]
    for (relevance, mask, unrecorded), ids in sets.items():
        group = variant_scores((each for each in outcomes if each.variant in ids), grounds)
        group.sort(key=lambda each: ids.index(each.variant))
        baseline = next((s for s in group if s.variant.split("/")[:2] == wanted), None)
        easy = compete(group, baseline)
        name = baseline.variant if baseline else None
        yield VariantGroup(relevance, mask, name, easy, group, unrecorded)


def _timing(spec: Spec, outcomes: list[TrialResult], continued: int, seconds: float) -> Timing:
    costs: dict[str, list[Cost]] = {}
    for outcome in outcomes:
        costs.setdefault(outcome.variant, []).append(outcome.cost)
    return Timing(
        seconds=round(seconds, 1),
        trials=len(outcomes),
        continued=continued,
        jobs=spec.jobs,
        peak_rss_mb=round(max(outcome.cost.peak_rss_mb for outcome in outcomes), 1),
        ms_per_page={
            variant: (
                round(sum(c.analysis_ms for c in each) / len(each), 3),
                round(sum(c.engine_ms for c in each) / len(each), 3),
            )
            for variant, each in costs.items()
        },
    )
