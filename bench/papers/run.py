"""Runs the papers' experiments again; docs/results.md shows what it prints.

    python -m bench.papers.run [NAMES …] [--web FOLDER] [--only generated|recorded]
        [--scale 0.1] [--webs 5] [--jobs 1] [--cache FOLDER] [--results bench/results]

Each experiment (`*.toml` beside this file) runs on generated webs with the generator's own
labels and, with --web, on a recorded one (web.warc.zst, topics.json, labels.tsv.gz …). Every
crawl is the real engine over an archive. The result goes into RESULTS as JSON, with command,
commit and date; the tables of all results there are printed. An interrupted run continues where
it stopped. `--scale` multiplies the size of the generated webs and of the crawls on them: 1 is the
papers' size, 0.3 a medium one, 0.1 a small one. NAMES are experiments, by default all; webs and
crawls are kept in `--cache`.
"""

import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import platformdirs

from bench.papers.experiment import FORMS, Experiment, Way, experiments
from bench.papers.outcome import ExperimentResult, TopicResult, WayResult, merge_webs, report
from bench.papers.portal import recorded_web
from bench.script import read_options
from focus.archive.replay import Archive
from focus.evaluate.compare import (
    RUNS_FILE,
    load_judge_and_topics,
    open_web,
    plan_trials,
    run_trials,
)
from focus.evaluate.comparison import Variant
from focus.evaluate.ground_truth import ComparisonSpec, InputFiles, JudgedWeb, PreparedTopic
from focus.evaluate.judgments import Remarks, TopicTask, read_topics
from focus.evaluate.ranking import TopicTruth, TrialResult
from focus.evaluate.trial import Trial
from focus.evaluate.variants import list_variants
from focus.learn.topic_building import SourcedPage, add_features, make_sourced_page
from focus.metrics import measures
from focus.metrics.significance import mean
from focus.records import ignore_progress
from focus.text.charset import decode
from focus.topic.topic import Topic

HERE = Path(__file__).parent


class World(NamedTuple):
    """Files of a web in the formats of `focus research compare`."""

    name: str
    folder: Path
    archive: str
    labels: str


def main() -> None:
    """Run the experiments and print the tables of all results."""
    options = read_options(__doc__)
    options.cache = options.cache or Path(platformdirs.user_cache_dir("focus")) / "papers"
    options.results.mkdir(exist_ok=True)
    for name, experiment in experiments(HERE, options.names).items():
        small = experiment.scaled(options.scale)
        if options.only != "recorded":
            webs = [_generated(small, seed, options.cache) for seed in range(1, options.webs + 1)]
            size = f"--scale {options.scale:g} --webs {options.webs}"
            _store(name, [_run(small, web, options) for web in webs], size, options)
        if options.web and options.only != "generated" and "recorded" not in experiment.other:
            world = World("recorded", options.web, "web.warc.zst", "labels.tsv.gz")
            size = f"--only recorded --web {options.web.name}"
            _store(name, [_run(experiment, world, options)], size, options)
    print(report(experiments(HERE, []), read_results(options.results)))


def _generated(experiment: Experiment, seed: int, cache: Path) -> World:
    folder = recorded_web(experiment.generated.portal(seed), cache)
    return World("generated", folder, "web.warc.gz", "labels.tsv")


def _store(name: str, results: Sequence[ExperimentResult], size: str, options: Any) -> None:
    is_generated = results[0].web == "generated"
    git = ["git", "describe", "--always", "--exclude=*", "--dirty"]
    result = msgspec.structs.replace(
        merge_webs(results),
        web=f"generated-{options.scale:g}" if is_generated else "recorded",
        command=f"python -m bench.papers.run {name} {size}",
        commit=subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip(),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
    )
    path = options.results / f"{name}.{result.web}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")


def read_results(folder: Path) -> dict[str, list[ExperimentResult]]:
    """Return the stored results by experiment."""
    results: dict[str, list[ExperimentResult]] = {}
    for path in sorted(folder.glob("p*.json")):
        result = msgspec.json.decode(path.read_bytes(), type=ExperimentResult)
        results.setdefault(path.name.partition(".")[0], []).append(result)
    return results


