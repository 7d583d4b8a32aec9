"""Compares strategies by crawling one recorded web many times (`focus research compare`).

    prepare   open the archive, its link graph, topics and labels; find targets, budget, oracle
    plan      make a trial of the real engine for every variant × topic × seed order
    run       run the trials in several processes; store each result as it ends (runs.jsonl)
    judge     compare fetched pages with the labels: scores, tests, files

An interrupted comparison continues: a trial with the same archive, code and configuration is not
run again. Labels do not enter a trial, except that the number of targets determines its budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

import msgspec

from focus.archive.replay import Archive
from focus.config import CrawlConfig, LimitConfig, PolitenessConfig
from focus.errors import ExportError
from focus.evaluate.comparison import Comparison, Timing, Variant, VariantGroup, save_comparison
from focus.evaluate.ground_truth import (
    ComparisonSpec,
    InputFiles,
    JudgedWeb,
    PreparedTopic,
    analysis_config,
    load_judge,
    prepare_topics,
)
from focus.evaluate.judgments import Judge, Remarks, TopicTask, read_topics, select_topics
from focus.evaluate.link_graph import PageIndex, code_digest, load_link_graph
from focus.evaluate.ranking import (
    CURVE_POINTS,
    Cost,
    TrialResult,
    add_tests,
    beats_oracle,
    score_variants,
)
from focus.evaluate.trial import Trial, TrialBatch, run_batches, trial_key
from focus.i18n import mark
from focus.learn.library import choose_terms
from focus.records import ReportProgress, ignore_progress
from focus.score.strategy.base import OPTIONAL_LINK_SCORES

RUNS_FILE = "runs.jsonl"
_REPORTED_SETTINGS = "terms budget seed_orders concurrency eager delay_s baseline".split()


def run_comparison(spec: ComparisonSpec, progress: ReportProgress = ignore_progress) -> Comparison:
    """Run a comparison and write results.json and results.csv.

    Trials that an earlier run has stored are not repeated.

    Raises FocusError for input that cannot be used and for topics without targets.
    """
    started_at = time.perf_counter()
    web = open_web(spec, progress)
    inputs = InputFiles(spec)
    text = inputs.read_text("topics", spec.topics)
    tasks = select_topics(read_topics(text, spec.topics.name, spec.topics.parent), spec.topic_names)
    tasks = [
        msgspec.structs.replace(task, topic=choose_terms(task.topic, spec.terms)) for task in tasks
    ]
    remarks = Remarks()
    judge, prepared = load_judge_and_topics(spec, tasks, web, inputs, remarks)
    trials = [
        trial
        for topic in prepared
        for variant in spec.variants
        for trial in plan_trials(spec, topic, variant, orders=range(spec.seed_orders), web=web)
    ]
    outcomes, continued = run_trials(spec, trials, spec.out / RUNS_FILE, progress)
    groups = list(_compare_groups(spec, outcomes, prepared, remarks))
    comparison = Comparison(
        judge=judge.kind,
        inputs={"archive": {"name": spec.archive.name, "sha256": web.digest}, **inputs.digests},
        settings={
            **{name: getattr(spec, name) for name in _REPORTED_SETTINGS},
            "curve_points": CURVE_POINTS,
        },
        remarks=remarks.as_list(),
        topics=[topic.facts for topic in prepared],
        variants=list(spec.variants),
        groups=groups,
        timing=_summarize_timing(spec, outcomes, continued, time.perf_counter() - started_at),
    )
    save_comparison(comparison, spec.out)
    return comparison


def open_web(spec: ComparisonSpec, progress: ReportProgress) -> JudgedWeb:
    """Open the archive of a comparison and load its link graph."""
    with Archive.open(spec.archive, cache_dir=spec.cache_dir) as archive:
        graph = load_link_graph(
            spec.archive, archive, jobs=spec.jobs, progress=progress, cache_dir=spec.cache_dir
        )
        return JudgedWeb(PageIndex(archive), graph, archive.digest, archive.damage)


def load_judge_and_topics(
    spec: ComparisonSpec,
    tasks: list[TopicTask],
    web: JudgedWeb,
    inputs: InputFiles,
    remarks: Remarks,
) -> tuple[Judge, list[PreparedTopic]]:
    """Return the judge and the topics that have targets; unusable input is added to `remarks`."""
    if web.damage:
        remarks.add(mark("the archive is damaged"), web.damage)
    judge = load_judge(spec, tasks, web, inputs, remarks)
    return judge, prepare_topics(spec, tasks, web, judge, remarks)


# -- the trials ---------------------------------------------------------------------


def shuffle_seeds(task: TopicTask, order: int) -> tuple[str, ...]:
    """Return the seeds of a topic in an order that depends only on topic and number."""
    seeds = list(task.seeds)
    Random(f"{task.name}/{order}").shuffle(seeds)
    return tuple(seeds)


def plan_trials(
    spec: ComparisonSpec,
    topic: PreparedTopic,
    variant: Variant,
    *,
    orders: Iterable[int],
    web: JudgedWeb,
    max_pages: int | None = None,
) -> Iterator[Trial]:
    """Yield the crawls of one variant for one topic, one for each seed order.

    `max_pages` limits the pages of a crawl in place of the requests of its budget.
    """
    recorded_hosts = web.graph.recorded_hosts if variant.unrecorded == "skip" else None
    max_requests = topic.truth.budget if max_pages is None else None
    limits = LimitConfig(max_requests=max_requests, max_pages=max_pages)
    analysis = analysis_config(topic.task, variant.relevance, variant.model_params, variant)
    for order in orders:
        seed_param = {"seed": float(order)} if "seed" in variant.params else {}
        config = CrawlConfig(
            seeds=shuffle_seeds(topic.task, order),
            strategy=variant.strategy,
            params={**variant.params, **seed_param},
            as_published=variant.form == "published",
            concurrency=spec.concurrency,
            eager=spec.eager,
            politeness=PolitenessConfig(delay_s=spec.delay_s),
            limits=limits,
            analysis=analysis,
        )
        key = trial_key(web.digest, code_digest(), config, recorded_hosts)
        yield Trial(key, variant.id, topic.task.name, order, config, recorded_hosts)


def group_trials(trials: Iterable[Trial], jobs: int) -> list[TrialBatch]:
    """Group trials that score pages alike into batches, the largest first.

    Large groups are split if there are fewer groups than `jobs`.
    """
    trials_by_analysis: dict[tuple[bytes, bool], list[Trial]] = {}
    for trial in trials:
        common_analysis = msgspec.structs.replace(
            trial.config.analysis, **dict.fromkeys(OPTIONAL_LINK_SCORES, False)
        )
        trials_by_analysis.setdefault(
            (msgspec.json.encode(common_analysis), trial.recorded_hosts is None), []
        ).append(trial)
    parts_per_group = -(-jobs // max(1, len(trials_by_analysis)))
    parts = [
        part[at::parts_per_group]
        for part in trials_by_analysis.values()
        for at in range(parts_per_group)
    ]
    parts.sort(key=len, reverse=True)
    trial_batches = []
    for part in filter(None, parts):
        analyses = [trial.config.analysis for trial in part]
        link_scores = {
            name: any(getattr(analysis, name) for analysis in analyses)
            for name in OPTIONAL_LINK_SCORES
        }
        analysis = msgspec.structs.replace(analyses[0], **link_scores)
        trial_batches.append(TrialBatch(analysis, tuple(part), part[0].recorded_hosts))
    return trial_batches


def run_trials(
    spec: ComparisonSpec, trials: list[Trial], runs_file: Path, progress: ReportProgress
) -> tuple[list[TrialResult], int]:
    """Return all results in the order of the trials, and how many of them were stored before.

    Each result is added to `runs_file` as a line when its trial ends.
    """
    outcomes = _read_stored_results(runs_file, {trial.key for trial in trials})
    continued = len(outcomes)
    missing = list({t.key: t for t in trials if t.key not in outcomes}.values())
    try:
        runs_file.parent.mkdir(parents=True, exist_ok=True)
        file = runs_file.open("ab", buffering=0)
    except OSError as error:
        raise ExportError(
            "{path}: cannot be written: {error}", path=runs_file.parent, error=error
        ) from None
    with file:
        if file.tell():
            file.write(b"\n")  # end a line that a killed process left incomplete

        def store_result(outcome: TrialResult) -> None:
            outcomes[outcome.key] = outcome
            file.write(msgspec.json.encode(outcome) + b"\n")
            progress(len(outcomes), len(trials))

        progress(len(outcomes), len(trials))
        if missing:
            parts = group_trials(missing, spec.jobs)
            jobs = min(spec.jobs, len(parts))
            run_batches(
                spec.archive, parts, jobs=jobs, on_result=store_result, cache_dir=spec.cache_dir
            )
    # Variants may share a crawl, so the names are those of the trial.
    return [
        msgspec.structs.replace(outcomes[t.key], variant=t.variant, topic=t.topic, order=t.order)
        for t in trials
    ], continued


def _read_stored_results(path: Path, trial_keys: set[str]) -> dict[str, TrialResult]:
    """Return results that an earlier run stored, by key; incomplete lines are skipped."""
    if not path.exists():
        return {}
    results = {}
    decode: Callable[[bytes], TrialResult] = msgspec.json.Decoder(TrialResult).decode
    with path.open("rb") as file:
        for line in file:
            try:
                outcome = decode(line)
            except msgspec.MsgspecError:
                continue
            if outcome.key in trial_keys:
                results[outcome.key] = outcome
    return results


# -- what comes out -----------------------------------------------------------------


def _compare_groups(
    spec: ComparisonSpec,
    outcomes: list[TrialResult],
    prepared: list[PreparedTopic],
    remarks: Remarks,
) -> Iterator[VariantGroup]:
    truths = [topic.truth for topic in prepared]
    by_topic = {truth.topic: truth for truth in truths}
    for outcome in outcomes:
        if beats_oracle(outcome, by_topic[outcome.topic]):
            remarks.add(
                mark("crawls above the oracle: the link graph lacks a link"), outcome.variant
            )
    ids_by_setting: dict[tuple[str, str, str], list[str]] = {}
    for variant in spec.variants:
        setting = (variant.relevance, variant.mask, variant.unrecorded)
        ids_by_setting.setdefault(setting, []).append(variant.id)
    strategy, _, form = (spec.baseline or "").partition("/")
    baseline_name = [strategy, form or "tuned"]
    for (relevance, mask, unrecorded), ids in ids_by_setting.items():
        group = score_variants((outcome for outcome in outcomes if outcome.variant in ids), truths)
        group.sort(key=lambda score: ids.index(score.variant))
        baseline = next((s for s in group if s.variant.split("/")[:2] == baseline_name), None)
        add_tests(group, baseline)
        name = baseline.variant if baseline else None
        yield VariantGroup(relevance, mask, name, group, unrecorded)


def _summarize_timing(
    spec: ComparisonSpec, outcomes: list[TrialResult], continued: int, seconds: float
) -> Timing:
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
                round(sum(c.analysis_ms for c in variant_costs) / len(variant_costs), 3),
                round(sum(c.engine_ms for c in variant_costs) / len(variant_costs), 3),
            )
            for variant, variant_costs in costs.items()
        },
    )
