"""The crawl loop: take → fetch → score → rank → record, until a limit or an empty frontier.

    _dispatch   take the best URL from the frontier; its host's robots.txt is requested first
    receive     wait for results of the transport: fetched, parsed and scored
    decide      (`engine.results`) decide what follows from a result, as a list of intents
    apply       (`engine.effects`) apply the intents: links, priorities, states, hosts
    _commit     write the changes of a few pages in one transaction

All decisions are made in one coroutine, so the same results in the same order produce the same
crawl.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from focus.admission.domain_budget import DEFERRAL_S
from focus.admission.near_duplicates import NearDuplicates
from focus.admission.robots_gate import RobotsGate
from focus.admission.scope import Scope
from focus.admission.traps import Traps
from focus.admission.url_rules import TIER, KnownTexts, Treatment
from focus.config import CrawlConfig
from focus.engine.effects import Effects
from focus.engine.failures import closed_scheme_intents
from focus.engine.intents import (
    CorrectPage,
    DropUrl,
    FailUrl,
    FetchRobots,
    RequeueUrl,
    ReturnToQueue,
)
from focus.engine.limits import Limits
from focus.engine.links import LinkHandler
from focus.engine.outages import Outage, Outages
from focus.engine.ranking import Ranker
from focus.engine.recent_harvest import RecentHarvest
from focus.engine.relevance_feedback import RelevanceFeedback, make_feedback
from focus.engine.results import count_page, decide
from focus.engine.seeding import Seeder
from focus.engine.sitemaps import SitemapHandler
from focus.engine.templates import Templates, cut_title, is_affected
from focus.engine.transports import Transport
from focus.engine.unit_of_work import UnitOfWork
from focus.engine.view import Request, Seeds, View, conditional_headers
from focus.frontier import Frontier
from focus.html.size_guard import MAX_BYTES
from focus.http.zstd import decompress_bounded
from focus.i18n import msg
from focus.records import (
    COMPLETE,
    FOLLOWING_FORBIDDEN,
    FRONTIER_EMPTY,
    SEED_PRIORITY,
    Batch,
    DropReason,
    FailureKind,
    Outcome,
    Page,
    Result,
    Task,
    UrlState,
)
from focus.scheduling.queues import Candidate
from focus.scheduling.revisits import DECAY_RATIO
from focus.scheduling.url_table import UrlTable
from focus.score.graph.pagerank import PageRank
from focus.score.strategy import make_strategy
from focus.topic.topic import from_builtins

MAX_BATCH = 64  # responses per transaction; less if a quarter of the requests in flight is less
MIN_BATCH = 8  # responses per transaction at least, unless the window is small
THREAD_MIN_IDS = 500_000  # from this many ids on, a search takes over 10 ms and runs in a thread
_UNBOUNDED = 1 << 60
_TEMPLATE_FIELDS = (
    "title full_title site relevance is_relevant part_scores matched_terms top_terms"
    " index_topic_score title_runs body_zstd"
).split()
"""Fields of a page that depend on the template of its host."""


class Event(msgspec.Struct, frozen=True):
    """A finished request, for the live display, logs and comparisons.

    nth         its number, counting every request (robots.txt and failures included)
    state       state of the URL now, None for a robots.txt
    reason      why it failed or was dropped
    is_revisit  whether a page of an earlier run was requested again
    text_digest  `Page.text_digest`
    """

    nth: int
    at: float
    url: str
    state: UrlState | None
    reason: str = ""
    relevance: float = 0.0
    relevant: bool = False
    title: str = ""
    priority: float = 0.0
    depth: int = 0
    is_revisit: bool = False
    text_digest: int = 0


class CrawlStore(Protocol):
    """Database of one crawl."""

    async def write(self, batch: Batch) -> None:
        """Write a batch in one transaction."""

    async def load_addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        """Return (id, URL) of stored URLs, in any order."""

    async def load_sources(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the stored sources of pages by id, in UTF-8."""


def _nofollow_policy(config: CrawlConfig) -> str:
    """Return the treatment of nofollow links; the papers do not know nofollow."""
    weighs = config.nofollow == "weigh"
    return "follow" if weighs and config.as_published else config.nofollow


