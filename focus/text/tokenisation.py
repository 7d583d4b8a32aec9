"""Turns text into tokens: folding, Chinese segmentation, and the words of a topic.

Tokens are folded words (NFKC, case): Chinese cut in the exact mode of jieba's dictionary,
anything without a letter, digit or ideograph dropped. Runs of Latin letters and digits are
cut off before the segmenter sees the text, since there the two segmenters differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any

_HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HAS_HAN = re.compile(f"[{_HAN}]")
_RUNS = re.compile(f"[{_HAN}]+|[^\\W_{_HAN}]+")
_CACHED_CHARS = 64
_FIRST: list[frozenset[str]] = []  # the words in the dictionary that rjieba itself has loaded

Cut = Callable[[str], Iterable[str]]


def fold(text: str) -> str:
    """Compatibility forms and case made one: `ＪＡＶＡ` → `java`, `，` → `,`."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold()


def has_han(text: str) -> bool:
    """Whether a text holds an ideograph."""
    return _HAS_HAN.search(text) is not None


def runs(folded: str) -> list[str]:
    """A folded text's runs of ideographs, and of other letters and digits, in order."""
    return _RUNS.findall(folded)


def rjieba_cut(words: Iterable[str] = ()) -> Cut:
    """jieba's algorithm and dictionary in Rust, about 18 times as fast.

    Importing it loads a dictionary of 24 MiB. Who comes first has that one, with its words in it,
    and so has everybody who wants the same words; so it is with the latest other one.
    """
    import rjieba  # only where text is cut

    wanted = frozenset(words)
    if _FIRST and wanted != _FIRST[0]:
        return _other_cut(wanted)
    if not _FIRST:
        _FIRST.append(wanted)
        _add_words(rjieba._DEFAULT_JIEBA, wanted)
    cut: Cut = rjieba._DEFAULT_JIEBA.cut
    return cut


@lru_cache(maxsize=1)
def _other_cut(words: frozenset[str]) -> Cut:
    import rjieba

    jieba = rjieba.Jieba()
    _add_words(jieba, words)
    cut: Cut = jieba.cut
    return cut


def _add_words(jieba: Any, words: frozenset[str]) -> None:
    for word in sorted(words):
        jieba.add_word(word, 100_000, "n")


class Segmenter:
    """Cuts text into folded words; short texts (anchors) are remembered.

    words   topic words that must come out whole, such as 机器学习
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._han = [fold(word) for word in words if has_han(word)]
        self._short = lru_cache(maxsize=50_000)(self._tokens)

    def tokens(self, text: str) -> tuple[str, ...]:
        """The words of a text in order: `足球Java 8！` → ("足球", "java", "8")."""
        return self._short(text) if len(text) <= _CACHED_CHARS else self._tokens(text)

    @cached_property
    def _cut(self) -> Cut:
        """Its dictionary takes 0.13 s to load, which those who cut nothing are spared."""
        return rjieba_cut(self._han)

    def _tokens(self, text: str) -> tuple[str, ...]:
        found: list[str] = []
        for run in runs(fold(text)):
            if run[0] >= "\u3007" and has_han(run[0]):
                found.extend(self._cut(run))
            else:
                found.append(run)
        return tuple(found)
