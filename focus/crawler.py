"""The crawl loop: take → fetch → score → rank → record, until a limit or an empty frontier.

    _dispatch   the frontier gives its best URL; its host's robots.txt comes first
    receive     the transport brings results: fetched, parsed and scored
    decide      (`engine.results`) what follows from each, as a list of intents
    apply       (`engine.effects`) that is done: links, priorities, states, hosts
    _commit     everything that follows from a few pages, in one transaction

One coroutine decides everything, so the same results in the same order give the same crawl.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from focus.admission.domain_budget import PUT_OFF_S
from focus.admission.near_duplicates import NearDuplicates
from focus.admission.robots_gate import RobotsGate
from focus.admission.scope import Scope
from focus.admission.traps import Traps
from focus.config import CrawlConfig
from focus.engine.effects import Effects
from focus.engine.failures import shut
from focus.engine.intents import DropUrl, FailUrl, FetchRobots, RequeueUrl, ReturnToQueue
from focus.engine.limits import Limits
from focus.engine.links import LinkHandler
from focus.engine.outages import Outage, Outages
from focus.engine.partition import Partition
from focus.engine.ranking import Ranker
from focus.engine.recent_harvest import RecentHarvest
from focus.engine.relevance_feedback import RelevanceFeedback, make_feedback
from focus.engine.results import counted, decide
from focus.engine.sitemaps import SitemapHandler
from focus.engine.sowing import Sower
from focus.engine.transports import Transport
from focus.engine.unit_of_work import UnitOfWork
from focus.engine.view import Request, Seeds, View, conditions
from focus.frontier import Frontier
from focus.i18n import msg
from focus.records import (
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
from focus.topic.topic import expected

BATCH = 64  # answers that one transaction writes, a quarter of what is in flight if less
FEWEST = 8  # but so many, unless they are over a quarter of what may be in flight
MANY = 500_000  # waiting URLs that are better looked through in a thread: 10 ms and more
_UNBOUNDED = 1 << 60


class Event(msgspec.Struct, frozen=True):
    """One request that came to an end: for the live line, logs and comparisons.

    nth       its number, counting every request (robots.txt and failures too)
    state     of the URL now; None for a robots.txt
    reason    why it failed or was dropped
    again     it was a look at a page of an earlier run, which stays what it was if this failed
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
    again: bool = False


class CrawlStore(Protocol):
    """The store of one crawl: batches go there, and waiting URLs come back."""

    async def write(self, batch: Batch) -> None:
        """Keep a batch, whole or not at all."""

    async def addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        """(id, url) of URLs that were written, in any order."""


def _nofollow(config: CrawlConfig) -> str:
    """What becomes of such links; the papers are older than they are, and weigh none."""
    weighs = config.nofollow == "weigh"
    return "follow" if weighs and config.as_published else config.nofollow


