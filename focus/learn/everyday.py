"""Words that are too frequent in general text to be related terms of a topic."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from focus.score.statistics.vector import background_idf, is_term
from focus.text.inflection import phrase_forms
from focus.text.tokenisation import fold, has_han

_EVERYDAY_FILE = Path(__file__).parent / "everyday_words.txt"
_MIN_IDF = 7.0  # rarer than 天气 and 比赛; 60 of the library's 27,200 Chinese terms are not


def is_everyday(word: str) -> bool:
    """Return whether a word is frequent in general text: 问题, weather; not 越位, own goal."""
    folded = fold(word.strip())
    if has_han(folded):
        return background_idf()(folded) < _MIN_IDF
    return not is_term(folded) or not _everyday_words().isdisjoint(phrase_forms(folded))


@lru_cache(maxsize=1)
def _everyday_words() -> frozenset[str]:
    return frozenset(_EVERYDAY_FILE.read_text("utf-8").split())
