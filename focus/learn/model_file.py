"""Reads and writes the model file: everything learned about a topic from examples and labels.

One JSON file beside the topic file, named by `model = "…"` in there: the classifier that
`focus train` made, and what `focus label` has moved. `applied` turns it into what the
scorer workers need, so that no worker reads a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from focus.errors import ConfigError, TopicError
from focus.score.relevance.bayes import Classifier, EntityExpansion
from focus.score.statistics.feature_selection import WordCounts
from focus.score.statistics.naive_bayes import Calibration, ClassifierTest, train_naive_bayes
from focus.storage.whole_file import write_whole
from focus.text.formatting import printable
from focus.topic.topic import Topic, from_toml

FORMAT = "focus-model"
VERSION = 1
SUFFIX = ".model.json"
VECTOR_MODELS = ("cosine", "euclid", "adaptive")


class TrainedClassifier(msgspec.Struct, frozen=True):
    """A naive Bayes classifier, with the counts that it can be made anew from.

    counts     pages by word: of the training pages (words of one page only are left out)
    labelled   the same of the pages labelled by hand
    features   the words it looks at
    calibration  by cross-validation; `corrected` the same as labels have moved it
    verdicts   what cross-validation said, by kind: "words", "words, calibrated", …
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
        """As the scorer workers want it."""
        bayes = train_naive_bayes(self.counts.combine(self.labelled), self.features)
        return Classifier(bayes, self.corrected or self.calibration, self.expansion)


class LearnedTopic(msgspec.Struct, frozen=True):
    """Everything learned about a topic.

    bayes     the classifier of the relevance model `bayes`
    params    relevance model -> its numbers as labels have corrected them
    features  the topic's vector as labels have moved it; {}: as in the topic file
    """

    topic: str
    bayes: TrainedClassifier | None = None
    params: dict[str, dict[str, float]] = {}
    features: dict[str, float] = {}


class _FileHead(msgspec.Struct, frozen=True):
    """The beginning of every version of the file."""

    format: str = ""
    version: int = 0


class _ModelFile(msgspec.Struct, frozen=True):
    """The whole of this version's file."""

    format: str
    version: int
    learned: LearnedTopic


def save_model(path: Path, learned: LearnedTopic) -> None:
    """Write the file; it appears whole or not at all. ExportError when it cannot be written."""
    data = msgspec.json.encode(_ModelFile(FORMAT, VERSION, learned))
    write_whole(path, msgspec.json.format(data, indent=0) + b"\n")


def load_model(path: Path) -> LearnedTopic:
    """Read a file of `save`; ConfigError, one line, for anything else."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            "model file {path}: cannot be read: {error}; make it with `focus train`",
            path=path,
            error=error,
        ) from None
    try:
        head = msgspec.json.decode(data, type=_FileHead)
        if head.format == FORMAT and head.version != VERSION:
            raise ConfigError(
                "model file {path}: made by another focus (version {version}, this one knows "
                "{known}); make it again with `focus train`",
                path=path,
                version=head.version,
                known=VERSION,
            )
        if head.format != FORMAT:
            raise ConfigError(
                "model file {path}: is none of focus; make one with `focus train`", path=path
            )
        return msgspec.json.decode(data, type=_ModelFile).learned
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(
            "model file {path}: is damaged ({error}); make it again with `focus train`",
            path=path,
            error=printable(str(error), 120),
        ) from None


# -- the topic file -----------------------------------------------------------------


def model_path(topic_file: Path) -> Path:
    """Where the model of a topic file is kept: football.toml → football.model.json."""
    return topic_file.with_suffix(SUFFIX)


def load_topic_model(topic: Topic) -> LearnedTopic | None:
    """What is known of a topic whose `model` is a path that can be opened; None: it names none.

    TopicError when the file is another topic's.
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
    """The text of a topic file with `model = "…"` in it; all else, comments too, stays.

    TopicError when the file is written so that the line cannot be put in.
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
    """Write `model = "…"` into a topic file, as a path from its folder; ConfigError if not."""
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
        topic_file.write_text(new_text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            'topic file {path}: cannot be written: {error}; put model = "{name}" into it',
            path=topic_file,
            error=error,
            name=name,
        ) from None


# -- for the workers ----------------------------------------------------------------


def apply_model(
    topic: Topic,
    relevance: str,
    chosen: Mapping[str, float] | None = None,
    *,
    learned: LearnedTopic | None = None,
) -> tuple[Topic, bytes]:
    """The topic naming no file, and what was learned for a relevance model (`Model.adopt`).

    chosen   numbers of the model that the user has set: these win
    learned  in place of what the topic's own file has
    Raises ConfigError for a file that cannot be used, or that is not there when the model
    needs it (`bayes`). Where a model lies is no part of what a crawl is about.
    """
    learned = learned or load_topic_model(topic)
    bare = msgspec.structs.replace(topic, model=None, params={})
    if relevance == "bayes":
        if learned is None or learned.bayes is None:
            raise TopicError(
                "--relevance bayes: topic {name!r} has no trained classifier; make one with "
                "`focus train --topic FILE.toml --positive DIR --negative DIR`",
                name=topic.name,
            )
        return bare, msgspec.msgpack.encode(learned.bayes.make_classifier())
    if learned is None:
        return bare, b""
    values = learned.features if relevance in VECTOR_MODELS else learned.params.get(relevance, {})
    free_values = {name: value for name, value in values.items() if name not in (chosen or {})}
    return bare, msgspec.msgpack.encode(free_values) if free_values else b""
