"""Visits a site: a short crawl for what is new, which goes on where the last one ended.

    pages where news appears are asked for again, with their validators (revisits)
    → links that are new on them are followed, best first, by the words of all alerts there
    → how soon each such page is looked at again is learned from what it brought (`hubs`)

All alerts on a site share its crawl. What waits after the first visit was there before: later
ones leave it aside, so that requests go where news is. What a later one leaves, because its
requests were spent or it was killed, is news still, and the next goes on with it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec

from focus.alerts import revisits
from focus.alerts.page_match import topic_of
from focus.alerts.run import Offline
from focus.alerts.schedule import FLOOR_S, SHORTEST_S, SLACK_S, parse, zone_of
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig, RunPaths, ScopeConfig
from focus.crawler import Crawl, Event
from focus.errors import ClusterError, ConfigError, TopicError
from focus.i18n import in_a_row, msg, within
from focus.learn.memory_crawl import PageSource
from focus.records import SEED_PRIORITY, UrlState
from focus.session import RunReport, Runtime, Watcher, run
from focus.storage.alerts.records import LOCAL, DueHub, WatchedSite
from focus.storage.alerts.store import AlertStore
from focus.store import CrawlInfo
from focus.topic.topic import Keyword, Topic, to_builtins
from focus.urls.normal_form import seed_candidates

FIRST, LATER, DAILY = 500, 200, 2_000
"""Requests that the first visit of a site may make, and each later one at least; one after a
longer time so many a day."""
QUICK = 20  # requests of a visit that comes sooner than every 15 minutes
TURN_S = FLOOR_S  # that a later visit may take while others wait for theirs every minute
REST_S = 3600.0  # until a visit goes on with what one without requests left had to leave
SOON_S = 300.0  # until a visit that our own network put off is tried again


def visitor(
    store: AlertStore,
    web: PageSource,
    *,
    clock: Callable[[], float] = time.time,
    around: Callable[[], Runtime] | None = None,
) -> Callable[[WatchedSite], Awaitable[None]]:
    """What looks a site up: see `visit`. `around` makes what each crawl works with, as workers of
    a cluster; None: this machine alone.
    """

    async def look_up(site: WatchedSite) -> None:
        try:
            report = await visit(store, site, web, clock=clock, around=around)
        except ClusterError as error:  # our own affair, as a network that is away
            store.sites.fared(site.id, error.line, now=clock())
            raise Offline("offline: {reason}", reason=error.line) from None
        if report.outage is not None:
            raise Offline("offline: {reason}", reason=report.outage.reason)
        if report.stop_reason in ("interrupted", "terminated"):
            # The crawl took the signal for itself; who sent it means the whole run.
            raise KeyboardInterrupt if report.stop_reason == "interrupted" else SystemExit(143)

    return look_up


class _Visitor(Watcher):
    """Has the pages that are due asked for again, and notes which were, and what each brought.

    finders  URL that became known -> the page asked for again that told of it first
    """

    def __init__(self, due: Sequence[DueHub], begun: Callable[[int], None]) -> None:
        self._due = {hub.url: hub for hub in due}
        self._begun = begun
        self._known = 0
        self.seen: list[DueHub] = []
        self.finders: dict[int, int] = {}
        self.answered = False  # with a page, new or as it was, or a listing
        self.failure = ""
        self.first = 0  # URLs from this number on became known during the visit

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        self.crawl = crawl
        self.first = self._known = info.next_url
        self._begun(info.next_url)
        for place, hub in enumerate(sorted(self._due.values(), key=_worth)):
            if crawl.revisit(
                hub.id,
                hub.url,
                is_listing=hub.listing,
                etag=hub.etag,
                last_modified=hub.last_modified,
                priority=SEED_PRIORITY + len(self._due) - place,
            ):
                self.seen.append(hub)
        for url_id, text in crawl.seeds.typed.items():
            if crawl.url_table.is_waiting(url_id):  # never had yet: whatever was laid aside
                crawl.requeue(url_id, seed_candidates(text)[0])

    def had(self) -> list[DueHub]:
        """The pages asked for again that came."""
        state = self.crawl.url_table.state
        return [hub for hub in self.seen if state[hub.id] in (UrlState.DONE, UrlState.DROPPED)]

    def event(self, event: Event) -> None:
        """A request came to an end: what it told of is known now."""
        known = len(self.crawl.url_table)
        hub = self._due.get(event.url)
        if hub is not None:
            self.finders.update(dict.fromkeys(range(self._known, known), hub.id))
        is_had = event.state is UrlState.DROPPED and hub is not None and not event.reason
        self.answered |= event.state is UrlState.DONE or is_had
        if event.reason:
            self.failure = within(event.url, msg(event.reason))
        self._known = known

    def finder(self, page: int) -> int | None:
        """The page asked for again that led to this one, through redirects if need be."""
        known = self.crawl.url_table
        while page not in self.finders and known.hops[page] and known.parent[page] >= 0:
            page = known.parent[page]
        return self.finders.get(page)


def _worth(hub: DueHub) -> tuple[bool, float]:
    """Feeds and sitemaps first, then what brought most: news that the first tell of is not new
    on the others, so that those are looked at less and less.
    """
    return not hub.listing, -hub.fresh


async def visit(
    store: AlertStore,
    site: WatchedSite,
    web: PageSource,
    *,
    clock: Callable[[], float],
    around: Callable[[], Runtime] | None = None,
) -> RunReport:
    """Look a site up; its row and its pages' intervals tell of it afterwards.

    Raises StoreLocked when another crawl has the database, FocusError for other failures.
    """
    now = clock()
    spent = store.pages.requests(site.crawl)
    budget = FIRST if site.visited_at is None else _later(now - site.visited_at)
    due = _due(store, site, now=now, most=min(LATER, budget) // 2)
    config = _config(store, site, web, spent + budget)
    watcher = _Visitor(due, partial(_begin, store, site))
    report = await run(
        config,
        RunPaths(db=store.path, archive=web.archive, browser=web.browser),
        watcher,
        known_as={"topic": site.host, "strategy": "watch"},
        news_from=_news_from(site),
        around=None if around is None else around(),
    )
    now = clock()
    trouble = _trouble(report, watcher)
    if trouble is None:  # nothing was asked for: what was wrong before still is
        trouble = site.trouble
    next_at = _learn(store, report.crawl, watcher, after=spent, now=now)
    if report.outage is not None:
        next_at = now + SOON_S
    elif trouble:
        next_at = now + REST_S
    hosts = watcher.crawl.frontier.hosts
    is_down = any(host.is_abandoned or host.failures for host in hosts)
    is_whole = report.stop_reason == "frontier empty" and not is_down
    if not is_whole:
        is_cut = report.stop_reason == "max-time reached"
        next_at = min(next_at, now if is_cut else now + REST_S)
    rest_s = SHORTEST_S if report.outage is None else 0.0
    if not trouble and not is_down:
        delay_s = max((host.delay_s for host in hosts), default=0.0)
        rest_s = _rest_s(store, report.crawl, delay_s=delay_s, now=now)
    free_at = now + rest_s
    _ended(
        store, site, report, trouble, next_at=next_at, free_at=free_at, is_whole=is_whole, now=now
    )
    return report


def _rest_s(store: AlertStore, crawl: int, *, delay_s: float, now: float) -> float:
    """How long a site that answers well is left alone, by what is looked at there in any case."""
    proven = store.revisits.due(crawl, until=now, proven=revisits.PROVEN, most=LATER // 2)
    return revisits.rest_s(proven, delay_s=delay_s)


def _ended(
    store: AlertStore,
    site: WatchedSite,
    report: RunReport,
    trouble: str,
    *,
    next_at: float,
    free_at: float,
    is_whole: bool,
    now: float,
) -> None:
    """Note what came of a visit. One that brought nothing but trouble was none."""
    visited_at = site.visited_at if trouble else now
    if report.outage is None and report.totals.pages:
        visited_at = now
    with store.transaction():
        store.sites.visited(
            site.id,
            report.crawl,
            visited_at=visited_at,
            next_at=next_at,
            free_at=free_at,
            pages=report.run_pages,
            is_whole=is_whole,
        )
        if trouble != site.trouble or report.run_requests or report.outage is not None:
            store.sites.fared(site.id, trouble, now=now)


def _news_from(site: WatchedSite) -> float:
    """The first URL that is news, of those that wait from earlier visits."""
    if site.visited_at is None:
        return 0.0  # the first visit, or what an outage or a kill left of it
    return math.inf if site.news_from is None else site.news_from


def _begin(store: AlertStore, site: WatchedSite, first: int) -> None:
    """From this URL on all is news until a visit has come to its end; the first brings none."""
    if site.visited_at is not None:
        store.sites.news_begins(site.id, first)


def _later(rested_s: float) -> int:
    """Requests that a visit may make after so many seconds without one."""
    least = LATER if rested_s >= SHORTEST_S - SLACK_S else QUICK
    return int(min(max(least, DAILY * rested_s / 86_400.0), DAILY))


def _learn(store: AlertStore, crawl: int, watcher: _Visitor, *, after: int, now: float) -> float:
    """Note what the pages asked for again have brought, and which others are worth it from now
    on: those that lead to what none of them led to. When the first is due again.
    """
    revisits.begin(store, crawl, now=now)
    pages = store.pages.news(crawl, after=after, first=watcher.first)
    found = Counter(map(watcher.finder, pages))
    missed = [page for page in pages if watcher.finder(page) is None]
    more = []
    if len(missed) >= revisits.CHILDREN:
        more = revisits.cover(watcher.crawl.graph.rows, missed, chosen=store.revisits.known(crawl))
    news = {hub: count for hub, count in found.items() if hub is not None}
    return revisits.learn(store, crawl, watcher.had(), news, more=more, now=now)


def _due(store: AlertStore, site: WatchedSite, *, now: float, most: int) -> list[DueHub]:
    """The pages to ask for again. An alert with a schedule of its own has sections and proven
    pages looked at whenever it is checked, and what would be due before its next check; else
    each page has its own time. A visit for which nothing is due was wanted by somebody.
    """
    if site.crawl is None:
        return []
    zones, until = store.users.zones(), now
    for owned in store.alerts.on(site.id):
        every = parse(owned.alert.schedule)
        if owned.next_at <= now and not every.is_auto:
            until = max(until, every.next(now, zone_of(zones[owned.user])))
    proven = revisits.PROVEN if until > now else None
    found = store.revisits.due(site.crawl, until=until, proven=proven, most=LATER // 2)
    found = [hub for hub in found if revisits.may_look(hub, now=now)][:most]
    return found or store.revisits.due(site.crawl, until=until, proven=revisits.PROVEN, most=most)


def _config(store: AlertStore, site: WatchedSite, web: PageSource, requests: int) -> CrawlConfig:
    analysis = AnalysisConfig(topic=to_builtins(_union(store, site)), agent=web.agent)
    # A section may have been given without a scheme: https is tried first, then http.
    seeds = tuple(url.removeprefix("https://") for url in store.sites.sections(site.id))
    return CrawlConfig(
        seeds=seeds,
        scope=ScopeConfig(scope="host"),
        limits=LimitConfig(max_requests=requests, max_time_s=_turn_s(store, site)),
        fetch=msgspec.structs.replace(web.fetch, listings=True),
        politeness=web.politeness,
        agent=web.agent,
        # Most visits meet no shell, and many are of seconds.
        render=msgspec.structs.replace(web.render, early=False),
        max_offline_s=0.0,  # the next run tries again
        analysis=analysis,
    )


def _turn_s(store: AlertStore, site: WatchedSite) -> float | None:
    """Seconds that a visit may take: other sites wait, and somebody wants theirs at once. A first
    one takes its time, since what it leaves is never looked at.
    """
    others = (each.alert for each in store.alerts.all() if not each.paused)
    is_hurried = any(parse(alert.schedule).is_quick for alert in others)
    return TURN_S if is_hurried and site.visited_at is not None else None


def _union(store: AlertStore, site: WatchedSite) -> Topic:
    """What all alerts on a site are about, to find the way by."""
    weights: dict[str, float] = {}
    for owned in store.alerts.on(site.id):
        try:
            topic = topic_of(owned.alert, trusted=owned.user == LOCAL)
        except TopicError:
            continue  # matching tells its owner
        for keyword in topic.keywords:
            weights[keyword.text] = max(keyword.weight, weights.get(keyword.text, 0.0))
    if not weights:
        raise ConfigError(
            "{host}: none of the alerts there has a topic that can be used", host=site.host
        )
    return Topic(site.host, tuple(Keyword(*each) for each in weights.items()))


def _trouble(report: RunReport, watcher: _Visitor) -> str | None:
    """Why a visit brought nothing; "": it brought something; None: nothing was asked for."""
    if report.outage is not None:
        return msg("offline: {reason}", reason=report.outage.reason)
    if report.run_pages or watcher.answered:
        return ""
    if report.seed_failures:
        failures = report.seed_failures.items()
        return in_a_row([within(seed, why) for seed, why in failures])
    return watcher.failure or None