def _run(experiment: Experiment, world: World, options: Any) -> ExperimentResult:
    options.cache.mkdir(parents=True, exist_ok=True)
    spec = ComparisonSpec(
        archive=world.folder / world.archive,
        topics=world.folder / "topics.json",
        labels=world.folder / world.labels,
        hubs=world.folder / "hubs.tsv",
        aliases=world.folder / "aliases.tsv",
        variants=(),
        out=options.cache,
        budget=experiment.budget if experiment.pages is None else str(3 * experiment.pages),
        jobs=options.jobs,
        cache_dir=options.cache,
    )
    web, inputs, remarks = open_web(spec, ignore_progress), InputFiles(spec), Remarks()
    tasks = _tasks(experiment, world, spec, inputs)
    _, prepared = load_judge_and_topics(spec, tasks, web, inputs, remarks)
    variants = experiment.list_ways()
    described = _described(experiment, world, tasks, options.cache)
    trials = [
        trial
        for entry in prepared
        for way in variants
        for trial in _trials(
            experiment,
            spec,
            entry._replace(task=TopicTask(described[way.form, entry.task.name], entry.task.seeds)),
            way,
            web,
        )
    ]
    done = time.perf_counter()
    outcomes, _ = run_trials(spec, trials, options.cache / RUNS_FILE, ignore_progress)
    print(f"  {len(trials)} crawls: {time.perf_counter() - done:.0f} s", flush=True)
    return ExperimentResult(
        web=world.name,
        pages=_pages(web, prepared[0].truth),
        webs=1,
        ways=[_way(experiment, way, prepared, outcomes) for way in variants],
    )


def _pages(web: JudgedWeb, ground: TopicTruth) -> int:
    """Return the number of distinct pages with links, without redirects."""
    linking = (number for number, links in enumerate(web.graph.links) if links)
    return len({ground.canonical_page[n] for n in linking if n not in web.graph.redirects})


def _tasks(
    experiment: Experiment, world: World, spec: ComparisonSpec, inputs: InputFiles
) -> list[TopicTask]:
    """Return all topics with the seeds of the experiment."""
    tasks = read_topics(inputs.read_text("topics", spec.topics), "topics")
    return [TopicTask(task.topic, _seeds(experiment, world, task, inputs, spec)) for task in tasks]


def _described(
    experiment: Experiment, world: World, tasks: Sequence[TopicTask], cache: Path
) -> dict[tuple[str, str], Topic]:
    """Return the description of each topic by form and name, made from its seed pages.

    The seeds of the other topics are the background for word frequencies and the other classes
    of P5's w_kc. Labels are only used to draw the seeds.
    """
    if experiment.topic == "keywords":
        return {(form, task.name): task.topic for form in FORMS for task in tasks}
    pages: dict[str, list[SourcedPage]] = {}
    with Archive.open(world.folder / world.archive, cache_dir=cache) as archive:
        for task in tasks:
            answers = [(url, archive.lookup(url)) for url in task.seeds]
            pages[task.name] = [
                make_sourced_page(url, decode(answer.body, answer.header("content-type"))[0])
                for url, answer in answers
            ]
    descriptions = {}
    for task in tasks:
        off = [page for name, others in pages.items() if name != task.name for page in others]
        for form in FORMS:
            paper = experiment.topic if form == "published" else ""
            descriptions[form, task.name] = add_features(
                task.topic, pages[task.name], off, paper=paper
            )
    return descriptions


