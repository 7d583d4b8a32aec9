"""The topic record: weighted keywords and learned features.

`--topic 足球` and `--topic 足球,英超:0.8` are parsed by `from_words`, the text of a topic file by
`from_toml`. This module does no I/O.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from itertools import chain
from typing import Any, Literal

import msgspec

from focus.errors import TopicError, refuse_deep_nesting

MAX_KEYWORDS = 1000
TERM_WEIGHT = 0.3
"""Usual weight of a related term; three of them in the title or the lead make a page likely."""


class Keyword(msgspec.Struct, frozen=True):
    """A word or phrase that indicates the topic; `weight` in (0, 1], 1 if it names the topic."""

    text: str
    weight: float = 1.0


class Topic(msgspec.Struct, frozen=True):
    """A topic.

    keywords   words that name the topic; any of them indicates it
    features   word -> weight, learned from example pages (TF-IDF, `focus.score.statistics.profile`)
    terms      related term -> weight, (0, 1]; several terms together indicate the topic
    sources    keyword, term or feature -> its origin, for `focus topic show`
    relevance  relevance model that the topic was tuned with; None for the default model
    threshold  relevance above which a page is relevant; None for the model's own threshold
    model      path of the model file, if anything was learned
    params     strategy or relevance model -> its parameters for crawls of this topic
    """

    name: str
    keywords: tuple[Keyword, ...]
    features: dict[str, float] = {}
    terms: dict[str, float] = {}
    sources: dict[str, str] = {}
    seeds: tuple[str, ...] = ()
    relevance: str | None = None
    threshold: float | None = None
    model: str | None = None
    params: dict[str, dict[str, float]] = {}


def from_words(words: str) -> Topic:
    """Parse keywords such as `足球,英超:0.8,machine learning`; the first one names the topic.

    Keywords are separated by commas (also ， 、 ;); `:0.8` sets a weight. Raises TopicError for an
    empty topic, a weight outside (0, 1] or more than 1,000 keywords.
    """
    parts = re.split(r"[,，、;；\n]", words.replace("：", ":"))
    keywords = tuple(_keyword(part) for part in parts if part.strip())
    if not keywords:
        raise TopicError(
            "topic {words!r}: contains no word; write --topic 足球 or --topic 足球,英超",
            words=words,
        )
    return _validate(Topic(keywords[0].text, keywords))


def _keyword(part: str) -> Keyword:
    text, colon, weight = part.strip().rpartition(":")
    if not colon or not re.fullmatch(r"[0-9.]+", weight):
        return Keyword(part.strip())
    try:
        return Keyword(text.strip(), float(weight))
    except ValueError:
        raise TopicError(
            "topic word {part!r}: weight {weight!r} is not a number in (0, 1]",
            part=part.strip(),
            weight=weight,
        ) from None


def _validate(topic: Topic) -> Topic:
    if len(topic.keywords) > MAX_KEYWORDS:
        raise TopicError(
            "topic {name!r}: more than {max_keywords} keywords",
            name=topic.name,
            max_keywords=MAX_KEYWORDS,
        )
    terms = (Keyword(text, weight) for text, weight in topic.terms.items())
    for keyword in chain(topic.keywords, terms):
        if not any(char.isalnum() for char in keyword.text):
            raise TopicError(
                "topic word {text!r}: contains no letter, digit or ideograph", text=keyword.text
            )
        if not (math.isfinite(keyword.weight) and 0 < keyword.weight <= 1):
            raise TopicError(
                "topic word {text!r}: weight {weight} not in (0, 1]",
                text=keyword.text,
                weight=keyword.weight,
            )
    return topic


def from_toml(text: str, where: str) -> Topic:
    """Parse the text of a topic file; `where` is its name in error messages."""
    try:
        with refuse_deep_nesting():
            data = tomllib.loads(text)
    except ValueError as error:
        message, _, place = str(error).rpartition(" (at ")
        line = re.match(r"line (\d+)", place)
        last = len(text.splitlines())  # "(at end of document)"
        raise TopicError(
            "{where}:{line}: {message}",
            where=where,
            line=line[1] if line else last,
            message=message or error,
        ) from None
    unknown = sorted(set(data) - {*Topic.__struct_fields__, "narrower"})
    if unknown:
        known = ", ".join(Topic.__struct_fields__)
        at = _locate(text, where, unknown[0])
        raise TopicError(
            "{at}: unknown key {unknown!r}; known: {known}", at=at, unknown=unknown[0], known=known
        )
    try:
        topic = _validate(msgspec.convert(_split_terms(_normalise_keywords(data)), Topic))
    except (msgspec.ValidationError, TopicError) as error:
        raise TopicError(
            "{where}: {what}", where=_locate(text, where, *_quoted_names(str(error))), what=error
        ) from None
    if not topic.keywords:
        raise TopicError("{where}: a topic needs at least one keyword", where=where)
    return topic


def _quoted_names(message: str) -> list[str]:
    """Return the quoted keyword of an error message, or the parts of a path like `$.features`."""
    quoted = re.findall(r"topic word '(.+?)':", message)
    return quoted or re.findall(r"[a-z]+", message.partition("`$")[2])


def _locate(text: str, where: str, *names: str) -> str:
    """Return `football.toml:7`, the first line that contains a name, trying the last name first."""
    for name in reversed(names):
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line.partition("#")[0]):
                return f"{where}:{number}"
    return where


def _normalise_keywords(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with keywords as a list of tables.

    A file may contain them as words, `word:0.8`, a table, or a list of tables.
    """
    keywords = data.get("keywords", [])
    if isinstance(keywords, dict):
        keywords = [{"text": text, "weight": weight} for text, weight in keywords.items()]
    elif isinstance(keywords, list):
        keywords = [
            msgspec.to_builtins(_keyword(item)) if isinstance(item, str) else item
            for item in keywords
        ]
    return {**data, "keywords": keywords}


class _TermRow(msgspec.Struct, forbid_unknown_fields=True):
    """A row of the table `[terms]` in a topic file."""

    role: Literal["name", "term"] = "term"
    weight: float | None = None
    source: str | None = None


def _split_terms(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with the rows of `[terms]` as keywords, terms and sources.

    Files of earlier versions have keywords in `[keywords]`, terms in `[narrower]`.
    """
    rows = msgspec.convert(
        {**data.get("narrower", {}), **data.get("terms", {})}, dict[str, _TermRow | float]
    )
    keywords, terms, sources = list(data["keywords"]), dict[str, float](), dict[str, str]()
    for text, value in rows.items():
        row = value if isinstance(value, _TermRow) else _TermRow(weight=value)
        if row.role == "name":
            weight = 1.0 if row.weight is None else row.weight
            keywords.append({"text": text, "weight": weight})
        else:
            terms[text] = TERM_WEIGHT if row.weight is None else row.weight
        if row.source is not None:
            sources[text] = row.source
    split = {
        "keywords": keywords,
        "terms": terms,
        "sources": {**sources, **data.get("sources", {})},
    }
    return {key: value for key, value in {**data, **split}.items() if key != "narrower"}


def to_builtins(topic: Topic) -> dict[str, Any]:
    """Return the topic as plain data, for workers and the database.

    An empty table of terms is omitted, so that the stored topics of crawls from earlier versions
    are still equal.
    """
    plain: dict[str, Any] = msgspec.to_builtins(topic)
    return {key: value for key, value in plain.items() if value or key != "terms"}


def from_builtins(data: Mapping[str, Any]) -> Topic:
    """Return the topic for plain data of `to_builtins`, also of earlier versions."""
    return msgspec.convert({"terms": data.get("narrower", {}), **data}, Topic)