class Crawl:
    """One crawl over a transport.

    crawl_store  receives finished batches; None stores nothing, as in comparisons
    observe      called with an `Event` for each finished request
    on_outage    called with an `Outage` when the local network is down, and with None when it is
                 back
    """

    def __init__(
        self,
        config: CrawlConfig,
        transport: Transport,
        *,
        crawl_store: CrawlStore | None = None,
        observe: Callable[[Event], None] = lambda event: None,
        on_outage: Callable[[Outage | None], object] = lambda outage: None,
    ) -> None:
        self.config = config
        self.transport = transport
        self._crawl_store = crawl_store
        self._observe = observe
        self.graph = PageRank(prompt=config.as_published)
        self.strategy = make_strategy(
            config.strategy, config.params, self.graph, as_published=config.as_published
        )
        self.strategy.set_terms(from_builtins(config.analysis.topic).terms)
        self.url_table = UrlTable(self.strategy.width)
        self.ranker = Ranker(self.strategy, self.url_table)
        self.frontier = Frontier(
            self.url_table,
            config.politeness,
            self.ranker,
            strict=config.concurrency == 1,
            capacity=config.frontier_memory if crawl_store is not None else _UNBOUNDED,
            reports_sends=transport.is_live,
            is_remote=transport.is_remote,
        )
        self.unit_of_work = UnitOfWork(self.url_table, self.frontier, keep=crawl_store is not None)
        self.scope = Scope(config.scope)
        self.seeds = Seeds()
        self.requests: dict[int, Request] = {}
        self.view = self._make_view()
        self.link_handler = self._link_handler()
        self.sitemap_handler = SitemapHandler(
            self.link_handler,
            self.view.robots_gate,
            is_enabled=config.fetch.sitemaps,
            per_host=config.sitemaps_per_host,
        )
        self.effects = Effects(self.view, self.link_handler, self.sitemap_handler, transport)
        self._seeder = Seeder(self.view, self.link_handler, self.sitemap_handler, self.effects)
        self.outages = Outages(
            self.view, self.effects, transport, config.max_offline_s, on_change=on_outage
        )
        self.stop_reason = ""
        began_at = self._committed_at = transport.now()
        self.recent_harvest = RecentHarvest()
        self.limits = Limits(config, self.unit_of_work, self.recent_harvest, began_at=began_at)
        self.relevance_feedback: RelevanceFeedback | None = None

    def _make_view(self) -> View:
        config = self.config
        return View(
            url_table=self.url_table,
            frontier=self.frontier,
            unit_of_work=self.unit_of_work,
            requests=self.requests,
            seeds=self.seeds,
            robots_gate=RobotsGate(config.politeness, config.agent),
            near_duplicates=NearDuplicates(),
            templates=Templates(),
            known_texts=KnownTexts(),
            agent=config.agent,
            max_redirects=config.max_redirects,
            uses_lookups=self.transport.supports_lookups and config.politeness.per_ip > 0,
            redirected_ids=set() if config.cookies else None,
            decay_s=DECAY_RATIO * (config.refresh_s or 0.0),
        )

    def _link_handler(self) -> LinkHandler:
        return LinkHandler(
            self.ranker,
            url_table=self.url_table,
            frontier=self.frontier,
            unit_of_work=self.unit_of_work,
            scope=self.scope,
            traps=Traps(self.config.traps, now=self.transport.now()),
            nofollow=_nofollow_policy(self.config),
            uses_site_rules=self.config.scope.site_rules and not self.config.as_published,
        )

    def _adaptation_clock(self) -> float:
        """Return the clock of adaptation: seconds, or requests in a replayed crawl."""
        live = self.transport.is_live
        return self.transport.now() if live else float(self.unit_of_work.totals.requests)

    async def _adapt_model(self, page: Page | None) -> None:
        """Pass a page to a relevance model that adapts, and send its update to the workers."""
        if self.relevance_feedback is not None:
            change = self.relevance_feedback.process_page(page, self._adaptation_clock())
            if change is not None:
                await self.transport.update(change)

    def add_seeds(self, seeds: Iterable[str]) -> None:
        """Add seed URLs. A seed without a scheme is tried over https first, then over http."""
        self._seeder.add_seeds(seeds, self.transport.now())

    def requeue(self, url_id: int, url: str) -> None:
        """Put a URL back into the frontier under the given address."""
        self.effects.apply([RequeueUrl(url_id, url)], self.transport.now())

    def revisit(
        self,
        url_id: int,
        url: str,
        *,
        is_listing: bool = False,
        etag: str = "",
        last_modified: str = "",
        priority: float = SEED_PRIORITY,
    ) -> bool:
        """Schedule a conditional request for a page or URL source that was fetched before.

        Its priority is before all links by default. With a validator the server may answer that
        nothing has changed; else the page is stored anew with its new links. Returns False if it
        is being fetched already.
        """
        state = self.url_table.state[url_id]
        if state == UrlState.FETCHING:
            return False
        if state != UrlState.WAITING:
            hops = self.url_table.hops[url_id]
            self.unit_of_work.set_outcome(Outcome(url_id, UrlState.WAITING, hops=hops))
        request = self.requests.setdefault(url_id, Request())
        request.before = UrlState.DROPPED if is_listing else UrlState.DONE
        request.conditions = conditional_headers(etag, last_modified)
        self.frontier.push(url_id, url, priority)
        return True

    # -- the loop -----------------------------------------------------------------

    async def run(self) -> str:
        """Crawl until a limit, an empty frontier or `stop`; return the reason of the end."""
        self.relevance_feedback = make_feedback(
            self.config.analysis, start=self._adaptation_clock()
        )
        await (
            self._commit()
        )  # store hosts before the first request, so that a resumed crawl respects their delays
        while True:
            await self._admit_shallow_urls()
            await self._load_waiting_urls()
            self._dispatch()
            if not self.stop_reason:
                self.outages.update(may_send=self._may_send())
            if not self.transport.in_flight and (reason := self._end_reason()):
                if reason in COMPLETE and self.frontier.include_excluded():
                    continue  # with the excluded URLs
                break
            results = await self.transport.receive(self._wake_at())
            for task, at in self.transport.sent_tasks():
                self.frontier.record_send(self.frontier.host(task.host), at)
            self.effects.start_delays(self.transport.unscored_answers(), self.transport.now())
            for number, result in enumerate(self.outages.release(results)):
                if number:
                    await asyncio.sleep(0)  # a page with many new links takes milliseconds
                page = self._process(await self._apply_template(result))
                await self._correct_pages()
                await self._adapt_model(page)
            self._drop_overflow()
            await self._commit_if_due()
        self.stop_reason = reason
        states = self.url_table.state
        unfinished = [
            ReturnToQueue(url_id) for url_id in self.requests if states[url_id] == UrlState.FETCHING
        ]
        self.effects.apply(unfinished, self.transport.now())  # their requests were cancelled
        self.effects.restore_revisited()
        await self._commit()
        return reason

    def _drop_overflow(self) -> None:
        """Drop the lowest-priority URLs of a strategy that bounds its frontier."""
        url_ids = self.frontier.remove_overflow(self.strategy.max_waiting)
        drops = [DropUrl(url_id, DropReason.FRONTIER_FULL) for url_id in url_ids]
        self.effects.apply(drops, self.transport.now())

    def stop(self, reason: str) -> None:
        """Stop sending requests. `run` returns when the requests in flight have finished."""
        self.stop_reason = self.stop_reason or reason
        self.transport.wake()

    def _end_reason(self) -> str:
        if reason := self.stop_reason or self.limits.reached_limit(self.transport.now()):
            return reason
        if self.outages.is_busy:
            return "offline" if self.outages.has_timed_out(self.transport.now()) else ""
        waits = self.frontier.next_due() is not None or self.frontier.url_cache.needs_loading
        # There is no worker at present; wait for one instead of ending the crawl.
        halts = not self.transport.window and self.url_table.counts[UrlState.WAITING]
        if waits or halts:
            return ""
        is_forbidden = self.unit_of_work.totals.unfollowed and self.url_table.depth.is_zero()
        return FOLLOWING_FORBIDDEN if is_forbidden else FRONTIER_EMPTY

    def _wake_at(self) -> float | None:
        """Return when `receive` must return even if no result has arrived."""
        times = []
        if self._may_send() and (due := self.frontier.next_due()) is not None:
            times.append(due)
        ends_at = self.limits.ends_at()
        if ends_at is not None and not self.limits.reached_limit(self.transport.now()):
            times.append(ends_at)
        if self._crawl_store is not None and not self.unit_of_work.is_empty:
            times.append(self._commit_due_at())
        if (look_at := self.outages.wake_at(self.transport.now())) is not None:
            times.append(look_at)
        return min(times, default=None)

    # -- URLs out -----------------------------------------------------------------

    @property
    def _max_in_flight(self) -> int:
        """Maximum number of concurrent requests of crawl and transport."""
        return min(self.config.concurrency, self.transport.window)

    def _may_send(self) -> bool:
        in_flight = self.transport.in_flight
        # Responses that are not written yet count as in flight, so that a kill loses no more than
        # one window of requests.
        if in_flight + self.unit_of_work.unwritten >= self._max_in_flight:
            return False
        if (
            self.stop_reason
            or self.outages.is_paused
            or self.limits.reached_limit(self.transport.now())
        ):
            return False
        remaining = self.limits.remaining_requests()
        return remaining is None or in_flight + len(self.outages.held_results) < remaining

    def _dispatch(self) -> None:
        while self._may_send():
            now = self.transport.now()
            budget = self.limits.budget(is_idle=not self.transport.in_flight)
            candidate = self.frontier.next_candidate(now, budget)
            if candidate is None:
                return
            candidate, known_url = self.link_handler.rewritten_candidate(candidate)
            url_id, url, host, _, start_at = candidate
            gate = self.view.robots_gate
            rules = self.unit_of_work.url_rules
            if known_url:
                same = msg("the same page as {url}", url=known_url)
                self.effects.apply([DropUrl(url_id, DropReason.PAGE_VARIANT, same)], now)
            elif treatment := rules.treatment(host.id, url, candidate.priority):
                self._apply_treatment(treatment, candidate)
            elif spent := self.link_handler.exhausted_reason_for_url(url_id, candidate.priority):
                self.effects.apply([DropUrl(url_id, DropReason.TRAP_BUDGET, spent)], now)
            elif url_id not in self.requests and (
                refusal := self.link_handler.late_refusal(candidate)
            ):
                self.effects.apply([DropUrl(url_id, refusal.reason, refusal.detail)], now)
            elif why := gate.closed_reason(host, url):
                self.effects.apply(closed_scheme_intents(url_id, host, why, self.view), now)
            elif self._must_wait(candidate):
                self.frontier.return_candidate(candidate)
            elif (robots := gate.required_file(host, url, start_at)) is not None:
                self.frontier.return_candidate(candidate)
                self.effects.apply([FetchRobots(host, robots, start_at)], now)
            elif gate.forbids(host, url):
                forbidden = DropUrl(url_id, DropReason.ROBOTS, "robots.txt forbids it")
                self.effects.apply([forbidden], now)
            else:
                self.effects.send(candidate)

    def _apply_treatment(self, treatment: Treatment, candidate: Candidate) -> None:
        """Defer or drop a candidate because URLs like it were of no use."""
        if treatment is Treatment.DEFER:
            self.link_handler.deferred_hosts.add(candidate.host.id)
            deferred = candidate._replace(priority=candidate.priority - TIER)
            return self.frontier.return_candidate(deferred)
        reason = self.unit_of_work.url_rules.reason(candidate.host.id, candidate.url)
        drop = DropUrl(candidate.id, DropReason.URL_RULE, reason)
        self.effects.apply([drop], self.transport.now())

    def _must_wait(self, candidate: Candidate) -> bool:
        """Pause a host that is unresolved or exceeds its domain's budget. Return whether it was."""
        host, now = candidate.host, self.transport.now()
        if self.view.uses_lookups and not host.is_resolved:
            self.frontier.pause_host(host, math.inf, now)
            self.transport.send(Task(None, candidate.url, host.name, is_lookup=True))
            return True
        if candidate.priority < SEED_PRIORITY and self.link_handler.domains.defer(host):
            self.frontier.pause_host(host, now + DEFERRAL_S, now)
            return True
        return False

    # -- results in ---------------------------------------------------------------

    def _process(self, result: Result) -> Page | None:
        """Apply the consequences of a result. Return the page if it counts as a new one."""
        now = self.transport.now()
        result = count_page(result, self.view)
        is_revisit = (
            self.view.request(-1 if result.task.id is None else result.task.id).stored_page
            is not None
        )
        self.effects.apply(decide(result, self.view, now), now)
        if result.task.is_lookup:
            return None
        self._notify(result, is_revisit=is_revisit)
        return None if is_revisit else result.page

    async def _apply_template(self, result: Result) -> Result:
        """Return a result with its page scored again if the template of its host has changed."""
        task, page = result.task, result.page
        if page is None or task.id is None:
            return result
        template = self.view.templates.template(self.view.queue(task.id).host.id)
        if not is_affected(page, task.template, template):
            return msgspec.structs.replace(result, page=cut_title(page, template.affix))
        source = decompress_bounded(page.body_zstd, MAX_BYTES) if page.body_zstd else b""
        scored = await self.transport.score_again(result.fetch.url, source, template)
        if scored is None:
            return result
        page = msgspec.structs.replace(
            page, **{name: getattr(scored, name) for name in _TEMPLATE_FIELDS}
        )
        return msgspec.structs.replace(result, page=page)

    async def _correct_pages(self) -> None:
        """Score earlier pages again that a repeated text of their site had made relevant."""
        corrections = self.view.templates.take_corrections()
        sources: dict[int, bytes] = {}
        if corrections and self._crawl_store is not None:
            await self._commit()
            sources = await self._crawl_store.load_sources([change.id for change in corrections])
        for change in corrections:
            source = sources.get(change.id, b"")
            page = await self.transport.score_again(change.page.url, source, change.template)
            if page is not None and page.failure is None:
                self.effects.apply([CorrectPage(change, page)], self.transport.now())

    def _notify(self, result: Result, *, is_revisit: bool) -> None:
        task, fetch, page = result.task, result.fetch, result.page
        state = None if task.id is None else UrlState(self.url_table.state[task.id])
        scored = page if state is UrlState.DONE else None
        if not is_revisit:
            self.recent_harvest.add([scored is not None and scored.is_result])
        self._observe(
            Event(
                nth=self.unit_of_work.totals.requests,
                at=self.transport.now(),
                url=task.url,
                state=state,
                reason=str(fetch.failure or (page and page.failure) or ""),
                relevance=scored.relevance if scored else 0.0,
                relevant=scored.is_result if scored else False,
                title=scored.title if scored else "",
                priority=task.priority,
                depth=task.depth,
                is_revisit=is_revisit,
                text_digest=scored.text_digest if scored else 0,
            )
        )

    # -- keeping ----------------------------------------------------

    async def _admit_shallow_urls(self) -> None:
        """Let URLs wait that were too deep until a shorter way to them was found."""
        depths = self.link_handler.depths
        if depths is None or not depths.admitted:
            return
        admitted, depths.admitted = depths.admitted, {}
        addresses = {url_id: url for url_id, url in admitted.items() if url}
        if self._crawl_store is not None:
            await self._commit()  # some may not be in the database yet
            stored_ids = [url_id for url_id in admitted if url_id not in addresses]
            addresses |= await self._crawl_store.load_addresses(stored_ids)
        for url_id, url in sorted(addresses.items()):
            self.link_handler.readmit(url_id, url)

    async def _load_waiting_urls(self) -> None:
        """Load the addresses of queues that ran out of URLs, and fail those of abandoned hosts.

        Evicted URLs are always in the database, so nothing has to be written first.
        """
        memory = self.frontier.url_cache
        if self._crawl_store is None or not memory.needs_loading:
            return
        many = memory.evicted_count > THREAD_MIN_IDS
        ids = await asyncio.to_thread(memory.ids_to_load) if many else memory.ids_to_load()
        abandoned = {url_id for url_id in ids if self.view.queue(url_id).host.is_abandoned}
        kind, why = FailureKind.HOST_ABANDONED, msg("as the rest of its host")
        self.effects.apply(
            [FailUrl(url_id, kind, why) for url_id in abandoned], self.transport.now()
        )
        loadable = [url_id for url_id in ids if url_id not in abandoned]
        self.frontier.add_loaded(await self._crawl_store.load_addresses(loadable))

    def _commit_due_at(self) -> float:
        """Return when unwritten changes must be written."""
        return self._committed_at + self.config.commit_every_s

    async def _commit_if_due(self) -> None:
        limit = min(
            MAX_BATCH, max(min(MIN_BATCH, self._max_in_flight // 4), self.transport.in_flight // 4)
        )
        if self.unit_of_work.unwritten > limit or self.transport.now() >= self._commit_due_at():
            await self._commit()

    async def _commit(self) -> None:
        now = self.transport.now()
        self.unit_of_work.totals.active_s += now - self._committed_at
        self._committed_at = now
        if self._crawl_store is not None and not self.unit_of_work.is_empty:
            await self._crawl_store.write(self.unit_of_work.take_batch(now))
            if self.frontier.url_cache.is_over_capacity:
                self.frontier.update_queues(await asyncio.to_thread(self.frontier.url_cache.evict))
