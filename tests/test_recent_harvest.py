"""Recent harvest: its window, and crawls that stop by it."""

import json
from pathlib import Path

import pytest

from focus.engine.recent_harvest import MINIMUM, WINDOW, RecentHarvest
from tests.support.command import Focus, record


def test_rate_of_the_last_requests_ignores_earlier_ones() -> None:
    recent = RecentHarvest()
    assert recent.rate() == 0.0
    recent.add([True] * WINDOW)
    recent.add([False] * 99)
    recent.add([True])
    assert recent.rate(100) == 0.01
    assert recent.rate() == pytest.approx((WINDOW - 99) / WINDOW)


def test_harvest_is_below_a_share_only_after_enough_requests() -> None:
    recent = RecentHarvest()
    recent.add([False] * (MINIMUM - 1))
    assert not recent.is_below(0.02)
    recent.add([False])
    assert recent.is_below(0.02)
    recent.add([True] * 10)
    assert not recent.is_below(0.02), "10 of 210"


LETTERS = str.maketrans("0123456789", "abcdefghij")
"""Pages whose texts differ in numbers only are left early."""


@pytest.fixture
def focus(focus: Focus, tmp_path: Path) -> Focus:
    """A site of 900 pages in a row, of which the first 60 are relevant."""
    pages = {}
    for n in range(900):
        word = "足球" if n < 60 else "天气"
        body = " ".join(f"{word}w{n}x{i}" for i in range(12)).translate(LETTERS)
        links = "".join(f"<a href=/{n + step}>{n + step}</a>" for step in (1, 2))
        pages[f"http://a.test/{n}"] = (
            f"<meta charset=utf-8><title>{word} {n}</title><p>{body}{links}"
        )
    record(tmp_path / "web.warc.gz", pages)
    return focus


ORDER = (
    "crawl", "--archive", "web.warc.gz", "--seed", "http://a.test/0", "--topic", "足球",
    "--workers", "1", "--concurrency", "1", "--stop-harvest", "0.02",
)  # fmt: skip


def test_interrupted_crawl_stops_at_the_same_request(focus: Focus) -> None:
    whole = focus(*ORDER, "--db", "whole.db")
    assert whole.code == 0
    assert "stop-harvest reached" in whole.err
    for limit in ("150", "400", "5000"):
        ended = focus(*ORDER, "--db", "parts.db", "--max-requests", limit)
    assert "stop-harvest reached" in ended.err
    statuses = [
        json.loads(focus("status", "--db", db, "--json").out)["status"]
        for db in ("whole.db", "parts.db")
    ]
    names = ("requests", "pages", "relevant")
    first, second = ([status["counters"][name] for name in names] for status in statuses)
    assert first == second
    assert WINDOW < first[0] < WINDOW + 60
    assert statuses[0]["harvest_last_100"] == 0.0
    assert statuses[0]["harvest_last_500"] == pytest.approx(9 / WINDOW)


def test_crawl_stopped_by_harvest_sends_no_further_request(focus: Focus) -> None:
    def requests() -> int:
        status = json.loads(focus("status", "--db", "a.db", "--json").out)["status"]
        return int(status["counters"]["requests"])

    focus(*ORDER, "--db", "a.db")
    stopped = requests()
    again = focus(*ORDER, "--db", "a.db")
    assert "lower --stop-harvest or use --fresh" in again.err
    shown = focus("status", "--db", "a.db").out
    assert "0.0% of the last 100 requests, 1.8% of the last 500, " in shown
    assert requests() == stopped
    assert focus(*ORDER, "--db", "a.db", "--stop-harvest", "0.01").code == 0
    assert requests() > stopped


def test_share_over_one_is_refused(focus: Focus) -> None:
    assert focus(*ORDER, "--stop-harvest", "2").code == 2
