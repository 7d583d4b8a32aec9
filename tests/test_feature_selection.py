"""Feature selection: the worked numbers, and what must hold for any counts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.score.statistics.feature_selection import (
    SELECTION_METHODS,
    ContingencyTable,
    WordCounts,
    candidate_words,
    chi_square,
    count_words,
    document_frequency,
    information_gain,
    mutual_information,
    select_words,
)

WORKED = ContingencyTable(8, 2, 2, 8)


def test_selection_methods_examples_match_docstrings() -> None:
    assert document_frequency(WORKED) == 10
    assert information_gain(WORKED) == pytest.approx(0.1927, abs=1e-4)
    assert chi_square(WORKED) == pytest.approx(7.2)
    assert mutual_information(WORKED) == pytest.approx(0.470, abs=1e-3)


def test_information_gain_perfect_and_useless_word() -> None:
    assert information_gain(ContingencyTable(5, 0, 0, 5)) == pytest.approx(math.log(2))
    assert information_gain(ContingencyTable(5, 5, 5, 5)) == pytest.approx(0.0)
    assert chi_square(ContingencyTable(5, 5, 5, 5)) == 0.0
    assert mutual_information(ContingencyTable(0, 3, 5, 2)) == -math.inf


def test_chi_square_doubled_table_doubles_statistic() -> None:
    """With a + before the last factor, twice the pages do not give twice the statistic."""
    doubled = ContingencyTable(*(2 * n for n in WORKED))
    assert chi_square(doubled) == pytest.approx(2 * chi_square(WORKED))


TABLES = st.builds(ContingencyTable, *(st.integers(0, 50),) * 4)


@given(TABLES)
def test_selection_methods_values_are_in_range(table: ContingencyTable) -> None:
    assert 0.0 <= information_gain(table) <= math.log(2) + 1e-12
    assert 0.0 <= chi_square(table) <= sum(table) + 1e-9
    swapped = ContingencyTable(table.b, table.a, table.d, table.c)
    assert information_gain(swapped) == pytest.approx(information_gain(table), abs=1e-12)
    assert chi_square(swapped) == pytest.approx(chi_square(table))


def test_combine_with_negative_sign_removes_counts() -> None:
    samples = [({"a", "b"}, True), ({"b"}, False), ({"a"}, True)]
    counts = count_words(samples)
    assert counts == WordCounts(2, 1, {"a": (2, 0), "b": (1, 1)})
    remaining = counts.combine(count_words(samples[:1]), -1)
    assert (remaining.on, remaining.off, remaining.words) == (1, 1, {"a": (1, 0), "b": (0, 1)})


def test_select_words_needs_on_topic_page_and_two_pages() -> None:
    counts = WordCounts(3, 3, {"good": (3, 0), "off": (0, 3), "once": (1, 0), "both": (1, 1)})
    assert sorted(candidate_words(counts)) == ["both", "good"]
    assert select_words(counts, "ig", 5)[0] == "good"


@pytest.mark.parametrize("method", SELECTION_METHODS)
def test_select_words_ties_go_by_alphabet(method: str) -> None:
    words = dict.fromkeys("dbca", (2, 1))
    backwards = dict(reversed(words.items()))
    assert select_words(WordCounts(4, 4, words), method, 3) == ["a", "b", "c"]
    assert select_words(WordCounts(4, 4, backwards), method, 3) == ["a", "b", "c"]
