"""Decides what follows from a result: a page, redirect, sitemap, failure or robots.txt.

    count_page  result with its page marked as near-duplicate or soft 404
    decide      result and view -> intents, which `effects` applies in order

Nothing is changed here: the same result and the same view give the same intents.
"""

from __future__ import annotations

import math

import msgspec

from focus.admission.url_rules import CANONICAL, Waste, is_variant_address
from focus.engine.failures import failure_intents, fallback_intents
from focus.engine.intents import (
    AbandonHost,
    Alias,
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
    RecordSoftware,
    RememberText,
    RequeueUrl,
    ResetFailures,
    SetAddress,
    UrlResponse,
)
from focus.engine.revisit_records import content_changes, is_gone
from focus.engine.view import View
from focus.http.robots_tag import parse_headers
from focus.i18n import chain_messages, msg
from focus.records import (
    ChangeKind,
    DropReason,
    FailureKind,
    FetchResult,
    Page,
    PageRow,
    Result,
    StoredPage,
    Task,
    UrlRow,
    UrlState,
)
from focus.scheduling.queues import Host
from focus.score.index_pages import Role, address_role
from focus.score.strategy import Parent
from focus.score.subtopics import TitledPage
from focus.urls.normal_form import normalise, url_fingerprint


def count_page(result: Result, view: View) -> Result:
    """Return a result with its page marked as near-duplicate or soft 404 where it is one."""
    task, page = result.task, result.page
    if page is None or task.id is None or page.failure is not None:
        return result
    judged = view.near_duplicates.judge(task.id, task.host, page)
    return result if judged is page else msgspec.structs.replace(result, page=judged)


def decide(result: Result, view: View, now: float) -> list[Intent]:
    """Return the intents that follow from a result returned by `count_page`."""
    task, fetch = result.task, result.fetch
    host = view.frontier.host(task.host)
    if task.is_lookup:
        return [SetAddress(host, fetch.address or "")]
    if task.id is None:
        return [
            FinishRequest(host, fetch, is_robots=True),
            *_robots_intents(host, fetch, view, now),
        ]
    ended: list[Intent] = [
        FinishRequest(host, fetch, is_robots=False, is_settled=view.request(task.id).is_settled)
    ]
    page = result.page
    if task.software is None and page and page.failure is None and fetch.url_source is None:
        ended.append(RecordSoftware(host, page.software))
    return [*ended, *_url_intents(task.id, task, fetch, result.page, view, now)]


# -- robots.txt -----------------------------------------------------------------------


def _robots_intents(host: Host, fetch: FetchResult, view: View, now: float) -> list[Intent]:
    outcome = view.robots_gate.decide(host, fetch, now)
    obey = ApplyRobots(host, outcome)
    if outcome.next_url is not None:
        if view.uses_lookups:  # requested when host and address are due
            return [obey, FetchRobotsLater(host, outcome.next_url)]
        return [obey, FetchRobots(host, outcome.next_url, now)]
    others = (
        fallback_intents(host, view) if outcome.retry_after_s is not None or outcome.failure else []
    )
    if outcome.retry_after_s is not None and not others:
        return [obey, PauseHost(host, now + outcome.retry_after_s)]
    if outcome.failure is not None and not others:
        return [
            obey,
            AbandonHost(
                host, outcome.failure, chain_messages("robots.txt", fetch.detail), is_untried=True
            ),
        ]
    return [obey, *others, PauseHost(host), FetchSitemaps(host)]


# -- a URL ----------------------------------------------------------------------------


def _url_intents(
    url_id: int, task: Task, fetch: FetchResult, page: Page | None, view: View, now: float
) -> list[Intent]:
    failure = fetch.failure or (page.failure if page is not None else None)
    intents: list[Intent] = []
    stored_page = view.request(url_id).stored_page
    if stored_page is not None and not stored_page.is_url_source:
        revisit_intents = _revisit_intents(stored_page, task, fetch, page, view)
        if revisit_intents is not None:
            host = view.frontier.host(task.host)
            return (
                [*revisit_intents, ResetFailures(host)]
                if host.failures and not failure
                else revisit_intents
            )
    elif page is not None and page.failure is None:
        intents.append(RememberText(url_id, task.host, page))
    if fetch.is_unchanged:
        intents.append(_unchanged_intent(url_id, task, view))
    elif fetch.redirect_to is not None:
        intents += _redirect_intents(url_id, task, fetch.redirect_to, view)
    elif failure is not None:
        detail = page.detail if page and not fetch.failure else fetch.detail
        intents += failure_intents(task, failure, detail, fetch, view, now)
    elif page is not None and fetch.url_source is not None:
        parent = _parent(url_id, task, page, view)
        intents.append(
            FollowUrlSource(parent, task.url, fetch, fetch.url_source, page.links, task.hops)
        )
        page = None
    elif page is not None:
        intents += _page_intents(url_id, task, fetch, page, view)
    host = view.frontier.host(task.host)
    if failure is None and host.failures:
        intents.append(ResetFailures(host))
    if fetch.redirect_to is None and view.request(url_id).before is None:
        is_stored = any(type(intent) is MarkDone for intent in intents)
        intents.append(_learn_intent(url_id, task, failure, page, view, is_stored=is_stored))
    return intents


