"""Phrases: words side by side that are one term, by counted evidence."""

from __future__ import annotations

import math

import pytest

from focus.score.statistics.phrases import (
    c_values,
    frequent_phrases,
    is_collocation,
    spell_phrase,
    split_into_runs,
)
from focus.score.subtopics import Subtopics
from focus.text.tokenisation import Segmenter
from tests.support.titles import titled


def runs(*texts: str) -> list[tuple[tuple[str, ...], ...]]:
    return [(tuple(text.split()),) for text in texts]


def test_c_values_example_matches_docstring() -> None:
    values = c_values({("machine", "learning"): 8, ("machine", "learning", "model"): 5})
    assert values["machine", "learning"] == pytest.approx(3.0)
    assert values["machine", "learning", "model"] == pytest.approx(5 * math.log2(3))


def test_frequent_phrases_omits_part_of_longer_phrase() -> None:
    texts = runs(*["spring boot starter"] * 6)
    common = {"spring", "boot", "starter"}
    assert frequent_phrases(texts, common, 3) == {("spring", "boot", "starter")}
    assert frequent_phrases(texts, common - {"starter"}, 3) == {("spring", "boot")}
    assert frequent_phrases(texts[:2], common, 3) == set()


def test_is_collocation_chance_neighbours_is_false() -> None:
    """23 of 43 texts each: 12.3 by chance; 5 of 45 each: 0.6."""
    assert not is_collocation(("good", "day"), 3, {"good": 23, "day": 23}, 43)
    assert is_collocation(("分", "库"), 5, {"分": 5, "库": 5}, 45)
    assert spell_phrase(("分", "库")) == "分库"


def test_frequent_phrases_do_not_cross_punctuation_scripts_or_numbers() -> None:
    assert split_into_runs("Spring Boot: learn", Segmenter()) == (("spring", "boot"), ("learn",))
    texts = runs(*["java 入门", "java 8"] * 6)
    assert frequent_phrases(texts, {"java", "入门", "8"}, 3) == set()


def test_subtopics_phrase_with_more_weight_than_words_is_included() -> None:
    on = [titled(f"spring boot n{n}", True, n) for n in range(8)]
    fairs = [f"{('spring', 'boot')[n % 2]} fair n{n}" for n in range(16)]
    subtopics = Subtopics()
    for item in [*on, *(titled(t, False, 0) for t in fairs + ["weather"] * 60)]:
        subtopics.add_page(item)
    assert subtopics.words.keys() == {"spring boot", "spring", "boot"}
    assert subtopics.subtopics_in("Spring Boot 3") == ["spring boot"]
    assert subtopics.weights["Spring Boot 3"] > 1.5 * subtopics.weights["spring 3"] > 0.0


def test_subtopics_phrase_without_more_weight_is_omitted() -> None:
    subtopics = Subtopics()
    titles = [(f"redis cluster n{n}", True) for n in range(8)]
    for title, relevant in [*titles, *(("weather", False) for _ in range(60))]:
        subtopics.add_page(titled(title, relevant, len(title) + subtopics.page_count))
    assert subtopics.words.keys() == {"redis", "cluster"}
