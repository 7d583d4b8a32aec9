"""Little about few of very many ids, against a dict."""

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.records import Tally
from focus.score.graph.compact_arrays import Numbering, Rows, Tallies

IDS = st.integers(0, 300)


@given(st.dictionaries(IDS, st.lists(IDS, max_size=6)), st.lists(IDS), st.integers(0, 5))
def test_rows_behave_like_dict_of_lists(
    model: dict[int, list[int]], asked: list[int], single: int
) -> None:
    rows, sources = Rows(), [*model]
    for source in sources[:single]:
        rows.add(source, array("I", model[source]))
    rest = [array("I", model[source]) for source in sources[single:]]
    counts = np.array([*map(len, rest)], np.intp)
    rows.add_all(np.array(sources[single:], np.intp), b"".join(rest), counts)
    assert {source: list(row) for source, row in rows.items()} == model
    assert len(rows) == len(model)
    for source in [*asked, -1]:
        assert (source in rows) == (source in model)


def test_rows_unknown_id_raises_key_error() -> None:
    with pytest.raises(KeyError):
        Rows()[3]


@given(st.lists(st.tuples(IDS, st.integers(0, 3), st.floats(0, 1))))
def test_tallies_add_returns_sum(counted: list[tuple[int, int, float]]) -> None:
    tallies, model = Tallies(), {7: Tally(2, 1.5)}
    tallies.restore([(7, 2, 1.5)])
    for key, fetched, yielded in counted:
        tally = model.setdefault(key, Tally())
        tally.requests += fetched
        tally.rewards += yielded
        assert tallies.add(key, Tally(fetched, yielded)) == tally
    assert all(tallies.get(key) == model.get(key) for key in range(-1, 302))


def test_tallies_get_returns_copy() -> None:
    tallies = Tallies()
    tallies.add(5, Tally(1, 0.5)).requests = 9
    assert tallies.get(5) == Tally(1, 0.5)


@given(st.lists(IDS, unique=True), st.lists(st.integers(0, 300)))
def test_numbering_numbers_equal_single_lookups(entered: list[int], asked: list[int]) -> None:
    numbering = Numbering()
    numbering.reserve(301)
    for item in entered:
        numbering.add(item)
    model = {item: number for number, item in enumerate(entered, 1)}
    numbers = numbering.numbers(np.array(asked, np.intp)).tolist()
    assert numbers == [model.get(item, 0) for item in asked] == [*map(numbering.number, asked)]
