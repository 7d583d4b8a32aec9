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

import gzip
import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from focus import __version__
from focus.archive import Archive
from focus.comparison import Comparison, Group, Timing, TopicFacts, Variant, save
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig, PolitenessConfig
from focus.errors import ConfigError, ExportError
from focus.judge import (
    Judge,
    Remarks,
    Task,
    about,
    leave_out_hubs,
    read_aliases,
    read_labels,
    read_topics,
    select,
)
from focus.learned import applied
from focus.linkgraph import LinkGraph, PageIndex, Progress, code_digest, link_graph
from focus.measure import area_under_recall
from focus.oracle import oracle_curve, reachable_targets
from focus.score.relevance import model_class
from focus.score.strategy import strategy_class
from focus.standings import POINTS, Cost, Ground, Outcome, beats_oracle, compete, standings, thinned
from focus.topic import to_builtins
from focus.trial import Batch, Trial, judge_topics, run_batches, trial_key

RUNS = "runs.jsonl"
EXTRA_REQUESTS = 20
"""Added to a budget of N times the targets: robots.txt files and seeds, for small topics."""


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison as ordered.

    archive      recorded web (.warc, .warc.gz, .warc.zst)
    topics       topics.json; labels, hubs and aliases may be None for what is not there
    judge        relevance model that judges where there are no labels
    names        only these topics, all for none
    budget       requests per crawl: "800", or "3x" = 3 times the targets + 20
    baseline     strategy that the others are tested against, None: the first variant's
    cache_dir    for the unpacked archive and its link graph, None: the user's
    """

    archive: Path
    topics: Path
    variants: tuple[Variant, ...]
    out: Path
    labels: Path | None = None
    hubs: Path | None = None
    aliases: Path | None = None
    judge: str | None = None
    names: tuple[str, ...] = ()
    budget: str = "3x"
    seed_orders: int = 6
    concurrency: int = 1
    delay_s: float = 1.0
    baseline: str | None = None
    jobs: int = 1
    cache_dir: Path | None = None


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
    inputs = _Inputs(spec)
    tasks = select(read_topics(inputs.text("topics", spec.topics), spec.topics.name), spec.names)
    remarks = Remarks()
    if web.damage:
        remarks.add("the archive is damaged", web.damage)
    judge = _judge(spec, tasks, web, inputs, remarks)
    prepared = _prepared(spec, tasks, web, judge, remarks)
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


# -- what goes in -------------------------------------------------------------------


class Web(NamedTuple):
    """A recorded web, as far as judging needs it."""

    index: PageIndex
    graph: LinkGraph
    digest: str
    damage: str | None


class _Inputs:
    """Reads the input files and remembers what they were."""

    def __init__(self, spec: Spec) -> None:
        code = {"name": f"focus {__version__}", "sha256": code_digest()}
        self.digests: dict[str, dict[str, str]] = {"code": code}

    def text(self, what: str, path: Path | None) -> str:
        """A file of UTF-8, gzipped or not; "" for none. ConfigError if it cannot be read."""
        if path is None:
            return ""
        try:
            data = path.read_bytes()
            self.digests[what] = {"name": path.name, "sha256": hashlib.sha256(data).hexdigest()}
            plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
            return plain.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: is not UTF-8 (byte {error.start})") from None
        except (OSError, EOFError) as error:
            raise ConfigError(f"{path}: cannot be read: {error}") from None


def _judge(
    spec: Spec, tasks: list[Task], web: Web, inputs: _Inputs, remarks: Remarks
) -> Judge:
    """Labels, or a relevance model in their place."""
    aliases = read_aliases(inputs.text("aliases", spec.aliases), remarks)
    names = [task.name for task in read_topics(inputs.text("topics", spec.topics), "topics")]
    if spec.judge is not None:
        found = _self_judged(spec, tasks, web)
        judge = Judge("", {}, aliases)
        paged = [{judge.page_of(url): v for url, v in each.items()} for each in found]
        labels = dict(zip((task.name for task in tasks), paged, strict=True))
        return Judge(f"self-judged: {spec.judge}", labels, aliases)
    if spec.labels is None:
        raise ConfigError("there are no labels; give --labels FILE, or --judge MODEL in their place")
    labels = read_labels(inputs.text("labels", spec.labels), names, aliases, remarks)
    leave_out_hubs(labels, inputs.text("hubs", spec.hubs), aliases, remarks)
    return Judge("labels", labels, aliases)


def _self_judged(spec: Spec, tasks: list[Task], web: Web) -> list[dict[str, bool]]:
    """What the judging model says, per topic, of each page that can be reached."""
    asked = []
    everything = range(len(web.index.urls))
    for task in tasks:
        graph = dict(enumerate(web.graph.links))
        seeds = _seed_pages(task, web.index)
        within = sorted(reachable_targets(graph, seeds, everything) | set(seeds))
        asked.append((_analysis(task, str(spec.judge), {}), within))
    return list(judge_topics(spec.archive, asked, jobs=spec.jobs, cache_dir=spec.cache_dir))


def _seed_pages(task: Task, index: PageIndex) -> list[int]:
    """The archived pages that a topic's seeds are answered with."""
    found = (index.of(seed if "://" in seed else f"http://{seed}") for seed in task.seeds)
    return [number for number in found if number is not None]


