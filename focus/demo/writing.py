"""Writes the text of articles: titles and sentences from patterns and word lists.

A pattern such as "{n}主场取胜" is cut into pieces once, on import: fixed strings and
tuples to draw from. Filling it is then one draw per gap, about 2 µs a sentence.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from focus.demo.words import (
    CITIES,
    COMMON,
    LATIN,
    LATIN_PHRASES,
    NUMBERS,
    PEOPLE,
    PHRASES,
    SMALL_NUMBERS,
    WORDS,
    Phrases,
    Vocabulary,
)

NEVER, ONCE, OFTEN, TITLED = 0, 1, 2, 3
"""How strongly an article uses its subject's head word: not at all … also in its title."""

T = TypeVar("T")
Pattern = tuple[str | tuple[str, ...], ...]


class Draft(NamedTuple):
    """The requirements on the text of an article.

    second    another subject with about a third of the sentences, "" for none
    strength  NEVER … TITLED
    mention   subject named in passing, "" for none; `mentions` times
    """

    subject: str
    second: str
    strength: int
    mention: str
    mentions: int


def _split_line(line: str, words: Vocabulary) -> Pattern:
    """Split a line into pieces; gaps of one kind get different words."""
    gaps = {"n": words.names, "t": words.terms, "h": words.heads}
    gaps |= {"p": PEOPLE, "c": CITIES, "d": NUMBERS, "s": SMALL_NUMBERS}
    pieces: list[str | tuple[str, ...]] = []
    seen: Counter[str] = Counter()
    for n, piece in enumerate(re.split(r"\{(\w)\}", line)):
        if n % 2:
            pieces.append(gaps[piece][seen[piece] :: line.count(f"{{{piece}}}")])
            seen[piece] += 1
        elif piece:
            pieces.append(piece)
    return tuple(pieces)


def _cut_all(source: Phrases[str], words: Vocabulary) -> Phrases[Pattern]:
    return Phrases(*(tuple(_split_line(line, words) for line in lines) for lines in source))


PATTERNS = {subject: _cut_all(PHRASES[subject], words) for subject, words in WORDS.items()}
PATTERNS["english"] = _cut_all(LATIN_PHRASES, LATIN)
_COMMON = tuple(_split_line(line, WORDS["society"]) for line in COMMON)
_HEADS_BY_STRENGTH = ((0, 0), (1, 2), (3, 5), (3, 7))


def fill(pattern: Pattern, rng: random.Random) -> str:
    """Fill each gap of a pattern with a random word."""
    draw = rng.random
    return "".join(
        [piece if type(piece) is str else piece[int(draw() * len(piece))] for piece in pattern]
    )


def pick(choices: Sequence[T], rng: random.Random) -> T:
    """One of the choices (a third of the cost of `Random.choice`)."""
    return choices[int(rng.random() * len(choices))]


def title(subject: str, strength: int, rng: random.Random) -> str:
    """Return a headline; it has the head word only at strength TITLED."""
    patterns = PATTERNS[subject]
    if strength == TITLED and patterns.head_titles:
        return fill(pick(patterns.head_titles, rng), rng)
    return fill(pick(patterns.titles, rng), rng)


def sentences(draft: Draft, length: int, rng: random.Random) -> list[str]:
    """About `length` sentences that keep to the draft."""
    own = PATTERNS[draft.subject].sentences
    second = PATTERNS[draft.second].sentences if draft.second else ()
    common = () if draft.subject == "english" else _COMMON
    text = []
    for _ in range(length):
        chance = rng.random()
        if common and chance > 0.88:
            text.append(fill(pick(common, rng), rng))
        elif second and chance > 0.55:
            text.append(fill(pick(second, rng), rng))
        else:
            text.append(fill(pick(own, rng), rng))
    for pattern in _add_head_words(draft, rng):
        text.insert(int(rng.random() * (len(text) + 1)), fill(pattern, rng))
    return text


def _add_head_words(draft: Draft, rng: random.Random) -> list[Pattern]:
    """Return the sentences with a head word: of the subject, and in passing."""
    heads = PATTERNS[draft.subject].head_sentences
    minimum, maximum = _HEADS_BY_STRENGTH[draft.strength] if heads else (0, 0)
    extra = [pick(heads, rng) for _ in range(rng.randint(minimum, maximum))]
    if draft.mention:
        mentions = PATTERNS[draft.mention].mentions
        extra += [pick(mentions, rng) for _ in range(draft.mentions)]
    return extra
