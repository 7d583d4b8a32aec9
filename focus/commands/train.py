"""`focus research train`: trains a classifier from labelled pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.options.option import DB, Command, option, print_lines, print_note
from focus.errors import ConfigError
from focus.text.formatting import format_count, format_percent, format_table, printable

if TYPE_CHECKING:
    from focus.learn.model_file import LearnedTopic, TrainedClassifier
    from focus.learn.training import FeatureExtractor
    from focus.score.relevance import Document
    from focus.text.tokenisation import Segmenter
    from focus.topic.topic import Topic

PAGES = click.Path(path_type=Path)
_METHODS = ("ig", "chi", "mi", "df")


@click.command(cls=Command)
@option("--topic", required=True, metavar="FILE", help="Topic file (.toml), or words.")
@option(
    "--positive", type=PAGES, multiple=True, metavar="DIR|FILE", help="Pages on topic (repeatable)."
)
@option(
    "--negative",
    type=PAGES,
    multiple=True,
    metavar="DIR|FILE",
    help="Pages off topic (repeatable).",
)
@option(
    "--from-crawl",
    metavar="ID|latest",
    help="Also use labelled and clearly judged pages of this crawl.",
)
@option(
    "--features",
    type=click.IntRange(1, 100_000),
    default=500,
    metavar="N",
    help="Use the N best words.",
)
@option(
    "--select",
    type=click.Choice(_METHODS),
    default="ig",
    help="Select words by information gain, chi-square, mutual information or document frequency.",
)
@option("--entities", is_flag=True, help="Also use the entities that are named in a page.")
@option(
    "--kb",
    "base",
    kind="file",
    show_default="the included one on football",
    help="Use this knowledge base.",
)
@option(
    "-o",
    "--output",
    kind="file",
    show_default="beside the topic file",
    help="Write the model to FILE.",
)
@DB
def train(**options: Any) -> None:
    """Train the classifier of a topic, for --relevance bayes.

    Pages are .html or .txt files, or lines of a .jsonl file with "html" or "text". Prints
    precision, recall and F from cross-validation, with and without entities, before and after
    calibration. The model is written beside the topic file, and the path of the model into the
    topic file.

    \b
    Example:
        focus research train --topic football.toml --positive on/ --negative off/ --entities
    """
    from focus.commands.settings import read_topic
    from focus.learn.training import TrainingOptions, train_classifier

    topic = read_topic(options["topic"])
    target = _model_path(options["topic"], options["output"])
    with ExitStack() as stack:
        extractor = _make_extractor(topic, options, stack)
        pages = _read_examples(topic, extractor, options, stack)
        plan = TrainingOptions(options["select"], options["features"])
        trained = train_classifier(pages, extractor, plan)
    print_lines(trained_lines(trained))
    _save_model(topic, trained, options["topic"], target)


def _make_extractor(topic: Topic, options: dict[str, Any], stack: ExitStack) -> FeatureExtractor:
    from focus.learn.kb.knowledge_base import FOOTBALL_FILE, open_knowledge_base
    from focus.learn.training import FeatureExtractor
    from focus.score.matching import Matcher

    segmenter: Segmenter = Matcher(topic).segmenter
    base = options["base"]
    if base is None and not options["entities"]:
        return FeatureExtractor(segmenter)
    known = open_knowledge_base(base or Path(FOOTBALL_FILE.stem), segmenter)
    return FeatureExtractor(segmenter, stack.enter_context(known))


def _read_examples(
    topic: Topic, extractor: FeatureExtractor, options: dict[str, Any], stack: ExitStack
) -> list[Any]:
    """Return the features of all labelled pages; problems are printed at once."""
    from focus.learn.corpus import read_pages, read_stored_pages, select_training_rows
    from focus.learn.training import make_examples
    from focus.storage.reader import DatabaseReader

    if not (options["from_crawl"] or (options["positive"] and options["negative"])):
        raise ConfigError("no pages to train on; give --positive and --negative, or --from-crawl")

    def complain(line: str) -> None:
        print_lines([f"focus: {line}"], err=True)

    sources: dict[bool, list[Iterator[Document]]] = {
        is_on: [read_pages(path, complain) for path in options[name]]
        for name, is_on in (("positive", True), ("negative", False))
    }
    if options["from_crawl"]:
        reader = stack.enter_context(DatabaseReader(Path(options["db"]).expanduser()))
        chosen = select_training_rows(reader, reader.crawl_id(options["from_crawl"]), topic.name)
        for is_on, rows in chosen.items():
            sources[is_on].append(read_stored_pages(reader, rows))
    return [
        example
        for is_on, iterators in sources.items()
        for pages in iterators
        for example in make_examples(pages, is_on, extractor)
    ]


def _model_path(topic: str, output: Path | None) -> Path:
    from focus.learn.model_file import model_path

    if output is not None:
        return output
    if not topic.endswith(".toml"):
        raise ConfigError(
            "--topic {topic}: is not a topic file; give -o FILE for the model", topic=topic
        )
    return model_path(Path(topic))


def trained_lines(trained: TrainedClassifier) -> list[str]:
    """Return the quality of a classifier as lines."""
    counts = trained.counts
    rows: list[tuple[str, ...]] = [("", "P", "R", "F", "Brier", "distinct")]
    for name, verdict in trained.verdicts.items():
        shares = [format_percent(value) for value in verdict.quality]
        rows.append((name, *shares, f"{verdict.brier:.4f}", f"{verdict.distinct:,}"))
    return [
        f"{format_count(counts.on, 'page')} on topic, {counts.off:,} off; "
        f"{format_count(len(trained.features), 'feature')} by {trained.select}",
        *format_table(rows, right_aligned=range(1, 6)),
        "best: " + printable(", ".join(trained.features[:15])),
    ]


def _save_model(topic: Topic, trained: TrainedClassifier, topic_file: str, target: Path) -> None:
    """Write the model file, and its name into the topic file."""
    import msgspec

    from focus.learn.model_file import LearnedTopic, load_topic_model, save_model, write_model_name

    previous: LearnedTopic | None = None
    try:
        previous = load_topic_model(topic)
    except ConfigError as error:  # damaged, or of another version: it is made anew
        print_lines([f"focus: {error}"], err=True)
    learned_topic = msgspec.structs.replace(previous or LearnedTopic(topic.name), bayes=trained)
    save_model(target, learned_topic)
    print_note("Model in {file}", file=target)
    if topic_file.endswith(".toml"):
        write_model_name(Path(topic_file), target)
        command = f"focus crawl --topic {topic_file} --relevance bayes"
        print_note("To use it: {command}", command=command)
        return
    line = f'model = "{target}"'
    print_note("To use it, write into the topic file: {line}", line=line)
