"""Simulates nightly crawls with `--refresh` and counts requests and changes seen.

    python -m bench.refresh [--days 14] [--pages 400] [--seed 1] [--ways 1d,2d] [--uniform 1,2,3]

A generated web is crawled on day 0 and every night after under a virtual clock. Its pages change
with Poisson rates of their own (two in five never), articles appear on index pages and vanish,
half of the hosts send validators, and all pages show the time. `anew` crawls everything each
night, `1d` is `--refresh 1d`, and `--uniform 2` revisits every page every second day. The
generator knows all changes, so the shares of changes seen in a day or overwritten unseen are
exact. Freshness is the share of pages and time in which the stored page equals that of the web.
Requests of day 0 do not count.
"""

import asyncio
import sys
import tempfile
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest import mock
from zlib import crc32

from bench.script import read_options
from focus.config import AnalysisConfig, CrawlConfig, PolitenessConfig
from focus.crawler import Crawl
from focus.engine.transports import ReplayTransport
from focus.records import FailureKind, FetchResult, Task
from focus.scheduling.revisits import RevisitPolicy
from focus.session.resume import restore
from focus.session.revisit import schedule_revisits
from focus.store import CrawlWriter, Store
from focus.topic.topic import from_words, to_builtins
from focus.workers import InlineScorer

DAY = 86_400.0
BEGIN = 20_000 * DAY
IN_TIME = DAY + 3600.0  # a day and the duration of a run
STILL, SHAPE, MEAN = 0.4, 0.5, 0.3  # share without changes; gamma distribution of daily rates
NEW, GONE = 0.5, 0.005  # mean of new articles per host and day; share that vanishes per day
WORDS = "比赛 球队 进球 主场 客场 教练 门将 传球 联赛 积分 下半场 裁判 点球 替补 边路 反击".split()


class Article(NamedTuple):
    """A page with the times of its appearance, removal and changes (Unix seconds)."""

    url: str
    born: float
    gone: float
    changes: list[float]


