"""Reads and writes topic files: TOML with comments for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from focus.errors import TopicError
from focus.topic.topic import Topic, from_toml

_FILE_NAME = re.compile(r".*\.(toml|txt|json)|\.{0,2}/.*", re.IGNORECASE | re.DOTALL)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_topic_file(path: Path) -> Topic:
    """Read a topic file; the path of its model file becomes relative to the working directory.

    Raises TopicError if the file cannot be read or is not a topic file.
    """
    try:
        topic = from_toml(path.read_text(encoding="utf-8-sig"), str(path))
    except OSError as error:
        raise TopicError(
            "topic file {path}: cannot be read: {error}", path=path, error=error
        ) from None
    except UnicodeDecodeError as error:
        raise TopicError(
            "topic file {path}: is not UTF-8 (byte {start})", path=path, start=error.start
        ) from None
    if topic.model is None:
        return topic
    return msgspec.structs.replace(topic, model=str(path.parent / topic.model))


def names_file(text: str) -> bool:
    """Return whether a topic is meant as a file, by its ending, or by a folder before `/`."""
    folder = text.rpartition("/")[0]
    return bool(_FILE_NAME.fullmatch(text)) or (0 < len(folder) < 255 and Path(folder).is_dir())


def to_toml(topic: Topic) -> str:
    """Return the topic as commented TOML; `topic.from_toml` parses it to the same topic."""
    lines = [
        "# A topic of focus: `focus crawl --topic THIS_FILE`. Edit it as you like;",
        "# `focus topic test THIS_FILE URL` shows what a change does.",
        "",
        f"name = {_toml_string(topic.name)}",
        *_relevance_lines(topic),
    ]
    if topic.model is not None:
        lines += [
            "",
            "# What `focus research train` and `focus label` have learned.",
            f"model = {_toml_string(topic.model)}",
        ]
    if topic.seeds:
        lines += ["", "# Where a crawl begins, unless --seed says otherwise."]
        lines += ["seeds = [", *(f"    {_toml_string(seed)}," for seed in topic.seeds), "]"]
    lines += [
        "",
        "# Terms of the topic. A name of it, weight 1, is enough for a page; of related terms",
        '# (role = "term", usual weight 0.3) a page needs several.',
        "[terms]",
        *_term_lines(topic),
    ]
    if topic.features:
        lines += ["", "# Words that pages of the topic have, for the models that compare vectors"]
        lines += ["# (cosine, euclid, adaptive). A keyword's weight goes before a feature's."]
        lines += _table_lines("features", topic.features)
    for owner, numbers in topic.params.items():
        lines += ["", f"# Numbers for `--strategy {owner}` or `--relevance {owner}`."]
        lines += _table_lines(f"params.{_toml_key(owner)}", numbers)
    names = {keyword.text for keyword in topic.keywords} | topic.terms.keys()
    other_sources = {word: text for word, text in topic.sources.items() if word not in names}
    if other_sources:
        lines += ["", "# Where features came from; for people, and for `focus topic show`."]
        lines += [
            "[sources]",
            *(f"{_toml_key(w)} = {_toml_string(s)}" for w, s in other_sources.items()),
        ]
    return "\n".join(lines) + "\n"


def _relevance_lines(topic: Topic) -> Iterable[str]:
    yield ""
    yield "# Which model judges pages (`focus strategies` lists them); one with more relevance"
    yield "# than the threshold is relevant. Without these lines: the default model with its own."
    model, threshold = topic.relevance, topic.threshold
    yield '# relevance = "evidence"' if model is None else f"relevance = {_toml_string(model)}"
    yield "# threshold = 0.5" if threshold is None else f"threshold = {_toml_float(threshold)}"


def _term_lines(topic: Topic) -> Iterable[str]:
    """Yield a row of the table of terms for each keyword and each related term."""
    names = {keyword.text: keyword.weight for keyword in topic.keywords}
    for role, weights in (("name", names), ("term", topic.terms)):
        for word, weight in weights.items():
            source = topic.sources.get(word)
            shown_source = "" if source is None else f", source = {_toml_string(source)}"
            row = f'role = "{role}", weight = {_toml_float(weight)}{shown_source}'
            yield f"{_toml_key(word)} = {{ {row} }}"


def _table_lines(name: str, weights: Mapping[str, float]) -> list[str]:
    return [
        f"[{name}]",
        *(f"{_toml_key(word)} = {_toml_float(weight)}" for word, weight in weights.items()),
    ]


def _toml_key(word: str) -> str:
    return word if _BARE.fullmatch(word) else _toml_string(word)


def _toml_string(text: str) -> str:
    """Return a TOML string; TOML has JSON's escapes but also requires one for U+007F."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_float(number: float) -> str:
    """Return a number with a point or an exponent, so that it is parsed as a float."""
    text = f"{number:.4g}"
    return text if any(sign in text for sign in ".e") else f"{text}.0"
