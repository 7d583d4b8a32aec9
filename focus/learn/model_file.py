"""The model file: everything learned about a topic from examples and labels.

It is a JSON file beside the topic file, which names it by `model = "…"`. It contains the classifier
of `focus research train` and the updates of `focus label`. `apply_model` returns the part that
scorer processes need, so that they read no file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from focus.errors import ConfigError, TopicError, refuse_deep_nesting
from focus.score.relevance.bayes import Classifier, EntityExpansion
from focus.score.statistics.feature_selection import WordCounts
from focus.score.statistics.naive_bayes import Calibration, ClassifierTest, train_naive_bayes
from focus.storage.whole_file import open_whole, write_whole
from focus.text.formatting import printable
from focus.topic.topic import Topic, from_toml

FORMAT = "focus-model"
VERSION = 1
SUFFIX = ".model.json"
VECTOR_MODELS = ("cosine", "euclid", "adaptive")


class TrainedClassifier(msgspec.Struct, frozen=True):
    """A naive Bayes classifier, with the counts that it can be trained from again.

    counts       word counts of the training pages, without words of only one page
    labelled     word counts of the pages labelled by hand
    features     words that the classifier uses
    calibration  by cross-validation; `corrected` is the one updated from labels
    verdicts     results of cross-validation by kind: "words", "words, calibrated", …
    """

    select: str
    number: int
    features: list[str]
    counts: WordCounts
    calibration: Calibration
    expansion: EntityExpansion | None = None
    verdicts: dict[str, ClassifierTest] = {}
    labelled: WordCounts = WordCounts(0, 0, {})
    corrected: Calibration | None = None

    def make_classifier(self) -> Classifier:
        """Return the classifier for the scorer processes."""
        bayes = train_naive_bayes(self.counts.combine(self.labelled), self.features)
        return Classifier(bayes, self.corrected or self.calibration, self.expansion)


class LearnedTopic(msgspec.Struct, frozen=True):
    """Everything learned about a topic.

    bayes     classifier of the relevance model `bayes`
    params    relevance model -> its parameters as corrected by labels
    features  topic vector as updated from labels; {} for that of the topic file
    """

    topic: str
    bayes: TrainedClassifier | None = None
    params: dict[str, dict[str, float]] = {}
    features: dict[str, float] = {}


class _ModelFile(msgspec.Struct, frozen=True):
    """The whole file. What it learned is decoded only if the version is this one."""

    format: str = ""
    version: int = 0
    learned: msgspec.Raw = msgspec.Raw()


def save_model(path: Path, learned: LearnedTopic) -> None:
    """Write a model file atomically. Raises ExportError if it cannot be written."""
    file = _ModelFile(FORMAT, VERSION, msgspec.Raw(msgspec.json.encode(learned)))
    data = msgspec.json.encode(file)
    write_whole(path, msgspec.json.format(data, indent=0) + b"\n")


def load_model(path: Path) -> LearnedTopic:
    """Read a model file. Raises ConfigError, with one line, for any other file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            "model file {path}: cannot be read: {error}; make it with `focus research train`",
            path=path,
            error=error,
        ) from None
    try:
        with refuse_deep_nesting():
            file = msgspec.json.decode(data, type=_ModelFile)
        if file.format == FORMAT and file.version != VERSION:
            raise ConfigError(
                "model file {path}: made by another focus (version {version}, this one knows "
                "{known}); make it again with `focus research train`",
                path=path,
                version=file.version,
                known=VERSION,
            )
        if file.format != FORMAT:
            raise ConfigError(
                "model file {path}: is none of focus; make one with `focus research train`",
                path=path,
            )
        return msgspec.json.decode(file.learned, type=LearnedTopic)
    except ValueError as error:
        raise ConfigError(
            "model file {path}: is damaged ({error}); make it again with `focus research train`",
            path=path,
            error=printable(str(error), 120),
        ) from None


