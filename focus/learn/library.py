"""The library of topics that comes with focus: names, narrower subjects and terms of a topic.

Its sources are `topics/*.txt` in the repository; `python topics/pack.py` writes `library.zst` from
them. The packed text has four lines a topic: `|name|other name|`, folded; narrower subjects (MySQL
for 数据库), often none; Chinese terms; English terms. A topic is found by any of its names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from focus.errors import ConfigError
from focus.http import zstd
from focus.learn.everyday import is_everyday
from focus.text.inflection import phrase_forms
from focus.text.tokenisation import fold
from focus.topic.terms import LIBRARY, add_names, add_terms, parse_terms
from focus.topic.topic import Topic

LIBRARY_FILE = Path(__file__).parent / "library.zst"
_MAX_BYTES = 10_000_000  # of the unpacked text
_NAME_WEIGHT = 0.8  # of another name, which may have a second meaning
_KINDS = (
    *("新闻", "资讯", "知识", "教程", "行业", "产业"),
    *(" news", " tutorial", " guide", " tips", " industry"),
)
"""Kinds of pages and views of a subject: 足球新闻 is searched for as 足球, too."""
_NARROWER_WEIGHT = 0.4
"""Weight of a narrower subject: a page with it in the title and in the text is relevant."""


class LibraryTopic(NamedTuple):
    """A topic of the library: its names, folded, its narrower subjects, and its terms.

    Subjects and terms are in both languages.
    """

    names: tuple[str, ...]
    narrower: tuple[str, ...]
    terms: tuple[str, ...]


def find_topic(name: str) -> LibraryTopic | None:
    """Return the topic with this name, in singular or plural and with or without a kind, or None.

    Examples: databases, 足球新闻, 畜牧 (in the library as 畜牧业).

    Raises ConfigError for a damaged library.
    """
    text = library_text()
    starts = (text.find(f"|{fold(form)}|") for form in _name_forms(name.strip()))
    start = next((start for start in starts if start >= 0), -1)
    if start < 0:
        return None
    names, narrower, *terms = text[text.rfind("\n", 0, start) + 1 :].split("\n", 4)[:4]
    return LibraryTopic(
        tuple(names.strip("|").split("|")), _split_words(narrower), _split_words(",".join(terms))
    )


def _name_forms(name: str) -> Iterator[str]:
    """Yield the forms under which the library may have a name, the likeliest first."""
    forms = phrase_forms(name) if name else ()
    yield from forms
    for form in forms:
        for kind in _KINDS:
            if form.endswith(kind) and len(form) >= len(kind) + 2:
                yield from phrase_forms(form.removesuffix(kind))
    yield f"{name}业"


def _split_words(line: str) -> tuple[str, ...]:
    return tuple(filter(None, (word.strip() for word in line.split(","))))


@lru_cache(maxsize=1)
def library_text() -> str:
    """Return the unpacked library. Raises ConfigError for a damaged file."""
    try:
        return zstd.decompress_bounded(LIBRARY_FILE.read_bytes(), _MAX_BYTES).decode()
    except (OSError, zstd.ZstdError, UnicodeDecodeError) as error:
        raise ConfigError(
            "the library of topics {path} cannot be read: {error}; install focus again, or "
            "crawl with --terms none",
            path=LIBRARY_FILE,
            error=error,
        ) from None


def add_library_terms(topic: Topic) -> Topic:
    """Return the topic with the names and terms of the library, unless it has terms of its own."""
    return topic if topic.terms else merge_library_terms(topic)


def merge_library_terms(topic: Topic) -> Topic:
    """Return the topic with the names, narrower subjects and terms that the library has for it.

    The first of its keywords, or else its name, that the library knows decides. A topic that the
    library does not have is returned unchanged.
    """
    words = [*(keyword.text for keyword in topic.keywords), topic.name]
    entry = next(filter(None, map(find_topic, words)), None)
    if entry is None:
        return topic
    topic = add_names(topic, entry.names, LIBRARY, weight=_NAME_WEIGHT)
    topic = add_names(topic, entry.narrower, LIBRARY, weight=_NARROWER_WEIGHT)
    return add_terms(topic, entry.terms, LIBRARY)


def choose_terms(topic: Topic, choice: str) -> Topic:
    """Return the topic with the terms of `--terms`: `library`, `none` or a file of words.

    Everyday words in a file are left out: a single one would steer the crawl.
    """
    if choice == "none":
        return msgspec.structs.replace(topic, terms={})
    if choice == LIBRARY:
        return add_library_terms(topic)
    try:
        words = parse_terms(Path(choice).read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "--terms {choice}: neither library nor none nor a file of words: {error}",
            choice=choice,
            error=error,
        ) from None
    words = [word for word in words if not is_everyday(word)]
    return add_terms(topic, words, f"file {Path(choice).name}")
