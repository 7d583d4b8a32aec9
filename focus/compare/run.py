"""Which strategy finds the pages about my topic soonest? Many crawls of one recorded web.

    prepare   archive, its link graph, topics, labels: targets, budget and oracle per topic
    plan      every variant × topic × seed order as a trial of the real engine
    run       the trials over several processes; each is kept as it ends (runs.jsonl)
    judge     labels meet what was fetched, here and not before: standings, tests, files

An interrupted comparison goes on where it was: a trial whose archive, code and
configuration are the same is not run again. Labels do not enter a trial, except that
their number sets its budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

import msgspec

from focus.archive import Archive
from focus.compare.comparison import Comparison, Group, Timing, save
from focus.compare.grounds import Inputs, Prepared, Spec, Web, analysis_of, judge_of, prepare
from focus.compare.linkgraph import PageIndex, Progress, code_digest, link_graph
from focus.compare.standings import POINTS, Cost, Outcome, beats_oracle, compete, standings
from focus.compare.trial import Batch, Trial, run_batches, trial_key
from focus.config import CrawlConfig, LimitConfig, PolitenessConfig
from focus.errors import ExportError
from focus.judge import (
    Remarks,
    Task,
    read_topics,
    select,
)

RUNS = "runs.jsonl"


def _silent(what: str, done: int, of: int) -> None:
    """No progress is told."""


def compare(spec: Spec, progress: Progress = _silent) -> Comparison:
    """Run a comparison, or what is missing of it, and write results.json and results.csv.

    Raises FocusError for input that cannot be used and for topics without targets.
    """
    began = time.perf_counter()
    with Archive.open(spec.archive, cache_dir=spec.cache_dir) as archive:
        graph = link_graph(
            spec.archive, archive, jobs=spec.jobs, progress=progress, cache_dir=spec.cache_dir
        )
        web = Web(PageIndex(archive), graph, archive.digest, archive.damage)
    inputs = Inputs(spec)
    tasks = select(read_topics(inputs.text("topics", spec.topics), spec.topics.name), spec.names)
    remarks = Remarks()
    if web.damage:
        remarks.add("the archive is damaged", web.damage)
    judge = judge_of(spec, tasks, web, inputs, remarks)
    prepared = prepare(spec, tasks, web, judge, remarks)
    trials = list(_plan(spec, prepared, web.digest))
    outcomes, continued = _run(spec, trials, progress)
    groups = list(_groups(spec, outcomes, prepared, remarks))
    comparison = Comparison(
        judge=judge.kind,
        inputs={"archive": {"name": spec.archive.name, "sha256": web.digest}, **inputs.digests},
        settings=_settings(spec),
        remarks=remarks.list(),
        topics=[each.facts for each in prepared],
        variants=list(spec.variants),
        groups=groups,
        timing=_timing(spec, outcomes, continued, time.perf_counter() - began),
    )
    save(comparison, spec.out)
    return comparison


# -- the trials ---------------------------------------------------------------------


def seed_order(task: Task, order: int) -> tuple[str, ...]:
    """The seeds of a topic, shuffled: the same everywhere for the same number."""
    seeds = list(task.seeds)
    Random(f"{task.name}/{order}").shuffle(seeds)
    return tuple(seeds)


def _plan(spec: Spec, prepared: Iterable[Prepared], archive: str) -> Iterator[Trial]:
    code = code_digest()
    for each in prepared:
        for variant in spec.variants:
            analysis = analysis_of(each.task, variant.relevance, variant.model_params, variant)
            for order in range(spec.seed_orders):
                drawn = {"seed": float(order)} if "seed" in variant.params else {}
                config = CrawlConfig(
                    seeds=seed_order(each.task, order),
                    strategy=variant.strategy,
                    params={**variant.params, **drawn},
                    as_published=variant.form == "published",
                    concurrency=spec.concurrency,
                    politeness=PolitenessConfig(delay_s=spec.delay_s),
                    limits=LimitConfig(max_requests=each.ground.budget),
                    analysis=analysis,
                )
                key = trial_key(archive, code, config)
                yield Trial(key, variant.id, each.task.name, order, config)


def batches(trials: Iterable[Trial], jobs: int) -> list[Batch]:
    """Trials that score pages alike put together; the largest first, split if they are few."""
    alike: dict[bytes, list[Trial]] = {}
    for trial in trials:
        bare = msgspec.structs.replace(trial.config.analysis, contexts=False, cosines=False)
        alike.setdefault(msgspec.json.encode(bare), []).append(trial)
    pieces = -(-jobs // max(1, len(alike)))
    parts = [part[at::pieces] for part in alike.values() for at in range(pieces)]
    parts.sort(key=len, reverse=True)
    return [_batch(part) for part in parts if part]


def _batch(trials: list[Trial]) -> Batch:
    analyses = [trial.config.analysis for trial in trials]
    union = msgspec.structs.replace(
        analyses[0],
        contexts=any(each.contexts for each in analyses),
        cosines=any(each.cosines for each in analyses),
    )
    return Batch(union, tuple(trials))


def _run(spec: Spec, trials: list[Trial], progress: Progress) -> tuple[list[Outcome], int]:
    """All outcomes in the order of the trials, and how many were there before."""
    outcomes = _earlier(spec.out / RUNS, {trial.key for trial in trials})
    continued = len(outcomes)
    missing = list({t.key: t for t in trials if t.key not in outcomes}.values())
    try:
        spec.out.mkdir(parents=True, exist_ok=True)
        file = (spec.out / RUNS).open("ab", buffering=0)
    except OSError as error:
        raise ExportError(f"{spec.out}: cannot be written: {error.strerror}") from None
    with file:
        if file.tell():
            file.write(b"\n")  # what a kill tore must not swallow the next line

        def done(outcome: Outcome) -> None:
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


def _earlier(path: Path, wanted: set[str]) -> dict[str, Outcome]:
    """Outcomes that an earlier run left, by key; torn lines count for nothing."""
    if not path.exists():
        return {}
    found = {}
    decode: Callable[[bytes], Outcome] = msgspec.json.Decoder(Outcome).decode
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
    spec: Spec, outcomes: list[Outcome], prepared: list[Prepared], remarks: Remarks
) -> Iterator[Group]:
    grounds = [each.ground for each in prepared]
    by_topic = {ground.topic: ground for ground in grounds}
    for outcome in outcomes:
        if beats_oracle(outcome, by_topic[outcome.topic]):
            remarks.add("crawls above the oracle: the link graph lacks a link", outcome.variant)
    sets: dict[tuple[str, str], list[str]] = {}
    for variant in spec.variants:
        sets.setdefault((variant.relevance, variant.mask), []).append(variant.id)
    for (relevance, mask), ids in sets.items():
        members = set(ids)
        group = standings((each for each in outcomes if each.variant in members), grounds)
        group.sort(key=lambda each: ids.index(each.variant))
        baseline = next((s for s in group if _is(s.variant, spec.baseline)), None)
        easy = compete(group, baseline)
        yield Group(relevance, mask, baseline.variant if baseline else None, easy, group)


def _is(variant: str, baseline: str | None) -> bool:
    """Whether a variant is the baseline: a strategy's name, its tuned form unless said."""
    if baseline is None:
        return False
    strategy, _, form = baseline.partition("/")
    return variant.split("/")[:2] == [strategy, form or "tuned"]


def _settings(spec: Spec) -> dict[str, object]:
    return {
        "budget": spec.budget,
        "seed_orders": spec.seed_orders,
        "concurrency": spec.concurrency,
        "delay_s": spec.delay_s,
        "baseline": spec.baseline,
        "curve_points": POINTS,
    }


def _timing(spec: Spec, outcomes: list[Outcome], continued: int, seconds: float) -> Timing:
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
