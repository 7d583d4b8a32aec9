"""The way of a page through the house: how many modules it passes, and no callback on the way.

The figures are counted by `tests/support/page_round.py`, which prints them with names when it is
run. They may fall, and this test's with them; whoever lets one rise says why in docs/design.md.
"""

import pytest

from tests.support.page_round import Round, follow
from tests.test_house import top

PASSED = 19  # modules that the page itself passes; 20 are what the plan allows
MOVES = 40  # pairs of modules of which one calls the other for a result
RETURNS = 18  # of these, to a module that was there before
CORE = {"crawler", "frontier", "engine", "scheduling", "admission"}
"""What moves are counted of: how a strategy or the parser is made inside is their own affair."""


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Round:
    return follow(tmp_path_factory.mktemp("round"))


def test_a_page_passes_few_modules_from_seed_to_export(way: Round) -> None:
    assert len(way.passed) <= PASSED, way.passed


def core(moves: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those between modules of CORE."""
    return [pair for pair in moves if {top(each) for each in pair} <= CORE]


def test_what_follows_from_a_result_takes_few_moves_and_no_callback(way: Round) -> None:
    moves = core(way.moves)
    assert len(moves) <= MOVES, moves
    assert len(core(way.returns)) <= RETURNS, core(way.returns)
    assert not core(way.climbs), "a module calls one that imports it"


def test_decisions_reach_for_nothing_that_changes_the_crawl(way: Round) -> None:
    """`results` and `failures` call only what they look at; `effects` does the rest."""
    deciding = {"engine.results", "engine.failures"}
    asked = {callee for caller, callee in way.moves if caller in deciding} - deciding
    assert asked == {
        "admission.near_duplicates", "admission.robots_gate", "engine.view", "frontier",
        "http.robots_tag", "records", "scheduling.retries", "scheduling.url_table",
    }  # fmt: skip
