"""Runs the papers' experiments again; docs/results.md has the figures.

    python -m bench.papers.run [NAMES …] [--web FOLDER] [--only generated|recorded]
        [--topics N] [--topic NAME]… [--pages N] [--seed 1] [--jobs 1] [--cache FOLDER]
        [--results bench/results]

Each experiment (`*.toml` beside this file) runs on a generated web with the generator's own
labels and, with --web, on a recorded one (web.warc.zst, topics.json, labels.tsv.gz …). Every
crawl is the real engine over an archive. The result goes into RESULTS as JSON and is printed
 as a table of crawlers and one of claims. An interrupted run continues where it stopped.
On two cores all experiments take about an hour. `--topics` takes the first N topics only,
`--topic` the named ones; `--pages` and `--seed` change the generated webs. NAMES are experiments,
by default all; webs and crawls are kept in `--cache`.
"""

import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import platformdirs

from bench.papers.experiment import FORMS, Experiment, Way, experiments
from bench.papers.outcome import (
    ExperimentResult,
    TopicFacts,
    TopicResult,
    WayResult,
    report,
)
from bench.papers.portal import recorded_web
from bench.script import read_options
from focus import __version__
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
from focus.text.charset import decode
from focus.topic.topic import Topic

HERE = Path(__file__).parent
_THIRDS = (1 / 3, 2 / 3, 1.0)


class World(NamedTuple):
    """Files of a web in the formats of `focus research compare`."""

    name: str
    folder: Path
    archive: str
    labels: str


def main() -> None:
    """Run the experiments and print their results."""
    options = read_options(__doc__)
    options.cache = options.cache or Path(platformdirs.user_cache_dir("focus")) / "papers"
    for name, experiment in experiments(HERE, options.names).items():
        worlds = []
        if options.only != "recorded":
            folder = recorded_web(
                experiment.generated.portal(options.pages, options.seed), options.cache
            )
            worlds.append(World("generated", folder, "web.warc.gz", "labels.tsv"))
        if options.web and options.only != "generated":
            worlds.append(World("recorded", options.web, "web.warc.zst", "labels.tsv.gz"))
        for world in worlds:
            began = time.perf_counter()
            result = _run(experiment, world, options)
            options.results.mkdir(exist_ok=True)
            path = options.results / f"{name}.{world.name}.json"
            path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
            print(
                f"{name} on the {world.name} web: {time.perf_counter() - began:.0f} s", flush=True
            )
            print(report(experiment, result), flush=True)


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
    web, inputs, remarks = open_web(spec, _silent), InputFiles(spec), Remarks()
    tasks = _tasks(experiment, world, spec, inputs)
    wanted = [task for task in tasks if not options.topic or task.name in options.topic]
    tasks = wanted[: options.topics]
    _, prepared = load_judge_and_topics(spec, tasks, web, inputs, remarks)
    ways, described = experiment.ways(), _described(experiment, world, tasks, options.cache)
    trials = [
        trial
        for each in prepared
        for way in ways
        for trial in _trials(
            experiment,
            spec,
            each._replace(task=TopicTask(described[way.form, each.task.name], each.task.seeds)),
            way,
            web,
        )
    ]
    done = time.perf_counter()
    outcomes, _ = run_trials(spec, trials, options.cache / RUNS_FILE, _silent)
    print(f"  {len(trials)} crawls: {time.perf_counter() - done:.0f} s", flush=True)
    return ExperimentResult(
        focus=__version__,
        web=world.name,
        pages=_pages(web, prepared[0].truth),
        archive=web.digest,
        topics=[
            TopicFacts(
                each.facts.name, each.facts.relevant, each.facts.targets, len(each.task.seeds)
            )
            for each in prepared
        ],
        ways=[_way(experiment, way, prepared, outcomes) for way in ways],
    )


def _pages(web: JudgedWeb, ground: TopicTruth) -> int:
    """Return the number of distinct pages with links, without redirects."""
    linking = (number for number, links in enumerate(web.graph.links) if links)
    return len({ground.canonical_page[n] for n in linking if n not in web.graph.redirects})


def _silent(what: str, done: int, of: int) -> None:
    """Report no progress."""


