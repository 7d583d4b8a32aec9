"""Decides what follows from a result: from a page, redirect, sitemap, failure or robots.txt.

    counted   the page of a result as it counts: not a second time, not if it says "not found"
    decide    result and view -> intents, which `effects` performs in their order

Nothing is changed here: the same result and the same view give the same intents.
"""

from __future__ import annotations

import math

import msgspec

from focus.engine.failures import failed, fall_back
from focus.engine.intents import (
    AbandonHost,
    ApplyRobots,
    DropUrl,
    EnterRedirect,
    FailUrl,
    FetchRobots,
    FetchRobotsLater,
    FetchSitemaps,
    FinishRequest,
    FollowLinks,
    FollowUrlSource,
    Intent,
    LearnFromResult,
    MarkDone,
    PauseHost,
    RecordRevisit,
    RememberText,
    RequeueUrl,
    ResetFailures,
    SetAddress,
)
from focus.engine.refreshes import differences, is_gone
from focus.engine.view import View
from focus.http.robots_tag import of_headers
from focus.i18n import msg, within
from focus.records import (
    ChangeKind,
    DropReason,
    FailureKind,
    FetchResult,
    KeptPage,
    Page,
    PageRow,
    Result,
    Task,
    UrlRow,
    UrlState,
)
from focus.scheduling.queues import Host
from focus.score.strategy import Parent
from focus.score.subtopics import Titled
from focus.urls.normal_form import fingerprint, normalise


def counted(result: Result, view: View) -> Result:
    """A result with its page as it counts."""
    task, page = result.task, result.page
    if page is None or task.id is None or page.failure is not None:
        return result
    judged = view.near_duplicates.judge(task.id, task.host, page)
    return result if judged is page else msgspec.structs.replace(result, page=judged)


def decide(result: Result, view: View, now: float) -> list[Intent]:
    """What is to be done after a result whose page is `counted`."""
    task, fetch = result.task, result.fetch
    host = view.frontier.host(task.host)
    if task.lookup:
        return [SetAddress(host, fetch.address or "")]
    if task.id is None:
        return [FinishRequest(host, fetch, is_robots=True), *_rules(host, fetch, view, now)]
    ended = FinishRequest(host, fetch, is_robots=False, is_settled=view.request(task.id).is_settled)
    return [ended, *_of_url(task.id, task, fetch, result.page, view, now)]


# -- robots.txt -----------------------------------------------------------------------


def _rules(host: Host, fetch: FetchResult, view: View, now: float) -> list[Intent]:
    turn = view.robots_gate.judge(host, fetch, now)
    obey = ApplyRobots(host, turn)
    if turn.ask is not None:
        if view.locates:  # in its turn, by the pace of host and address
            return [obey, FetchRobotsLater(host, turn.ask)]
        return [obey, FetchRobots(host, turn.ask, now)]
    others = fall_back(host, view) if turn.wait_s is not None or turn.failure else []
    if turn.wait_s is not None and not others:
        return [obey, PauseHost(host, now + turn.wait_s)]
    if turn.failure is not None and not others:
        return [
            obey,
            AbandonHost(host, turn.failure, within("robots.txt", fetch.detail), is_untried=True),
        ]
    return [obey, *others, PauseHost(host), FetchSitemaps(host)]


# -- a URL ----------------------------------------------------------------------------


def _of_url(
    url_id: int, task: Task, fetch: FetchResult, page: Page | None, view: View, now: float
) -> list[Intent]:
    failure = fetch.failure or (page.failure if page is not None else None)
    intents: list[Intent] = []
    kept = view.request(url_id).kept
    if kept is not None and not kept.is_listing:
        looked = _looked_again(kept, task, fetch, page, view)
        if looked is not None:
            host = view.frontier.host(task.host)
            return [*looked, ResetFailures(host)] if host.failures and not failure else looked
    elif page is not None and page.failure is None:
        intents.append(RememberText(url_id, task.host, page))
    if fetch.unchanged:
        intents.append(_unchanged(url_id, task, view))
    elif fetch.redirect_to is not None:
        intents += _redirected(url_id, task, fetch.redirect_to, view)
    elif failure is not None:
        detail = fetch.detail or (page.detail if page else "")
        intents += failed(task, failure, detail, fetch, view, now)
    elif page is not None and fetch.listing is not None:
        parent = _parent(url_id, task, page, view)
        intents.append(
            FollowUrlSource(parent, task.url, fetch, fetch.listing, page.links, task.hops)
        )
        page = None
    elif page is not None:
        intents += _page_came(url_id, task, fetch, page, view)
    host = view.frontier.host(task.host)
    if failure is None and host.failures:
        intents.append(ResetFailures(host))
    if fetch.redirect_to is None and view.request(url_id).before is None:
        is_kept = any(type(each) is MarkDone for each in intents)
        intents.append(_count(url_id, task, failure, page, view, is_kept=is_kept))
    return intents


