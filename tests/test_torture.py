"""A crawl, of one process or a cluster, that is killed, cut off, stopped or started twice.

bench/torture.py is the long form.
"""

import sys
from collections.abc import Callable, Iterator

import pytest

from focus.cluster import private_broker
from tests.support import torture
from tests.support.cases import cases
from tests.support.cluster_kills import cluster
from tests.support.torture import Rack, Verdict, clocks, cuts, full_disk, kills, overlaps, racked

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc as on Linux"),
]

FAULTS = ("worker", "frontier", "broker", "worker cut")
NO_BROKER = "THE CLUSTER IS NOT TESTED: rabbitmq-server is not installed"


@pytest.fixture(scope="module")
def rack() -> Iterator[Rack]:
    with racked(150, 5) as rack:
        yield rack


@cases(
    "trial",
    pytest.param(lambda rack: kills(rack, 3), id="it is killed again and again"),
    pytest.param(lambda rack: kills(rack, 2, term=True), id="it is terminated"),
    pytest.param(lambda rack: cuts(rack, 3), id="the tail of the WAL is cut off"),
    pytest.param(lambda rack: torture.segfaults(rack, 3), id="a worker dies of SIGSEGV"),
    pytest.param(lambda rack: torture.stops(rack, 1), id="it is stopped and goes on"),
    pytest.param(lambda rack: overlaps(rack, 1), id="cron starts a second one"),
    pytest.param(full_disk, id="its disk is full, until there is room"),
    pytest.param(clocks, id="the wall clock jumps by a day"),
    pytest.param(
        lambda rack: cluster(rack, FAULTS, workers=2, slots=8, skew_s=4000.0),
        id="roles and the broker of a cluster are killed",
        marks=pytest.mark.skipif(private_broker.server() is None, reason=NO_BROKER),
    ),
)
def test_trial_loses_no_data(trial: Callable[[Rack], Verdict], rack: Rack) -> None:
    verdict = trial(rack)
    if verdict.outcome.startswith("skipped"):
        pytest.skip(verdict.outcome)
    assert not verdict.broken, verdict.outcome