class Crawl:
    """One crawl over a transport.

    partition    whose hosts are whose; None: all are this crawl's
    crawl_store  None: nothing is kept (comparisons)
    observe      is called with each request that came to an end
    on_outage    is called when our network is found to be away, and with None when it is back
    """

    def __init__(
        self,
        config: CrawlConfig,
        transport: Transport,
        *,
        partition: Partition | None = None,
        crawl_store: CrawlStore | None = None,
        observe: Callable[[Event], None] = lambda event: None,
        on_outage: Callable[[Outage | None], object] = lambda outage: None,
    ) -> None:
        self.config = config
        self.transport = transport
        self.partition = partition or Partition()
        self._crawl_store = crawl_store
        self._observe = observe
        self.graph = PageRank(prompt=config.as_published)
        self.strategy = make_strategy(
            config.strategy, config.params, self.graph, as_published=config.as_published
        )
        self.strategy.expects(expected(config.analysis.topic).narrower)
        self.url_table = UrlTable(self.strategy.width)
        self.ranker = Ranker(self.strategy, self.url_table)
        self.frontier = Frontier(
            self.url_table,
            config.politeness,
            self.ranker,
            peers=self.partition.others,
            strict=config.concurrency == 1,
            capacity=config.frontier_memory if crawl_store is not None else _UNBOUNDED,
            reports_sends=transport.is_live,
        )
        self.unit_of_work = UnitOfWork(self.url_table, self.frontier, keep=crawl_store is not None)
        self.scope = Scope(config.scope)
        self.seeds = Seeds()
        self.requests: dict[int, Request] = {}
        self.view = self._view()
        self.link_handler = self._link_handler()
        self.sitemap_handler = SitemapHandler(
            self.link_handler,
            self.view.robots_gate,
            wanted=config.fetch.listings,
            per_host=config.sitemaps_per_host,
        )
        self.effects = Effects(self.view, self.link_handler, self.sitemap_handler, transport)
        self._sower = Sower(self.view, self.link_handler, self.sitemap_handler, self.effects)
        self.outages = Outages(
            self.view, self.effects, transport, config.max_offline_s, on_change=on_outage
        )
        self.stop_reason = ""
        began_at = self._committed_at = transport.now()
        others = self.partition.others
        self.recent_harvest = RecentHarvest()
        self.limits = Limits(
            config, self.unit_of_work, self.recent_harvest, others, began_at=began_at
        )
        self.relevance_feedback: RelevanceFeedback | None = None

    def _view(self) -> View:
        config = self.config
        return View(
            url_table=self.url_table,
            frontier=self.frontier,
            unit_of_work=self.unit_of_work,
            requests=self.requests,
            seeds=self.seeds,
            robots_gate=RobotsGate(config.politeness, config.agent),
            near_duplicates=NearDuplicates(),
            agent=config.agent,
            max_redirects=config.max_redirects,
            locates=self.transport.locates and config.politeness.per_ip > 0,
            left=set() if config.cookies else None,
            kept_s=DECAY_RATIO * (config.refresh_s or 0.0),
        )

    def _link_handler(self) -> LinkHandler:
        return LinkHandler(
            self.ranker,
            url_table=self.url_table,
            frontier=self.frontier,
            unit_of_work=self.unit_of_work,
            scope=self.scope,
            partition=self.partition,
            traps=Traps(self.config.traps, now=self.transport.now()),
            min_priority=self.config.min_priority,
            nofollow=_nofollow(self.config),
        )

    def _clock(self) -> float:
        """The clock of intervals: seconds, or requests where time is not real."""
        live = self.transport.is_live
        return self.transport.now() if live else float(self.unit_of_work.totals.requests)

    async def _adapt(self, page: Page | None) -> None:
        """Hand a page to a model that adapts, and its update to the scorers."""
        if self.relevance_feedback is not None:
            change = self.relevance_feedback.after(page, self._clock())
            if change is not None:
                await self.transport.update(change)

    def sow(self, seeds: Iterable[str]) -> None:
        """Enter the seeds, as typed; one without a scheme is tried as https, then http."""
        self._sower.sow(seeds, self.transport.now())

    def requeue(self, url_id: int, url: str) -> None:
        """Let a URL wait (again) under this address."""
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
        """Ask once more for a page (or listing) that was had; False if it is in flight.

        It waits before all links, as its priority is that of seeds or more; so does one that
        a killed run was to ask for again, even if it was laid aside since. With a validator the
        server may answer that nothing has changed; else its page is kept anew, its new links, too.
        """
        state = self.url_table.state[url_id]
        if state == UrlState.FETCHING:
            return False
        if state != UrlState.WAITING:
            hops = self.url_table.hops[url_id]
            self.unit_of_work.ended(Outcome(url_id, UrlState.WAITING, hops=hops))
        request = self.requests.setdefault(url_id, Request())
        request.before = UrlState.DROPPED if is_listing else UrlState.DONE
        request.conditions = conditions(etag, last_modified)
        self.frontier.push(url_id, url, priority)
        return True

    # -- the loop -----------------------------------------------------------------

    async def run(self) -> str:
        """Crawl until a limit, an empty frontier or `stop`; returns why it ended."""
        self.relevance_feedback = make_feedback(self.config.analysis, start=self._clock())
        await self._commit()  # a host is in the store before it is asked: a kill is no excuse
        while True:
            await self._refill()
            self._dispatch()
            if not self.stop_reason:
                self.outages.update(may_send=self._may_send())
            if not self.transport.in_flight and (reason := self._end_reason()):
                if reason == "frontier empty" and self.frontier.include_excluded():
                    continue  # with what was laid aside
                break
            results = await self.transport.receive(self._wake_at())
            for task, at in self.transport.departed():
                self.frontier.record_send(self.frontier.host(task.host), at)
            self.effects.settle(self.transport.answered(), self.transport.now())
            for crossing in self.partition.arrived():
                self._sower.arrive(crossing, self.transport.now())
            for number, result in enumerate(self.outages.release(results)):
                if number:
                    await asyncio.sleep(0)  # a page full of new links takes milliseconds
                await self._adapt(self._take_in(result))
            self._shed()
            await self._commit_if_due()
        self.stop_reason = reason
        states = self.url_table.state
        left = [ReturnToQueue(each) for each in self.requests if states[each] == UrlState.FETCHING]
        self.effects.apply(left, self.transport.now())  # all was dropped (`Transport.cancel`)
        self.effects.leave_kept()
        await self._commit()
        return reason

    def _shed(self) -> None:
        """Drop what a bounded frontier has no room for."""
        shed = self.frontier.remove_overflow(self.strategy.bound)
        drops = [DropUrl(url_id, DropReason.FRONTIER_FULL) for url_id in shed]
        self.effects.apply(drops, self.transport.now())

    def stop(self, reason: str) -> None:
        """Take no new URLs; `run` ends when what is in flight has come home."""
        self.stop_reason = self.stop_reason or reason
        self.transport.wake()

    def _end_reason(self) -> str:
        if reason := self.stop_reason or self.limits.reached(self.transport.now()):
            return reason
        if self.outages.is_busy:
            return "offline" if self.outages.has_timed_out(self.transport.now()) else ""
        waits = self.frontier.next_due() is not None or self.frontier.url_cache.needs_loading
        # Nobody is there to do it: it will be done.
        halts = not self.transport.window and self.url_table.counts[UrlState.WAITING]
        return "" if waits or halts or self.transport.expects else "frontier empty"

    def _wake_at(self) -> float | None:
        """When `receive` must come back though no result has arrived."""
        times = []
        if self._may_send() and (due := self.frontier.next_due()) is not None:
            times.append(due)
        ends_at = self.limits.ends_at()
        if ends_at is not None and not self.limits.reached(self.transport.now()):
            times.append(ends_at)
        if self._crawl_store is not None and not self.unit_of_work.is_empty:
            times.append(self._due_at())
        if (look_at := self.outages.wake_at(self.transport.now())) is not None:
            times.append(look_at)
        return min(times, default=None)

    # -- URLs out -----------------------------------------------------------------

    @property
    def _window(self) -> int:
        """Requests that may be under way at once, by who crawls and who carries them."""
        return min(self.config.concurrency, self.transport.window)

    def _may_send(self) -> bool:
        in_flight = self.transport.in_flight
        # What was answered and not written yet counts: a kill costs no more requests.
        if in_flight + self.unit_of_work.unwritten >= self._window:
            return False
        if self.stop_reason or self.outages.is_paused or self.limits.reached(self.transport.now()):
            return False
        left = self.limits.left()
        return left is None or in_flight + len(self.outages.held_results) < left

    def _dispatch(self) -> None:
        while self._may_send():
            now = self.transport.now()
            budget = self.limits.budget(is_idle=not self.transport.in_flight)
            candidate = self.frontier.next_candidate(now, budget)
            if candidate is None:
                return
            url_id, url, host, _, start_at = candidate
            gate = self.view.robots_gate
            if spent := self.link_handler.spent_on(url_id, candidate.priority):
                self.effects.apply([DropUrl(url_id, DropReason.TRAP_BUDGET, spent)], now)
            elif why := gate.shut(host, url):
                self.effects.apply(shut(url_id, host, why, self.view), now)
            elif self._must_wait(candidate):
                self.frontier.return_candidate(candidate)
            elif (robots := gate.question(host, url, start_at)) is not None:
                self.frontier.return_candidate(candidate)
                self.effects.apply([FetchRobots(host, robots, start_at)], now)
            elif gate.forbids(host, url):
                forbidden = DropUrl(url_id, DropReason.ROBOTS, "robots.txt forbids it")
                self.effects.apply([forbidden], now)
            else:
                self.effects.send(candidate)

    def _must_wait(self, candidate: Candidate) -> bool:
        """Whether a host is set aside: until it is found, or its domain has earned more hosts."""
        host, now = candidate.host, self.transport.now()
        if self.view.locates and not host.is_resolved:
            self.frontier.pause_host(host, math.inf, now)
            self.transport.send(Task(None, candidate.url, host.name, lookup=True))
            return True
        if candidate.priority < SEED_PRIORITY and self.link_handler.domains.puts_off(host):
            self.frontier.pause_host(host, now + PUT_OFF_S, now)
            return True
        return False

    # -- results in ---------------------------------------------------------------

    def _take_in(self, result: Result) -> Page | None:
        """Draw the conclusions; the page as it counts now."""
        now = self.transport.now()
        result = counted(result, self.view)
        again = self.view.request(-1 if result.task.id is None else result.task.id).kept is not None
        self.effects.apply(decide(result, self.view, now), now)
        if result.task.lookup:
            return None
        self._report(result, again=again)
        return None if again else result.page

    def _report(self, result: Result, *, again: bool) -> None:
        task, fetch, page = result.task, result.fetch, result.page
        state = None if task.id is None else UrlState(self.url_table.state[task.id])
        scored = page if state is UrlState.DONE else None
        if not again:
            self.recent_harvest.add([scored is not None and scored.relevant])
        self._observe(
            Event(
                nth=self.unit_of_work.totals.requests,
                at=self.transport.now(),
                url=task.url,
                state=state,
                reason=str(fetch.failure or (page and page.failure) or ""),
                relevance=scored.relevance if scored else 0.0,
                relevant=scored.relevant if scored else False,
                title=scored.title if scored else "",
                priority=task.priority,
                depth=task.depth,
                again=again,
            )
        )

    # -- keeping ----------------------------------------------------

    async def _refill(self) -> None:
        """Bring URLs of hungry queues back from the store; fail those of hosts given up.

        What waits there was written before memory let go of it: no need to write now.
        """
        memory = self.frontier.url_cache
        if self._crawl_store is None or not memory.needs_loading:
            return
        many = memory.evicted_count > MANY
        ids = await asyncio.to_thread(memory.ids_to_load) if many else memory.ids_to_load()
        left = {each for each in ids if self.view.queue(each).host.is_abandoned}
        kind, why = FailureKind.HOST_GIVEN_UP, msg("as the rest of its host")
        self.effects.apply([FailUrl(each, kind, why) for each in left], self.transport.now())
        here = [each for each in ids if each not in left]
        self.frontier.add_loaded(await self._crawl_store.addresses(here))

    def _due_at(self) -> float:
        """When what is not written must be; one sum for who waits and who looks."""
        return self._committed_at + self.config.commit_every_s

    async def _commit_if_due(self) -> None:
        most = min(BATCH, max(min(FEWEST, self._window // 4), self.transport.in_flight // 4))
        if self.unit_of_work.unwritten > most or self.transport.now() >= self._due_at():
            await self._commit()

    async def _commit(self) -> None:
        now = self.transport.now()
        self.unit_of_work.totals.active_s += now - self._committed_at
        self._committed_at = now
        if self._crawl_store is not None and not self.unit_of_work.is_empty:
            await self._crawl_store.write(self.unit_of_work.take(now))
            if self.frontier.url_cache.is_over_capacity:
                self.frontier.update_queues(await asyncio.to_thread(self.frontier.url_cache.evict))
