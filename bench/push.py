"""Measures how soon news is pushed at `--every 1m`, and how often hosts are asked for that.

    python -m bench.push [--hours 6.0] [--every 1m,5m,15m] [--pages 1200] [--daily 2.0] [--seed 1]
        [--served 0.0]

The generated web goes on publishing under a clock that nobody waits for; cron calls
`focus watch run` every minute, and three alerts watch seven sites of it, one of them all three.
Seconds are from an article's appearance to the message. Requests are of a host in an hour, those
for articles that are new included; `again` are looks at pages known before, `304` those of them
that had not changed.

With `--served MINUTES` the same once more by real processes: `focus serve` with one alert of every
minute on a site that this script serves, which publishes an article every 20 seconds; a webhook
tells when it was delivered.
"""

import asyncio
import re
import socket
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bench.script import read_options, table
from bench.watch_days import kinds, score
from focus.demo.days import BEGIN, publishing
from tests.support.simulated import Course, Watched, alerts, simulate
from tests.support.web import TinyWeb
from tests.support.webhooks import Receiver, receiving

CRON_S = 60.0
PUBLISHED_S = 20.0  # between two articles of the served site


def wishes(every: str) -> list[Watched]:
    """Three people's alerts, all with one schedule."""
    return [
        each._replace(alert=msgspec.structs.replace(each.alert, schedule=every))
        for each in alerts(auto=True)
    ]


def asked(course: Course) -> dict[str, list[float]]:
    """URL -> when it was asked for."""
    found: dict[str, list[float]] = defaultdict(list)
    for request in course.requests:
        found[request.url].append(request.at)
    return found


def shortest(times: Iterable[Sequence[float]]) -> float:
    """Seconds between the two looks at one page that came soonest after each other."""
    return min((later - sooner for each in times for sooner, later in pairwise(each)), default=0.0)


def spread(seconds: Sequence[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    if len(seconds) < 2:
        return (0.0, 0.0)
    return statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1]


async def simulated(every: str, *, hours: float, pages: int, daily: float, seed: int) -> list[str]:
    """One row: a schedule, what it missed, how late it was, what it asked of hosts."""
    web = publishing(seed, pages=pages, days=1, daily=daily)
    with tempfile.TemporaryDirectory() as folder:
        course = await simulate(web, wishes(every), Path(folder), length=hours / 24, cron_s=CRON_S)
    until = BEGIN + hours * 3600 - 1800.0
    scores = [score(web, each, course, until=until) for each in wishes(every)]
    delays = [delay for each in scores for delay in each.delays]
    median, late = spread(delays)
    hosts: dict[str, int] = defaultdict(int)
    for request in course.requests:
        hosts[urlsplit(request.url).netloc] += 1
    hourly = [number / hours for number in hosts.values()]
    spent, unchanged = kinds(course), sum(each.status == 304 for each in course.requests)
    due, missed = (sum(each[at] for each in scores) for at in (0, 1))
    repeated = sum(each.repeated for each in scores)
    row = (
        *(every, due, missed, repeated, round(median), round(late)),
        *(round(statistics.mean(hourly)), round(max(hourly))),
        *(spent["again"], unchanged, spent["new"], round(shortest(asked(course).values()))),
    )
    return [str(each) for each in row]


HEAD = (
    *("every", "due", "missed", "repeated", "median s", "p95 s"),
    *("requests/h and host", "busiest", "again", "304", "new", "shortest s between looks"),
)


# -- real processes -----------------------------------------------------------------


async def served(minutes: float) -> str:
    """One line: what real processes took, of a site that publishes every 20 seconds."""
    web, begun, published = TinyWeb(), time.monotonic(), {}
    with tempfile.TemporaryDirectory() as folder:
        async with web.serve() as address, receiving() as hook:
            at = ("--connect-to", address, "--allow-net", "127.0.0.0/8")
            db = ("--db", str(Path(folder) / "focus.db"))
            publish(web, 0)
            what = ("--site", "http://news.test/", "--words", "足球", "--every", "1m")
            await focus("watch", "add", "足球", *what, "--webhook", hook.url, *db)
            await focus("watch", "run", *at, *db)
            web.log.clear()
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = str(free.getsockname()[1])
            server = await started("serve", "--port", port, *at, *db)
            try:
                begun = time.monotonic()
                while time.monotonic() - begun < 60 * minutes:
                    published[len(published) + 1] = time.time()
                    publish(web, len(published))
                    await asyncio.sleep(PUBLISHED_S)
                await asyncio.sleep(90)
            finally:
                server.kill()
                await server.wait()
            took = time.monotonic() - begun
            delays = list(delivered(hook, published))
    median, late = spread(delays)
    return (
        f"served: {len(published)} published, {len(delays)} delivered, seconds to the webhook: "
        f"median {median:.0f}, p95 {late:.0f}, most {max(delays):.0f}; "
        f"{len(web.log) * 3600 / took:.0f} requests/h, {len(web.unchanged)} answered 304"
    )


def publish(web: TinyWeb, number: int) -> None:
    """The front page with so many articles on it, the latest first."""
    path = f"/{number}"
    text = f"足球比赛第{number}轮今天开始，射门{number * 7}次，球门{number}个。" * 9
    web.page(f"http://news.test{path}", title=f"足球 {number}", text=text)
    links = [(f"/{each}", f"足球新闻 {each}") for each in range(number, -1, -1)]
    web.page("http://news.test/", title="新闻", links=links, headers={"etag": f'"{number}"'})


def delivered(hook: Receiver, published: dict[int, float]) -> Iterable[float]:
    """Seconds from publication to the first webhook that tells of an article."""
    first: dict[int, float] = {}
    for got in hook.requests:
        for number in re.findall(rb"http://news\.test/(\d+)", got.body):
            at = float(got.headers["webhook-timestamp"])
            first.setdefault(int(number), at)
    return [first[number] - at for number, at in published.items() if number in first]


async def started(*arguments: str) -> asyncio.subprocess.Process:
    """A `focus` that goes on."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "focus", *arguments), stderr=asyncio.subprocess.DEVNULL
    )


async def focus(*arguments: str) -> None:
    """A `focus` that ends."""
    await (await started(*arguments)).wait()


def main() -> None:
    """Print the table."""
    given = read_options(__doc__)
    how = {"hours": given.hours, "pages": given.pages, "daily": given.daily, "seed": given.seed}
    rows = [asyncio.run(simulated(each, **how)) for each in given.every.split(",") if each]
    if rows:
        print(table(HEAD, rows))
    if given.served:
        print(asyncio.run(served(given.served)))


if __name__ == "__main__":
    main()
