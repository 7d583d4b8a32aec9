"""Counts what looking again by each page's own rate saves, over two weeks of a virtual clock.

    python -m bench.refresh [--days 14] [--pages 400] [--seed 1] [--ways 1d,2d] [--uniform 1,2,3]

A small web is crawled on day 0 and then once every night. Its pages change by Poisson rates of
their own (two in five never), articles appear on the index pages of their hosts and vanish; half
of the hosts send validators, and all pages show a clock. `anew` crawls everything again each
night, `1d` is `--refresh 1d`, and `--uniform 2` looks at every page every second day, with the same
machinery. The generator knows when what changed: so what was seen late, or overwritten before
anybody had seen it, is counted by truth. Freshness is the share of pages and of time in which
what was stored is what stood on the web. The requests of day 0 are not counted.
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
from focus.scheduling.revisits import Refreshing
from focus.session import SessionStore
from focus.session.resume import restore
from focus.session.revisit import look_again
from focus.store import Store
from focus.topic.topic import from_words, to_builtins
from focus.workers import InlineScorer

DAY = 86_400.0
BEGIN = 20_000 * DAY
IN_TIME = DAY + 3600.0  # a day, and what a night's run takes
STILL, SHAPE, MEAN = 0.4, 0.5, 0.3  # share that never changes; of the others' rates, a day
NEW, GONE = 0.5, 0.005  # articles that a host gets a day, on average; share that vanishes a day
WORDS = "比赛 球队 进球 主场 客场 教练 门将 传球 联赛 积分 下半场 裁判 点球 替补 边路 反击".split()


class Article(NamedTuple):
    """A page: where it is, from when to when, and when it changes (Unix seconds)."""

    url: str
    born: float
    gone: float
    changes: list[float]


class World:
    """Hosts with an index page each that lists its articles."""

    def __init__(self, seed: int, pages: int, days: int) -> None:
        rng = Random(seed)
        self.end = BEGIN + days * DAY
        self.hosts = [f"h{n}.test" for n in range(max(4, pages // 30))]
        self.articles: dict[str, Article] = {}
        self.of_host: dict[str, list[Article]] = {host: [] for host in self.hosts}
        for number in range(pages - len(self.hosts)):
            self._add(self.hosts[number % len(self.hosts)], 0.0, rng)
        for host in self.hosts:
            for born in _instants(rng.gammavariate(1.0, NEW), BEGIN, self.end, rng):
                self._add(host, born, rng)

    def _add(self, host: str, born: float, rng: Random) -> None:
        rate = 0.0 if rng.random() < STILL else rng.gammavariate(SHAPE, MEAN / SHAPE)
        since = max(born, BEGIN)
        gone = next(iter(_instants(GONE, since, self.end, rng)), self.end + DAY)
        url = f"http://{host}/{len(self.of_host[host])}"
        article = Article(url, born, gone, _instants(rate, since, min(gone, self.end), rng))
        self.articles[url] = article
        self.of_host[host].append(article)

    def index(self, host: str) -> Article:
        """A host's index page, which changes with its list."""
        articles = self.of_host[host]
        events = [each.born for each in articles if each.born > BEGIN]
        events += [each.gone for each in articles if each.gone <= self.end]
        return Article(f"http://{host}/", 0.0, self.end + DAY, sorted(events))

    def index_of(self, page: Article) -> str:
        """Where a page is listed."""
        return page.url[: page.url.rindex("/") + 1]

    def pages(self) -> list[Article]:
        """All pages there ever are."""
        return [*map(self.index, self.hosts), *self.articles.values()]

    def respond(self, url: str, at: float) -> tuple[str, str] | None:
        """Validator ("" where the host sends none) and source of a page at an instant."""
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
            there = [each.url for each in self.of_host[host] if each.born <= at < each.gone]
            there += [f"http://{each}/" for each in self.hosts]
            text += "".join(f"<p><a href={each}>{crc32(each.encode())}</a></p>" for each in there)
        title = "足球" if crc32(url.encode()) % 2 else "其他"
        clock = f"<footer>{int(at) % 86_400 // 3600:02}:{int(at) % 3600 // 60:02}</footer>"
        html = f"<title>{title} {url}</title><body><article>{text}</article>{clock}</body>"
        return (f'"{version}"' if crc32(host.encode()) % 2 else "", html)


def _instants(daily: float, since: float, until: float, rng: Random) -> list[float]:
    found, at = [], since
    while daily > 0 and (at := at + rng.expovariate(daily / DAY)) < until:
        found.append(at)
    return found


class Asked(NamedTuple):
    """One request that was answered."""

    url: str
    at: float
    status: int


