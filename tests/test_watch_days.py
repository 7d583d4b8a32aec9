"""Two days of a web that goes on publishing, watched under a clock that nobody waits for."""

import statistics
from pathlib import Path

import pytest

from bench.watch_days import due_texts, kinds, score
from focus.demo.days import BEGIN, publishing
from tests.support.simulated import alerts, simulate

DAYS = 2


@pytest.mark.slow
async def test_each_new_page_is_told_once_and_in_time(tmp_path: Path) -> None:
    web = publishing(5, pages=200, days=DAYS, daily=0.3)
    wishes = alerts(auto=False)
    course = await simulate(web, wishes, tmp_path, length=DAYS)
    until = BEGIN + (DAYS - 1) * 86_400.0
    scores = {wish.alert.name: score(web, wish, course, until=until) for wish in wishes}
    due = sum(each.due for each in scores.values())
    assert due == sum(len(due_texts(web, wish, until=until)) for wish in wishes) > 10
    assert sum(each.repeated for each in scores.values()) == 0
    assert sum(each.old for each in scores.values()) == 0
    # What only a list about something else leads to takes its time.
    assert sum(each.missed + each.late for each in scores.values()) <= 1 + due // 8
    assert statistics.median(scores["足球"].delays) < 3 * 3600, "auto"
    assert statistics.median(scores["电影"].delays) < 3600, "hourly"
    assert max(scores["健康"].delays, default=0.0) < 2 * 86_400, "daily 07:30"
    spent = kinds(course)
    assert spent["again"] < DAYS * 500 and spent["new"] > due
