"""The words and sentence patterns of the generated web, by subject, as subjects.toml has them.

`LATIN` serves the one English host.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Vocabulary(NamedTuple):
    """The vocabulary of one subject."""

    heads: tuple[str, ...]
    names: tuple[str, ...]
    terms: tuple[str, ...]


class Phrases(NamedTuple, Generic[T]):
    """The patterns of one subject, as lines or cut into pieces."""

    titles: tuple[T, ...]
    head_titles: tuple[T, ...]
    sentences: tuple[T, ...]
    head_sentences: tuple[T, ...]
    mentions: tuple[T, ...]


def _words(value: str | list[str]) -> tuple[str, ...]:
    return tuple(value.split() if isinstance(value, str) else value)


_SOURCE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("subjects.toml").read_text(encoding="utf-8")
)
_SUBJECTS = {name: entry for name, entry in _SOURCE.items() if isinstance(entry, dict)}
WORDS = {
    name: Vocabulary(*(_words(entry[field]) for field in Vocabulary._fields))
    for name, entry in _SUBJECTS.items()
}
PHRASES = {
    name: Phrases[str](*(tuple(entry[field].splitlines()) for field in Phrases._fields))
    for name, entry in _SUBJECTS.items()
}
LATIN, LATIN_PHRASES = WORDS.pop("english"), PHRASES.pop("english")
COMMON = tuple(_SOURCE["common"].splitlines())

CITIES, PINYIN = _words(_SOURCE["cities"]), _words(_SOURCE["pinyin"])
PEOPLE = tuple(
    family + name for family in _words(_SOURCE["families"]) for name in _words(_SOURCE["given"])
)
NUMBERS = tuple(str(n) for n in range(2, 49))
SMALL_NUMBERS = tuple("一两三四五")

UMBRELLA = dict.fromkeys(("football", "basketball", "tennis"), "体育")
"""Subject -> the wider word that some of its articles are tagged with."""

TAG_IDS = {
    word: number
    for number, word in enumerate(
        dict.fromkeys(
            word
            for words in (*WORDS.values(), LATIN)
            for word in (*words.heads, *words.names, *words.terms)
        )
        | dict.fromkeys(UMBRELLA.values())
    )
}
"""A number for every word that may be a tag, for hosts that keep Chinese out of their paths."""

TAG_SUBJECTS: dict[str, frozenset[str]] = {
    word: frozenset(
        subject
        for subject, words in WORDS.items()
        if word in (*words.heads, *words.names, *words.terms, UMBRELLA.get(subject))
    )
    for word in TAG_IDS
}
"""The subjects a tag belongs to (none for a word of the English host)."""

TO_TRADITIONAL = str.maketrans({pair[0]: pair[1] for pair in _SOURCE["traditional"].split()})