# -- the topic file -----------------------------------------------------------------


def model_path(topic_file: Path) -> Path:
    """Return the path of the model of a topic file: football.toml → football.model.json."""
    return topic_file.with_suffix(SUFFIX)


def load_topic_model(topic: Topic) -> LearnedTopic | None:
    """Return what was learned about a topic, None if it names no model file.

    `topic.model` must be a path from the working directory. Raises TopicError if the file belongs
    to another topic.
    """
    if topic.model is None:
        return None
    learned = load_model(Path(topic.model))
    if learned.topic != topic.name:
        raise TopicError(
            "model file {model}: is of the topic {topic!r}, not {name!r}",
            model=topic.model,
            topic=learned.topic,
            name=topic.name,
        )
    return learned


_MODEL_LINE = re.compile(r"^model\s*=.*$", re.MULTILINE)
_TABLE_HEAD = re.compile(r"^\s*\[", re.MULTILINE)


def set_model_line(text: str, where: str, model: str) -> str:
    """Return the text of a topic file with the line `model = "…"`; other lines stay as they are.

    Raises TopicError if the line cannot be inserted.
    """
    first_table = _TABLE_HEAD.search(text)
    end = first_table.start() if first_table else len(text)
    top, rest = text[:end], text[end:]
    line = f"model = {msgspec.json.encode(model).decode()}"
    if _MODEL_LINE.search(top):
        top = _MODEL_LINE.sub(lambda _: line, top, count=1)
    else:
        top = f"{top.rstrip()}\n{line}\n" + ("\n" if rest else "")
    if from_toml(top + rest, where).model != model:
        raise TopicError(
            "{where}: cannot put {line} into it; do so by hand", where=where, line=line
        )
    return top + rest


def write_model_name(topic_file: Path, model: Path) -> None:
    """Write `model = "…"` into a topic file, as a path relative to its folder.

    Raises ConfigError if the file cannot be written.
    """
    try:
        text = topic_file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise TopicError(
            "topic file {path}: cannot be read: {error}", path=topic_file, error=error
        ) from None
    name = Path(os.path.relpath(model.absolute(), topic_file.absolute().parent)).as_posix()
    new_text = set_model_line(text, str(topic_file), name)
    if new_text == text:
        return
    try:
        with open_whole(topic_file) as file:
            file.write(new_text.encode())
    except OSError as error:
        raise ConfigError(
            'topic file {path}: cannot be written: {error}; put model = "{name}" into it',
            path=topic_file,
            error=error,
            name=name,
        ) from None


# -- for scorer processes ----------------------------------------------------------------


def apply_model(
    topic: Topic,
    relevance: str,
    chosen: Mapping[str, float] | None = None,
    *,
    learned: LearnedTopic | None = None,
) -> tuple[Topic, bytes]:
    """Return the topic without its file names, and the training of a relevance model.

    The training is input of `Model.load_training`. The path of a model is removed, because it is
    not part of what a crawl is about.

    chosen   parameters of the model set by the user, which take precedence
    learned  replaces the content of the topic's model file

    Raises ConfigError for a file that cannot be used, or that is missing for a model that needs it
    (`bayes`).
    """
    learned = learned or load_topic_model(topic)
    bare = msgspec.structs.replace(topic, model=None, params={})
    if relevance == "bayes":
        if learned is None or learned.bayes is None:
            raise TopicError(
                "--relevance bayes: topic {name!r} has no trained classifier; make one with "
                "`focus research train --topic FILE.toml --positive DIR --negative DIR`",
                name=topic.name,
            )
        return bare, msgspec.msgpack.encode(learned.bayes.make_classifier())
    if learned is None:
        return bare, b""
    values = learned.features if relevance in VECTOR_MODELS else learned.params.get(relevance, {})
    free_values = {name: value for name, value in values.items() if name not in (chosen or {})}
    return bare, msgspec.msgpack.encode(free_values) if free_values else b""
