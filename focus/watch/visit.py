"""What is new on a site? A short crawl that goes on where the last one ended.

    pages where news appears are asked for again, with their validators (revisits)
    → links that are new on them are followed, best first, by the words of all concerns there
    → how soon each such page is looked at again is learned from what it brought (`hubs`)

All concerns on a site share its crawl. What waited when the last visit ended was there before:
a later visit leaves it aside, so that requests go where news is.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from focus.config import AnalysisConfig, CrawlConfig, LimitConfig, ScopeConfig
from focus.crawl import Crawl, Event
from focus.errors import ConfigError, TopicError
from focus.learn.gather import Web
from focus.session import Places, Report, Watcher, run
from focus.store import CrawlInfo
from focus.topic import Keyword, Topic, to_builtins
from focus.watch import hubs
from focus.watch.book import LOCAL, Book, Site
from focus.watch.hubs import Hub
from focus.watch.schedule import SHORTEST_S, parse
from focus.watch.subjects import topic_of

FIRST, LATER = 500, 200
"""Requests that the first visit of a site may make, and each later one."""


def visitor(
    book: Book, web: Web, *, clock: Callable[[], float] = time.time
) -> Callable[[Site], Awaitable[None]]:
    """What looks a site up: see `visit`."""

    async def look_up(site: Site) -> None:
        report = await visit(book, site, web, clock=clock)
        if report.stop_reason in ("interrupted", "terminated"):
            # The crawl took the signal for itself; who sent it means the whole run.
            raise KeyboardInterrupt if report.stop_reason == "interrupted" else SystemExit(143)

    return look_up


class _Visitor(Watcher):
    """Has the pages that are due asked for again, and notes which were."""

    def __init__(self, due: Sequence[Hub]) -> None:
        self._due = due
        self.seen: list[Hub] = []
        self.first = 0  # URLs from this number on became known during the visit

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        self.first = info.next_url
        for hub in self._due:
            if crawl.revisit(hub.id, hub.url, etag=hub.etag, last_modified=hub.last_modified):
                self.seen.append(hub)

    def event(self, event: Event) -> None:
        """Nobody looks on."""


async def visit(book: Book, site: Site, web: Web, *, clock: Callable[[], float]) -> Report:
    """Look a site up; its row and its pages' intervals tell of it afterwards.

    Raises StoreLocked when another crawl has the database, FocusError for other trouble.
    """
    now = clock()
    spent = _requests(book, site)
    budget = FIRST if site.crawl is None else LATER
    due = [] if site.crawl is None else hubs.due(book, site.crawl, now=now, most=budget // 2)
    config = _config(book, site, web, spent + budget)
    watcher = _Visitor(due)
    report = await run(
        config,
        Places(db=book.path, archive=web.archive),
        watcher,
        known_as={"topic": site.host, "strategy": "watch"},
        news_only=True,
    )
    now = clock()
    found = hubs.news(book, report.crawl, after=spent, first=watcher.first)
    next_at = hubs.learn(book, report.crawl, watcher.seen, found, now=now)
    if not _is_auto(book, site):
        next_at = now + SHORTEST_S
    with book.transaction() as db:
        db.execute(
            "UPDATE site SET crawl = ?, visited_at = ?, next_at = ?, pages = ?, trouble = ? "
            "WHERE id = ?",
            (report.crawl, now, next_at, report.run_pages, _trouble(report), site.id),
        )
    return report


def _requests(book: Book, site: Site) -> int:
    """What the crawl of a site has spent so far."""
    rows = book.rows("SELECT counters FROM progress WHERE crawl = ?", (site.crawl,))
    counters = msgspec.json.decode(rows[0][0]) if rows else {}
    return int(counters.get("requests", 0))


def _is_auto(book: Book, site: Site) -> bool:
    """Whether every concern there leaves it to the pages when they are looked at."""
    return all(parse(each.concern.schedule).is_auto for each in book.concerns_on(site.id))


def _config(book: Book, site: Site, web: Web, requests: int) -> CrawlConfig:
    # A section may have been given without a scheme: https is tried first, then http.
    seeds = tuple(url.removeprefix("https://") for url in book.sections(site.id))
    return CrawlConfig(
        seeds=seeds,
        scope=ScopeConfig(scope="host"),
        sitemaps=True,
        limits=LimitConfig(max_requests=requests),
        fetch=web.fetch,
        politeness=web.politeness,
        agent=web.agent,
        analysis=AnalysisConfig(topic=to_builtins(_union(book, site)), shapes=True),
    )


def _union(book: Book, site: Site) -> Topic:
    """What all concerns on a site are about, to find the way by."""
    weights: dict[str, float] = {}
    for owned in book.concerns_on(site.id):
        try:
            topic = topic_of(owned.concern, trusted=owned.user == LOCAL)
        except TopicError:
            continue  # matching tells its owner
        for keyword in topic.keywords:
            weights[keyword.text] = max(keyword.weight, weights.get(keyword.text, 0.0))
    if not weights:
        raise ConfigError(f"{site.host}: none of the concerns there has a topic that can be used")
    return Topic(site.host, tuple(Keyword(*each) for each in weights.items()))


def _trouble(report: Report) -> str:
    """Why a visit brought nothing; "": it brought something, or nothing was due."""
    if report.run_pages or not report.seed_troubles:
        return ""
    return "; ".join(f"{seed}: {why}" for seed, why in report.seed_troubles.items())
