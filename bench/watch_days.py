"""Checks that every new page is told of once, in time, over two weeks of a virtual clock.

    python -m bench.watch_days [--days 14] [--pages 3000] [--daily 0.04] [--seed 1]
        [--fixed 2h,4h,6h,8h] [--jobs 2]

The generated web publishes new articles at seeded instants (`focus.demo.days`): on fast and
slow sites, some on section lists only, some in feeds and sitemaps, with late old ones and
reprints among them. Three alerts with three schedules watch eight of its sites; cron calls
`focus watch run` every five minutes, nobody sleeps. The generator knows what each article is
about, so that missed, late, repeated and irrelevant pages are counted by truth. Then all three
leave it to `auto` when their sites are looked at, and the same engine looks at the same pages
at fixed intervals; the requests it needs for the same delay of discovery are what learning
saves. Requests of the first visits are not counted: they are the same for all.
"""

import asyncio
import math
import re
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from bench.script import read_options
from focus.alerts import schedule
from focus.demo import days
from focus.demo.days import BEGIN, PublishingWeb, publishing
from focus.demo.plan import Article
from focus.demo.words import TO_TRADITIONAL
from tests.support.simulated import ZONE, Course, Watched, alerts, simulate

SLACK_S = 900.0  # a site is asked every quarter of an hour at most; then cron, visit, delivery
OLD_S = 8 * 86_400.0  # dated so long before the first day: no news
AUTO_LATE_S = 86_400.0  # `auto` promises no time; what took longer than this is called late
_ARTICLE = re.compile(rb"<h1>(.*?)</h1>.*?<article>(.*?)</article>", re.S)


class Due(NamedTuple):
    """A text that an alert has to be told of once: when and where it first appeared.

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
        url = web.url_of(article)
        is_new = article.published == article.appeared or article.text_of >= 0
        if at < until and is_new and url.split("/")[2] in hosts and is_wanted(web, article, wish):
            texts[article.id if article.text_of < 0 else article.text_of].append((at, url))
    return [Due(min(ats)[0], tuple(url for _, url in ats)) for ats in texts.values()]


def is_wanted(web: PublishingWeb, article: Article, wish: Watched) -> bool:
    """Whether an article is about an alert's subject and has one of its words."""
    if not article.is_about(wish.subjects):
        return False
    site = web.plan.sites[article.site]
    answer = web.respond(web.url_of(article), float("inf"))
    assert answer is not None
    found = _ARTICLE.search(answer.body)
    assert found is not None
    text = b"".join(found.groups()).decode(site.kind.codec, "replace")
    words = wish.alert.words
    if site.has("traditional"):
        words = words.translate(TO_TRADITIONAL)
    return any(word in text for word in words.split())


def deadline(wish: Watched, at: float) -> float:
    """By when a page that appeared then has to be told of."""
    every = schedule.parse(wish.alert.schedule)
    if every.is_auto:
        return at + AUTO_LATE_S
    return every.next(at + SLACK_S, ZoneInfo(ZONE)) + SLACK_S


class Score(NamedTuple):
    """What an alert was told, held against the truth.

    missed      because the page was never had; `mistaken`: it was had, and not taken for one
    late        after the time that its schedule promises, see `deadline`
    repeated    told again, by the same address or as a reprint
    irrelevant  told of, and not about the subject; `old`: dated long before
    delays      seconds from a page's appearance to the message; `found`: to its fetch
    """

    due: int
    missed: int
    mistaken: int
    late: int
    repeated: int
    irrelevant: int
    old: int
    delays: list[float]
    found: list[float]


def score(web: PublishingWeb, wish: Watched, course: Course, *, until: float) -> Score:
    """Count for one alert what appeared before `until`: later pages may be on their way."""
    told = [each for each in course.told if each.alert == wish.alert.name and each.at >= BEGIN]
    first: dict[str, float] = {}
    for each in told:
        first.setdefault(each.url, each.at)
    wanted = due_texts(web, wish, until=until)
    missed = mistaken = late = 0
    repeated = len(told) - len(first)
    delays, found = [], []
    for text in wanted:
        had = [course.fetched[url] for url in text.urls if url in course.fetched]
        times = sorted(first[url] for url in text.urls if url in first)
        if had:
            found.append(max(0.0, min(had) - text.at))
        if times:
            delays.append(times[0] - text.at)
            late += times[0] > deadline(wish, text.at)
            repeated += len(times) - 1
        else:
            missed, mistaken = missed + (not had), mistaken + bool(had)
    there = [web.at(math.inf).article_at(url) for url in first]
    about = [each for each in there if each is not None and each.is_about(wish.subjects)]
    old = sum(_date(each) < BEGIN - OLD_S for each in about)
    return Score(
        len(wanted), missed, mistaken, late, repeated, len(first) - len(about), old, delays, found
    )


def _date(article: Article) -> float:
    """What an article says of its time, Unix seconds."""
    return datetime.combine(article.published, datetime.min.time(), days.ZONE).timestamp()


# -- telling ------------------------------------------------------------------------