class Living(ReplayTransport):
    """Requests to that web; 304 where a validator holds."""

    def __init__(self, web: World, analysis: AnalysisConfig, log: list[Asked], at: float) -> None:
        super().__init__(self, InlineScorer(analysis), start=at)
        self._web, self._asked, self._tags = web, log, dict[str, str]()

    def send(self, task: Task) -> None:
        self._tags[task.url] = dict(task.conditions).get("If-None-Match", "")
        super().send(task)

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        found = None if robots else self._web.respond(url, fetched_at)
        tag, source = found or ("", "")
        status = 404 if found is None else 304 if tag and tag == self._tags.get(url) else 200
        if not robots:
            self._asked.append(Asked(url, fetched_at, status))
        if status == 304:
            return FetchResult(url, fetched_at, status=304, unchanged=True)
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


async def nights(web: World, days: int, age_s: float | None, folder: Path) -> list[Asked]:
    """A run on day 0 and each night after; None: everything anew each night."""
    log: list[Asked] = []
    for day in range(days + 1):
        analysis = AnalysisConfig(
            topic=to_builtins(from_words("足球")), relevance="position", digests=True, keep="none"
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
            transport = Living(web, analysis, log, at)
            crawl = Crawl(config, transport, crawl_store=SessionStore(store, info.id))
            if info.resumed and age_s is not None:
                await restore(crawl, store, info)
                await look_again(crawl, store, info, age_s)
            crawl.sow(config.seeds)
            reason = await crawl.run()
            await store.finish(info.id, reason=reason, report_json="{}", now=at)
    return [each for each in log if each.at > BEGIN + DAY / 2]


class Score(NamedTuple):
    """What one way cost and saw; shares of all that happened in time to be seen."""

    requests: int
    unchanged: int
    changes: float
    overwritten: float
    new: float
    gone: float
    fresh: float


def score(web: World, log: Sequence[Asked], *, anew: bool) -> Score:
    """Hold the requests against what the generator knows."""
    looks: dict[str, list[float]] = defaultdict(list)
    for each in log:
        looks[each.url].append(each.at)
    until = web.end - DAY
    seen, new, gone, stale, watched, overwritten = [], [], [], 0.0, 0.0, 0
    for page in web.pages():
        times = looks[page.url]
        if BEGIN < page.born < until:
            new.append(_first(times, page.born) - page.born <= IN_TIME)
        if page.gone < until:
            # Who crawls anew asks for no page that its index has dropped.
            asked = looks[web.index_of(page)] if anew else times
            gone.append(_first(asked, page.gone) - page.gone <= IN_TIME)
        known_at = BEGIN if page.born <= BEGIN else _first(times, page.born)
        changes = [each for each in page.changes if known_at < each < until]
        for change, following in pairwise([*changes, page.gone]):
            look = _first(times, change)
            seen.append(look - change <= IN_TIME)
            overwritten += look > following
        ends = min(web.end, page.gone)
        watched += max(0.0, ends - known_at)
        stale += _stale(page.changes, times, known_at, ends)
    return Score(
        len(log),
        sum(each.status == 304 for each in log),
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


def _stale(changes: Sequence[float], looks: Sequence[float], since: float, until: float) -> float:
    """Seconds in which what was stored was not what stood there."""
    total, free = 0.0, since
    for change in changes:
        begins = max(change, free)
        if change < since or begins >= until:
            continue
        free = min(_first(looks, begins), until)
        total += free - begins
    return total


def uniform(days: float) -> Any:
    """Every page waits so many days, whatever is known of it."""
    return mock.patch.object(Refreshing, "wait_s", lambda self, watched, is_hub=False: days * DAY)


def row(name: str, found: Score, all_anew: int) -> str:
    """A way as a row of the table."""
    shares = " | ".join(f"{each:.3f}" for each in found[2:])
    saved = f"{1 - found.requests / all_anew:.0%}"
    return f"| {name} | {found.requests:,} | {found.unchanged:,} | {saved} | {shares} |"


def carried_out(web: World, days: int, age_s: float | None) -> Score:
    """One way, whole."""
    with tempfile.TemporaryDirectory() as folder:
        log = asyncio.run(nights(web, days, age_s, Path(folder)))
    return score(web, log, anew=age_s is None)


def main() -> int:
    """Print the table."""
    given = read_options(__doc__)
    web = World(given.seed, given.pages, given.days)
    head = "way | requests | 304 | saved | changes seen in a day | overwritten | new | gone"
    print(f"| {head} | fresh |")
    print("|---|" + "---:|" * 8)
    anew = carried_out(web, given.days, None)
    print(row("anew each night", anew, anew.requests), flush=True)
    for age in given.ways.split(","):
        found = carried_out(web, given.days, float(age.removesuffix("d")) * DAY)
        print(row(f"--refresh {age}", found, anew.requests), flush=True)
    for each in given.uniform.split(",") if given.uniform else ():
        with uniform(float(each)):
            found = carried_out(web, given.days, float(each) * DAY)
        print(row(f"every {each} days", found, anew.requests), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
