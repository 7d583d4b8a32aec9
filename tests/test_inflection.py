"""Inflection: an English word in both numbers; what is none stays as it is."""

import pytest

from focus.text.inflection import phrase_forms
from tests.support.cases import cases


@cases(
    "word, forms",
    ("game", {"game", "games"}), ("games", {"games", "game"}), ("Sports", {"sports", "sport"}),
    ("library", {"library", "libraries"}), ("libraries", {"libraries", "library", "librarie"}),
    ("movies", {"movies", "movie", "movy"}), ("box", {"box", "boxes"}),
    ("classes", {"classes", "class"}), ("analysis", {"analysis", "analyses"}),
    ("women", {"women", "woman"}), ("Data Structure", {"data structure", "data structures"}),
)  # fmt: skip
def test_phrase_forms_singular_and_plural(word: str, forms: set[str]) -> None:
    assert set(phrase_forms(word)) == forms


@pytest.mark.parametrize(
    "word",
    ["news", "physics", "bus", "DNS", "iOS", "Mars", "Redis", "AI", "Go", "c++", "es6", "café"],
)
def test_phrase_forms_uninflected_word_stays(word: str) -> None:
    assert phrase_forms(word) == (word.lower(),)


def test_phrase_forms_input_comes_first() -> None:
    assert phrase_forms("Machine Learning")[0] == "machine learning"