def _tasks(
    experiment: Experiment, world: World, spec: ComparisonSpec, inputs: InputFiles
) -> list[TopicTask]:
    """Return topics with seeds; on the generated web those of the experiment."""
    tasks = read_topics(inputs.read_text("topics", spec.topics), "topics")
    by_name = {task.name: task for task in tasks}
    if world.name == "generated":
        tasks = [by_name[name] for name in experiment.topics]
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
    of_world = experiment.generated if world.name == "generated" else experiment.recorded
    wanted = of_world.seeds
    if isinstance(wanted, int):
        rows = (line.split("\t") for line in inputs.read_text("labels", spec.labels).splitlines())
        on = sorted(row[0] for row in rows if row[1:3] == [task.name, "1"])
        return tuple(Random(f"seeds/{task.name}").sample(on, min(wanted, max(1, len(on) // 5))))
    if wanted == "own":
        return task.seeds
    text = inputs.read_text("hubs", spec.hubs)
    lists = {line.partition("\t")[0] for line in text.splitlines() if f"\t{task.name}\t" in line}
    fronts = task.seeds[: experiment.generated.portals]
    return fronts if wanted == "fronts" else tuple(_channel(front, lists) for front in fronts)


def _channel(front: str, lists: set[str]) -> str:
    """Return a portal's sports channel, or the shortest URL among its lists of the topic."""
    ours = sorted((url for url in lists if url.startswith(front)), key=lambda url: (len(url), url))
    sports = f"{front}sports/"
    return sports if sports in lists or not ours else ours[0]


def _trials(
    experiment: Experiment, spec: ComparisonSpec, each: PreparedTopic, way: Way, web: JudgedWeb
) -> list[Trial]:
    orders = range(experiment.seed_orders)
    variant = _variant(way)
    return list(
        plan_trials(spec, each, variant, orders=orders, web=web, max_pages=experiment.pages)
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
    for each in prepared:
        ours = [o for o in outcomes if o.variant == way.name and o.topic == each.task.name]
        topics.append(_of_topic(experiment, each, ours))
    return WayResult(way.name, way.strategy, way.form, way.model, variant.params, topics)


def _of_topic(
    experiment: Experiment, each: PreparedTopic, outcomes: Sequence[TrialResult]
) -> TopicResult:
    """Return the means over orders of the seeds."""
    crawls = [_of_crawl(experiment, each.truth, outcome) for outcome in outcomes]
    numbers = {name: round(mean([crawl[0][name] for crawl in crawls]), 6) for name in crawls[0][0]}
    rounds = [
        [round(mean(values), 3) for values in zip(*r, strict=False)]
        for r in zip(*(crawl[1] for crawl in crawls), strict=True)
    ]
    thirds = [
        round(mean(values), 6) for values in zip(*(crawl[2] for crawl in crawls), strict=True)
    ]
    return TopicResult(each.task.name, numbers, rounds[0], rounds[1], thirds, outcomes[0].stop)


def _of_crawl(
    experiment: Experiment, ground: TopicTruth, outcome: TrialResult
) -> tuple[dict[str, float], tuple[list[float], list[float]], list[float]]:
    """Return measures, relevant pages per round by label and by own judge, and recall at thirds."""
    fetched: dict[int, bool] = {}
    for number, said in zip(outcome.pages, outcome.verdicts, strict=True):
        if number >= 0:
            fetched.setdefault(ground.canonical_page[number], bool(said))
    if experiment.pages:  # pages marked noindex do not count for the engine
        fetched = dict(islice(fetched.items(), experiment.pages))
    marks = [ground.labels.get(page) is True for page in fetched]
    own = list(fetched.values())
    size = experiment.round or max(1, -(-len(marks) // 10))
    length = experiment.pages or len(marks)
    rounds = (
        [float(sum(m[at : at + size])) for at in range(0, length, size)] for m in (marks, own)
    )
    by_label, by_itself = rounds
    order = list(fetched)
    end = experiment.pages or ground.budget
    spent = [ground.canonical_page[n] if n >= 0 else -1 for n in outcome.pages]
    curve = measures.recall_curve(order if experiment.pages else spent, ground.targets, end)
    numbers = {
        "pages": len(marks),
        "requests": len(outcome.pages),
        "relevant": sum(marks),
        "own_relevant": sum(own),
        "precision": measures.harvest_rate(marks),
        "own_precision": measures.harvest_rate(own),
        "labelled_precision": measures.harvest_rate([ground.labels.get(page) for page in fetched]),
        "average_precision": measures.mean_cumulative_precision(
            measures.cumulative_precision(marks, size)
        ),
        "own_average_precision": measures.mean_cumulative_precision(
            measures.cumulative_precision(own, size)
        ),
        "recall": curve[-1] if curve else 0.0,
        "minutes": outcome.seconds / 60,
        "efficiency": measures.relevant_per_minute(sum(marks), outcome.seconds),
    }
    thirds = [measures.recall_at(curve, max(1, round(share * end))) for share in _THIRDS]
    return numbers, (by_label, by_itself), thirds


if __name__ == "__main__":
    main()
