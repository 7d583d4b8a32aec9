"""Visit of a site: a short crawl for new pages that continues the previous one.

    pages on which news appears are revisited with their validators (revisits)
    -> lists to which a changed one of them links are revisited, too
    -> new links on them are followed, best first, by the words of all alerts on the site
    -> the revisit interval of each such page is learned from the news it led to

All alerts on a site share its crawl. URLs that wait after the first visit existed before it; later
visits exclude them, so that requests are spent on news. URLs that a later visit leaves, because its
requests were used up or it was killed, are still news, and the next visit continues with them.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import count

import msgspec

from focus.alerts import revisits
from focus.alerts.page_match import alert_topic, criteria_key
from focus.alerts.run import Offline, has_quick_alert
from focus.alerts.schedule import MIN_INTERVAL_S, MIN_REVISIT_S, SLACK_S, find_zone, parse
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig, RunPaths, ScopeConfig
from focus.crawler import Crawl, Event
from focus.errors import ConfigError, TopicError
from focus.i18n import chain_messages, join_messages, msg
from focus.learn.memory_crawl import PageSource
from focus.records import COMPLETE, SEED_PRIORITY, ReportProgress, UrlState, ignore_progress
from focus.session import RunReport, Watcher, run
from focus.storage.alerts.records import LOCAL_USER, DueHub, WatchedSite
from focus.storage.alerts.store import AlertStore
from focus.store import CrawlInfo
from focus.topic.topic import Keyword, Topic, to_builtins
from focus.urls.normal_form import seed_candidates

FIRST_VISIT_REQUESTS, VISIT_REQUESTS, DAILY_REQUESTS = 500, 200, 2_000
"""Requests of a site's first visit, of each later one at least, and per day of a longer pause."""
QUICK_VISIT_REQUESTS = 20  # of a visit that comes sooner than every 15 minutes
MAX_TURN_S = MIN_INTERVAL_S  # longest visit while alerts are due every few minutes
MAX_LISTS = 10  # lists that are revisited because a page that links to them changed
RETRY_S = 3600.0  # until the next visit after one that failed or was incomplete
OFFLINE_RETRY_S = 300.0  # until the next attempt after the local network was down


def create_visit(
    store: AlertStore,
    web: PageSource,
    *,
    clock: Callable[[], float] = time.time,
    progress: ReportProgress = ignore_progress,
    allows_networks: bool = False,
    at_once: bool = False,
) -> Callable[[WatchedSite], Awaitable[None]]:
    """Return the function that visits a site; see `visit`.

    allows_networks  Visits may reach the networks that the alerts of the command line name.
    at_once          A person requested the visits, so that sections are revisited, due or not.
    """

    async def visit_site(site: WatchedSite) -> None:
        networks = _alert_networks(store, site) if allows_networks else ()
        fetch = msgspec.structs.replace(web.fetch, allow_net=(*web.fetch.allow_net, *networks))
        source = msgspec.structs.replace(web, fetch=fetch)
        report = await visit(store, site, source, clock=clock, progress=progress, at_once=at_once)
        if report.outage is not None:
            raise Offline("offline: {reason}", reason=report.outage.reason)
        if report.stop_reason in ("interrupted", "terminated"):
            # The crawl handled the signal, which was meant for the whole run.
            raise KeyboardInterrupt if report.stop_reason == "interrupted" else SystemExit(143)

    return visit_site


def _alert_networks(store: AlertStore, site: WatchedSite) -> Iterable[str]:
    for stored_alert in store.alerts.list_for_site(site.id):
        if stored_alert.user == LOCAL_USER:
            yield from stored_alert.alert.networks