class Prepared(NamedTuple):
    """A topic that can be crawled for, and what is true of it."""

    task: Task
    ground: Ground
    facts: TopicFacts


def _prepared(
    spec: Spec, tasks: list[Task], web: Web, judge: Judge, remarks: Remarks
) -> list[Prepared]:
    """The topics that have targets, with their budgets; ConfigError if none has."""
    pages = [judge.page_of(url) for url in web.index.urls]
    first: dict[str, int] = {}
    for number, page in enumerate(pages):
        if number not in web.graph.redirects:
            first.setdefault(page, number)
    page_of = [
        number if number in web.graph.redirects else first[page]
        for number, page in enumerate(pages)
    ]
    graph: dict[int, set[int]] = {}
    for number, links in enumerate(web.graph.links):
        graph.setdefault(page_of[number], set()).update(page_of[link] for link in links)
    ordered = {number: sorted(links) for number, links in graph.items()}
    for page in sorted(judge.pages() - first.keys()):
        remarks.add("labelled pages that are not in the archive", page)
    found = []
    for task in tasks:
        for seed in task.seeds:
            if web.index.of(seed) is None:
                remarks.add("seeds that are not in the archive", seed)
        labels = {first[page]: v for page, v in judge.of(task.name).items() if page in first}
        one = _topic(spec, task, web, (page_of, ordered, labels))
        if one is None:
            remarks.add("topics left out: no relevant page can be reached", task.name)
        else:
            found.append(one)
    if not found:
        raise ConfigError("no relevant page can be reached from the seeds of any topic")
    return found


def _topic(
    spec: Spec,
    task: Task,
    web: Web,
    truth: tuple[list[int], Mapping[int, list[int]], dict[int, bool]],
) -> Prepared | None:
    page_of, graph, labels = truth
    seeds = [page_of[number] for number in _seed_pages(task, web.index)]
    relevant = [page for page, label in labels.items() if label]
    targets = reachable_targets(graph, seeds, relevant)
    if not targets:
        return None
    budget = budget_of(spec.budget, len(targets))
    oracle = oracle_curve(graph, seeds, targets, budget)
    ground = Ground(
        topic=task.name,
        page_of=page_of,
        labels=labels,
        targets=targets,
        budget=budget,
        oracle=oracle,
        host_of=lambda number: web.index.urls[number].split("/")[2],
    )
    facts = TopicFacts(
        **about(task),
        relevant=len(relevant),
        targets=len(targets),
        reachable_pages=len(reachable_targets(graph, seeds, graph.keys())),
        budget=budget,
        oracle=thinned(oracle),
        oracle_auc=round(area_under_recall(oracle), 6),
    )
    return Prepared(task, ground, facts)


def budget_of(text: str, targets: int) -> int:
    """Requests for a topic: "800" for any, "3x" for 3 times its targets + 20.

    ConfigError for anything else. Worked: "3x" with 260 targets -> 800.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([xX×])|(\d+)", text.strip())
    budget = 0
    if match and match[3]:
        budget = int(match[3])
    elif match and float(match[1]) > 0:
        budget = round(float(match[1]) * targets) + EXTRA_REQUESTS
    if budget < 1:
        raise ConfigError(f"--budget {text}: is not like 800 (requests) or 3x (times the targets)")
    return budget


# -- the trials ---------------------------------------------------------------------


def _analysis(
    task: Task, relevance: str, params: Mapping[str, float], variant: Variant | None = None
) -> AnalysisConfig:
    """What the relevance model of a variant, or of the judge, is told."""
    topic, learned = applied(task.topic, relevance, params)
    kind = model_class(relevance)
    differs = bool(kind.published) or kind.published_threshold is not None
    wanted = strategy_class(variant.strategy) if variant else None
    return AnalysisConfig(
        topic=to_builtins(topic),
        relevance=relevance,
        params=dict(params),
        learned=learned,
        as_published=differs and variant is not None and variant.form == "published",
        shapes=True,
        contexts=wanted is not None and wanted.contexts,
        cosines=wanted is not None and wanted.cosines,
        keep="none",
        mask_meta=variant is not None and variant.mask in ("meta", "both"),
        mask_urls=variant is not None and variant.mask in ("urls", "both"),
    )


def seed_order(task: Task, order: int) -> tuple[str, ...]:
    """The seeds of a topic, shuffled: the same everywhere for the same number."""
    seeds = list(task.seeds)
    Random(f"{task.name}/{order}").shuffle(seeds)
    return tuple(seeds)


def _plan(spec: Spec, prepared: Iterable[Prepared], archive: str) -> Iterator[Trial]:
    code = code_digest()
    for each in prepared:
        for variant in spec.variants:
            analysis = _analysis(each.task, variant.relevance, variant.model_params, variant)
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


def _run(
    spec: Spec, trials: list[Trial], progress: Progress
) -> tuple[list[Outcome], int]:
    """All outcomes in the order of the trials, and how many were there before."""
    outcomes = _earlier(spec.out / RUNS, {trial.key for trial in trials})
    continued = len(outcomes)
    missing = [trial for trial in trials if trial.key not in outcomes]
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
        msgspec.structs.replace(
            outcomes[t.key], variant=t.variant, topic=t.topic, order=t.order
        )
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
