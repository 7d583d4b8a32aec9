"""Spells texts and queries for the search index, as words between spaces.

Ideographs go in as overlapping pairs, each run of them closed by its last one alone:
欧冠决赛 → 欧冠 冠决 决赛 赛. So whatever stands somewhere on a page is found as a phrase of
pairs, however a segmenter would cut it there, and a single ideograph as the beginning of a
pair. What pairs do not know is whether they are words: 和服 also stands in 产品和服务. So
the segmenter's words of two ideographs go in once more, into a column of their own that
counts in the ranking. It cuts queries, too: 欧冠决赛时间 asks for 欧冠 and 决赛 and 时间.

Other letters and digits are whole words. Case, width, accents of Latin letters, and
traditional or simplified forms make no difference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from focus.errors import ConfigError
from focus.text.formatting import printable
from focus.text.tokenisation import Segmenter, fold, has_han, split_runs

MAX_TERMS = 64
MAX_WORD = 64
"""Characters of a word that count: what is longer is data in letters."""

_TOKEN = re.compile(r'(?P<sign>[+\-＋－]?)(?:["“”](?P<phrase>[^"“”]*)["“”]?|(?P<word>[^\s"“”]+))')
_MINUS = ("-", "－")


class Query(NamedTuple):
    """A query, taken apart.

    expression  in the language of FTS5
    needles     what to mark in a text: words, or several of a phrase, as `plain` spells them
    """

    expression: str
    needles: tuple[str, ...]


def plain(text: str) -> str:
    """A text without its differences of spelling: `ＣＡＦÉ 歐冠` → `cafe 欧冠`."""
    folded = fold(text)
    return folded if folded.isascii() else folded.translate(_forms())


def spelt(text: str) -> list[str]:
    """The index's words of a text that is `plain`."""
    found: list[str] = []
    for run in split_runs(text):
        if _is_han(run):
            found.extend(map("".join, pairwise(run)))
            found.append(run[-1])
        else:
            found.append(run[:MAX_WORD])
    return found


def pairs_that_are_words(text: str, segmenter: Segmenter) -> set[str]:
    """The words of two ideographs in a text that is `plain`."""
    return {word for word in segmenter.tokens(text) if len(word) == 2 and _is_han(word)}


def read(text: str, segmenter: Segmenter) -> Query:
    """The query that somebody typed: words, "phrases", -words; ConfigError for no such thing."""
    wanted: list[str] = []
    forbidden: list[str] = []
    needles: dict[str, None] = {}
    for token in _TOKEN.finditer(text):
        quoted = token["phrase"] is not None
        part = plain(token["phrase"] if quoted else token["word"])
        if not split_runs(part):
            continue
        if token["sign"] in _MINUS:
            forbidden.append(_phrase(part))
            continue
        words = [part] if quoted else _cut(part, segmenter)
        needles |= dict.fromkeys(" ".join(split_runs(word)) for word in words)
        wanted.append(_all_of(words))
    _check(text, wanted, forbidden)
    expression = " AND ".join(dict.fromkeys(wanted))
    if forbidden:
        expression = f"({expression}) NOT ({' OR '.join(dict.fromkeys(forbidden))})"
    return Query(expression, tuple(needles))


def matcher(needles: Iterable[str]) -> re.Pattern[str]:
    """Finds the needles in a text that is `plain`: ideographs anywhere, others as whole words."""
    parts = [_needle(needle) for needle in sorted(needles, key=len, reverse=True)]
    return re.compile("|".join(parts) or r"(?!)")


def _needle(needle: str) -> str:
    words = needle.split()
    left = "" if _is_han(words[0]) else r"(?<![^\W_\u3007-\U0003ffff])"
    right = "" if _is_han(words[-1]) else r"(?![^\W_\u3007-\U0003ffff])"
    return left + r"[\W_]*".join(map(re.escape, words)) + right


def _check(text: str, wanted: list[str], forbidden: list[str]) -> None:
    shown = printable(text, 40)
    if len(wanted) + len(forbidden) > MAX_TERMS:
        raise ConfigError(
            "the query {shown!r} has more than {max_terms} words", shown=shown, max_terms=MAX_TERMS
        )
    if forbidden and not wanted:
        raise ConfigError(
            "the query {shown!r} says only what pages must not have; add a word that they must",
            shown=shown,
        )
    if not wanted:
        raise ConfigError(
            'nothing to search for in {shown!r}; give words, "a phrase" or -word, as in 欧冠 -彩票',
            shown=shown,
        )


def _cut(part: str, segmenter: Segmenter) -> list[str]:
    """An unquoted part as words; what is not Chinese in one piece (node.js is a phrase).

    Single ideographs between words are dropped: 欧冠的决赛 asks for 欧冠 and 决赛.
    """
    if not has_han(part):
        return [part]
    words = [word for word in segmenter.tokens(part) if word]
    return [word for word in words if len(word) > 1 or not _is_han(word)] or [part]


def _all_of(words: list[str]) -> str:
    each = list(dict.fromkeys(map(_phrase, words)))
    return each[0] if len(each) == 1 else f"({' AND '.join(each)})"


def _phrase(text: str) -> str:
    """A text as FTS5 finds it: all its words, one after the other."""
    found = spelt(text)
    last = split_runs(text)[-1]
    if not _is_han(last):
        return f'"{" ".join(found)}"'
    if len(last) == 1:
        return f'"{" ".join(found)}" *'
    return f'"{" ".join(found[:-1])}"'


def _is_han(run: str) -> bool:
    return run[0] >= "\u3007" and has_han(run[0])


@lru_cache(maxsize=1)
def _forms() -> dict[int, str]:
    """Character by character: traditional → simplified, Latin letter with accent → without.

    Not by word, as a converter does it (乾燥 → 干燥, but 乾坤): what the same spelling stands
    for does not matter as long as it is the same in index and query.
    """
    import opencc  # 20 ms to load: only where there are such characters

    letters = {
        char: base for char in map(chr, range(0xC0, 0x250)) if (base := _without_accent(char))
    }
    han = [chr(code) for code in _ideographs()]
    simple = opencc.OpenCC("t2s").convert("\n".join(han)).split("\n")
    letters |= {old: new for old, new in zip(han, simple, strict=True) if old != new}
    return {ord(old): new for old, new in letters.items()}


def _ideographs() -> Iterator[int]:
    yield from range(0x3400, 0x4DC0)
    yield from range(0x4E00, 0xA000)


def _without_accent(char: str) -> str:
    base = unicodedata.normalize("NFD", char)[0]
    return base if base.isascii() else ""