class _RevisitWatcher(Watcher):
    """Watcher of a crawl that requests the due pages again and records what each led to.

    The front page of a forum names the last topic of each board only. If its text changed, the
    boards that it links to are revisited as well, although they are not due.

    others   Pages that may be revisited and are not due.
    sources  New URL -> the revisited page that linked to it first.
    """

    def __init__(
        self,
        due: Sequence[DueHub],
        others: Iterable[DueHub],
        begun: Callable[[int], None],
        finished_request: Callable[[], None],
    ) -> None:
        self._finished_request = finished_request
        self._due_hubs = {hub.url: hub for hub in due}
        self._others = {hub.id: hub for hub in others if hub not in due}
        self._begun = begun
        self._known = 0
        self.revisited: list[DueHub] = []
        self.sources: dict[int, int] = {}
        self.has_answer = False  # a page, feed or sitemap was received
        self.failure = ""
        self.first_new_url = 0  # URLs from this number on became known during the visit

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        self.crawl = crawl
        self.first_new_url = self._known = info.next_url
        self._begun(info.next_url)
        for url_id, text in crawl.seeds.typed.items():
            if crawl.url_table.is_waiting(url_id):  # never fetched, even if it was excluded
                crawl.requeue(url_id, seed_candidates(text)[0])
        # A due page replaces its seed, so that a seed without a scheme keeps the one that answered.
        for place, hub in enumerate(sorted(self._due_hubs.values(), key=_revisit_order)):
            self._revisit(hub, SEED_PRIORITY + len(self._due_hubs) - place)

    def _revisit(self, hub: DueHub, priority: float) -> None:
        if self.crawl.revisit(
            hub.id,
            hub.url,
            is_listing=hub.is_url_source,
            etag=hub.etag,
            last_modified=hub.last_modified,
            priority=priority,
        ):
            self.revisited.append(hub)

    def _revisit_lists(self, changed: DueHub) -> None:
        """Revisit lists that a changed page links to, those with most news first."""
        links = self.crawl.graph.rows.get(changed.id, ())
        lists = [self._others[target] for target in links if target in self._others]
        for hub in sorted(lists, key=_revisit_order)[:MAX_LISTS]:
            self._due_hubs[hub.url] = self._others.pop(hub.id)
            self._revisit(hub, SEED_PRIORITY)

    def answered_hubs(self) -> list[DueHub]:
        """Return the revisited pages that were received."""
        state = self.crawl.url_table.state
        return [hub for hub in self.revisited if state[hub.id] in (UrlState.DONE, UrlState.DROPPED)]

    def event(self, event: Event) -> None:
        """Attribute the URLs that became known to the finished request."""
        self._finished_request()
        known = len(self.crawl.url_table)
        hub = self._due_hubs.get(event.url)
        if hub is not None:
            self.sources.update(dict.fromkeys(range(self._known, known), hub.id))
        is_answered_hub = event.state is UrlState.DROPPED and hub is not None and not event.reason
        self.has_answer |= event.state is UrlState.DONE or is_answered_hub
        if event.reason:
            self.failure = chain_messages(event.url, msg(event.reason))
        self._known = known
        if hub is not None and event.text_digest not in (0, hub.text_digest):
            self._revisit_lists(hub)

    def find_source(self, page: int) -> int | None:
        """Return the revisited page that led to a page, also through redirects."""
        known = self.crawl.url_table
        while page not in self.sources and known.hops[page] and known.parent[page] >= 0:
            page = known.parent[page]
        return self.sources.get(page)


def _revisit_order(hub: DueHub) -> tuple[bool, float]:
    """Return the sort key of a revisit: feeds and sitemaps first, then pages with most news.

    News counts for the first page that links to it, so that the others are revisited less often.
    """
    return not hub.is_url_source, -hub.recent_pages