def _seeds(
    experiment: Experiment, world: World, task: TopicTask, inputs: InputFiles, spec: ComparisonSpec
) -> tuple[str, ...]:
    web_settings = experiment.generated if world.name == "generated" else experiment.recorded
    seeds = web_settings.seeds
    if isinstance(seeds, int):
        rows = (line.split("\t") for line in inputs.read_text("labels", spec.labels).splitlines())
        on = sorted(row[0] for row in rows if row[1:3] == [task.name, "1"])
        return tuple(Random(f"seeds/{task.name}").sample(on, min(seeds, max(1, len(on) // 5))))
    if seeds == "own":
        return task.seeds
    text = inputs.read_text("hubs", spec.hubs)
    lists = {line.partition("\t")[0] for line in text.splitlines() if f"\t{task.name}\t" in line}
    fronts = task.seeds[: experiment.generated.portals]
    return fronts if seeds == "fronts" else tuple(_channel(front, lists) for front in fronts)


def _channel(front: str, lists: set[str]) -> str:
    """Return a portal's sports channel, or the shortest URL among its lists of the topic."""
    ours = sorted((url for url in lists if url.startswith(front)), key=lambda url: (len(url), url))
    sports = f"{front}sports/"
    return sports if sports in lists or not ours else ours[0]


def _trials(
    experiment: Experiment, spec: ComparisonSpec, entry: PreparedTopic, way: Way, web: JudgedWeb
) -> list[Trial]:
    orders = range(experiment.seed_orders)
    variant = _variant(way)
    return list(
        plan_trials(spec, entry, variant, orders=orders, web=web, max_pages=experiment.pages)
    )


def _variant(way: Way) -> Variant:
    params = [(f"{way.strategy}.{name}", value) for name, value in way.params.items()]
    (variant,) = list_variants(
        [way.strategy], forms=[way.rule or way.form], relevance=[way.model], params=params
    )
    return msgspec.structs.replace(variant, id=way.name)


# -- results ----------------------------------------------------------------


def _way(
    experiment: Experiment,
    way: Way,
    prepared: Sequence[PreparedTopic],
    outcomes: Sequence[TrialResult],
) -> WayResult:
    variant = _variant(way)
    topics = []
    for entry in prepared:
        ours = [o for o in outcomes if o.variant == way.name and o.topic == entry.task.name]
        topics.append(_topic_result(experiment, entry, ours))
    return WayResult(way.name, way.strategy, way.form, way.model, variant.params, topics)


def _topic_result(
    experiment: Experiment, entry: PreparedTopic, outcomes: Sequence[TrialResult]
) -> TopicResult:
    """Return the means over orders of the seeds."""
    crawls = [_crawl_measures(experiment, entry.truth, outcome) for outcome in outcomes]
    numbers = {name: round(mean([crawl[name] for crawl in crawls]), 6) for name in crawls[0]}
    is_complete = all(outcome.stop != "frontier empty" for outcome in outcomes)
    return TopicResult(entry.task.name, numbers, is_complete)


def _crawl_measures(
    experiment: Experiment, ground: TopicTruth, outcome: TrialResult
) -> dict[str, float]:
    """Return the measures of a crawl by labels and, as `own_…`, by the model that steered it."""
    fetched: dict[int, bool] = {}
    for number, said in zip(outcome.pages, outcome.verdicts, strict=True):
        if number >= 0:
            fetched.setdefault(ground.canonical_page[number], bool(said))
    if experiment.pages:  # pages marked noindex do not count for the engine
        fetched = dict(islice(fetched.items(), experiment.pages))
    marks = [ground.labels.get(page) is True for page in fetched]
    own = list(fetched.values())
    size = experiment.round or max(1, -(-len(marks) // 10))
    order = list(fetched)
    end = experiment.pages or ground.budget
    spent = [ground.canonical_page[n] if n >= 0 else -1 for n in outcome.pages]
    curve = measures.recall_curve(order if experiment.pages else spent, ground.targets, end)
    return {
        "pages": len(marks),
        "relevant": sum(marks),
        "own_relevant": sum(own),
        "precision": measures.harvest_rate(marks),
        "own_precision": measures.harvest_rate(own),
        "average_precision": measures.mean_cumulative_precision(
            measures.cumulative_precision(marks, size)
        ),
        "own_average_precision": measures.mean_cumulative_precision(
            measures.cumulative_precision(own, size)
        ),
        "recall": curve[-1] if curve else 0.0,
    }


if __name__ == "__main__":
    main()
