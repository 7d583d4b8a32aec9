"""What follows from an answer? A page with links, a redirect, a failure, a drop, nothing new.

_page_came      its links become known, its numbers are kept
_redirected     another URL takes its place
_listing_came   a sitemap or feed: what it lists becomes known
_unchanged      a page asked for again is as it was
"""

from __future__ import annotations

import math

import msgspec

from focus.admission.near_duplicates import Twins
from focus.engine.failures import Trouble
from focus.engine.links import Discovery
from focus.engine.sitemaps import Listings
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
from focus.urls.normal_form import fingerprint, host_of, normalise


class Arrivals:
    """Draws the conclusions of answers for one crawl. A redirect's hops end at `max_redirects`."""

    def __init__(
        self, discovery: Discovery, listings: Listings, trouble: Trouble, *, max_redirects: int
    ) -> None:
        self.discovery = discovery
        self.listings = listings
        self.trouble = trouble
        self.known = discovery.known
        self.frontier = discovery.frontier
        self.ledger = discovery.ledger
        self.scope = discovery.scope
        self.graph = discovery.strategy.graph
        self.twins = Twins()
        # In flight for another time, what they bring is not new; how they ended before.
        self.again: dict[int, UrlState] = {}
        self._max_redirects = max_redirects

    def counted(self, result: Result) -> Page | None:
        """The page of an answer as it counts: no second time, not if it says "not found"."""
        task, page = result.task, result.page
        if page is None or task.id is None or page.failure is not None:
            return page
        return self.twins.judge(task.id, task.host, page)

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
            self.trouble.failed(task, failure, msgspec.structs.replace(fetch, detail=detail), now)
        elif page is not None:
            self.trouble.came_through(url_id)
            if fetch.listing is not None:
                self._listing_came(url_id, task, fetch, page)
                page = None
            else:
                self._page_came(url_id, task, fetch, page, rank)
        if failure is None and host.failures:
            host.failures = 0
            self.ledger.host_changed(host)
        if fetch.redirect_to is None and is_new:
            again = page is not None and (page.lost or page.twin is not None)
            self.discovery.learning.outcome(url_id, None if again else page)

    def _unchanged(self, url_id: int, task: Task, before: UrlState | None) -> None:
        """It is as it was when it was asked for last (304): a result still, or still none."""
        self.trouble.came_through(url_id)
        if before is UrlState.DROPPED:
            self._listed(url_id, task, "as it was")
        else:
            self.ledger.ended(Outcome(url_id, UrlState.DONE, hops=task.hops))

    def _redirected(self, url_id: int, task: Task, location: str) -> None:
        """The target takes the URL's place, just before its equals: same evidence, one hop more."""
        trouble, hops = self.trouble, task.hops + 1
        target = normalise(location, task.url)
        if target is None or target == task.url or task.hops >= self._max_redirects:
            trouble.fail(url_id, FailureKind.REDIRECT, f"hop {hops} to {location}"[:200])
            return
        key = fingerprint(target)
        there = self.known.find(key)
        if there == url_id:
            trouble.requeue(url_id, target, hops)
            return
        is_seed = url_id in trouble.seeds
        if is_seed:
            self.scope.add_home(target)
            self.listings.add_home(target)
        priority = math.nextafter(task.priority, math.inf)
        row = UrlRow(-1, key, target, -1, task.depth, 0.0, parent=url_id, hops=hops)
        border = self.discovery.border
        if border is not None and not border.owns(host_of(target)):
            trouble.drop(url_id, DropReason.REDIRECTED, target)
            border.redirect(row, self.known.carry(url_id), priority, is_home=is_seed)
            return
        if there < 0:
            there = self.discovery.enter(row)
            if is_seed:
                trouble.seeds[there] = trouble.seeds[url_id]
        trouble.drop(url_id, DropReason.REDIRECTED, target)
        self.discovery.strengthen(there, self.known.carry(url_id), priority, url_id)

    def _page_came(
        self, url_id: int, task: Task, fetch: FetchResult, page: Page, rank: int
    ) -> None:
        robots_tag = (fetch.header("x-robots-tag") or "").lower()
        nofollow = page.nofollow or "nofollow" in robots_tag or "none" in robots_tag
        noindex = page.noindex or "noindex" in robots_tag or "none" in robots_tag
        parent = self._parent(url_id, task, page)
        targets = [] if nofollow else self.discovery.expand(parent, page.links)
        self.listings.of_page(url_id, task.depth, page.feeds, relevant=page.relevant)
        if noindex or page.lost:
            self.ledger.linked(url_id, targets)
            lost = (DropReason.SOFT_404, "it says that there is no such page")
            unwanted = (DropReason.NOINDEX, "meta robots or X-Robots-Tag")
            self.trouble.drop(url_id, *(lost if page.lost else unwanted))
            return
        self.ledger.ended(Outcome(url_id, UrlState.DONE, hops=task.hops))
        host = self.frontier.queues[self.known.queue[url_id]].host
        self.ledger.page(
            PageRow(
                id=url_id,
                url=task.url,
                nth=self.ledger.totals.requests,
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
                place=self.discovery.learning.place(host) + 1,
            )
        )

    def _parent(self, url_id: int, task: Task, page: Page) -> Parent:
        """A page as its links' strategy sees it."""
        return Parent(
            id=url_id,
            nth=self.ledger.totals.pages + 1,
            depth=task.depth,
            host=task.host,
            shape=self.frontier.queues[self.known.queue[url_id]].shape,
            relevance=page.relevance,
            relevant=page.relevant,
            carry=self.known.carry(url_id),
        )

    def _listing_came(self, url_id: int, task: Task, fetch: FetchResult, page: Page) -> None:
        """A sitemap or feed: no page, but what it lists becomes known."""
        assert fetch.listing is not None
        parent = self._parent(url_id, task, page)
        detail = self.listings.came(parent, task.url, fetch.listing, page.links)
        etag, last_modified = fetch.header("etag") or "", fetch.header("last-modified") or ""
        self.ledger.validated(url_id, etag, last_modified)
        self._listed(url_id, task, detail)

    def _listed(self, url_id: int, task: Task, detail: str) -> None:
        self.ledger.ended(
            Outcome(url_id, UrlState.DROPPED, str(DropReason.LISTING), detail, hops=task.hops)
        )
