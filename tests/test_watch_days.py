"""Two days of a web that goes on publishing, watched under a clock that nobody waits for."""

import math
import re
import statistics
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from focus.alerts import schedule
from focus.demo.plan import Article
from focus.demo.words import TO_TRADITIONAL
from tests.support import publishing as days
from tests.support.publishing import BEGIN, PublishingWeb, publishing
from tests.support.simulated import ZONE, Course, Watched, alerts, simulate

DAYS = 2
SLACK_S = 900.0  # a site is asked every quarter of an hour at most; then cron, visit, delivery
OLD_S = 8 * 86_400.0  # dated so long before the first day: no news
AUTO_LATE_S = 86_400.0  # `auto` promises no time; what took longer than this is called late
_ARTICLE = re.compile(rb"<h1>(.*?)</h1>.*?<article>(.*?)</article>", re.S)


class Due(NamedTuple):
    """A text that an alert has to report once: when and where it first appeared.

    urls  of it and its reprints
    """

    at: float
    urls: tuple[str, ...]


def due_texts(web: PublishingWeb, wish: Watched, *, until: float) -> list[Due]:
    """What the generator says that an alert should be told of: new, about its subject, with
    one of its words, once per text.
    """
    hosts = {site.removeprefix("http://").rstrip("/") for site in wish.alert.sites}
    texts: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for at, article in web.after:
        url = web.article_url(article)
        is_new = article.published == article.appeared or article.text_id >= 0
        if at < until and is_new and url.split("/")[2] in hosts and is_wanted(web, article, wish):
            texts[article.id if article.text_id < 0 else article.text_id].append((at, url))
    return [Due(min(ats)[0], tuple(url for _, url in ats)) for ats in texts.values()]


def is_wanted(web: PublishingWeb, article: Article, wish: Watched) -> bool:
    """Whether an article is about an alert's subject and has one of its words."""
    if not article.is_about(wish.subjects):
        return False
    site = web.plan.sites[article.site]
    answer = web.respond(web.article_url(article), float("inf"))
    match = _ARTICLE.search(answer.body)
    text = b"".join(match.groups()).decode(site.kind.codec, "replace")
    words = wish.alert.words
    if site.has("traditional"):
        words = words.translate(TO_TRADITIONAL)
    return any(word in text for word in words.split())


def deadline(wish: Watched, at: float) -> float:
    """By when a page that appeared then has to report."""
    every = schedule.parse(wish.alert.schedule)
    if every.is_auto:
        return at + AUTO_LATE_S
    return every.next(at + SLACK_S, ZoneInfo(ZONE)) + SLACK_S


class Score(NamedTuple):
    """What an alert was told, held against the truth.

    missed      the alert was never told of the page
    late        after the time that its schedule promises, see `deadline`
    repeated    told again, by the same address or as a reprint
    old         reported, although dated long before
    delays      seconds from a page's appearance to the message
    """

    due: int
    missed: int
    late: int
    repeated: int
    old: int
    delays: list[float]


def score(web: PublishingWeb, wish: Watched, course: Course, *, until: float) -> Score:
    """Count for one alert what appeared before `until`: later pages may be on their way."""
    sent = [item for item in course.messages if item.alert == wish.alert.name and item.at >= BEGIN]
    first: dict[str, float] = {}
    for item in sent:
        first.setdefault(item.url, item.at)
    expected = due_texts(web, wish, until=until)
    missed = late = 0
    repeated = len(sent) - len(first)
    delays = []
    for text in expected:
        times = sorted(first[url] for url in text.urls if url in first)
        if times:
            delays.append(times[0] - text.at)
            late += times[0] > deadline(wish, text.at)
            repeated += len(times) - 1
        else:
            missed += 1
    there = [web.at(math.inf).article_at(url) for url in first]
    about = [item for item in there if item is not None and item.is_about(wish.subjects)]
    old = sum(_date(item) < BEGIN - OLD_S for item in about)
    return Score(len(expected), missed, late, repeated, old, delays)


def _date(article: Article) -> float:
    """What an article says of its time, Unix seconds."""
    return datetime.combine(article.published, datetime.min.time(), days.ZONE).timestamp()


def kinds(course: Course) -> Counter[str]:
    """Requests by what they were for."""
    start = course.requests[0].at
    seen = {url for url, at in course.fetched.items() if at < start}
    counted: Counter[str] = Counter()
    for request in course.requests:
        if request.url.endswith("/robots.txt"):
            kind = "robots"
        else:
            kind = "again" if request.url in seen else "new"
        seen.add(request.url)
        counted[kind] += 1
    return counted


@pytest.mark.slow
async def test_new_pages_are_reported_once_and_in_time(tmp_path: Path) -> None:
    web = publishing(5, pages=200, days=DAYS, daily=0.3)
    wishes = alerts(auto=False)
    course = await simulate(web, wishes, tmp_path, length=DAYS)
    until = BEGIN + (DAYS - 1) * 86_400.0
    scores = {wish.alert.name: score(web, wish, course, until=until) for wish in wishes}
    due = sum(item.due for item in scores.values())
    assert due == sum(len(due_texts(web, wish, until=until)) for wish in wishes) > 10
    assert sum(item.repeated for item in scores.values()) == 0
    assert sum(item.old for item in scores.values()) == 0
    # What only a list about something else leads to takes its time.
    assert sum(item.missed + item.late for item in scores.values()) <= 1 + due // 8
    assert statistics.median(scores["足球"].delays) < 3 * 3600, "auto"
    assert statistics.median(scores["电影"].delays) < 3600, "hourly"
    assert max(scores["健康"].delays, default=0.0) < 2 * 86_400, "daily 07:30"
    spent = kinds(course)
    assert spent["again"] < DAYS * 500 and spent["new"] > due
