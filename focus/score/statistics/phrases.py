"""Finds phrases in titles: words that stand side by side more often than chance has them.

The C-value (Frantzi, Ananiadou, Mima 2000, "Automatic recognition of multi-word terms") counts
a phrase for what it is not part of a longer one; the log-likelihood ratio of adjacent words
(Dunning 1993) tells terms, and in Chinese words that the dictionary lacks, from neighbours.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from focus.text.tokenisation import Segmenter, fold, has_han

Phrase = tuple[str, ...]
Runs = Sequence[Phrase]
"""The words of a text; those of one run stand side by side."""

MAX_PHRASE_WORDS = 4  # words
MIN_LOG_LIKELIHOOD = 6.63  # log-likelihood ratio: chi-square's 1 %
_BREAKS = re.compile(r"[^\w\s]+|_+")


def split_into_runs(text: str, segmenter: Segmenter) -> tuple[Phrase, ...]:
    """The words of a text between its punctuation marks: `Spring Boot: 入门` → two runs."""
    pieces = _BREAKS.split(fold(text))
    return tuple(words for piece in pieces if (words := segmenter.tokens(piece)))


def spell_phrase(phrase: Phrase) -> str:
    """As it stands in a text: ideographs without a space, else one between two words."""
    return ("" if has_han(phrase[0]) else " ").join(phrase)


def log_likelihood_ratio(on: int, n: int, pages_on: int, pages: int) -> float:
    """Log-likelihood ratio G² (Dunning 1993): on of the n pages with a word are relevant.

    2·Σ observed·ln(observed/expected) over pages with the word; 0 if it speaks against.
    Worked: 6 of 6, of 20 in 100: 2·6·ln(6/1.2) = 19.3.
    """
    expected = n * pages_on / pages
    if on <= expected:
        return 0.0
    off, rest = n - on, n - expected
    return 2.0 * (on * math.log(on / expected) + (off * math.log(off / rest) if off else 0.0))


def c_values(counts: dict[Phrase, int]) -> dict[Phrase, float]:
    """C-value of each phrase a: log2|a| · (f(a) - mean of f(b) over the longer b that hold a).

    |a| words, at least two; f in texts. Worked: `machine learning` in 8, `machine learning
    model` in 5 of these: 1·(8 - 5) = 3 and log2(3)·5 = 7.9.
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
    """Phrases of common words that are in `least` texts, and have a C-value of as much."""
    scripts = {word: has_han(word) for word in common if not word.isdigit()}
    counts = Counter(phrase for runs in texts for phrase in set(_candidate_phrases(runs, scripts)))
    frequent = {phrase: number for phrase, number in counts.items() if number >= min_texts}
    return {phrase for phrase, value in c_values(frequent).items() if value >= min_texts}


def is_collocation(
    phrase: Phrase, texts_with_phrase: int, texts_with_word: Mapping[str, int], texts: int
) -> bool:
    """Whether its ends hold together: `together` texts have it, more than chance would have."""
    return (
        log_likelihood_ratio(
            texts_with_phrase, texts_with_word[phrase[0]], texts_with_word[phrase[-1]], texts
        )
        >= MIN_LOG_LIKELIHOOD
    )


def find_phrases(
    runs: Runs, phrases: Collection[Phrase], first_words: Collection[str]
) -> set[Phrase]:
    """Those of the phrases that a text holds; `firsts`: their first words."""
    return {
        run[start:end]
        for run in runs
        for start, word in enumerate(run)
        if word in first_words
        for end in range(start + 2, min(start + MAX_PHRASE_WORDS, len(run)) + 1)
        if run[start:end] in phrases
    }


def _candidate_phrases(runs: Runs, scripts: Mapping[str, bool]) -> Iterator[Phrase]:
    """Two to `LONGEST` words side by side, of one script; `scripts`: of the words that count."""
    for run in runs:
        for start, first in enumerate(run):
            if (script := scripts.get(first)) is None:
                continue
            for end in range(start + 1, min(start + MAX_PHRASE_WORDS, len(run))):
                if scripts.get(run[end]) is not script:
                    break
                yield run[start : end + 1]
