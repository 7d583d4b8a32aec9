"""Short forms of bench/torture.py: power cuts, broken workers, sleep, cron, jumping clocks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from bench.torture import Rack, Verdict, clocks, cut_off, overlaps, racked, segfaults, stops

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc as on Linux"),
]


@pytest.fixture(scope="module")
def rack() -> Iterator[Rack]:
    with racked(300, 5) as rack:
        yield rack


@pytest.mark.parametrize(
    "trial",
    [
        pytest.param(lambda rack: cut_off(rack, 3), id="the tail of the WAL is cut off"),
        pytest.param(lambda rack: segfaults(rack, 3), id="a worker dies of SIGSEGV"),
        pytest.param(lambda rack: stops(rack, 1), id="it is stopped and goes on"),
        pytest.param(lambda rack: overlaps(rack, 1), id="cron starts a second one"),
        pytest.param(clocks, id="the wall clock jumps by a day"),
    ],
)
def test_nothing_is_lost_when(trial: Callable[[Rack], Verdict], rack: Rack) -> None:
    verdict = trial(rack)
    assert verdict.holds, verdict.found
