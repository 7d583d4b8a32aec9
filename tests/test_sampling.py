"""Estimates from samples: the worked numbers, and that intervals hold what they promise."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.metrics.sampling import FEWEST, allocate, draw, reliability, share


def test_allocation_worked_number() -> None:
    assert allocate({"off": 90, "on": 10}, 20) == {"off": 13, "on": 7}


@given(
    st.dictionaries(st.text("abc", min_size=1), st.integers(0, 60), max_size=4), st.integers(0, 99)
)
def test_allocation_draws_what_it_can_and_no_more(sizes: dict[str, int], number: int) -> None:
    drawn = allocate(sizes, number)
    assert all(0 <= drawn[name] <= size for name, size in sizes.items())
    assert sum(drawn.values()) == min(number, sum(sizes.values()))
    if number >= FEWEST * len(sizes):
        assert all(drawn[name] >= min(size, FEWEST) for name, size in sizes.items())


def test_a_sample_stands_for_all() -> None:
    strata = {"on": range(30), "off": range(100, 270)}
    sample = draw(strata, 40, Random(1))
    assert sum(drawn.weight for _, drawn in sample) == pytest.approx(200)
    assert len({item for item, _ in sample}) == len(sample) == 40
    assert sample == draw(strata, 40, Random(1))


def test_share_worked_number() -> None:
    found = share({"all": (100, [1.0] * 5 + [0.0] * 5)})
    assert found.value == 0.5
    assert found.high - found.value == pytest.approx(0.307, abs=0.001)


def test_a_stratum_read_whole_is_known() -> None:
    assert share({"all": (4, [1.0, 0.0, 0.0, 0.0])}) == (0.25, 0.25, 0.25)
    assert share({}) == (0.0, 0.0, 1.0)


def test_the_interval_holds_the_truth_about_19_times_of_20() -> None:
    rng = Random(3)
    strata = {
        "likely": [1.0] * 70 + [0.0] * 30,
        "doubtful": [1.0] * 60 + [0.0] * 140,
        "unlikely": [1.0] * 10 + [0.0] * 690,
    }
    truth = 140 / 1000
    held = 0
    for _ in range(400):
        found: dict[str, list[float]] = {name: [] for name in strata}
        for value, drawn in draw(strata, 120, rng):
            found[drawn.stratum].append(value)
        estimate = share({name: (len(strata[name]), found[name]) for name in strata})
        held += estimate.low <= truth <= estimate.high
    assert 0.92 < held / 400 < 0.99


def test_reliability_worked_number() -> None:
    bins, error = reliability([(0.9, 1.0, 1.0), (0.9, 0.0, 1.0), (0.1, 0.0, 1.0)])
    assert [(each.pages, each.said, each.found) for each in bins] == [
        (1, pytest.approx(0.1), 0.0),
        (2, pytest.approx(0.9), 0.5),
    ]
    assert error == pytest.approx(0.3)