async def visit(
    store: AlertStore,
    site: WatchedSite,
    web: PageSource,
    *,
    clock: Callable[[], float],
    progress: ReportProgress = ignore_progress,
    at_once: bool = False,
) -> RunReport:
    """Visit a site; its row and the intervals of its pages are updated.

    `progress` is called with the finished requests and the most that the visit may make. A judge is
    asked only if all alerts on the site have one topic, because it is asked once about a page.

    Raises StoreLocked when another crawl has the database, FocusError for other failures.
    """
    now = clock()
    used_requests = store.pages.count_requests(site.crawl)
    budget = (
        max(1, FIRST_VISIT_REQUESTS - used_requests)
        if site.visited_at is None
        else _request_budget(now - site.visited_at)
    )
    limit = min(VISIT_REQUESTS, budget) // 2
    hubs = _hubs_to_revisit(store, site, now=now, limit=limit, at_once=at_once)
    alerts = [stored.alert for stored in store.alerts.list_for_site(site.id)]
    if len({criteria_key(alert, trusted=True) for alert in alerts}) > 1:
        web = msgspec.structs.replace(web, judge=None)
    config = _crawl_config(store, site, web, used_requests + budget)
    requests = count(1)
    watcher = _RevisitWatcher(
        *hubs, partial(_mark_news_start, store, site), lambda: progress(next(requests), budget)
    )
    report = await run(
        config,
        RunPaths(db=store.path, archive=web.archive, browser=web.browser),
        watcher,
        identity={"topic": site.host, "strategy": "watch"},
        exclude_ids_below=_first_news_url(site),
        judge=web.judge,
    )
    now = clock()
    failure = _failure_reason(report, watcher)
    if failure is None:  # nothing was requested: an earlier failure persists
        failure = site.trouble
    next_at = _record_revisits(store, report.crawl, watcher, after=used_requests, now=now)
    if report.outage is not None:
        next_at = now + OFFLINE_RETRY_S
    elif failure:
        next_at = now + RETRY_S
    hosts = watcher.crawl.frontier.hosts
    is_down = any(host.is_abandoned or host.failures for host in hosts)
    is_complete = report.stop_reason in COMPLETE and not is_down
    if not is_complete:
        is_out_of_time = report.stop_reason == "max-time reached"
        next_at = min(next_at, now if is_out_of_time else now + RETRY_S)
    rest_s = MIN_REVISIT_S if report.outage is None else 0.0
    if not failure and not is_down:
        delay_s = max((host.delay_s for host in hosts), default=0.0)
        proven = store.revisits.list_due(
            report.crawl,
            until=now,
            min_recent_pages=revisits.PROVEN_PAGES,
            limit=VISIT_REQUESTS // 2,
        )
        rest_s = revisits.visit_interval_s(proven, delay_s=delay_s)
    is_first_slice = site.visited_at is None and report.stop_reason == "max-time reached"
    free_at = now if is_first_slice else now + rest_s
    _record_visit(
        store,
        site,
        report,
        failure,
        next_at=next_at,
        free_at=free_at,
        is_complete=is_complete,
        counts_as_visit=not is_first_slice,
        now=now,
    )
    return report


def _record_visit(
    store: AlertStore,
    site: WatchedSite,
    report: RunReport,
    failure: str,
    *,
    next_at: float,
    free_at: float,
    is_complete: bool,
    counts_as_visit: bool,
    now: float,
) -> None:
    """Store the result of a visit.

    Neither a visit that only failed nor a part of a first visit counts as one.
    """
    visited_at = site.visited_at if failure else now
    if report.outage is None and report.totals.pages:
        visited_at = now
    if not counts_as_visit:
        visited_at = site.visited_at
    with store.transaction():
        store.sites.record_visit(
            site.id,
            report.crawl,
            visited_at=visited_at,
            next_at=next_at,
            free_at=free_at,
            pages=report.run_pages,
            is_whole=is_complete,
        )
        if failure != site.trouble or report.run_requests or report.outage is not None:
            store.sites.record_trouble(site.id, failure, now=now)


def _first_news_url(site: WatchedSite) -> float:
    """Return the first waiting URL of earlier visits that is news."""
    if site.visited_at is None:
        return 0.0  # the first visit, or its continuation after an outage or kill
    return math.inf if site.news_from is None else site.news_from


def _mark_news_start(store: AlertStore, site: WatchedSite, first_new_url: int) -> None:
    """Mark the URL from which all is news until a visit completes; not in the first visit."""
    if site.visited_at is not None:
        store.sites.set_first_new_url(site.id, first_new_url)


def _request_budget(rested_s: float) -> int:
    """Return the requests that a visit may make after so many seconds without one."""
    minimum = VISIT_REQUESTS if rested_s >= MIN_REVISIT_S - SLACK_S else QUICK_VISIT_REQUESTS
    return int(min(max(minimum, DAILY_REQUESTS * rested_s / 86_400.0), DAILY_REQUESTS))


def _record_revisits(
    store: AlertStore, crawl: int, watcher: _RevisitWatcher, *, after: int, now: float
) -> float:
    """Store what the revisited pages led to, and return the time of the next revisit.

    Pages that link to news which no revisited page led to are revisited from now on.
    """
    revisits.add_sections(store, crawl, now=now)
    pages = store.pages.list_new_relevant(crawl, after=after, first=watcher.first_new_url)
    counts = Counter(map(watcher.find_source, pages))
    unexplained = [page for page in pages if watcher.find_source(page) is None]
    new_hubs = []
    if len(unexplained) >= revisits.MIN_CHILDREN:
        new_hubs = revisits.choose_hubs(
            watcher.crawl.graph.rows, unexplained, known_hubs=store.revisits.list_ids(crawl)
        )
    news = {hub: count for hub, count in counts.items() if hub is not None}
    return revisits.record_revisits(
        store, crawl, watcher.answered_hubs(), news, new_hubs=new_hubs, now=now
    )