def _revisit_intents(
    stored_page: StoredPage, task: Task, fetch: FetchResult, page: Page | None, view: View
) -> list[Intent] | None:
    """Return the intents of a revisit, None if it is processed like a first visit."""
    at = fetch.fetched_at
    if fetch.is_unchanged:
        return [RecordRevisit(stored_page.id, at, ChangeKind(0), task.hops)]
    if fetch.redirect_to is not None:
        as_first = msgspec.structs.replace(task, priority=stored_page.priority)
        entered, *dropped = _redirect_intents(stored_page.id, as_first, fetch.redirect_to, view)
        if not (isinstance(entered, EnterRedirect) and dropped):
            return None
        revisit = RecordRevisit(stored_page.id, at, ChangeKind.MOVED, task.hops, fetch.redirect_to)
        return [entered, revisit]
    if is_gone(fetch, page):
        return [
            RecordRevisit(stored_page.id, at, ChangeKind.GONE, task.hops, str(fetch.status or ""))
        ]
    if page is None or page.failure is not None or fetch.url_source is not None:
        return None
    follow, ended = _page_intents(stored_page.id, task, fetch, page, view)
    if not (
        isinstance(ended, MarkDone) and isinstance(follow, FollowLinks) and follow.row is not None
    ):
        return None
    kinds = content_changes(stored_page, page)
    is_new = bool(kinds) or not stored_page.text_digest
    row = msgspec.structs.replace(follow.row, priority=stored_page.priority) if is_new else None
    revisit = RecordRevisit(
        stored_page.id,
        at,
        kinds,
        task.hops,
        stored_page.title if kinds & ChangeKind.TITLE else "",
        msgspec.structs.replace(follow, row=row),
        (follow.row.etag, follow.row.last_modified),
    )
    remembered = [RememberText(stored_page.id, task.host, page)] if kinds & ChangeKind.TEXT else []
    return [*remembered, revisit]


def _unchanged_intent(url_id: int, task: Task, view: View) -> Intent:
    """Return the intent for a response 304: the URL ends in the same state as before."""
    if view.request(url_id).before is UrlState.DROPPED:
        return DropUrl(url_id, DropReason.URL_SOURCE, msg("as it was"), task.hops)
    return MarkDone(url_id, task.hops)


def _redirect_intents(url_id: int, task: Task, location: str, view: View) -> list[Intent]:
    """Return the intents of a redirect: its target has the same evidence and one hop more.

    The target comes just before URLs of equal priority. With cookies, a redirect may lead back to
    a URL that redirected before and answers now.
    """
    hops = task.hops + 1
    target = normalise(location, task.url)
    is_same = target == task.url and view.redirected_ids is None
    if target is None or is_same or task.hops >= view.max_redirects:
        return [FailUrl(url_id, FailureKind.REDIRECT, f"hop {hops} to {location}"[:200])]
    key = url_fingerprint(target)
    if (known := view.url_table.find(key)) == url_id:
        return [RequeueUrl(url_id, target, hops, task.url)]
    if view.redirected_ids is not None and known in view.redirected_ids:
        return [DropUrl(url_id, DropReason.REDIRECTED, target), RequeueUrl(known, target, hops)]
    row = UrlRow(
        id=-1,
        key=key,
        url=target,
        queue_id=-1,
        depth=view.url_table.depth[url_id],
        priority=math.nextafter(task.priority, math.inf),
        link_evidence=view.url_table.link_evidence(url_id),
        parent_id=url_id,
        hops=hops,
    )
    return [EnterRedirect(row, url_id, task.url), DropUrl(url_id, DropReason.REDIRECTED, target)]