def _looked_again(
    kept: KeptPage, task: Task, fetch: FetchResult, page: Page | None, view: View
) -> list[Intent] | None:
    """What follows for a page of an earlier run; None: the same as for any other."""
    at = fetch.fetched_at
    if fetch.unchanged:
        return [RecordRevisit(kept.id, at, ChangeKind(0), task.hops)]
    if fetch.redirect_to is not None:
        as_first = msgspec.structs.replace(task, priority=kept.priority)
        entered, *dropped = _redirected(kept.id, as_first, fetch.redirect_to, view)
        if not (isinstance(entered, EnterRedirect) and dropped):
            return None
        look = RecordRevisit(kept.id, at, ChangeKind.MOVED, task.hops, fetch.redirect_to)
        return [entered, look]
    if is_gone(fetch, page):
        return [RecordRevisit(kept.id, at, ChangeKind.GONE, task.hops, str(fetch.status or ""))]
    if page is None or page.failure is not None or fetch.listing is not None:
        return None
    follow, ended = _page_came(kept.id, task, fetch, page, view)
    if not (
        isinstance(ended, MarkDone) and isinstance(follow, FollowLinks) and follow.row is not None
    ):
        return None
    kinds = differences(kept, page)
    is_new = bool(kinds) or not kept.digest
    row = msgspec.structs.replace(follow.row, priority=kept.priority) if is_new else None
    look = RecordRevisit(
        kept.id,
        at,
        kinds,
        task.hops,
        kept.title if kinds & ChangeKind.TITLE else "",
        msgspec.structs.replace(follow, row=row),
        (follow.row.etag, follow.row.last_modified),
    )
    learned = [RememberText(kept.id, task.host, page)] if kinds & ChangeKind.TEXT else []
    return [*learned, look]


def _unchanged(url_id: int, task: Task, view: View) -> Intent:
    """It is as it was when it was asked for last (304): a result still, or still none."""
    if view.request(url_id).before is UrlState.DROPPED:
        return DropUrl(url_id, DropReason.LISTING, msg("as it was"), task.hops)
    return MarkDone(url_id, task.hops)


def _redirected(url_id: int, task: Task, location: str, view: View) -> list[Intent]:
    """The target takes the URL's place, just before its equals: same evidence, one hop more.

    With cookies, who sent us away may let us in when we come back.
    """
    hops = task.hops + 1
    target = normalise(location, task.url)
    is_same = target == task.url and view.left is None
    if target is None or is_same or task.hops >= view.max_redirects:
        return [FailUrl(url_id, FailureKind.REDIRECT, f"hop {hops} to {location}"[:200])]
    key = fingerprint(target)
    if (known := view.url_table.find(key)) == url_id:
        return [RequeueUrl(url_id, target, hops)]
    if view.left is not None and known in view.left:
        return [DropUrl(url_id, DropReason.REDIRECTED, target), RequeueUrl(known, target, hops)]
    row = UrlRow(
        id=-1,
        key=key,
        url=target,
        queue=-1,
        depth=task.depth,
        priority=math.nextafter(task.priority, math.inf),
        link_evidence=view.url_table.link_evidence(url_id),
        parent=url_id,
        hops=hops,
    )
    return [EnterRedirect(row, url_id), DropUrl(url_id, DropReason.REDIRECTED, target)]


def _page_came(url_id: int, task: Task, fetch: FetchResult, page: Page, view: View) -> list[Intent]:
    asked = of_headers(fetch.headers, view.agent)
    nofollow = asked.nofollow or page.nofollow
    until = min(asked.unavailable_after, page.unavailable_after)
    noindex = asked.noindex or page.noindex or until <= fetch.fetched_at
    parent, links = _parent(url_id, task, page, view), None if nofollow else page.links
    if noindex or page.lost:
        lost = DropUrl(url_id, DropReason.SOFT_404, "it says that there is no such page")
        unwanted = DropUrl(url_id, DropReason.NOINDEX, "meta robots or X-Robots-Tag")
        return [FollowLinks(parent, links, page.feeds, None), lost if page.lost else unwanted]
    detail = fetch.detail if fetch.truncated else page.detail
    row = _row(url_id, task, fetch, page, view)
    return [FollowLinks(parent, links, page.feeds, row), MarkDone(url_id, task.hops, detail)]


def _row(url_id: int, task: Task, fetch: FetchResult, page: Page, view: View) -> PageRow:
    """A page to be kept; its links' ids, its PageRank and `host_nth` follow when it is."""
    return PageRow(
        id=url_id,
        url=task.url,
        nth=view.unit_of_work.totals.requests + 1,
        waiting=view.request(url_id).waiting,
        status=fetch.status or 0,
        fetched_at=fetch.fetched_at,
        elapsed_s=fetch.elapsed_s,
        raw_bytes=fetch.raw_bytes,
        priority=task.priority,
        bonus=view.request(url_id).bonus,
        pagerank=0.0,
        page=msgspec.structs.replace(page, links=[]),  # they are known URLs by then
        content_type=fetch.header("content-type") or "",
        etag=fetch.header("etag") or "",
        last_modified=fetch.header("last-modified") or "",
    )


def _parent(url_id: int, task: Task, page: Page, view: View) -> Parent:
    """A page as its links' strategy sees it."""
    return Parent(
        id=url_id,
        nth=view.unit_of_work.totals.pages + 1,
        depth=task.depth,
        host=task.host,
        pattern=view.queue(url_id).pattern,
        relevance=page.relevance,
        relevant=page.relevant,
        link_evidence=view.url_table.link_evidence(url_id),
        index=page.index,
        named=page.named,
    )


def _count(
    url_id: int,
    task: Task,
    failure: FailureKind | None,
    page: Page | None,
    view: View,
    *,
    is_kept: bool,
) -> Intent:
    """What a request teaches; one that failed for now says nothing of repeats."""
    if page is None:
        return LearnFromResult(url_id, None, 0 if failure is FailureKind.HTTP_4XX else None)
    hub = view.url_table.parent[url_id]
    words = page.title, page.title_runs
    titled = Titled(task.url, *words, page.relevant, hub) if is_kept else None
    if page.lost or page.duplicate_of is not None:
        return LearnFromResult(url_id, None, 0, titled)
    return LearnFromResult(url_id, page, page.wording, titled)
