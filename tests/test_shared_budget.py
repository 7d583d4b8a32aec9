"""Shards of a limited crawl hold back by what all of them have."""

import math

import pytest

from focus.cluster.messages import ShardStatus
from focus.cluster.shared_budget import OtherShards, nth_best
from focus.config import CrawlConfig, PolitenessConfig
from focus.crawler import Crawl
from focus.engine.transports import ReplayTransport
from focus.frontier import Frontier
from focus.records import Task, UrlState
from focus.scheduling.quantiles import priority_quantiles
from focus.scheduling.url_table import UrlTable
from focus.session.resume import resume_task

LADDERS = ([(1, 9.0), (2, 5.0)], [(1, 7.0), (3, 6.0)])


@pytest.mark.parametrize(
    ("n", "expected"), [(1, 9.0), (2, 7.0), (3, 6.0), (4, 6.0), (5, 5.0), (6, -math.inf)]
)
def test_the_nth_best_of_all_shards(n: int, expected: float) -> None:
    assert nth_best(n, LADDERS) == expected


def test_what_is_under_way_elsewhere_counts_as_made() -> None:
    others = OtherShards()
    status = ShardStatus(2, 2, 0, in_flight=5, quantiles=[(1, 9.0)])
    others.update(ShardStatus(1, 2, 0), [status], {"page_requests": 7, "requests": 10}, now=0.0)
    assert others.spent_totals() == (12, 15)


def test_nobody_waits_for_shards_that_stand_still() -> None:
    others, own = OtherShards(), ShardStatus(1, 2, 0)
    status = ShardStatus(2, 2, 0, quantiles=[(1, 9.0)])
    others.update(own, [status], {"requests": 1}, now=0.0)
    assert others.has_better(8.0)
    assert not others.has_better(9.5)
    others.update(own, [status], {"requests": 1}, now=60.0)
    assert not others.has_better(8.0)


def test_a_ladder_has_the_best_and_the_worst_of_what_waits() -> None:
    url_table = UrlTable(0)
    frontier = Frontier(url_table, PolitenessConfig())
    for number in range(100):
        queue = frontier.queue(frontier.host(f"h{number % 5}.test"), "")
        url_id = url_table.add(number.to_bytes(16, "big"), queue.id, 0, UrlState.WAITING)
        frontier.push(url_id, f"http://h{number % 5}.test/{number}", float(number))
    rungs = priority_quantiles(frontier, 0.0)
    assert rungs[0] == (1, 99.0)
    assert rungs[-1] == (100, 0.0)
    assert rungs == sorted(rungs)
    assert all(priority == 100 - rank for rank, priority in rungs)


def test_a_task_of_an_earlier_run_whose_url_was_not_written_is_forgotten() -> None:
    engine = Crawl(CrawlConfig(seeds=("http://a.test/",)), ReplayTransport(None, None))  # type: ignore[arg-type]
    engine.add_seeds(("http://a.test/",))
    assert not resume_task(engine, Task(7, "http://a.test/7", "a.test"))
    assert not resume_task(engine, Task(None, "http://b.test/robots.txt", "b.test"))
    assert not engine.frontier.has_host("b.test")
    assert resume_task(engine, Task(0, "http://a.test/", "a.test"))