class Order(NamedTuple):
    """One simulation that is to be made; it may be made in another process."""

    days: int
    pages: int
    daily: float
    seed: int
    auto: bool
    interval_s: float | None


class Made(NamedTuple):
    """What came of it: scores by alert, requests by purpose, pages looked at again."""

    scores: list[Score]
    requests: Counter[str]
    hubs: int
    seconds: float

    @property
    def found(self) -> list[float]:
        """Seconds to the fetch of each page that was due."""
        return [each for score in self.scores for each in score.found]


def carried_out(order: Order) -> Made:
    """Simulate, and count."""
    web = publishing(order.seed, pages=order.pages, days=order.days, daily=order.daily)
    wishes = alerts(auto=order.auto)
    with tempfile.TemporaryDirectory() as folder:
        work = simulate(web, wishes, Path(folder), length=order.days, interval_s=order.interval_s)
        course = asyncio.run(work)
    until = BEGIN + (order.days - 1) * 86_400.0
    scores = [score(web, wish, course, until=until) for wish in wishes]
    return Made(scores, kinds(course), course.hubs, course.seconds)


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


def spread(seconds: Sequence[float]) -> tuple[float, float, float]:
    """Median, 90th percentile and mean, in minutes."""
    if len(seconds) < 2:
        return (0.0, 0.0, 0.0)
    tenth = statistics.quantiles(seconds, n=10)[-1]
    return statistics.median(seconds) / 60, tenth / 60, statistics.mean(seconds) / 60


def told_rows(wishes: Sequence[Watched], made: Made) -> Iterator[str]:
    """What each alert was told, as a table."""
    head = "alert | schedule | due | missed | mistaken | late | repeated | irrelevant | old"
    yield f"| {head} | median min | p90 min |"
    yield "|---|---|" + "---:|" * 9
    for wish, each in zip(wishes, made.scores, strict=True):
        median, tenth, _ = spread(each.delays)
        numbers = " | ".join(map(str, each[:7]))
        name, every = wish.alert.name, wish.alert.schedule
        yield f"| {name} | {every} | {numbers} | {median:.0f} | {tenth:.0f} |"


def cost_row(name: str, made: Made) -> str:
    """What one way to look again cost and brought."""
    counted = made.requests
    due, missed = (sum(each[at] for each in made.scores) for at in (0, 1))
    delays = " | ".join(f"{minutes:.0f}" for minutes in spread(made.found))
    spent = " | ".join(map(str, (sum(counted.values()), counted["again"], counted["new"])))
    return f"| {name} | {spent} | {due} | {missed} | {delays} |"


def as_fresh(made: Made, fixed: Sequence[Made]) -> Iterator[str]:
    """What a fixed interval would cost that is as fresh, by each measure.

    Looking again costs as much less as it comes later: requests = a + b/delay, through the two
    intervals measured that come nearest. New addresses cost all the same.
    """
    mine = sum(made.requests.values())
    for at, measure in enumerate(("median", "90th percentile", "mean")):
        delay = spread(made.found)[at]
        points = sorted(
            ((spread(each.found)[at], each) for each in fixed),
            key=lambda p: abs(math.log(p[0] / delay)),
        )
        (d1, one), (d2, two) = points[:2]
        n1, n2 = sum(one.requests.values()), sum(two.requests.values())
        slope = (n1 - n2) / (1 / d1 - 1 / d2)
        theirs = n1 + slope * (1 / delay - 1 / d1)
        new = (one.requests["new"] + two.requests["new"]) / 2
        again = made.requests["again"] / (theirs - new)
        yield (
            f"as fresh by {measure} ({delay:.0f} min): {theirs:.0f} requests, {mine / theirs:.2f}; "
            f"without the {new:.0f} for new addresses {again:.2f}"
        )


def main() -> int:
    """Print the tables; 1 if anything was told twice."""
    given = read_options(__doc__)
    every = given.fixed.split(",")
    base = (given.days, given.pages, given.daily, given.seed)
    orders = [Order(*base, False, None), Order(*base, True, None)]
    orders += [Order(*base, True, schedule.parse(each).every_s) for each in every]
    with ProcessPoolExecutor(given.jobs) as pool:
        own, auto, *fixed = pool.map(carried_out, orders)
    print(f"{given.days} days, each alert by its own schedule\n")
    print("\n".join(told_rows(alerts(auto=False), own)))
    print("\nall three by `auto`\n")
    print("\n".join(told_rows(alerts(auto=True), auto)))
    head = "pages looked at again | requests | again | new | due | missed | median min | p90 | mean"
    print(f"\n| {head} |\n|---|" + "---:|" * 8)
    print(cost_row("own schedules, as learned", own))
    print(cost_row("auto, as learned", auto))
    for name, each in zip(every, fixed, strict=True):
        print(cost_row(f"every {name}", each))
    print("\n" + "\n".join(as_fresh(auto, fixed)))
    seconds = ", ".join(f"{each.seconds:.0f}" for each in (own, auto, *fixed))
    print(f"pages looked at again: {auto.hubs}; seconds each took: {seconds}")
    return int(any(each.repeated for each in own.scores + auto.scores))


if __name__ == "__main__":
    sys.exit(main())
