"""Handles each result: page, redirect, sitemap, failure, drop, or a page that is unchanged.

_page_came      its links become known, its numbers are kept
_redirected     another URL takes its place
_listing_came   a sitemap or feed: what it lists becomes known
_unchanged      a page asked for again is as it was
"""

from __future__ import annotations

import math

import msgspec

from focus.admission.near_duplicates import NearDuplicates
from focus.engine.failures import FailureHandler
from focus.engine.links import LinkHandler
from focus.engine.sitemaps import SitemapHandler
from focus.http.robots_tag import of_headers
from focus.records import (
    DropReason,
    FailureKind,
    FetchResult,
    Outcome,
    Page,
    PageRow,
    Result,
    Task,
    UrlRow,
    UrlState,
)
from focus.score.strategy import Parent
from focus.score.subtopics import Titled
from focus.urls.normal_form import fingerprint, host_of, normalise


class ResultHandler:
    """Draws the conclusions of answers for one crawl.

    max_redirects  where a redirect's hops end
    agent          whom X-Robots-Tag may speak to, besides everybody
    """

    def __init__(
        self,
        link_handler: LinkHandler,
        sitemap_handler: SitemapHandler,
        failure_handler: FailureHandler,
        *,
        max_redirects: int,
        agent: str,
    ) -> None:
        self.link_handler = link_handler
        self.sitemap_handler = sitemap_handler
        self.failure_handler = failure_handler
        self.url_table = link_handler.url_table
        self.frontier = link_handler.frontier
        self.unit_of_work = link_handler.unit_of_work
        self.scope = link_handler.scope
        self.graph = link_handler.strategy.graph
        self.near_duplicates = NearDuplicates()
        # In flight for another time, what they bring is not new; how they ended before.
        self.again: dict[int, UrlState] = {}
        self._max_redirects = max_redirects
        self._agent = agent

    def counted(self, result: Result) -> Page | None:
        """The page of an answer as it counts: no second time, not if it says "not found"."""
        task, page = result.task, result.page
        if page is None or task.id is None or page.failure is not None:
            return page
        return self.near_duplicates.judge(task.id, task.host, page)

    def take_in(
        self,
        url_id: int,
        task: Task,
        fetch: FetchResult,
        page: Page | None,
        *,
        now: float,
        rank: int,
    ) -> None:
        """A request for a URL came to its end.

        now    the crawl's clock
        rank   how many URLs waited when it was taken
        """
        host = self.frontier.host(task.host)
        failure = fetch.failure or (page.failure if page is not None else None)
        before = self.again.pop(url_id, None)
        is_new = before is None
        if fetch.unchanged:
            self._unchanged(url_id, task, before)
        elif fetch.redirect_to is not None:
            self._redirected(url_id, task, fetch.redirect_to)
        elif failure is not None:
            detail = fetch.detail or (page.detail if page else "")
            self.failure_handler.failed(
                task, failure, msgspec.structs.replace(fetch, detail=detail), now
            )
        elif page is not None:
            self.failure_handler.came_through(url_id)
            if fetch.listing is not None:
                self._listing_came(url_id, task, fetch, page)
                page = None
            else:
                self._page_came(url_id, task, fetch, page, rank)
        if failure is None and host.failures:
            host.failures = 0
            self.unit_of_work.host_changed(host)
        if fetch.redirect_to is None and is_new:
            self._look_for_repeats(url_id, failure, page)
            again = page is not None and (page.lost or page.duplicate_of is not None)
            self.link_handler.hit_rates.outcome(url_id, None if again else page)
            if page is not None and self.url_table.state[url_id] == UrlState.DONE:
                hub = self.url_table.parent[url_id]
                self.link_handler.strategy.saw(Titled(task.url, page.title, page.relevant, hub))

    def _look_for_repeats(
        self, url_id: int, failure: FailureKind | None, page: Page | None
    ) -> None:
        """Tell the traps whether a URL brought anything; what failed for now says nothing."""
        if page is None and failure is not FailureKind.HTTP_4XX:
            return
        queue = self.frontier.queues[self.url_table.queue[url_id]]
        fetched = self.link_handler.hit_rates.tallies(queue)[0].fetched + 1
        is_repeat = page is None or page.lost or page.duplicate_of is not None
        text = 0 if page is None or is_repeat else page.wording
        is_new = page is not None and page.relevant  # one of a text before is not
        self.link_handler.traps.saw(queue, fetched, text, is_new=is_new)

    def _unchanged(self, url_id: int, task: Task, before: UrlState | None) -> None:
        """It is as it was when it was asked for last (304): a result still, or still none."""
        self.failure_handler.came_through(url_id)
        if before is UrlState.DROPPED:
            self._listed(url_id, task, "as it was")
        else:
            self.unit_of_work.ended(Outcome(url_id, UrlState.DONE, hops=task.hops))

    def _redirected(self, url_id: int, task: Task, location: str) -> None:
        """The target takes the URL's place, just before its equals: same evidence, one hop more."""
        failure_handler, hops = self.failure_handler, task.hops + 1
        target = normalise(location, task.url)
        if target is None or target == task.url or task.hops >= self._max_redirects:
            failure_handler.fail(url_id, FailureKind.REDIRECT, f"hop {hops} to {location}"[:200])
            return
        key = fingerprint(target)
        there = self.url_table.find(key)
        if there == url_id:
            failure_handler.requeue(url_id, target, hops)
            return
        is_seed = url_id in failure_handler.seeds
        if is_seed:
            self.scope.add_home(target)
            self.sitemap_handler.add_home(target)
        priority = math.nextafter(task.priority, math.inf)
        row = UrlRow(-1, key, target, -1, task.depth, 0.0, parent=url_id, hops=hops)
        border = self.link_handler.border
        if border is not None and not border.owns(host_of(target)):
            failure_handler.drop(url_id, DropReason.REDIRECTED, target)
            border.redirect(row, self.url_table.link_evidence(url_id), priority, is_home=is_seed)
            return
        if there < 0:
            there = self.link_handler.enter(row)
            if is_seed:
                failure_handler.seeds[there] = failure_handler.seeds[url_id]
        failure_handler.drop(url_id, DropReason.REDIRECTED, target)
        self.link_handler.strengthen(there, self.url_table.link_evidence(url_id), priority, url_id)

    def _page_came(
        self, url_id: int, task: Task, fetch: FetchResult, page: Page, rank: int
    ) -> None:
        asked = of_headers(fetch.headers, self._agent)
        nofollow = asked.nofollow or page.nofollow
        until = min(asked.unavailable_after, page.unavailable_after)
        noindex = asked.noindex or page.noindex or until <= fetch.fetched_at
        parent = self._parent(url_id, task, page)
        targets = [] if nofollow else self.link_handler.expand(parent, page.links)
        self.sitemap_handler.of_page(url_id, task.depth, page.feeds, relevant=page.relevant)
        if noindex or page.lost:
            self.unit_of_work.linked(url_id, targets)
            lost = (DropReason.SOFT_404, "it says that there is no such page")
            unwanted = (DropReason.NOINDEX, "meta robots or X-Robots-Tag")
            self.failure_handler.drop(url_id, *(lost if page.lost else unwanted))
            return
        detail = fetch.detail if fetch.truncated else ""
        self.unit_of_work.ended(Outcome(url_id, UrlState.DONE, detail=detail, hops=task.hops))
        host = self.frontier.queues[self.url_table.queue[url_id]].host
        self.unit_of_work.page(
            PageRow(
                id=url_id,
                url=task.url,
                nth=self.unit_of_work.totals.requests,
                rank=rank,
                status=fetch.status or 0,
                fetched_at=fetch.fetched_at,
                elapsed_s=fetch.elapsed_s,
                raw_bytes=fetch.raw_bytes,
                priority=task.priority,
                pagerank=self.graph.rank(url_id),
                page=msgspec.structs.replace(page, links=[]),  # they are known URLs by now
                content_type=fetch.header("content-type") or "",
                etag=fetch.header("etag") or "",
                last_modified=fetch.header("last-modified") or "",
                targets=tuple(targets),
                place=self.link_handler.hit_rates.place(host) + 1,
            )
        )

    def _parent(self, url_id: int, task: Task, page: Page) -> Parent:
        """A page as its links' strategy sees it."""
        return Parent(
            id=url_id,
            nth=self.unit_of_work.totals.pages + 1,
            depth=task.depth,
            host=task.host,
            pattern=self.frontier.queues[self.url_table.queue[url_id]].pattern,
            relevance=page.relevance,
            relevant=page.relevant,
            link_evidence=self.url_table.link_evidence(url_id),
            index=page.index,
            named=page.named,
        )

    def _listing_came(self, url_id: int, task: Task, fetch: FetchResult, page: Page) -> None:
        """A sitemap or feed: no page, but what it lists becomes known."""
        assert fetch.listing is not None
        parent = self._parent(url_id, task, page)
        detail = self.sitemap_handler.came(parent, task.url, fetch.listing, page.links)
        etag, last_modified = fetch.header("etag") or "", fetch.header("last-modified") or ""
        self.unit_of_work.validated(url_id, etag, last_modified)
        self._listed(url_id, task, detail)

    def _listed(self, url_id: int, task: Task, detail: str) -> None:
        self.unit_of_work.ended(
            Outcome(url_id, UrlState.DROPPED, str(DropReason.LISTING), detail, hops=task.hops)
        )