class World:
    """A web of hosts with one index page each, which lists their articles."""

    def __init__(self, seed: int, pages: int, days: int) -> None:
        rng = Random(seed)
        self.end = BEGIN + days * DAY
        self.hosts = [f"h{n}.test" for n in range(max(4, pages // 30))]
        self.articles: dict[str, Article] = {}
        self.host_articles: dict[str, list[Article]] = {host: [] for host in self.hosts}
        for number in range(pages - len(self.hosts)):
            self._add(self.hosts[number % len(self.hosts)], 0.0, rng)
        for host in self.hosts:
            for born in _instants(rng.gammavariate(1.0, NEW), BEGIN, self.end, rng):
                self._add(host, born, rng)

    def _add(self, host: str, born: float, rng: Random) -> None:
        rate = 0.0 if rng.random() < STILL else rng.gammavariate(SHAPE, MEAN / SHAPE)
        since = max(born, BEGIN)
        gone = next(iter(_instants(GONE, since, self.end, rng)), self.end + DAY)
        url = f"http://{host}/{len(self.host_articles[host])}"
        article = Article(url, born, gone, _instants(rate, since, min(gone, self.end), rng))
        self.articles[url] = article
        self.host_articles[host].append(article)

    def index(self, host: str) -> Article:
        """Return the index page of a host, which changes with its list."""
        articles = self.host_articles[host]
        events = [article.born for article in articles if article.born > BEGIN]
        events += [article.gone for article in articles if article.gone <= self.end]
        return Article(f"http://{host}/", 0.0, self.end + DAY, sorted(events))

    def index_url(self, page: Article) -> str:
        """Return the URL of the index page that lists a page."""
        return page.url[: page.url.rindex("/") + 1]

    def pages(self) -> list[Article]:
        """Return all pages of the simulation."""
        return [*map(self.index, self.hosts), *self.articles.values()]

    def respond(self, url: str, at: float) -> tuple[str, str] | None:
        """Return validator ("" if the host sends none) and HTML of a page at a time, or None."""
        host, _, path = url.removeprefix("http://").partition("/")
        if not path:
            page: Article | None = self.index(host)
        else:
            page = self.articles.get(url)
        if page is None or not page.born <= at < page.gone:
            return None
        version = bisect_right(page.changes, at)
        rng = Random(f"{url} {version}")
        text = "".join(f"<p>{'，'.join(rng.choices(WORDS, k=12))}。</p>" for _ in range(6))
        if not path:
            links = [page.url for page in self.host_articles[host] if page.born <= at < page.gone]
            links += [f"http://{name}/" for name in self.hosts]
            text += "".join(f"<p><a href={link}>{crc32(link.encode())}</a></p>" for link in links)
        title = "足球" if crc32(url.encode()) % 2 else "其他"
        clock = f"<footer>{int(at) % 86_400 // 3600:02}:{int(at) % 3600 // 60:02}</footer>"
        html = f"<title>{title} {url}</title><body><article>{text}</article>{clock}</body>"
        return (f'"{version}"' if crc32(host.encode()) % 2 else "", html)


def _instants(daily: float, since: float, until: float, rng: Random) -> list[float]:
    times, at = [], since
    while daily > 0 and (at := at + rng.expovariate(daily / DAY)) < until:
        times.append(at)
    return times


class Request(NamedTuple):
    """A request and the status of its response."""

    url: str
    at: float
    status: int


class SimulatedTransport(ReplayTransport):
    """A transport for the generated web; matching validators yield 304."""

    def __init__(self, web: World, analysis: AnalysisConfig, log: list[Request], at: float) -> None:
        super().__init__(self, InlineScorer(analysis), start=at)
        self._web, self._asked, self._tags = web, log, dict[str, str]()

    def send(self, task: Task) -> None:
        self._tags[task.url] = dict(task.conditional_headers).get("If-None-Match", "")
        super().send(task)

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        response = None if robots else self._web.respond(url, fetched_at)
        tag, source = response or ("", "")
        status = 404 if response is None else 304 if tag and tag == self._tags.get(url) else 200
        if not robots:
            self._asked.append(Request(url, fetched_at, status))
        if status == 304:
            return FetchResult(url, fetched_at, status=304, is_unchanged=True)
        kind = {"content-type": "text/html; charset=utf-8"} | ({"etag": tag} if tag else {})
        return FetchResult(
            url,
            fetched_at,
            status=status,
            headers=tuple(kind.items()),
            body=source.encode(),
            raw_bytes=len(source.encode()),
            elapsed_s=elapsed_s,
            failure=None if status == 200 else FailureKind.HTTP_4XX,
            detail=str(status),
        )


async def nights(web: World, days: int, age_s: float | None, folder: Path) -> list[Request]:
    """Crawl on day 0 and each night; return later requests. `age_s` None crawls everything anew."""
    log: list[Request] = []
    for day in range(days + 1):
        analysis = AnalysisConfig(
            topic=to_builtins(from_words("足球")), relevance="position", keep="none"
        )
        config = CrawlConfig(
            seeds=("http://h0.test/",),
            strategy="yield",
            politeness=PolitenessConfig(),
            analysis=analysis,
            refresh_s=age_s,
        )
        at = BEGIN + day * DAY
        async with Store.open(folder / "x.db", now=at, pid=1) as store:
            info = await store.begin_crawl({}, "{}", fresh=age_s is None, now=at)
            transport = SimulatedTransport(web, analysis, log, at)
            crawl = Crawl(config, transport, crawl_store=CrawlWriter(store, info.id))
            if info.is_resumed and age_s is not None:
                await restore(crawl, store, info)
                await schedule_revisits(crawl, store, info, age_s)
            crawl.add_seeds(config.seeds)
            reason = await crawl.run()
            await store.finish_crawl(info.id, reason=reason, report_json="{}", now=at)
    return [request for request in log if request.at > BEGIN + DAY / 2]


class Score(NamedTuple):
    """Requests, and shares of changes, new pages and removed pages seen in time."""

    requests: int
    unchanged: int
    changes: float
    overwritten: float
    new: float
    gone: float
    fresh: float


def score(web: World, log: Sequence[Request], *, anew: bool) -> Score:
    """Compare the requests with the changes of the generated web."""
    checks: dict[str, list[float]] = defaultdict(list)
    for request in log:
        checks[request.url].append(request.at)
    until = web.end - DAY
    seen, new, gone, stale, watched, overwritten = [], [], [], 0.0, 0.0, 0
    for page in web.pages():
        times = checks[page.url]
        if BEGIN < page.born < until:
            new.append(_first(times, page.born) - page.born <= IN_TIME)
        if page.gone < until:
            # A crawl from scratch does not request pages that their index dropped.
            revisits = checks[web.index_url(page)] if anew else times
            gone.append(_first(revisits, page.gone) - page.gone <= IN_TIME)
        known_at = BEGIN if page.born <= BEGIN else _first(times, page.born)
        changes = [change for change in page.changes if known_at < change < until]
        for change, following in pairwise([*changes, page.gone]):
            look = _first(times, change)
            seen.append(look - change <= IN_TIME)
            overwritten += look > following
        ends = min(web.end, page.gone)
        watched += max(0.0, ends - known_at)
        stale += _stale(page.changes, times, known_at, ends)
    return Score(
        len(log),
        sum(request.status == 304 for request in log),
        _share(seen),
        overwritten / max(1, len(seen)),
        _share(new),
        _share(gone),
        1.0 - stale / watched,
    )


def _first(times: Sequence[float], since: float) -> float:
    at = bisect_left(times, since)
    return times[at] if at < len(times) else float("inf")


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / max(1, len(flags))


def _stale(changes: Sequence[float], checks: Sequence[float], since: float, until: float) -> float:
    """Return the seconds in which the stored page differed from that of the web."""
    total, free = 0.0, since
    for change in changes:
        begins = max(change, free)
        if change < since or begins >= until:
            continue
        free = min(_first(checks, begins), until)
        total += free - begins
    return total


def uniform(days: float) -> Any:
    """Replace the learned intervals with the same interval for every page."""
    return mock.patch.object(
        RevisitPolicy, "wait_s", lambda self, watched, is_hub=False: days * DAY
    )


def row(name: str, result: Score, all_anew: int) -> str:
    """Return a row of the table."""
    shares = " | ".join(f"{share:.3f}" for share in result[2:])
    saved = f"{1 - result.requests / all_anew:.0%}"
    return f"| {name} | {result.requests:,} | {result.unchanged:,} | {saved} | {shares} |"


def simulate(web: World, days: int, age_s: float | None) -> Score:
    """Return the score of nightly crawls with a refresh age, or from scratch with None."""
    with tempfile.TemporaryDirectory() as folder:
        log = asyncio.run(nights(web, days, age_s, Path(folder)))
    return score(web, log, anew=age_s is None)


def main() -> int:
    """Print the table."""
    options = read_options(__doc__)
    web = World(options.seed, options.pages, options.days)
    head = "way | requests | 304 | saved | changes seen in a day | overwritten | new | gone"
    print(f"| {head} | fresh |")
    print("|---|" + "---:|" * 8)
    anew = simulate(web, options.days, None)
    print(row("anew each night", anew, anew.requests), flush=True)
    for age in options.ways.split(","):
        result = simulate(web, options.days, float(age.removesuffix("d")) * DAY)
        print(row(f"--refresh {age}", result, anew.requests), flush=True)
    for interval in options.uniform.split(",") if options.uniform else ():
        with uniform(float(interval)):
            result = simulate(web, options.days, float(interval) * DAY)
        print(row(f"every {interval} days", result, anew.requests), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
