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


def test_c_value_worked_number() -> None:
    found = c_values({("machine", "learning"): 8, ("machine", "learning", "model"): 5})
    assert found["machine", "learning"] == pytest.approx(3.0)
    assert found["machine", "learning", "model"] == pytest.approx(5 * math.log2(3))


def test_a_part_that_never_stands_alone_is_no_phrase() -> None:
    texts = runs(*["spring boot starter"] * 6)
    common = {"spring", "boot", "starter"}
    assert frequent_phrases(texts, common, 3) == {("spring", "boot", "starter")}
    assert frequent_phrases(texts, common - {"starter"}, 3) == {("spring", "boot")}
    assert frequent_phrases(texts[:2], common, 3) == set()


def test_words_that_meet_by_chance_are_not_bound() -> None:
    """23 of 43 texts each: 12.3 by chance; 5 of 45 each: 0.6."""
    assert not is_collocation(("good", "day"), 3, {"good": 23, "day": 23}, 43)
    assert is_collocation(("分", "库"), 5, {"分": 5, "库": 5}, 45)
    assert spell_phrase(("分", "库")) == "分库"


def test_phrases_do_not_cross_marks_scripts_or_numbers() -> None:
    assert split_into_runs("Spring Boot: learn", Segmenter()) == (("spring", "boot"), ("learn",))
    texts = runs(*["java 入门", "java 8"] * 6)
    assert frequent_phrases(texts, {"java", "入门", "8"}, 3) == set()


def test_a_phrase_is_a_sub_topic_where_it_says_more_than_its_words() -> None:
    on = [titled(f"spring boot n{n}", True, n) for n in range(8)]
    fairs = [f"{('spring', 'boot')[n % 2]} fair n{n}" for n in range(16)]
    found = Subtopics()
    for each in [*on, *(titled(t, False, 0) for t in fairs + ["weather"] * 60)]:
        found.add_page(each)
    assert found.words.keys() == {"spring boot", "spring", "boot"}
    assert found.subtopics_in("Spring Boot 3") == ["spring boot"]
    assert found.weights["Spring Boot 3"] > 1.5 * found.weights["spring 3"] > 0.0


def test_a_phrase_that_says_no_more_than_its_words_is_none() -> None:
    found = Subtopics()
    titles = [(f"redis cluster n{n}", True) for n in range(8)]
    for title, relevant in [*titles, *(("weather", False) for _ in range(60))]:
        found.add_page(titled(title, relevant, len(title) + found.page_count))
    assert found.words.keys() == {"redis", "cluster"}
