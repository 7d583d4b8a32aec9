"""Defines a topic: weighted keywords and, when learned, features.

`--topic 足球` or `--topic 足球,英超:0.8` makes one from words alone, `--topic
football.toml` reads one that `focus topic` wrote. Text in, record out: no I/O here.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from itertools import chain
from typing import Any

import msgspec

from focus.errors import TopicError

MAX_KEYWORDS = 1000


class Keyword(msgspec.Struct, frozen=True):
    """A word or phrase of the topic; `weight` in (0, 1], 1 = names the topic."""

    text: str
    weight: float = 1.0


class Topic(msgspec.Struct, frozen=True):
    """A topic.

    keywords   experts' words; each is an alternative sign of the topic
    features   word -> weight, learned from example pages (TF-IDF, `focus.score.statistics.profile`)
    narrower   narrower term -> how much a link's text with it is expected to weigh, (0, 1]
    sources    word -> where its weight came from, for `focus topic show`
    relevance  the relevance model that the topic was tuned with, None: the default
    threshold  over it a page is relevant, None: the model's own
    params     strategy or relevance model -> numbers of it to crawl with
    """

    name: str
    keywords: tuple[Keyword, ...]
    features: dict[str, float] = {}
    narrower: dict[str, float] = {}
    sources: dict[str, str] = {}
    seeds: tuple[str, ...] = ()
    relevance: str | None = None
    threshold: float | None = None
    model: str | None = None
    params: dict[str, dict[str, float]] = {}


def from_words(words: str) -> Topic:
    """A topic from `足球,英超:0.8,machine learning`; the first word names it.

    Commas (also ， 、 and ;) separate, `:0.8` weighs. Raises TopicError for an empty
    topic, a weight outside (0, 1] or more than 1,000 words.
    """
    parts = re.split(r"[,，、;；\n]", words.replace("：", ":"))
    keywords = tuple(_keyword(part) for part in parts if part.strip())
    if not keywords:
        raise TopicError(
            "topic {words!r}: no word in it; write --topic 足球 or --topic 足球,英超", words=words
        )
    return _checked(Topic(keywords[0].text, keywords))


def _keyword(part: str) -> Keyword:
    text, colon, weight = part.strip().rpartition(":")
    if not colon or not re.fullmatch(r"[0-9.]+", weight):
        return Keyword(part.strip())
    try:
        return Keyword(text.strip(), float(weight))
    except ValueError:
        raise TopicError(
            "topic word {part!r}: weight {weight!r} is no number in (0, 1]",
            part=part.strip(),
            weight=weight,
        ) from None


def _checked(topic: Topic) -> Topic:
    if len(topic.keywords) > MAX_KEYWORDS:
        raise TopicError(
            "topic {name!r}: more than {max_keywords} keywords",
            name=topic.name,
            max_keywords=MAX_KEYWORDS,
        )
    narrower = (Keyword(text, weight) for text, weight in topic.narrower.items())
    for keyword in chain(topic.keywords, narrower):
        if not any(char.isalnum() for char in keyword.text):
            raise TopicError(
                "topic word {text!r}: holds no letter, digit or ideograph", text=keyword.text
            )
        if not (math.isfinite(keyword.weight) and 0 < keyword.weight <= 1):
            raise TopicError(
                "topic word {text!r}: weight {weight} not in (0, 1]",
                text=keyword.text,
                weight=keyword.weight,
            )
    return topic


def from_toml(text: str, where: str) -> Topic:
    """A topic from the text of a topic file; `where` names it in errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).rpartition(" (at ")
        line = re.match(r"line (\d+)", place)
        last = len(text.splitlines())  # "(at end of document)"
        raise TopicError(
            "{where}:{line}: {message}",
            where=where,
            line=line[1] if line else last,
            message=message or error,
        ) from None
    unknown = sorted(set(data) - set(Topic.__struct_fields__))
    if unknown:
        known = ", ".join(Topic.__struct_fields__)
        at = _place(text, where, unknown[0])
        raise TopicError(
            "{at}: unknown key {unknown!r}; known: {known}", at=at, unknown=unknown[0], known=known
        )
    try:
        topic = _checked(msgspec.convert(_plain(data), Topic))
    except (msgspec.ValidationError, TopicError) as error:
        raise TopicError(
            "{where}: {what}", where=_place(text, where, *_names(str(error))), what=error
        ) from None
    if not topic.keywords:
        raise TopicError("{where}: a topic needs at least one keyword", where=where)
    return topic


def _names(message: str) -> list[str]:
    """What a complaint names: `'英超'`, or the parts of a path like `$.features`."""
    quoted = re.findall(r"topic word '(.+?)':", message)
    return quoted or re.findall(r"[a-z]+", message.partition("`$")[2])


def _place(text: str, where: str, *names: str) -> str:
    """`football.toml:7`, the first line that all these names lead to; else the bare file."""
    for name in reversed(names):
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line.partition("#")[0]):
                return f"{where}:{number}"
    return where


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """Keywords may be written as words, `word:0.8`, a table, or a list of tables."""
    keywords = data.get("keywords", [])
    if isinstance(keywords, dict):
        keywords = [{"text": text, "weight": weight} for text, weight in keywords.items()]
    elif isinstance(keywords, list):
        keywords = [
            msgspec.to_builtins(_keyword(item)) if isinstance(item, str) else item
            for item in keywords
        ]
    return {**data, "keywords": keywords}


class Expected(msgspec.Struct, frozen=True):
    """The narrower terms of a topic (`Topic.narrower`) and their sources."""

    narrower: dict[str, float] = {}
    sources: dict[str, str] = {}


def expected(data: Mapping[str, object]) -> Expected:
    """Return the narrower terms of a topic as plain data, none if it has no such table."""
    return msgspec.convert(data, Expected)


def to_builtins(topic: Topic) -> dict[str, Any]:
    """The topic as plain data, for workers and the database.

    An empty table of narrower terms is left out: crawls of earlier versions stay the same crawls.
    """
    plain: dict[str, Any] = msgspec.to_builtins(topic)
    return {key: value for key, value in plain.items() if value or key != "narrower"}


def from_builtins(data: dict[str, Any]) -> Topic:
    """The inverse of `to_builtins`."""
    return msgspec.convert(data, Topic)
