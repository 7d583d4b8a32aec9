"""`focus tune`: ranges in, parameters for a topic file out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.options.option import Command, option, tell
from focus.commands.options.recorded_web import (
    ALIASES,
    ARCHIVE,
    BUDGET,
    HUBS,
    JOBS,
    LABELS,
    beside,
    how_option,
    web_option,
)
from focus.commands.options.value_types import checked, parameter_name
from focus.errors import ConfigError, TopicError
from focus.i18n import say
from focus.terminal.progress_bar import bar

if TYPE_CHECKING:
    from focus.evaluate.judgments import TopicTask
    from focus.evaluate.search_space import Range
    from focus.evaluate.tune import Search
    from focus.evaluate.tuning_result import Tuned

_tuned_option = partial(option, section="What is tuned")


def _range(text: str) -> Range:
    from focus.evaluate.search_space import read_range

    name, equals, rest = text.partition("=")
    return read_range(f"{parameter_name(name)}{equals}{rest}")


@click.command("tune", cls=Command)
@ARCHIVE
@web_option("--topics", kind="file", help="topics.json: a list of {name, keywords, seeds}.")
@web_option(
    "--topic",
    multiple=True,
    metavar="NAME|FILE",
    help="Only this of the topics; or a topic file (.toml) with seeds, which then gets the "
    "numbers. Repeatable.",
)
@LABELS
@HUBS
@ALIASES
@web_option(
    "--judge",
    kind="model",
    metavar="MODEL",
    show_default="without labels, the model that guides: self-judged",
    help="Let this relevance model judge.",
)
@_tuned_option("--strategy", required=True, kind="strategy", help="Whose numbers.")
@_tuned_option(
    "--relevance",
    kind="model",
    show_default="the topic file's, else evidence",
    help="The model that guides the crawls; its numbers may be tuned, too.",
)
@_tuned_option(
    "--param",
    multiple=True,
    required=True,
    type=checked(_range),
    metavar="NAME=RANGE",
    help="gamma=0.1..0.9, T=1..10 (whole numbers if its own are), f=1e-3..1:log, W=10|20|40; "
    "a=1.5 keeps it fixed. Repeatable.",
)
@_tuned_option(
    "--mask",
    default="none",
    type=click.Choice(["none", "meta", "urls", "both"]),
    help="Hide meta keywords, or the words of URLs, from the crawls.",
)
@how_option(
    "--trials",
    type=click.IntRange(1, 10_000),
    default=40,
    metavar="N",
    help="Sets of values to try: one half at random, the other near the best.",
)
@how_option("--seed", type=int, default=0, metavar="N", help="Another one draws other values.")
@BUDGET
@how_option(
    "--seed-orders",
    kind="count",
    default=4,
    help="Crawls per topic, each with its seeds in another order.",
)
@JOBS
@how_option(
    "-o",
    "--output",
    kind="file",
    show_default="the topic file",
    help="Write the numbers into this topic file (.toml), or all that was found (.json).",
)
def tune_command(**options: Any) -> None:
    """Search for a strategy's best numbers on a recorded web.

    Half of the topics are searched on and the others confirm what was found (with fewer than
    four topics: half of the orders of their seeds). What gains there is written into the topic
    file, under [params.STRATEGY], where `focus crawl --topic FILE` finds it. The same command
    goes on with what was interrupted, and says the same twice.

    \b
    Example:
        focus tune --archive web.warc.zst --topics topics.json --strategy topic-pagerank \\
            --param gamma=0..1 --trials 30 -o football.toml
    """
    from focus.evaluate.tune import tune
    from focus.terminal.tuning import tuned_lines

    files = [Path(text) for text in options["topic"] if text.endswith(".toml")]
    search = _search(options, files)
    targets = _targets(options["output"], files, search.tasks)
    with bar("tuning") as move:
        tuned = tune(search, lambda what, done, of: move(done, of))
    tell(tuned_lines(tuned))
    for target in targets:
        _write(tuned, target, search.tasks)


def _search(options: dict[str, Any], files: list[Path]) -> Search:
    from focus.config import AnalysisConfig
    from focus.evaluate.ground_truth import Spec
    from focus.evaluate.tune import Search, base_variant

    tasks = _tasks(options, files)
    folder = options["topics"].parent if options["topics"] else None
    judge, labels = options["judge"], options["labels"]
    if judge and labels:
        raise ConfigError("--labels and --judge exclude each other; give one of them")
    said = {task.topic.relevance for task in tasks} - {None}
    relevance = options["relevance"] or (said.pop() if len(said) == 1 else None)
    relevance = relevance or AnalysisConfig().relevance
    if not judge and labels is None:
        labels = beside(folder, "labels.tsv.gz", "labels.tsv")
    if labels is None and judge is None:
        judge = relevance
    fixed = _of_file(tasks, options["strategy"], relevance) if len(files) == len(tasks) == 1 else []
    fixed += [(each.name, each.choices[0]) for each in options["param"] if len(each.choices) == 1]
    base = base_variant(options["strategy"], relevance, options["mask"], fixed, judge)
    spec = Spec(
        archive=options["archive"],
        topics=options["topics"],
        labels=labels,
        hubs=options["hubs"] or (None if judge else beside(folder, "hubs.tsv")),
        aliases=options["aliases"] or beside(folder, "aliases.tsv"),
        judge=judge,
        variants=(base,),
        budget=options["budget"],
        seed_orders=options["seed_orders"],
        jobs=options["jobs"] or os.cpu_count() or 1,
        out=Path(),
    )
    ranges = tuple(each for each in options["param"] if len(each.choices) != 1)
    return Search(
        spec=spec, tasks=tasks, ranges=ranges, trials=options["trials"], seed=options["seed"]
    )


def _of_file(tasks: Sequence[TopicTask], *owners: str) -> list[tuple[str, float]]:
    """The numbers that a topic file has already: what is not searched for stays as it is."""
    params = tasks[0].topic.params
    return [(f"{owner}.{name}", v) for owner in owners for name, v in params.get(owner, {}).items()]


def _tasks(options: dict[str, Any], files: list[Path]) -> tuple[TopicTask, ...]:
    """The topics: those of topics.json, and those of topic files."""
    from focus.commands.settings import read_text, read_topic
    from focus.evaluate.judgments import TopicTask, read_topics, select

    names = [text for text in options["topic"] if not text.endswith(".toml")]
    tasks: list[TopicTask] = []
    for file in files:
        topic = read_topic(str(file))
        if not topic.seeds:
            raise TopicError(
                "topic file {file}: has no seeds to crawl from; put some into it", file=file
            )
        tasks.append(TopicTask(topic, topic.seeds))
    if names and options["topics"] is None:
        raise ConfigError("--topic {name}: say with --topics FILE where it stands", name=names[0])
    if options["topics"] is None and not tasks:
        raise ConfigError("no topics; give --topics FILE or --topic FILE.toml")
    if options["topics"] is not None and (names or not files):
        text = read_text(options["topics"], "topics file")
        path = options["topics"]
        tasks += select(read_topics(text, path.name, path.parent), names)
    return tuple(tasks)


# -- what is written ----------------------------------------------------------------


def _targets(output: Path | None, files: list[Path], tasks: Sequence[TopicTask]) -> list[Path]:
    """Where to write; complained of before the search, not after it."""
    targets = files if output is None else [output]
    for target in targets:
        if target.suffix not in (".toml", ".json"):
            raise ConfigError(
                "-o {target}: must end in .toml (a topic file) or in .json", target=target
            )
        if not target.absolute().parent.is_dir():
            raise ConfigError(
                "{path}: there is no folder {parent}; make it first",
                path=target,
                parent=target.absolute().parent,
            )
        if target.suffix == ".toml" and not target.exists() and len(tasks) != 1:
            raise ConfigError(
                "-o {target}: there is no such topic file, and of several topics none can be "
                "made; name one topic with --topic, or give FILE.json",
                target=target,
            )
    return targets


def _write(tuned: Tuned, target: Path, tasks: tuple[TopicTask, ...]) -> None:
    """The numbers into a topic file, if they gained anything; everything into JSON."""
    import msgspec

    from focus.commands.settings import read_text
    from focus.evaluate.comparison import write_whole
    from focus.topic.topic_file import to_toml, with_params

    if target.suffix == ".json":
        write_whole(
            target, msgspec.json.format(msgspec.json.encode(tuned, enc_hook=str), indent=1) + b"\n"
        )
        click.echo(say("All of it is in {file}", file=target), err=True)
        return
    if tuned.confirmed.gain <= 0:
        line = say("No gain over the defaults: nothing is written into {file}", file=target)
        click.echo(line, err=True)
        return
    if target.exists():
        text = read_text(target, "topic file")
    else:
        text = to_toml(msgspec.structs.replace(tasks[0].topic, seeds=tasks[0].seeds))
    for owner, numbers in tuned.values.items():
        text = with_params(text, str(target), owner, numbers)
    write_whole(target, text.encode())
    variant = f"--strategy {tuned.variant.strategy} --relevance {tuned.variant.relevance}"
    command = f"focus crawl --topic {target} {variant}"
    click.echo(
        say("Written into {file}; to use them: {command}", file=target, command=command), err=True
    )
