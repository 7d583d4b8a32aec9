"""What the best waiting URLs will bring is the same by all of them and by a sample of millions."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from focus.engine import outlooks
from focus.engine.outlooks import Outlooks
from focus.scheduling.queues import Host, Queue
from focus.scheduling.url_table import UrlTable

URLS, BEST = 20_000, 1_000


def look_ahead() -> Outlooks:
    """Three queues that bring .9, .5 and .1; priorities fall from the first URL to the last."""
    table, host = UrlTable(2), Host(0, "a.test", 1.0)
    for number in range(URLS):
        queue = 0 if number < 400 else 1 if number < 700 else 2
        url_id = table.add(number.to_bytes(16, "big"), queue, 1)
        table.priority[url_id] = 1.0 - number / URLS
    queues = [Queue(number, host, str(number)) for number in range(3)]
    rates = SimpleNamespace(
        lately=lambda queue: (1000.0, (900.0, 500.0, 100.0)[queue.id], 3000.0, 1500.0),
        newcomers=SimpleNamespace(yielded=0.0, fetched=0.0),
    )
    view = SimpleNamespace(
        url_table=table, frontier=SimpleNamespace(queues=queues), unit_of_work=None
    )
    return Outlooks(cast(Any, view), cast(Any, rates))


def test_a_sample_of_many_urls_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = look_ahead()
    assert sum(each.urls for each in ahead._best(BEST)) == BEST
    exact = ahead.waiting(BEST)
    monkeypatch.setattr(outlooks, "SAMPLE", URLS // 25)
    sampled = ahead._best(BEST)
    assert [each.urls for each in sampled] == [400, 300, 300]
    assert ahead.waiting(BEST) == pytest.approx(exact, rel=0.01)
    assert sum(each.urls for each in ahead._best(10)) == 10, "too few to be drawn from"
