"""Applies intents to the frontier, the URL table, the link graph and the unit of work.

`Effects.apply` is the only place where a crawl changes after a result. The decisions are made
before, in `results` and `failures`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from focus.admission.url_rules import (
    CANONICAL,
    SPELLINGS,
    TIER,
    NamedPage,
    Waste,
    apply_rewriting,
    deferred_tiers,
    first_pages,
    is_member_url,
    kind_of_view,
    kinds_from_pattern,
    removable_parameters,
    returns_to,
    spelling_changes,
    url_kinds,
    url_path,
    without_slug,
)
from focus.engine import intents as i
from focus.engine.links import LinkHandler
from focus.engine.revisit_records import answered_revisit, failed_revisit
from focus.engine.sitemaps import SitemapHandler
from focus.engine.transports import Transport
from focus.engine.view import Request, View
from focus.i18n import Msg, chain_messages, msg
from focus.records import (
    REVISIT_PRIORITY,
    ChangeKind,
    DropReason,
    FailureKind,
    FetchResult,
    Outcome,
    Page,
    StoredPage,
    Task,
    UrlRow,
    UrlState,
)
from focus.scheduling.queues import Candidate, Host
from focus.score.index_pages import series_address
from focus.urls.normal_form import url_fingerprint, url_host
from focus.urls.patterns import url_pattern

FORM_TEXT = 200  # maximum characters of a form or an empty calendar with its explanations


class Effects:
    """Changes of one crawl. `view` is the state that decisions read."""

    def __init__(
        self,
        view: View,
        link_handler: LinkHandler,
        sitemap_handler: SitemapHandler,
        transport: Transport,
    ) -> None:
        self._view = view
        self._link_handler = link_handler
        self._sitemap_handler = sitemap_handler
        self._transport = transport
        self._url_table = view.url_table
        self._frontier = view.frontier
        self._unit_of_work = view.unit_of_work
        self._requests = view.requests
        self._seeds = view.seeds
        self._aliases: dict[int, tuple[int, str, int]] = {}  # canonical URL -> page that has it
        self._last_links: tuple[i.FollowLinks, int] | None = None  # and number of URLs before
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            i.SetAddress: self._set_address,
            i.FinishRequest: self._finish_request,
            i.RecordSoftware: self._record_software,
            i.ApplyRobots: self._apply_robots,
            i.FetchRobots: self._fetch_robots,
            i.FetchRobotsLater: self._fetch_robots_later,
            i.PauseHost: self._pause_host,
            i.CountFailure: self._count_failure,
            i.ResetFailures: self._reset_failures,
            i.AbandonHost: self._abandon_host,
            i.FetchSitemaps: self._fetch_sitemaps,
            i.MarkDone: self._mark_done,
            i.DropUrl: self._drop_url,
            i.FailUrl: self._fail_url,
            i.RetryUrl: self._retry_url,
            i.RequeueUrl: self._requeue_url,
            i.ReturnToQueue: self._return_to_queue,
            i.RememberText: self._remember_text,
            i.FollowLinks: self._follow_links,
            i.FollowUrlSource: self._follow_url_source,
            i.EnterRedirect: self._enter_redirect,
            i.LearnFromResult: self._learn_from_result,
            i.RecordRevisit: self._record_revisit,
            i.CorrectPage: self._correct_page,
        }

    def apply(self, intents: Iterable[i.Intent], now: float) -> None:
        """Apply intents in order; `now` is the time of the crawl's clock."""
        handlers = self._handlers
        for intent in intents:
            handlers[type(intent)](intent, now)

    def send(self, candidate: Candidate) -> None:
        """Send the request for a URL that was taken from the frontier."""
        url_table, host, url_id = self._url_table, candidate.host, candidate.id
        request = self._requests.setdefault(url_id, Request())
        request.waiting = url_table.counts[UrlState.WAITING] + 1
        request.bonus = self._view.queue(url_id).bonus
        request.is_settled = False
        is_link = candidate.priority > REVISIT_PRIORITY
        tiers = deferred_tiers(candidate.priority) if is_link else 0
        request.is_deferred = tiers > 0
        self._unit_of_work.add_request(url_id)
        self._link_handler.domains.mark_requested(host)
        self._frontier.start_request(host, candidate.start_at)
        self._transport.send(
            Task(
                id=url_id,
                url=candidate.url,
                host=host.name,
                start_at=candidate.start_at,
                hops=url_table.hops[url_id],
                depth=url_table.depth[url_id],
                priority=candidate.priority + tiers * TIER,
                conditional_headers=request.conditions,
                crawl_delay_s=host.delay_s,
                should_report_send=self._frontier.waits_for_send,
                template=self._view.templates.template(host.id),
                software=self._link_handler.task_software(host),
            )
        )

    # -- hosts --------------------------------------------------------------------

    def start_delays(self, answered: Iterable[tuple[Task, FetchResult]], now: float) -> None:
        """Start the crawl delay of hosts whose responses are complete but not scored yet."""
        for task, fetch in answered:
            if task.id is not None and (request := self._requests.get(task.id)) is not None:
                request.is_settled = True
                self._start_delay(self._frontier.host(task.host), fetch, now)

    def _set_address(self, intent: i.SetAddress, now: float) -> None:
        self._frontier.set_address(intent.host, intent.address, now)

    def _finish_request(self, intent: i.FinishRequest, now: float) -> None:
        totals = self._unit_of_work.totals
        totals.requests += 1
        totals.robots += intent.is_robots
        totals.bytes += intent.fetch.raw_bytes
        if not intent.is_robots and intent.fetch.status is not None:
            totals.redirects += intent.fetch.redirect_to is not None
            is_page = intent.fetch.redirect_to is None and intent.fetch.url_source is None
            totals.page_requests += is_page
        if not intent.is_settled:
            self._start_delay(intent.host, intent.fetch, now)

    def _record_software(self, intent: i.RecordSoftware, now: float) -> None:
        intent.host.detections += 1
        if intent.software and not intent.host.software:
            intent.host.software = intent.software
            self._unit_of_work.update_host(intent.host)

    def _start_delay(self, host: Host, fetch: FetchResult, now: float) -> None:
        self._frontier.record_answer(host, fetch, now)
        self._frontier.finish_request(host, now)

    def _apply_robots(self, intent: i.ApplyRobots, now: float) -> None:
        host = intent.host
        self._view.robots_gate.apply(host, intent.outcome)
        host.next_at = max(host.next_at, now + host.delay_s)  # its robots.txt may set a Crawl-delay
        self._unit_of_work.update_host(host)

    def _fetch_robots(self, intent: i.FetchRobots, now: float) -> None:
        host, start_at = intent.host, max(intent.start_at, intent.host.next_at)
        self._link_handler.domains.mark_requested(host)
        self._frontier.start_request(host, start_at)
        self._frontier.pause_host(host, math.inf, start_at)
        tell = self._frontier.waits_for_send
        self._transport.send(
            Task(
                None,
                intent.url,
                host.name,
                start_at=start_at,
                crawl_delay_s=host.delay_s,
                should_report_send=tell,
            )
        )

    def _fetch_robots_later(self, intent: i.FetchRobotsLater, now: float) -> None:
        self._view.robots_gate.set_next_url(intent.host, intent.url)
        self._frontier.pause_host(intent.host, 0.0, now)

    def _pause_host(self, intent: i.PauseHost, now: float) -> None:
        self._frontier.pause_host(intent.host, intent.until, now)

    def _count_failure(self, intent: i.CountFailure, now: float) -> None:
        intent.host.failures += 1
        self._unit_of_work.update_host(intent.host)

    def _reset_failures(self, intent: i.ResetFailures, now: float) -> None:
        intent.host.failures = 0
        self._unit_of_work.update_host(intent.host)

    def _abandon_host(self, intent: i.AbandonHost, now: float) -> None:
        host, kind, detail = intent.host, intent.kind, intent.detail
        if intent.is_untried:
            self._link_handler.hit_rates.count_abandoned_newcomer(host, self._seeds.typed)
        self._unit_of_work.update_host(host)
        why = chain_messages(msg(kind), detail)
        url_ids = self._frontier.abandon_host(host)
        self.apply((i.FailUrl(url_id, FailureKind.HOST_ABANDONED, why) for url_id in url_ids), now)

    def _fetch_sitemaps(self, intent: i.FetchSitemaps, now: float) -> None:
        self._sitemap_handler.add_from_robots(intent.host)

    # -- URLs ---------------------------------------------------------------------

    def _mark_done(self, intent: i.MarkDone, now: float) -> None:
        self._seeds.set_failure(intent.id)
        url = None if intent.alias is None else self._use_alias(intent.id, intent.alias)
        done = Outcome(intent.id, UrlState.DONE, detail=intent.detail, hops=intent.hops, url=url)
        self._end_url(done)

    def _use_alias(self, url_id: int, alias: i.Alias) -> str | None:
        """Give a page its canonical URL, which is then not requested; return the page's URL.

        If pages with different texts name one canonical URL, the host is not believed.
        """
        host, depth = self._view.queue(url_id).host, self._url_table.depth[url_id]
        first = self._aliases.get(self._url_table.find(alias.key))
        if first is not None:
            first_id, first_url, canonical_id = first
            self._unit_of_work.url_rules.confirm(host.id, CANONICAL, agrees=False)
            self._unit_of_work.set_outcome(Outcome(first_id, UrlState.DONE, url=first_url))
            del self._aliases[canonical_id]
            self._requeue_url(i.RequeueUrl(canonical_id, alias.canonical), 0.0)
            return None
        row = UrlRow(-1, alias.key, alias.canonical, -1, depth, 0.0, parent_id=url_id)
        canonical_id = self._link_handler.add_ranked_url(row)
        if not self._url_table.is_waiting(canonical_id):
            return None
        self._frontier.url_cache.remove([canonical_id])
        detail = msg("its page was fetched as {url}", url=alias.url)
        self._drop_url(i.DropUrl(canonical_id, DropReason.PAGE_VARIANT, detail), 0.0)
        self._frontier.update_queues([self._view.queue(canonical_id)])
        self._aliases[canonical_id] = url_id, alias.url, canonical_id
        return alias.canonical

    def restore_alias(self, canonical_id: int, detail: str) -> None:
        """Restore which page was stored in place of a canonical URL, by the reason for its drop."""
        if isinstance(detail, Msg):
            url = detail.values["url"]
            page_id = self._url_table.find(url_fingerprint(url))
            self._aliases[canonical_id] = page_id, url, canonical_id

    def _drop_url(self, intent: i.DropUrl, now: float) -> None:
        url_id, reason, detail = intent.id, intent.reason, intent.detail
        if (stored_page := self._view.request(url_id).stored_page) is not None:
            if reason is DropReason.URL_SOURCE:
                self._store_revisit(stored_page, now, ChangeKind(0))
            elif reason is not DropReason.NOINDEX:
                return self._store_failed_revisit(stored_page, str(reason), now)
        self._end_url(Outcome(url_id, UrlState.DROPPED, str(reason), detail, hops=intent.hops))
        if self._view.redirected_ids is not None and reason is DropReason.REDIRECTED:
            self._view.redirected_ids.add(url_id)
        if reason is DropReason.URL_SOURCE:
            self._seeds.set_failure(url_id)
        elif reason is not DropReason.REDIRECTED:
            self._seeds.set_failure(url_id, str(reason), detail)

    def _fail_url(self, intent: i.FailUrl, now: float) -> None:
        url_id, kind, detail = intent.id, intent.kind, intent.detail
        if (stored_page := self._view.request(url_id).stored_page) is not None:
            self._unit_of_work.failures[str(kind)] += 1
            return self._store_failed_revisit(stored_page, str(kind), now)
        self._end_url(Outcome(url_id, UrlState.FAILED, str(kind), detail, intent.tries))
        reason = "" if kind is FailureKind.HOST_ABANDONED else str(kind)  # the detail contains it
        self._seeds.set_failure(url_id, reason, detail)

    def _end_url(self, outcome: Outcome) -> None:
        self._unit_of_work.set_outcome(outcome)
        self._requests.pop(outcome.id, None)

    def _set_waiting(self, outcome: Outcome) -> None:
        """Set a URL to waiting; the database keeps the state of a page that is being revisited."""
        stored_page = self._view.request(outcome.id).stored_page
        if stored_page is None:
            return self._unit_of_work.set_outcome(outcome)
        stored = msgspec.structs.replace(
            stored_outcome(stored_page), hops=outcome.hops, url=outcome.url
        )
        self._unit_of_work.set_outcome(stored, UrlState.WAITING)

    def _retry_url(self, intent: i.RetryUrl, now: float) -> None:
        url_id, kind, detail = intent.id, str(intent.kind), intent.detail
        self._requests.setdefault(url_id, Request()).tries = intent.tries
        waits = UrlState.WAITING
        self._set_waiting(
            Outcome(url_id, waits, kind, detail, intent.tries, intent.at, intent.hops)
        )
        self._frontier.defer(url_id, intent.url, intent.at)
        self._seeds.set_failure(url_id, kind, detail)

    def _requeue_url(self, intent: i.RequeueUrl, now: float) -> None:
        url_id, url = intent.id, intent.url
        if (typed := self._seeds.typed.get(url_id)) is not None:
            self._redirected_seed(typed, url_id, url)
        if self._seeds.fallbacks.get(url_id) == url:
            del self._seeds.fallbacks[url_id]
        if (request := self._requests.get(url_id)) is not None:
            request.tries = 0
        if self._view.redirected_ids is not None:
            self._view.redirected_ids.discard(url_id)
        if intent.source:
            self._learn_spelling(self._view.queue(url_id).host, intent.source, url)
        self._url_table.hops[url_id] = intent.hops
        self._set_waiting(Outcome(url_id, UrlState.WAITING, hops=intent.hops, url=url))
        self._frontier.push(url_id, url, self._url_table.priority[url_id])

    def _return_to_queue(self, intent: i.ReturnToQueue, now: float) -> None:
        url_id = intent.id
        tries, hops = self._view.request(url_id).tries, self._url_table.hops[url_id]
        self._set_waiting(Outcome(url_id, UrlState.WAITING, tries=tries, hops=hops))
        if intent.url:
            self._frontier.push(url_id, intent.url, intent.priority)

    # -- pages --------------------------------------------------------------------

    def _remember_text(self, intent: i.RememberText, now: float) -> None:
        self._view.near_duplicates.remember(intent.id, intent.host, intent.page)

    def _follow_links(self, intent: i.FollowLinks, now: float) -> None:
        parent, row, links = intent.parent, intent.row, self._link_handler
        self._unit_of_work.totals.unfollowed += intent.links is None
        known = len(self._url_table)
        targets = [] if intent.links is None else links.add_links(parent, intent.links)
        self._last_links = intent, known
        self._sitemap_handler.add_feeds(
            parent.id, parent.depth, intent.feeds, relevant=parent.relevant
        )
        if row is None:
            self._unit_of_work.add_links(parent.id, targets)
            return
        self._unit_of_work.add_page(
            msgspec.structs.replace(
                row,
                target_ids=tuple(targets),
                pagerank=links.strategy.graph.rank(parent.id),
                host_request_number=links.hit_rates.request_count(self._view.queue(parent.id).host)
                + 1,
            )
        )
        first = self._unit_of_work.totals.refreshed_from
        if row.page.is_relevant and 0 < first <= parent.id:
            self._credit_revisited_page(parent.id)

    def _has_new_links(self, *rewritings: str, host_with_views: Host | None = None) -> bool:
        """Return whether the last page has links to unknown URLs beside those with its own path.

        rewritings        applied to the URLs of its links
        host_with_views   host of which links to views of known pages, or to deferred kinds, do not
                          count
        """
        if self._last_links is None:
            return False
        intent, known = self._last_links
        path = "" if intent.row is None else intent.row.url.partition("?")[0]
        links = [
            link for link in intent.links or () if not path or link.url.partition("?")[0] != path
        ]
        find_all, state = self._url_table.find_all, self._url_table.state
        ids = find_all([link.key for link in links])
        new = [
            link.url
            for link, url_id in zip(links, ids, strict=True)
            if url_id >= known and state[url_id] == UrlState.WAITING
        ]
        if new and rewritings:
            for rewriting in rewritings:
                new = [apply_rewriting(rewriting, url) for url in new]
            ids = find_all([url_fingerprint(url) for url in new])
            new = [url for url, url_id in zip(new, ids, strict=True) if not 0 <= url_id < known]
        if host_with_views is not None:
            is_known = self._unit_of_work.url_rules.is_known_view
            return not all(is_known(host_with_views.id, url) for url in new)
        return bool(new)

    def _credit_revisited_page(self, page: int) -> None:
        """Count a relevant page as a discovery of the revisited page that linked to it."""
        url_table = self._url_table
        while url_table.hops[page] and url_table.parent[page] >= 0:
            page = url_table.parent[page]
        if (hub := url_table.parent[page]) >= 0:
            self._unit_of_work.add_discovery(hub)
            if (stored_page := self._view.request(hub).stored_page) is not None:
                stored_page.changes += 1.0

    def _follow_url_source(self, intent: i.FollowUrlSource, now: float) -> None:
        parent, fetch = intent.parent, intent.fetch
        detail = self._sitemap_handler.add_entries(parent, intent.url, intent.listing, intent.links)
        etag, last_modified = fetch.header("etag") or "", fetch.header("last-modified") or ""
        self._unit_of_work.set_source_validators(parent.id, etag, last_modified)
        self._drop_url(i.DropUrl(parent.id, DropReason.URL_SOURCE, detail, intent.hops), now)

    # -- pages of earlier runs ----------------------------------------------------

    def _record_revisit(self, intent: i.RecordRevisit, now: float) -> None:
        stored_page = self._requests[intent.id].stored_page
        assert stored_page is not None
        links = 0 if intent.follow is None else self._follow_revisited(intent.follow)
        if intent.tags is not None and intent.tags != (stored_page.etag, stored_page.last_modified):
            self._unit_of_work.set_page_validators(stored_page.id, *intent.tags)
        self._unit_of_work.totals.unchanged += intent.follow is None and not intent.kinds
        kinds = intent.kinds | (ChangeKind.LINKS if links else ChangeKind(0))
        self._store_revisit(stored_page, intent.at, kinds, links=links, detail=intent.detail)
        self._seeds.set_failure(intent.id)
        self._end_url(Outcome(intent.id, UrlState.DONE, hops=intent.hops))

    def _follow_revisited(self, intent: i.FollowLinks) -> int:
        """Add the links of a revisited page, and its row if it changed. Return how many are new."""
        parent, row, links = intent.parent, intent.row, self._link_handler
        known = len(self._url_table)
        targets = [] if intent.links is None else links.add_links(parent, intent.links)
        new = sum(target >= known for target in targets)
        self._sitemap_handler.add_feeds(
            parent.id, parent.depth, intent.feeds, relevant=parent.relevant
        )
        if row is not None:
            rank = links.strategy.graph.rank(parent.id)
            row = msgspec.structs.replace(row, target_ids=tuple(targets), pagerank=rank)
            self._unit_of_work.replace_page(row)
        elif new:
            self._unit_of_work.add_links(parent.id, targets)
        return new

    def _store_revisit(
        self,
        stored_page: StoredPage,
        at: float,
        kinds: ChangeKind,
        *,
        links: int = 0,
        detail: str = "",
    ) -> None:
        decay_s = self._view.decay_s
        rows = answered_revisit(stored_page, at, kinds, links=links, detail=detail, decay_s=decay_s)
        self._unit_of_work.add_revisit(*rows)

    def restore_revisited(self) -> None:
        """Reset pages whose revisit was not made to their stored state, at the end of a run."""
        for url_id, request in self._requests.items():
            if request.stored_page is not None:
                self._url_table.set_state(url_id, stored_outcome(request.stored_page).state)

    def _store_failed_revisit(self, stored_page: StoredPage, trouble: str, now: float) -> None:
        """Record that a revisit failed; the stored page stays."""
        self._unit_of_work.add_revisit(failed_revisit(stored_page, now, trouble))
        self._end_url(stored_outcome(stored_page))

    def _enter_redirect(self, intent: i.EnterRedirect, now: float) -> None:
        row, typed = intent.row, self._seeds.typed.get(intent.source)
        if typed is not None:
            self._link_handler.scope.add_home(row.url)
            self._sitemap_handler.add_home(row.url)
            self._redirected_seed(typed, intent.source, row.url)
        self._learn_spelling(self._view.queue(intent.source).host, intent.url, row.url)
        known, host = self._url_table.find(row.key), self._view.queue(intent.source).host
        plain = self._url_table.find(url_fingerprint(row.url.partition("?")[0]))
        is_source = intent.source in self._link_handler.source_ids
        target = self._link_handler.add_ranked_url(row, listing=is_source)
        refusal = self._link_handler.site_rule_refusal(row.url, self._view.queue(target).host)
        is_log_in = refusal is not None or returns_to(row.url, intent.url)
        if known >= 0 or is_log_in or plain not in (-1, target):
            waste = Waste.LOG_IN if is_log_in else Waste.REDIRECT
            was_deferred = self._view.request(intent.source).is_deferred
            named = self._unit_of_work.url_rules.named_page(host.id, intent.url)
            kinds = url_kinds(intent.url, named.view)
            self._count_response(host, kinds, waste, was_deferred=was_deferred)
        if typed is not None and known < 0:
            self._seeds.typed[target] = typed

    def _redirected_seed(self, typed: str, source: int, target: str) -> None:
        host = self._view.queue(source).host.name
        self._seeds.record_redirect(typed, host, url_host(target))

    def _learn_from_result(self, intent: i.LearnFromResult, now: float) -> None:
        links, page = self._link_handler, intent.page
        queue = self._view.queue(intent.id)
        repeats = links.traps.knows_text(queue.host.id, intent.wording or 0)
        if intent.wording is not None:
            fetched = links.hit_rates.tallies(queue)[0].requests + 1
            is_new = page is not None and page.is_relevant  # a near-duplicate is not relevant
            has_page = intent.response is not None and intent.response.page is not None
            parent = self._url_table.parent[intent.id] if has_page else -1
            links.traps.record_text(
                intent.id, parent, queue, fetched, intent.wording, is_new=is_new
            )
        if intent.titled is not None and page is not None:
            self._learn_template(intent.id, intent.titled.url, page)
        links.hit_rates.count_result(intent.id, page)
        if intent.response is not None:
            self._learn_url_rules(intent.id, intent.response, repeats_wording=repeats)
        if intent.titled is not None:
            links.strategy.learn_from_page(intent.titled)

    def _learn_template(self, url_id: int, url: str, page: Page) -> None:
        host, templates = self._view.queue(url_id).host, self._view.templates
        nth = self._link_handler.hit_rates.request_count(host) + 1
        if templates.learn(host.id, url_id, nth, url, page):
            self._unit_of_work.set_template(host, *templates.encoded_state(host.id))
        for title in templates.take_new_titles():
            self._unit_of_work.set_title(title)

    def _correct_page(self, intent: i.CorrectPage, now: float) -> None:
        url_id, old, page = intent.correction.id, intent.correction.page, intent.page
        host, templates = self._view.queue(url_id).host, self._view.templates
        reward = self._link_handler.strategy.reward
        change = reward(page) - reward(msgspec.structs.replace(page, relevance=old.relevance))
        self._unit_of_work.correct_relevance(url_id, page, old)
        self._link_handler.hit_rates.correct_page(url_id, old.nth, change)
        self._unit_of_work.update_queue(self._view.queue(url_id))
        templates.record_correction(host.id, url_id, page)
        self._unit_of_work.set_template(host, *templates.encoded_state(host.id))

    def _learn_url_rules(
        self, url_id: int, response: i.UrlResponse, *, repeats_wording: bool
    ) -> None:
        """Count a response for the kinds of its URL.

        A page is of use although it repeats one with parameters, or with only the number of its
        name, which is not. Neither is a list of new pages that asks not to be a result, nor a
        filtered or sorted list with new pages, as the plain list has them as well: it is of use if
        nothing else waits.
        """
        page, waste, url = response.page, response.waste, response.url
        host, rules = self._view.queue(url_id).host, self._unit_of_work.url_rules
        named = rules.named_page(host.id, url)
        self._learn_rewritings(url_id, host, response)
        if waste is Waste.DUPLICATE and "?" not in url and self._count_lesser_url(host, response):
            waste = None
        is_list = page is not None and page.is_index_page
        if waste is Waste.NOINDEX and is_list and self._has_new_links():
            return
        if page is not None and waste is None:
            waste = self._waste_of_page(host, url, named, page, repeats_wording=repeats_wording)
            if not is_list:
                self._view.known_texts.add_sentences(host.id, named.key, page)
                rules.add_page(host.id, named)
            self._view.known_texts.add(url_id, host.id, page.text_digest)
            if waste is None and self._is_filtered_list(page, url) and not response.was_deferred:
                return
        kinds = url_kinds(url, named.view)
        self._count_response(host, kinds, waste, was_deferred=response.was_deferred)

    def _count_lesser_url(self, host: Host, response: i.UrlResponse) -> bool:
        """Count the page that a URL without parameters repeats if its own URL is the lesser one.

        It is if it has parameters, is page 1 of a list, or has no words behind its number. Returns
        whether it is.
        """
        rules, url, original = self._unit_of_work.url_rules, response.url, response.original_id
        pattern, short = self._view.queue(original).pattern, without_slug(url)
        kinds = kinds_from_pattern(pattern) if "?" in pattern else []
        find, is_first_page = self._url_table.find, False
        for rewriting, first_page in first_pages(url, kinds).items():
            if find(url_fingerprint(first_page)) == original:
                rules.confirm(host.id, rewriting, agrees=True)
                is_first_page = True
        if not kinds and find(url_fingerprint(short)) == original:
            kinds = url_kinds(short, kind_of_view(url_path(url), short))
        if kinds:
            rules.count(host.id, kinds, Waste.DUPLICATE, was_useful=True)
        return bool(kinds) or is_first_page

    def _is_filtered_list(self, page: Page, url: str) -> bool:
        """Return whether a page is a known list with other parameters than a page number."""
        if not page.is_index_page or "?" not in url or "?" not in series_address(url):
            return False
        plain = self._url_table.find(url_fingerprint(url.partition("?")[0]))
        return plain >= 0 and self._url_table.state[plain] == UrlState.DONE

    def _waste_of_page(
        self, host: Host, url: str, named: NamedPage, page: Page, *, repeats_wording: bool
    ) -> Waste | None:
        """Return why a page whose text is not known is of no use, None if it is.

        It is of no use if it leads to no unknown URL and repeats another page but for numbers and
        its title, as a form to log in, or is a list of a day, a known list, filtered or sorted, or
        a page about a member that is no result. Neither is a view with most sentences of its page.
        """
        rules, texts = self._unit_of_work.url_rules, self._view.known_texts
        is_repeat = texts.repeats_short_text(host.id, page)
        is_repeat |= repeats_wording and page.text_length < FORM_TEXT
        is_repeat &= not page.is_relevant
        is_dated = page.is_index_page and url_pattern(url).rstrip("/").endswith("/D")
        is_doubtful = is_repeat or is_dated or self._is_filtered_list(page, url)
        if is_doubtful and not self._has_new_links():
            return Waste.DUPLICATE if is_repeat else Waste.KNOWN_LINKS
        has_views = bool(named.view) or rules.has_useless_views(host.id)
        is_result = page.is_relevant and not page.is_index_page
        if (is_member_url(url) and not is_result) or (page.is_index_page and has_views):
            carried = [f"-{name}" for name in removable_parameters(url)]
            if not self._has_new_links(*carried, host_with_views=host):
                return Waste.KNOWN_LINKS
        is_view = bool(named.view) and not page.is_index_page
        return Waste.DUPLICATE if is_view and texts.shows_again(host.id, named, page) else None

    def _learn_spelling(self, host: Host, url: str, target: str) -> None:
        for name in spelling_changes(url, target):
            self._unit_of_work.url_rules.confirm(host.id, name, agrees=True)

    def _learn_rewritings(self, url_id: int, host: Host, response: i.UrlResponse) -> None:
        """Compare a page with those of its URL without a parameter or in another spelling."""
        page, url, rules = response.page, response.url, self._unit_of_work.url_rules
        if page is None:
            return
        for name, spell in SPELLINGS.items():
            if not rules.is_refuted(host.id, name) and spell(url) != url:
                rules.confirm(host.id, name, agrees=False)
        for name in removable_parameters(url):
            plain = apply_rewriting(f"-{name}", url)
            known = self._url_table.find(url_fingerprint(plain))
            known, *_ = self._aliases.get(known, (known,))
            if known in (-1, url_id):
                continue
            is_new = response.waste is None and page.canonical != plain
            if known in (response.original_id, page.original_id):
                is_other_list = page.is_index_page and self._has_new_links(f"-{name}")
                rules.confirm(host.id, f"-{name}", agrees=not is_other_list)
            elif is_new and self._url_table.state[known] == UrlState.DONE:
                rules.confirm(host.id, f"-{name}", agrees=False)

    def _count_response(
        self, host: Host, kinds: list[str], waste: Waste | None, *, was_deferred: bool
    ) -> None:
        rules = self._unit_of_work.url_rules
        if rules.count(host.id, kinds, waste, was_deferred=was_deferred):
            self._link_handler.restore_deferred(host)


def stored_outcome(stored_page: StoredPage) -> Outcome:
    """Return the stored outcome of a page or URL source that is being revisited."""
    if stored_page.is_url_source:
        return Outcome(stored_page.id, UrlState.DROPPED, str(DropReason.URL_SOURCE))
    return Outcome(stored_page.id, UrlState.DONE)
