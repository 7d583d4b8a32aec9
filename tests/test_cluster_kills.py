"""A cluster whose roles and broker are killed loses nothing (long form: bench/cluster/kills.py)."""

import random
import sys

import pytest

from focus.cluster import private_broker
from focus.demo.site import generate
from tests.support.cluster_kills import Torture, torture
from tests.support.processes import served, slow_hosts

FAULTS = ("worker", "frontier", "broker", "worker cut")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
    pytest.mark.skipif(
        private_broker.server() is None,
        reason="THE CLUSTER IS NOT TESTED: rabbitmq-server is not installed",
    ),
]


@pytest.fixture(scope="module")
def tortured(tmp_path_factory: pytest.TempPathFactory) -> Torture:
    """About 150 pages, two shards and two workers, of which one has a clock that is wrong."""
    pytest.importorskip("aio_pika", reason="THE CLUSTER IS NOT TESTED: aio-pika is missing")
    web, folder = generate(seed=3, pages=150), tmp_path_factory.mktemp("kills")
    with served(web) as server:
        return torture(
            server,
            folder,
            faults=FAULTS,
            rng=random.Random(3),
            workers=2,
            slots=16,
            more=[*slow_hosts(web), "--per-host", "4"],
            skew=4000.0,
        )


def test_the_crawl_comes_to_its_end(tortured: Torture) -> None:
    assert tortured.is_done
    assert len(tortured.faults) == len(FAULTS)
    assert not tortured.breakdowns
    assert "Traceback" not in tortured.said


def test_no_page_is_lost_and_none_is_new(tortured: Torture) -> None:
    assert tortured.lost == set()
    assert tortured.extra == set()


def test_every_url_comes_to_the_same_end_as_in_one_process(tortured: Torture) -> None:
    alone, spread = tortured.ends
    assert spread == alone


def test_only_what_the_killed_had_is_asked_for_again(tortured: Torture) -> None:
    assert sum(tortured.again) <= sum(fault.leases for fault in tortured.faults)


def test_nothing_is_left_behind(tortured: Torture) -> None:
    assert tortured.left == 0