def _hubs_to_revisit(
    store: AlertStore, site: WatchedSite, *, now: float, limit: int, at_once: bool
) -> tuple[list[DueHub], list[DueHub]]:
    """Return the pages to revisit, and others to revisit if a page that links to them changed.

    An alert with a schedule of its own has sections and proven pages revisited at each check,
    together with pages that would be due before its next check. Otherwise each page has its own
    time. If none is due or with `at_once`, a person requested the visit: sections and proven pages
    are revisited, however long ago they were.
    """
    if site.crawl is None:
        return [], []
    zones, until = store.users.load_zones(), now
    for stored_alert in store.alerts.list_for_site(site.id):
        parsed = parse(stored_alert.alert.schedule)
        if stored_alert.next_at <= now and not parsed.is_auto:
            until = max(until, parsed.next(now, find_zone(zones[stored_alert.user])))
    proven = revisits.PROVEN_PAGES if until > now else None
    list_due = partial(store.revisits.list_due, site.crawl)
    hubs = list_due(until=until, min_recent_pages=proven, limit=VISIT_REQUESTS // 2)
    others = list_due(until=math.inf, min_recent_pages=None, limit=VISIT_REQUESTS)
    hubs = [hub for hub in hubs if revisits.may_revisit(hub, now=now)][:limit]
    if hubs and not at_once:
        return hubs, [hub for hub in others if revisits.may_revisit(hub, now=now)]
    return list_due(until=until, min_recent_pages=revisits.PROVEN_PAGES, limit=limit), others


def _crawl_config(
    store: AlertStore, site: WatchedSite, web: PageSource, requests: int
) -> CrawlConfig:
    analysis = AnalysisConfig(
        topic=to_builtins(_common_topic(store, site)),
        agent=web.agent,
        hash_routes=web.render.mode != "never",
        judge="" if web.judge is None else web.judge.name,
        judge_questions=web.judge_questions + store.pages.count_answers(site.crawl),
    )
    # A section may have been given without a scheme: https is tried first, then http.
    seeds = tuple(url.removeprefix("https://") for url in store.sites.list_sections(site.id))
    return CrawlConfig(
        seeds=seeds,
        scope=ScopeConfig(scope="host"),
        limits=LimitConfig(
            max_requests=requests,
            # Visits are short while an alert has a quick schedule; a first one takes several runs.
            max_time_s=MAX_TURN_S if has_quick_alert(store) else None,
        ),
        fetch=msgspec.structs.replace(web.fetch, sitemaps=True),
        politeness=web.politeness,
        agent=web.agent,
        # Most visits meet no shell page, and many take seconds.
        render=msgspec.structs.replace(web.render, starts_early=False),
        max_offline_s=0.0,  # the next run tries again
        analysis=analysis,
    )


def _common_topic(store: AlertStore, site: WatchedSite) -> Topic:
    """Return the keywords and related terms of all alerts on a site, which guide the crawl."""
    weights: dict[str, float] = {}
    terms: dict[str, float] = {}
    for stored_alert in store.alerts.list_for_site(site.id):
        try:
            topic = alert_topic(stored_alert.alert, trusted=stored_alert.user == LOCAL_USER)
        except TopicError:
            continue  # matching reports it to its owner
        for keyword in topic.keywords:
            weights[keyword.text] = max(keyword.weight, weights.get(keyword.text, 0.0))
        terms |= topic.terms
    if not weights:
        raise ConfigError("{host}: no alert on this site has a usable topic", host=site.host)
    terms = {term: weight for term, weight in terms.items() if term not in weights}
    return Topic(site.host, tuple(Keyword(*item) for item in weights.items()), terms=terms)


def _failure_reason(report: RunReport, watcher: _RevisitWatcher) -> str | None:
    """Return why a visit failed; empty if it did not, None if nothing was requested."""
    if report.outage is not None:
        return msg("offline: {reason}", reason=report.outage.reason)
    if report.run_pages or watcher.has_answer:
        return ""
    if report.seed_failures:
        failures = report.seed_failures.items()
        return join_messages([chain_messages(seed, why) for seed, why in failures])
    return watcher.failure or None
