"""Turns text into tokens: folding, Chinese segmentation, and the words of a topic.

Tokens are folded words (NFKC, case). Chinese is segmented in the exact mode of jieba's dictionary;
anything without a letter, digit or ideograph is dropped. Runs of Latin letters and digits are
split off before segmentation, because the two segmenters differ there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any

from focus.text.visible import strip_invisible

_HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HAS_HAN = re.compile(f"[{_HAN}]")
_RUNS = re.compile(f"[{_HAN}]+|[^\\W_{_HAN}]+")
_CACHED_CHARS = 64
_SIGNS = tuple((sign, unicodedata.normalize("NFKC", sign)) for sign in "，：！？（）；…～－｜")
"""Frequent compatibility forms. A text with any other takes NFKC ten times as long."""
_DEFAULT_WORDS: list[frozenset[str]] = []  # words added to rjieba's dictionary, once loaded

Cut = Callable[[str], Iterable[str]]


def fold(text: str) -> str:
    """Return a text in lower case with compatibility forms replaced: `ＪＡＶＡ！` → `java!`.

    Characters without a shape, such as soft hyphens, are left out.
    """
    if text.isascii():
        return text.lower()
    for sign, plain in _SIGNS:
        text = text.replace(sign, plain)
    return unicodedata.normalize("NFKC", strip_invisible(text)).casefold()


def has_han(text: str) -> bool:
    """Return whether a text contains an ideograph."""
    return _HAS_HAN.search(text) is not None


def split_runs(folded: str) -> list[str]:
    """Return the runs of ideographs and of other letters and digits in a folded text, in order."""
    return _RUNS.findall(folded)


def make_rjieba_cut(words: Iterable[str] = ()) -> Cut:
    """Return jieba's segmentation written in Rust, about 18 times as fast.

    Importing rjieba loads a dictionary of 24 MiB. The first caller gets this dictionary with its
    words added, and so do later callers with the same words. Other callers share one further
    dictionary, that of the last words asked for.
    """
    import rjieba  # imported late: loads a dictionary

    word_set = frozenset(words)
    if _DEFAULT_WORDS and word_set != _DEFAULT_WORDS[0]:
        return _make_cached_cut(word_set)
    if not _DEFAULT_WORDS:
        _DEFAULT_WORDS.append(word_set)
        _add_words(rjieba._DEFAULT_JIEBA, word_set)
    cut: Cut = rjieba._DEFAULT_JIEBA.cut
    return cut


@lru_cache(maxsize=1)
def _make_cached_cut(words: frozenset[str]) -> Cut:
    import rjieba

    jieba = rjieba.Jieba()
    _add_words(jieba, words)
    cut: Cut = jieba.cut
    return cut


def _add_words(jieba: Any, words: frozenset[str]) -> None:
    for word in sorted(words):
        jieba.add_word(word, 100_000, "n")


class Segmenter:
    """Splits text into folded words; the results of short texts (anchors) are cached.

    words   topic words that must not be split, such as 机器学习
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._han_words = [fold(word) for word in words if has_han(word)]
        self._cached_tokens = lru_cache(maxsize=50_000)(self._segment)

    def tokens(self, text: str) -> tuple[str, ...]:
        """Return the words of a text in order: `足球Java 8！` → ("足球", "java", "8")."""
        return self._cached_tokens(text) if len(text) <= _CACHED_CHARS else self._segment(text)

    @cached_property
    def _cut(self) -> Cut:
        """The segmentation, made on first use: its dictionary takes 0.13 s to load."""
        return make_rjieba_cut(self._han_words)

    def _segment(self, text: str) -> tuple[str, ...]:
        tokens: list[str] = []
        for run in split_runs(fold(text)):
            if run[0] >= "\u3007" and has_han(run[0]):
                tokens.extend(self._cut(run))
            else:
                tokens.append(run)
        return tuple(tokens)