def _page_intents(
    url_id: int, task: Task, fetch: FetchResult, page: Page, view: View
) -> list[Intent]:
    asked = parse_headers(fetch.headers, view.agent)
    nofollow = asked.nofollow or page.nofollow
    until = min(asked.unavailable_after, page.unavailable_after)
    noindex = asked.noindex or page.noindex or until <= fetch.fetched_at
    parent, links = _parent(url_id, task, page, view), None if nofollow else page.links
    if noindex or page.is_soft_404:
        lost = DropUrl(url_id, DropReason.SOFT_404, "it says that there is no such page")
        unwanted = DropUrl(url_id, DropReason.NOINDEX, "meta robots or X-Robots-Tag")
        return [
            FollowLinks(parent, links, page.feed_urls, None),
            lost if page.is_soft_404 else unwanted,
        ]
    detail = fetch.detail if fetch.is_truncated else page.detail
    row = _page_row(url_id, task, fetch, page, view)
    done = MarkDone(url_id, task.hops, detail, _alias(url_id, task, page, view))
    return [FollowLinks(parent, links, page.feed_urls, row), done]


def _alias(url_id: int, task: Task, page: Page, view: View) -> Alias | None:
    """Return the canonical URL of a page that is a variant of it, None if it is none.

    The page is stored in place of that of its canonical URL, so it must not be another one: not a
    further page of a list, not one whose text is known.
    """
    canonical, host = page.canonical, view.queue(url_id).host.id
    if canonical is None or not is_variant_address(task.url, canonical):
        return None
    if address_role(task.url) is Role.CONTINUATION or view.known_texts.find(host, page) >= 0:
        return None
    key = url_fingerprint(canonical)
    rules = view.unit_of_work.url_rules
    if view.url_table.find(key) == url_id or rules.is_refuted(host, CANONICAL):
        return None
    return Alias(task.url, canonical, key)


def _page_row(url_id: int, task: Task, fetch: FetchResult, page: Page, view: View) -> PageRow:
    """Return the row of a page; `effects` adds link targets, PageRank and `host_nth`."""
    return PageRow(
        id=url_id,
        url=task.url,
        request_number=view.unit_of_work.totals.requests + 1,
        waiting_count=view.request(url_id).waiting,
        status=fetch.status or 0,
        fetched_at=fetch.fetched_at,
        elapsed_s=fetch.elapsed_s,
        raw_bytes=fetch.raw_bytes,
        priority=task.priority,
        bonus=view.request(url_id).bonus,
        pagerank=0.0,
        page=msgspec.structs.replace(page, links=[]),  # stored as URLs
        content_type=fetch.header("content-type") or "",
        etag=fetch.header("etag") or "",
        last_modified=fetch.header("last-modified") or "",
    )


def _parent(url_id: int, task: Task, page: Page, view: View) -> Parent:
    """Return the parent record of a page's links."""
    return Parent(
        id=url_id,
        nth=view.unit_of_work.totals.pages + 1,
        depth=view.url_table.depth[url_id],
        host=task.host,
        pattern=view.queue(url_id).pattern,
        relevance=page.relevance,
        relevant=page.is_relevant,
        link_evidence=view.url_table.link_evidence(url_id),
        index=page.is_index_page,
        named=page.index_topic_score,
    )


def _learn_intent(
    url_id: int,
    task: Task,
    failure: FailureKind | None,
    page: Page | None,
    view: View,
    *,
    is_stored: bool,
) -> Intent:
    """Return the intent to learn from a result; a failure says nothing about repeated texts."""
    response = _url_response(url_id, task, failure, page, view, is_stored=is_stored)
    if page is None:
        wording = 0 if failure is FailureKind.HTTP_4XX else None
        return LearnFromResult(url_id, None, wording, response=response)
    hub = view.url_table.parent[url_id]
    words = page.title, page.title_runs
    titled = TitledPage(task.url, *words, page.is_relevant, hub) if is_stored else None
    if page.is_soft_404 or page.original_id is not None:
        return LearnFromResult(url_id, None, 0, titled, response)
    return LearnFromResult(url_id, page, page.wording_hash, titled, response)


def _url_response(
    url_id: int,
    task: Task,
    failure: FailureKind | None,
    page: Page | None,
    view: View,
    *,
    is_stored: bool,
) -> UrlResponse | None:
    """Return of what use a response is; failures of hosts and networks mean nothing."""
    was_deferred = view.request(url_id).is_deferred
    if failure is not None:
        waste = _WASTEFUL_FAILURES.get(failure)
        if waste is None:
            return None
        return UrlResponse(task.url, waste, was_deferred=was_deferred)
    if page is None:
        return UrlResponse(task.url, None)
    original_id = view.known_texts.find(view.queue(url_id).host.id, page)
    if page.is_soft_404:
        waste = Waste.CLIENT_ERROR
    elif not is_stored:
        waste = Waste.NOINDEX
    else:
        waste = Waste.DUPLICATE if original_id not in (-1, url_id) else None
    return UrlResponse(task.url, waste, page, original_id, was_deferred)


_WASTEFUL_FAILURES = {
    FailureKind.HTTP_4XX: Waste.CLIENT_ERROR,
    FailureKind.NOT_HTML: Waste.NOT_HTML,
}
