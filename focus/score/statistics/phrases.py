"""Phrases in titles: adjacent words that occur together more often than by chance.

The C-value (Frantzi, Ananiadou, Mima 2000, "Automatic recognition of multi-word terms") counts a
phrase where it is not part of a longer one. The log-likelihood ratio of adjacent words (Dunning
1993) separates terms, and Chinese words that are not in the dictionary, from mere neighbours.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from focus.text.tokenisation import Segmenter, fold, has_han

Phrase = tuple[str, ...]
Runs = Sequence[Phrase]
"""The words of a text; those of one run are adjacent."""

MAX_PHRASE_WORDS = 4
MIN_LOG_LIKELIHOOD = 6.63  # 1 % level of chi-square
_BREAKS = re.compile(r"[^\w\s]+|_+")


def split_into_runs(text: str, segmenter: Segmenter) -> tuple[Phrase, ...]:
    """Return the words between punctuation marks: `Spring Boot: 入门` → two runs."""
    pieces = _BREAKS.split(fold(text))
    return tuple(words for piece in pieces if (words := segmenter.tokens(piece)))


def spell_phrase(phrase: Phrase) -> str:
    """Return a phrase as text: ideographs without spaces, other words with one in between."""
    return ("" if has_han(phrase[0]) else " ").join(phrase)


def log_likelihood_ratio(on: int, n: int, pages_on: int, pages: int) -> float:
    """Return G² (Dunning 1993) for a word on n pages, `on` of which are relevant.

    2·Σ observed·ln(observed/expected) over pages with the word; 0 if the word is rarer on relevant
    pages than expected. Example: 6 of 6, with 20 relevant in 100 pages: 2·6·ln(6/1.2) = 19.3.
    """
    expected = n * pages_on / pages
    if on <= expected:
        return 0.0
    off, rest = n - on, n - expected
    return 2.0 * (on * math.log(on / expected) + (off * math.log(off / rest) if off else 0.0))


def c_values(counts: dict[Phrase, int]) -> dict[Phrase, float]:
    """Return the C-value of each phrase a: log2|a| · (f(a) - mean f(b) of longer b that contain a).

    |a| is the number of words, at least two; f the number of texts. Example: `machine learning` in
    8 texts, `machine learning model` in 5 of these: 1·(8 - 5) = 3 and log2(3)·5 = 7.9.
    """
    longer_counts: dict[Phrase, list[int]] = defaultdict(list)
    for longer, number in counts.items():
        ends = range(2, len(longer) + 1)
        parts = {longer[start:end] for end in ends for start in range(end - 1)} - {longer}
        for part in parts & counts.keys():
            longer_counts[part].append(number)
    return {
        phrase: math.log2(len(phrase)) * (number - sum(counts_of_longer) / len(counts_of_longer))
        for phrase, number in counts.items()
        for counts_of_longer in [longer_counts.get(phrase, [0])]
    }


def frequent_phrases(
    texts: Iterable[Runs], common: Collection[str], min_texts: float
) -> set[Phrase]:
    """Return phrases of common words in at least `min_texts` texts, with a C-value as large."""
    scripts = {word: has_han(word) for word in common if not word.isdigit()}
    counts = Counter(phrase for runs in texts for phrase in set(_candidate_phrases(runs, scripts)))
    frequent = {phrase: number for phrase, number in counts.items() if number >= min_texts}
    return {phrase for phrase, value in c_values(frequent).items() if value >= min_texts}


def is_collocation(
    phrase: Phrase, texts_with_phrase: int, texts_with_word: Mapping[str, int], texts: int
) -> bool:
    """Return whether first and last word of a phrase occur together more often than by chance."""
    return (
        log_likelihood_ratio(
            texts_with_phrase, texts_with_word[phrase[0]], texts_with_word[phrase[-1]], texts
        )
        >= MIN_LOG_LIKELIHOOD
    )


def find_phrases(
    runs: Runs, phrases: Collection[Phrase], first_words: Collection[str]
) -> set[Phrase]:
    """Return the phrases that a text contains; `first_words` are their first words."""
    return {
        run[start:end]
        for run in runs
        for start, word in enumerate(run)
        if word in first_words
        for end in range(start + 2, min(start + MAX_PHRASE_WORDS, len(run)) + 1)
        if run[start:end] in phrases
    }


def _candidate_phrases(runs: Runs, scripts: Mapping[str, bool]) -> Iterator[Phrase]:
    """Yield sequences of two to `MAX_PHRASE_WORDS` words that are in `scripts`, of one script."""
    for run in runs:
        for start, first in enumerate(run):
            if (script := scripts.get(first)) is None:
                continue
            for end in range(start + 1, min(start + MAX_PHRASE_WORDS, len(run))):
                if scripts.get(run[end]) is not script:
                    break
                yield run[start : end + 1]
