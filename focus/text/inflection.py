"""Gives the singular and the plural of an English word: `games` and `game`, `library`, `libraries`.

Only number is inflected. The whole family that a stemmer makes one costs more pages than it finds:
with `network` for networking precision falls from .93 to .70 (recall .54 to .68), with `program`
for programming from .65 to .42 (.63 to .68), on a dictionary of computing; and Snowball's English
stemmer has one stem for physics and physical, for business and busy.
"""

from __future__ import annotations

import re

_SHORTEST = 3  # letters of a word that is inflected at all
_NAME = 4  # of one with a capital that loses no s: Mars
_PAIRS = (
    ("child", "children"),
    ("foot", "feet"),
    ("man", "men"),
    ("mouse", "mice"),
    ("person", "people"),
    ("tooth", "teeth"),
    ("woman", "women"),
)
_IRREGULAR = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_INVARIANT = frozenset(("news", "series", "species"))
_WORD = re.compile(r"[A-Za-z]+")


def forms(phrase: str) -> tuple[str, ...]:
    """A word or phrase in lower case, and its last word in the other number.

    Short names lose no s (Mars), nor do words with capitals inside (DNS, iOS); what is no English
    word by its letters stays as it is.
    Worked: `Games` → games, game; `data structure` → data structure, data structures.
    """
    head, _, word = phrase.rpartition(" ")
    start = f"{head.lower()} " if head else ""
    return tuple(dict.fromkeys(f"{start}{form}" for form in _numbers(word)))


def _numbers(word: str) -> list[str]:
    """A word in lower case, then in its other number, if it has one."""
    low = word.lower()
    if len(word) < _SHORTEST or not _WORD.fullmatch(word) or low in _INVARIANT:
        return [low]
    if low in _IRREGULAR:
        return [low, _IRREGULAR[low]]
    if ones := _singulars(low):
        is_name = word != low and (len(word) <= _NAME or not word[1:].islower())
        return [low] if is_name else [low, *ones]
    if low.endswith(("ing", "ics")) or (low.endswith("s") and not low.endswith(("ss", "sis"))):
        return [low]
    return [low, _plural(low)]


def _singulars(word: str) -> list[str]:
    """What a plural may be the plural of, [] for none, by step 1a of Snowball's English stemmer.

    An s goes if a vowel stands before it, but not right before it; us, ss, is and ics stay.
    Worked: ponies → pony, ponie (as in movie), classes → class, games → game; gas, physics: [].
    """
    if word.endswith(("sses", "xes", "ches", "shes")):
        return [word[:-2]]
    if word.endswith("ies") and len(word) > 4:
        return [f"{word[:-3]}y", word[:-1]]
    if word.endswith(("us", "ss", "is", "ics")) or not word.endswith("s"):
        return []
    return [word[:-1]] if re.search("[aeiouy]", word[:-2]) else []


def _plural(word: str) -> str:
    """Worked: game → games, box → boxes, library → libraries, analysis → analyses."""
    if word.endswith("sis"):
        return f"{word[:-2]}es"
    if re.search("[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"
