"""The forecast: worked numbers, its interval, and crawls that end by it."""

import json
from pathlib import Path
from random import Random

import pytest

from focus.metrics.forecast import SIZE, Paying, interval, outlook, rate, waiting_hits
from tests.support.command import Focus, record, runner, settle


def test_worked_numbers() -> None:
    assert rate(9, 99) == pytest.approx(0.095)
    assert waiting_hits([Paying(10, 8, 4, 12, 6)], 0.1, 0.9) == pytest.approx(4.2)
    assert waiting_hits([Paying(2, 0, 0, 0, 0)], 0.1, 0.9) == pytest.approx(1.8)
    found = outlook(500, 60, 0.08)
    assert found.expected == pytest.approx(32.3, abs=0.05)
    assert (found.low, found.high) == (8, 64)
    assert interval(4.0, 500) == (0, 9)


def test_nothing_beyond_the_requests_themselves() -> None:
    found = outlook(100, 1e6, 1.0)
    assert found.expected == 100
    assert found.high <= 100
    assert interval(0.0, 10) == (0, 0)


def test_the_interval_holds_four_fifths_of_its_own_distribution() -> None:
    """Counts of mean m drawn as Poisson of a gamma: the negative binomial."""
    rng, mean, held = Random(5), 40.0, 0
    low, high = interval(mean, 1000)
    for _ in range(4000):
        level, count, left = rng.gammavariate(SIZE, mean / SIZE), 0, 1.0
        clock = rng.expovariate(1.0)
        while clock < level * left:
            count += 1
            clock += rng.expovariate(1.0)
        held += low <= count <= high
    assert 0.77 < held / 4000 < 0.84


@pytest.fixture
def focus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Focus:
    settle(tmp_path, monkeypatch)
    pages = {}
    for n in range(900):
        word = "足球" if n < 60 else "天气"
        body = " ".join(f"{word}w{n}x{i}" for i in range(12))
        links = "".join(f"<a href=/{n + step}>{n + step}</a>" for step in (1, 2))
        pages[f"http://a.test/{n}"] = (
            f"<meta charset=utf-8><title>{word} {n}</title><p>{body}{links}"
        )
    record(tmp_path / "web.warc.gz", pages)
    return runner(capfd)


def test_a_crawl_ends_when_little_more_is_to_be_expected(focus: Focus) -> None:
    order = ("crawl", "--archive", "web.warc.gz", "--seed", "http://a.test/0", "--topic", "足球")
    order += ("--workers", "1", "--concurrency", "1", "--db", "a.db")
    ended = focus(*order, "--stop-harvest", "0.02")
    assert ended.code == 0
    assert "stop-harvest reached" in ended.err
    assert "next 1,000 requests: about " in ended.err
    counters = json.loads(focus("status", "--db", "a.db", "--json").out)["status"]["counters"]
    assert 100 <= counters["requests"] <= 500
    assert counters["relevant"] == 60
    assert counters["outlook_low"] <= counters["outlook"] <= counters["outlook_high"]
    assert "outlook   next 1,000 requests: about" in focus("status", "--db", "a.db").out
    assert focus(*order, "--stop-harvest", "2").code == 2
