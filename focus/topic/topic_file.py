"""Reads and writes topic files: TOML with comments for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from focus.errors import TopicError
from focus.topic.topic import Topic, from_toml

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_topic_file(path: Path) -> Topic:
    """Read a topic file; its model file is named from the working directory.

    Raises TopicError for a file that cannot be read or is no topic file.
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


def to_toml(topic: Topic) -> str:
    """The text of a topic file; `topic.from_toml` makes the same topic of it."""
    lines = [
        "# A topic of focus: `focus crawl --topic THIS_FILE`. Edit it as you like;",
        "# `focus topic test THIS_FILE URL` shows what a change does.",
        "",
        f"name = {_text(topic.name)}",
        *_judging(topic),
    ]
    if topic.model is not None:
        lines += [
            "",
            "# What `focus train` and `focus label` have learned.",
            f"model = {_text(topic.model)}",
        ]
    if topic.seeds:
        lines += ["", "# Where a crawl begins, unless --seed says otherwise."]
        lines += ["seeds = [", *(f"    {_text(seed)}," for seed in topic.seeds), "]"]
    lines += [
        "",
        "# Words of the topic. Weight 1 names it, 0.3 is a hint; several hints add up.",
    ]
    lines += _table("keywords", {each.text: each.weight for each in topic.keywords})
    if topic.features:
        lines += ["", "# Words that pages of the topic have, for the models that compare vectors"]
        lines += ["# (cosine, euclid, adaptive). A keyword's weight goes before a feature's."]
        lines += _table("features", topic.features)
    if topic.narrower:
        lines += [
            "",
            "# Narrower terms: links that name one come sooner, until its pages disprove it.",
        ]
        lines += _table("narrower", topic.narrower)
    for owner, numbers in topic.params.items():
        lines += ["", f"# Numbers for `--strategy {owner}` or `--relevance {owner}`."]
        lines += _table(f"params.{_key(owner)}", numbers)
    if topic.sources:
        lines += ["", "# Where words came from; for people, and for `focus topic show`."]
        lines += ["[sources]", *(f"{_key(w)} = {_text(s)}" for w, s in topic.sources.items())]
    return "\n".join(lines) + "\n"


def _judging(topic: Topic) -> Iterable[str]:
    yield ""
    yield "# Which model judges pages (`focus strategies` lists them); one with more relevance"
    yield "# than the threshold is relevant. Without these lines: the default model with its own."
    model, threshold = topic.relevance, topic.threshold
    yield '# relevance = "evidence"' if model is None else f"relevance = {_text(model)}"
    yield "# threshold = 0.5" if threshold is None else f"threshold = {_number(threshold)}"


def _table(name: str, weights: Mapping[str, float]) -> list[str]:
    return [f"[{name}]", *(f"{_key(word)} = {_number(weight)}" for word, weight in weights.items())]


def _key(word: str) -> str:
    return word if _BARE.fullmatch(word) else _text(word)


def _text(text: str) -> str:
    """A TOML string; JSON's escapes are TOML's, but for the one sign that JSON leaves alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(number: float) -> str:
    """With a point or an exponent, so that it reads back as a float."""
    text = f"{number:.4g}"
    return text if any(sign in text for sign in ".e") else f"{text}.0"
