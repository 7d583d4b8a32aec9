"""Ranking of words by how well they separate a topic's pages from others, four methods (P3 4.3.2).

All methods count pages, not occurrences of a word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

Words = Collection[str]
"""Distinct words of a page, and features of its entities."""

LabelledWords = tuple[Words, bool]
"""A labelled page: its words, and whether it is on topic."""


class WordCounts(msgspec.Struct, frozen=True):
    """Numbers of labelled pages with each word: the input of feature selection and naive Bayes.

    on, off   pages on topic and off topic
    words     word -> (on-topic pages with it, off-topic pages with it)
    """

    on: int
    off: int
    words: dict[str, tuple[int, int]]

    def combine(self, addend: WordCounts, sign: int = 1) -> WordCounts:
        """Return the sum of both counts; with `sign` -1 the difference."""
        words = dict(self.words)
        for word, (on, off) in addend.words.items():
            own = words.get(word, (0, 0))
            words[word] = (own[0] + sign * on, own[1] + sign * off)
        return WordCounts(self.on + sign * addend.on, self.off + sign * addend.off, words)


def count_words(samples: Iterable[LabelledWords]) -> WordCounts:
    """Count labelled pages: [({a, b}, on), ({b}, off)] → a (1, 0), b (1, 1)."""
    pages = [0, 0]
    words: dict[str, tuple[int, int]] = {}
    for page, is_on in samples:
        pages[is_on] += 1
        for word in page:
            on, off = words.get(word, (0, 0))
            words[word] = (on + is_on, off + (not is_on))
    return WordCounts(pages[True], pages[False], words)


class ContingencyTable(NamedTuple):
    """Numbers of pages by word and topic, in P3's letters (eq. 4-2)."""

    a: int  # have the word, on topic
    b: int  # have the word, off topic
    c: int  # lack the word, on topic
    d: int  # lack the word, off topic


def document_frequency(t: ContingencyTable) -> float:
    """Return the pages with the word: A + B. Example: (8, 2, 2, 8) → 10."""
    return float(t.a + t.b)


def information_gain(t: ContingencyTable) -> float:
    """Return the information of the word about the topic, in nats (P3 eq. 4-1).

    IG(t) = -Σ P(c) ln P(c) + P(t) Σ P(c|t) ln P(c|t) + P(¬t) Σ P(c|¬t) ln P(c|¬t), that is H(C) -
    H(C|T), in 0 … ln 2. Example: (8, 2, 2, 8): 0.693 - 0.500 = 0.193.
    """
    n = t.a + t.b + t.c + t.d
    if not n:
        return 0.0
    conditional = (t.a + t.b) * _entropy(t.a, t.b) + (t.c + t.d) * _entropy(t.c, t.d)
    return max(0.0, _entropy(t.a + t.c, t.b + t.d) - conditional / n)


def _entropy(*numbers: int) -> float:
    """Return the entropy of a distribution in nats: (1, 1) → 0.693."""
    total = sum(numbers)
    return -sum(n / total * math.log(n / total) for n in numbers if n)


def chi_square(t: ContingencyTable) -> float:
    """Return the χ² statistic of dependence between word and topic (P3 eq. 4-2).

    χ² = N (AD - CB)² / ((A+C)(B+D)(A+B)(C+D)); P3 prints a + before the last factor, a misprint of
    ×. Example: (8, 2, 2, 8): 20 · 60² / 10⁴ = 7.2.
    """
    denominator = (t.a + t.c) * (t.b + t.d) * (t.a + t.b) * (t.c + t.d)
    return sum(t) * (t.a * t.d - t.c * t.b) ** 2 / denominator if denominator else 0.0


def mutual_information(t: ContingencyTable) -> float:
    """Return ln(A·N / ((A+C)(A+B))): how much more often word and topic meet than by chance.

    This is P3 eq. 4-3. It favours rare words: one on-topic page is enough for the highest value.
    Example: (8, 2, 2, 8): ln(160/100) = 0.470; a word of off-topic pages only: -∞.
    """
    return math.log(t.a * sum(t) / ((t.a + t.c) * (t.a + t.b))) if t.a else -math.inf


SELECTION_METHODS: Mapping[str, Callable[[ContingencyTable], float]] = {
    "ig": information_gain,
    "chi": chi_square,
    "mi": mutual_information,
    "df": document_frequency,
}


def contingency_table(counts: WordCounts, word: str) -> ContingencyTable:
    """Return the four counts of a word."""
    on, off = counts.words.get(word, (0, 0))
    return ContingencyTable(on, off, counts.on - on, counts.off - off)


def candidate_words(counts: WordCounts) -> list[str]:
    """Return the words on at least one on-topic page (P3 4.3.1) and at least two pages.

    A word of a single page says nothing about other pages.
    """
    return [word for word, (on, off) in counts.words.items() if on and on + off > 1]


def select_words(counts: WordCounts, method: str, number: int) -> list[str]:
    """Return the best `number` words by a method, best first; ties go by alphabet."""
    value = SELECTION_METHODS[method]
    ranked = sorted(
        (-value(contingency_table(counts, word)), word) for word in candidate_words(counts)
    )
    return [word for _, word in ranked[:number]]
