"""Words of texts and queries in the search index.

Han text is indexed as overlapping pairs of characters, followed by the last character of each run:
欧冠决赛 → 欧冠 冠决 决赛 赛. Any text on a page is thus found as a phrase of pairs, independent of
segmentation, and a single character as the beginning of a pair. Pairs are not always words: 和服
occurs in 产品和服务. Therefore words of two characters according to the segmenter are indexed
again, in a separate column that improves the ranking. The segmenter also splits queries:
欧冠决赛时间 means 欧冠 and 决赛 and 时间.

Other letters and digits form whole words. Case, width, accents of Latin letters, and traditional
or simplified characters make no difference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from focus.errors import ConfigError
from focus.text.formatting import printable
from focus.text.tokenisation import Segmenter, fold, has_han, split_runs

MAX_TERMS = 64
MAX_WORD_LENGTH = 64
"""Indexed characters of a word; longer words are usually encoded data."""

_TOKEN = re.compile(r'(?P<sign>[+\-＋－]?)(?:["“”](?P<phrase>[^"“”]*)["“”]?|(?P<word>[^\s"“”]+))')
_MINUS = ("-", "－")


class Query(NamedTuple):
    """Parsed query.

    expression  query in the language of FTS5: pages with all words and phrases
    needles     words and phrases to mark in a text, in the spelling of `fold_spelling`
    words       expressions of the words that a page may lack, by their needles
    phrases     expressions of the phrases, which it must contain
    excluded    expression of the excluded words, or ""
    """

    expression: str
    needles: tuple[str, ...]
    words: dict[str, str] = {}
    phrases: tuple[str, ...] = ()
    excluded: str = ""

    def require(self, expression: str) -> str:
        """Return an expression for pages that match another one, and the query's conditions."""
        expression = " AND ".join((*self.phrases, f"({expression})"))
        return f"({expression}) NOT ({self.excluded})" if self.excluded else expression


def fold_spelling(text: str) -> str:
    """Return a text in one spelling: `ＣＡＦÉ 歐冠` → `cafe 欧冠`."""
    folded = fold(text)
    return folded if folded.isascii() else folded.translate(_simple_forms())


def index_words(text: str) -> list[str]:
    """Return the words to index for a text in the spelling of `fold_spelling`."""
    words: list[str] = []
    for run in split_runs(text):
        if _is_han(run):
            words.extend(map("".join, pairwise(run)))
            words.append(run[-1])
        else:
            words.append(run[:MAX_WORD_LENGTH])
    return words


def two_character_words(text: str, segmenter: Segmenter) -> set[str]:
    """Return the words of two Han characters in a text in the spelling of `fold_spelling`."""
    return {word for word in segmenter.tokens(text) if len(word) == 2 and _is_han(word)}


def parse_query(text: str, segmenter: Segmenter) -> Query:
    """Parse a query of words, "phrases" and -words; ConfigError if it is invalid."""
    required: dict[str, None] = {}
    forbidden: list[str] = []
    needles: dict[str, None] = {}
    words: dict[str, str] = {}
    number = 0
    for token in _TOKEN.finditer(text):
        quoted = token["phrase"] is not None
        text_part = fold_spelling(token["phrase"] if quoted else token["word"])
        if not split_runs(text_part):
            continue
        number += 1
        if token["sign"] in _MINUS:
            forbidden.append(_phrase(text_part))
            continue
        parts = [text_part] if quoted else _query_words(text_part, segmenter)
        phrases = {" ".join(split_runs(part)): _phrase(part) for part in parts}
        needles |= dict.fromkeys(phrases)
        required |= dict.fromkeys(phrases.values())
        if not quoted:
            words |= phrases
    _check_terms(text, number, required, forbidden)
    expression = " AND ".join(required)
    excluded = " OR ".join(dict.fromkeys(forbidden))
    if excluded:
        expression = f"({expression}) NOT ({excluded})"
    fixed = tuple(phrase for phrase in required if phrase not in words.values())
    return Query(expression, tuple(needles), words, fixed, excluded)


def needle_pattern(needles: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for the needles: Han text anywhere, other text as whole words.

    It is for texts in the spelling of `fold_spelling`.
    """
    parts = [_needle_regex(needle) for needle in sorted(needles, key=len, reverse=True)]
    return re.compile("|".join(parts) or r"(?!)")


def _needle_regex(needle: str) -> str:
    words = needle.split()
    before = "" if _is_han(words[0]) else r"(?<![^\W_\u3007-\U0003ffff])"
    after = "" if _is_han(words[-1]) else r"(?![^\W_\u3007-\U0003ffff])"
    return before + r"[\W_]*".join(map(re.escape, words)) + after


def _check_terms(
    text: str, number: int, required: Collection[str], forbidden: Collection[str]
) -> None:
    shown = printable(text, 40)
    if number > MAX_TERMS:
        raise ConfigError(
            "the query {shown!r} has more than {max_terms} words", shown=shown, max_terms=MAX_TERMS
        )
    if forbidden and not required:
        raise ConfigError(
            "the query {shown!r} has only excluded words; add a word to find", shown=shown
        )
    if not required:
        raise ConfigError(
            'nothing to search for in {shown!r}; give words, "a phrase" or -word, as in 欧冠 -彩票',
            shown=shown,
        )


def _query_words(part: str, segmenter: Segmenter) -> list[str]:
    """Split an unquoted part with Han characters into words; others stay whole (node.js).

    Single characters between words are dropped: 欧冠的决赛 means 欧冠 and 决赛.
    """
    if not has_han(part):
        return [part]
    words = [word for word in segmenter.tokens(part) if word]
    return [word for word in words if len(word) > 1 or not _is_han(word)] or [part]


def _phrase(text: str) -> str:
    """Return a text as an FTS5 phrase of its words."""
    words = index_words(text)
    last = split_runs(text)[-1]
    if not _is_han(last):
        return f'"{" ".join(words)}"'
    if len(last) == 1:
        return f'"{" ".join(words)}" *'
    return f'"{" ".join(words[:-1])}"'


def _is_han(run: str) -> bool:
    return run[0] >= "\u3007" and has_han(run[0])


@lru_cache(maxsize=1)
def _simple_forms() -> dict[int, str]:
    """Return a map of characters: traditional → simplified, Latin letter with accent → without.

    Words are not considered, as a converter would (乾燥 → 干燥, but 乾坤): the spelling only has to
    be the same in index and query.
    """
    import opencc  # takes 20 ms to load, so it is only imported if needed

    letters = {}
    for char in map(chr, range(0xC0, 0x250)):
        base = unicodedata.normalize("NFD", char)[0]
        if base.isascii():
            letters[char] = base
    han = [chr(code) for code in (*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000))]
    simple = opencc.OpenCC("t2s").convert("\n".join(han)).split("\n")
    letters |= {old: new for old, new in zip(han, simple, strict=True) if old != new}
    return {ord(old): new for old, new in letters.items()}
