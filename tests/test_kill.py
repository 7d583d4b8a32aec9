"""A crawl that is killed again and again loses nothing (the long form is bench/kill.py)."""

from __future__ import annotations

import random
import sys

import pytest

from bench.kill import Torture, torture
from bench.live import CONCURRENCY, served
from focus.demo.site import generate

KILLS = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]


@pytest.fixture(scope="module")
def tortured(tmp_path_factory: pytest.TempPathFactory) -> Torture:
    """About 600 pages; the slow host is left out, and several requests go to a host at once."""
    web = generate(seed=3, pages=600)
    slow = [f"--deny=//{site.host}/" for site in web.plan.sites if site.kind.delay_s]
    folder = tmp_path_factory.mktemp("kill")
    with served(web) as server:
        more = [*slow, "--per-host", "4"]
        result = torture(server, folder, kills=KILLS, rng=random.Random(3), more=more)
    assert "Traceback" not in (folder / "stderr").read_text(encoding="utf-8")
    return result


def test_the_last_life_ends_well(tortured: Torture) -> None:
    assert tortured.last == 0
    assert len(tortured.lives) == KILLS


def test_no_page_is_lost_and_none_is_new(tortured: Torture) -> None:
    assert tortured.lost == set()
    assert tortured.extra == set()


def test_every_url_comes_to_the_same_end_as_without_a_kill(tortured: Torture) -> None:
    calm, killed = tortured.ends
    assert killed == calm


def test_a_kill_costs_at_most_the_requests_in_flight(tortured: Torture) -> None:
    assert max(tortured.refetched) <= CONCURRENCY


def test_the_database_is_sound_after_every_kill(tortured: Torture) -> None:
    assert {life.check for life in tortured.lives} == {"ok"}


def test_every_life_makes_progress(tortured: Torture) -> None:
    assert tortured.stuck == []


def test_no_worker_outlives_its_crawl(tortured: Torture) -> None:
    assert sum(life.orphans for life in tortured.lives) == 0
