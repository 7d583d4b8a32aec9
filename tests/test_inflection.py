"""Inflection: an English word in both numbers; what is none stays as it is."""

import pytest

from focus.text.inflection import forms


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("game", {"game", "games"}),
        ("games", {"games", "game"}),
        ("Sports", {"sports", "sport"}),
        ("library", {"library", "libraries"}),
        ("libraries", {"libraries", "library", "librarie"}),
        ("movies", {"movies", "movie", "movy"}),
        ("box", {"box", "boxes"}),
        ("classes", {"classes", "class"}),
        ("analysis", {"analysis", "analyses"}),
        ("women", {"women", "woman"}),
        ("Data Structure", {"data structure", "data structures"}),
    ],
)
def test_both_numbers(word: str, found: set[str]) -> None:
    assert set(forms(word)) == found


@pytest.mark.parametrize(
    "word",
    ["news", "physics", "bus", "DNS", "iOS", "Mars", "Redis", "AI", "Go", "c++", "es6", "café"],
)
def test_what_has_one_number_stays_as_it_is(word: str) -> None:
    assert forms(word) == (word.lower(),)


def test_the_word_as_it_was_given_comes_first() -> None:
    assert forms("Machine Learning")[0] == "machine learning"
