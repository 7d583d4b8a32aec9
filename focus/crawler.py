"""The crawl loop: take → fetch → score → rank → record, until a limit or an empty frontier.

    _dispatch   the frontier gives its best URL; its host's robots.txt comes first
    receive     the transport brings results: fetched, parsed and scored
    _take_in    a result becomes a page, a redirect, a failure or a drop
    links       (`engine.links`) known or new, evidence from this page, graph, priority
    failures    (`engine.failures`) another try, a failure, a drop
    _commit     everything that follows from a few pages, in one transaction

One coroutine decides everything here, so a crawl is a function of its input: the
same results in the same order give the same crawl.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Protocol

import msgspec

from focus.admission.domain_budget import PUT_OFF_S
from focus.admission.robots_gate import RobotsGate
from focus.admission.scope import Scope
from focus.admission.traps import Traps
from focus.config import CrawlConfig
from focus.engine.failures import FailureHandler
from focus.engine.limits import Limits
from focus.engine.links import LinkHandler
from focus.engine.outages import Outages
from focus.engine.outlooks import Outlooks
from focus.engine.relevance_feedback import RelevanceFeedback, make_feedback
from focus.engine.results import ResultHandler
from focus.engine.sitemaps import SitemapHandler
from focus.engine.transports import Transport
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.records import (
    SEED_PRIORITY,
    Batch,
    DropReason,
    FetchResult,
    Outcome,
    Page,
    Result,
    Task,
    UrlRow,
    UrlState,
)
from focus.scheduling.queues import Candidate, Host
from focus.scheduling.url_table import UrlTable
from focus.score.graph.pagerank import PageRank
from focus.score.strategy import make_strategy
from focus.urls.normal_form import fingerprint, host_of, seed_candidates

BATCH = 64  # answers that one transaction writes, a quarter of what is in flight if less
PATIENCE = 8  # URLs looked at again before one is taken, where a page moves all priorities
MANY = 500_000  # waiting URLs that are better looked through in a thread: 10 ms and more
_UNBOUNDED = 1 << 60


class Event(msgspec.Struct, frozen=True):
    """One request that came to an end: for the live line, logs and comparisons.

    nth       its number, counting every request (robots.txt and failures too)
    state     of the URL now; None for a robots.txt
    reason    why it failed or was dropped
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


class CrawlStore(Protocol):
    """Where batches go and waiting URLs come back from: the store of one crawl."""

    async def write(self, batch: Batch) -> None:
        """Keep a batch, whole or not at all."""

    async def addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        """(id, url) of URLs that were written, in any order."""


def _nofollow(config: CrawlConfig) -> str:
    """What becomes of such links; the papers are older than they are, and weigh none."""
    weighs = config.nofollow == "weigh"
    return "follow" if weighs and config.as_published else config.nofollow


class Crawl:
    """One crawl over a transport. `crawl_store` None: nothing is kept (comparisons)."""

    def __init__(
        self,
        config: CrawlConfig,
        transport: Transport,
        *,
        crawl_store: CrawlStore | None = None,
        observe: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.config = config
        self.transport = transport
        self.graph = PageRank(prompt=config.as_published)
        strategy = make_strategy(
            config.strategy, config.params, self.graph, as_published=config.as_published
        )
        self.url_table = UrlTable(strategy.width)
        self.frontier = Frontier(
            self.url_table,
            config.politeness,
            strict=config.concurrency == 1,
            capacity=config.frontier_memory if crawl_store is not None else _UNBOUNDED,
            rescore=self._present_priority if strategy.moves or strategy.learns else None,
            patience=PATIENCE if strategy.moves else math.inf,
            is_told=transport.is_live,
        )
        if transport.is_live and config.politeness.per_host > 1:
            transport.on_sent = self._sent
        self.unit_of_work = UnitOfWork(self.url_table, self.frontier, keep=crawl_store is not None)
        self.robots_gate = RobotsGate(config.politeness, config.agent)
        self.scope = Scope(config.scope)
        self.failure_handler = FailureHandler(self.url_table, self.frontier, self.unit_of_work)
        self.link_handler = LinkHandler(
            strategy,
            url_table=self.url_table,
            frontier=self.frontier,
            unit_of_work=self.unit_of_work,
            scope=self.scope,
            traps=Traps(config.traps, now=transport.now()),
            min_priority=config.min_priority,
            nofollow=_nofollow(config),
        )
        self.sitemap_handler = SitemapHandler(
            self.link_handler,
            self.robots_gate,
            wanted=config.fetch.listings,
            per_host=config.sitemaps_per_host,
        )
        self.result_handler = ResultHandler(
            self.link_handler,
            self.sitemap_handler,
            self.failure_handler,
            max_redirects=config.max_redirects,
            agent=config.agent,
        )
        self.outlooks = Outlooks(
            self.url_table,
            self.frontier,
            self.link_handler.hit_rates,
            self.unit_of_work,
            least=config.limits.stop_harvest,
        )
        self._crawl_store = crawl_store
        self._observe = observe
        self._locates = transport.locates and config.politeness.per_ip > 0
        self._hops: dict[int, str] = {}  # host -> where its robots.txt redirects to
        self._taken_at: dict[int, int] = {}  # id in flight -> URLs waiting when it was taken
        self._conditions: dict[int, tuple[tuple[str, str], ...]] = {}
        notes = self._taken_at, self._conditions
        self.outages = Outages(
            self.failure_handler, self.robots_gate, transport, *notes, config.max_offline_s
        )
        self.stop_reason = ""
        self._committed_at = transport.now()
        self.limits = Limits(config, self.frontier, self.unit_of_work, began_at=self._committed_at)
        self.relevance_feedback: RelevanceFeedback | None = None

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

    def _present_priority(self, url_id: int) -> float:
        return self.link_handler.present_priority(url_id)

    def sow(self, seeds: Iterable[str]) -> None:
        """Enter the seeds, as typed; one without a scheme is tried as https, then http."""
        strategy = self.link_handler.strategy
        border = self.link_handler.border
        for text in seeds:
            url, *others = seed_candidates(text)
            self.scope.add_home(url)
            if border is not None and not border.owns(host_of(url)):
                border.seed(text, url)
                continue
            key = fingerprint(url)
            if (url_id := self.url_table.find(key)) >= 0:  # named twice, or of an earlier run
                self._sown_before(url_id, text, url, others)
                continue
            url_id = self.link_handler.enter(UrlRow(-1, key, url, queue=-1, depth=0, priority=0.0))
            self.failure_handler.seeds[url_id] = text
            if self.url_table.state[url_id] != UrlState.WAITING:
                self.failure_handler.of_seeds[text] = (
                    "not wanted by --allow, --deny or its file type"
                )
            if others:
                self.failure_handler.fallbacks[url_id] = others[0]
            self.link_handler.strengthen(url_id, strategy.seed(), SEED_PRIORITY, None)
            self.sitemap_handler.add_home(url)

    def _sown_before(self, url_id: int, text: str, url: str, others: Iterable[str]) -> None:
        self.failure_handler.seeds.setdefault(url_id, text)
        if self.url_table.state[url_id] == UrlState.WAITING:
            for other in others:
                self.failure_handler.fallbacks.setdefault(url_id, other)
                if self.frontier.host(host_of(url)).failures:  # both may have failed before
                    self.failure_handler.requeue(url_id, url, hops=0)

    def readopt(self, task: Task) -> bool:
        """Wait for a task that an earlier run sent; False if its result is of no use now."""
        # Killed before the page that links to it was written: it will be found anew.
        if not self.frontier.knows(task.host) or (task.id or 0) >= len(self.url_table):
            return False
        host, now = self.frontier.host(task.host), self.transport.now()
        if task.id is not None:
            if self.url_table.state[task.id] != UrlState.WAITING:
                return False
            self.url_table.move(task.id, UrlState.FETCHING)
            self._taken_at[task.id] = self.url_table.counts[UrlState.WAITING] + 1
        elif host.active or self.robots_gate.question(host, task.url, now) is None:
            return False
        self.frontier.occupy(host, now)
        if task.id is None:
            self.frontier.rest(host, math.inf, now)
        return True

    def revisit(
        self,
        url_id: int,
        url: str,
        *,
        etag: str = "",
        last_modified: str = "",
        priority: float = SEED_PRIORITY,
    ) -> bool:
        """Ask once more for a page (or listing) that was had; False if it is under way.

        It waits before all links, as its priority is that of seeds or more. With a validator the
        server may answer that nothing has changed; else its page is kept anew, and links that
        are new on it become known.
        """
        before = UrlState(self.url_table.state[url_id])
        if before in (UrlState.WAITING, UrlState.FETCHING):
            return False
        validators = (("If-None-Match", etag), ("If-Modified-Since", last_modified))
        self._conditions[url_id] = tuple((name, value) for name, value in validators if value)
        self.result_handler.again[url_id] = before
        self.unit_of_work.ended(Outcome(url_id, UrlState.WAITING, hops=self.url_table.hops[url_id]))
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
                self.outages.look(may_send=self._may_send())
            if not self.transport.in_flight and (reason := self._end_reason()):
                break
            for result in self.outages.sift(await self.transport.receive(self._wake_at())):
                await self._adapt(self._take_in(result))
            self._shed()
            await self._commit_if_due()
        self.stop_reason = reason
        self.failure_handler.put_back(self._taken_at)
        await self._commit()
        return reason

    def _shed(self) -> None:
        """Drop what a bounded frontier has no room for."""
        for url_id in self.frontier.shed(self.link_handler.strategy.bound):
            self.failure_handler.drop(url_id, DropReason.FRONTIER_FULL)

    def stop(self, reason: str) -> None:
        """Take no new URLs; `run` ends when what is in flight has come home."""
        self.stop_reason = self.stop_reason or reason
        self.transport.wake()

    def _end_reason(self) -> str:
        if reason := self.stop_reason or self.limits.reached(self.transport.now()):
            return reason
        if self.outages.is_busy:
            return "offline" if self.outages.is_over(self.transport.now()) else ""
        waits = self.frontier.next_due() is not None or self.frontier.hungry
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
            times.append(self._committed_at + self.config.commit_every_s)
        if (look_at := self.outages.wake_at(self.transport.now())) is not None:
            times.append(look_at)
        return min(times, default=None)

    # -- URLs out -----------------------------------------------------------------

    def _may_send(self) -> bool:
        in_flight = self.transport.in_flight
        # What was answered and not written yet counts: a kill costs no more requests.
        most = min(self.config.concurrency, self.transport.window)
        if in_flight + self.unit_of_work.unwritten >= most:
            return False
        if self.stop_reason or self.outages.is_closed or self.limits.reached(self.transport.now()):
            return False
        left = self.limits.left()
        return left is None or in_flight + len(self.outages.held) < left

    def _dispatch(self) -> None:
        while self._may_send():
            is_idle = not self.transport.in_flight
            candidate = self.limits.next(self.transport.now(), is_idle=is_idle)
            if candidate is None:
                return
            host, start_at = candidate.host, candidate.start_at
            if spent := self.link_handler.spent_on(candidate.id, candidate.priority):
                self.failure_handler.drop(candidate.id, DropReason.TRAP_BUDGET, spent)
                continue
            if shut := self.robots_gate.shut(host, candidate.url):
                self.failure_handler.shut(candidate.id, host, shut)
                continue
            if self._must_wait(candidate):
                self.frontier.put_back(candidate)
                continue
            hop = self._hops.pop(host.id, None)
            robots = hop or self.robots_gate.question(host, candidate.url, start_at)
            if robots is not None:
                self.frontier.put_back(candidate)
                self._ask_robots(host, robots, start_at)
            elif self.robots_gate.forbids(host, candidate.url):
                self.failure_handler.drop(candidate.id, DropReason.ROBOTS, "robots.txt forbids it")
            else:
                self._send(candidate)

    def _must_wait(self, candidate: Candidate) -> bool:
        """Whether a host is set aside: until it is found, or its domain has earned more hosts."""
        host, now = candidate.host, self.transport.now()
        if self._locates and not host.located:
            self.frontier.rest(host, math.inf, now)
            self.transport.send(Task(None, candidate.url, host.name, lookup=True))
            return True
        if candidate.priority < SEED_PRIORITY and self.link_handler.domains.puts_off(host):
            self.frontier.rest(host, now + PUT_OFF_S, now)
            return True
        return False

    def _send(self, candidate: Candidate) -> None:
        url_table, host, url_id = self.url_table, candidate.host, candidate.id
        self._taken_at[url_id] = url_table.counts[UrlState.WAITING] + 1
        self.unit_of_work.sent(url_id)
        self.link_handler.domains.asked(host)
        self.frontier.occupy(host, candidate.start_at)
        self.transport.send(
            Task(
                id=url_id,
                url=candidate.url,
                host=host.name,
                start_at=candidate.start_at,
                hops=url_table.hops[url_id],
                depth=url_table.depth[url_id],
                priority=candidate.priority,
                conditions=self._conditions.pop(url_id, ()),
            )
        )

    def _sent(self, task: Task) -> None:
        self.frontier.sent(self.frontier.host(task.host), self.transport.now())

    def _ask_robots(self, host: Host, url: str, start_at: float) -> None:
        """Have a robots.txt fetched; the host does nothing else until it is settled."""
        self.link_handler.domains.asked(host)
        self.frontier.occupy(host, start_at)
        self.frontier.rest(host, math.inf, start_at)
        self.transport.send(Task(id=None, url=url, host=host.name, start_at=start_at))

    # -- results in ---------------------------------------------------------------

    def _take_in(self, result: Result) -> Page | None:
        """Draw the conclusions; the page as it counts now."""
        task, fetch, page = result.task, result.fetch, self.result_handler.counted(result)
        host = self.frontier.host(task.host)
        if task.lookup:
            self.frontier.located(host, fetch.address or "", self.transport.now())
            return None
        totals = self.unit_of_work.totals
        totals.requests += 1
        totals.bytes += fetch.raw_bytes
        self.frontier.answered(host, fetch, self.transport.now())
        self.frontier.release(host, self.transport.now())
        if task.id is None:
            totals.robots += 1
            self._robots_came(host, fetch)
        else:
            rank = self._taken_at.pop(task.id, 0)
            self.result_handler.take_in(
                task.id, task, fetch, page, now=self.transport.now(), rank=rank
            )
        self._report(task, fetch, page)
        return page

    def _report(self, task: Task, fetch: FetchResult, page: Page | None) -> None:
        state = None if task.id is None else UrlState(self.url_table.state[task.id])
        scored = page if state is UrlState.DONE else None
        if self.outlooks.ended(relevant=scored is not None and scored.relevant):
            self.stop("stop-harvest reached")
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
            )
        )

    def _robots_came(self, host: Host, fetch: FetchResult) -> None:
        now, failure_handler = self.transport.now(), self.failure_handler
        turn = self.robots_gate.answer(host, fetch, now)
        host.next_at = max(host.next_at, now + host.delay_s)  # by the Crawl-delay it has told
        self.unit_of_work.host_changed(host)
        if turn.ask is not None and self._locates:
            self._hops[host.id] = turn.ask  # in its turn, by the pace of host and address
            self.frontier.rest(host, 0.0, now)
        elif turn.ask is not None:
            self._ask_robots(host, turn.ask, max(now, host.next_at))
        elif turn.wait_s is not None and not failure_handler.fall_back(host):
            self.frontier.rest(host, now + turn.wait_s, now)
        elif turn.failure is not None and not failure_handler.fall_back(host):
            self.link_handler.hit_rates.lost(host, self.failure_handler.seeds)
            failure_handler.give_up(host, turn.failure, f"robots.txt: {fetch.detail}")
        else:
            self.frontier.rest(host, 0.0, now)
            self.sitemap_handler.rules_came(host)

    # -- keeping ----------------------------------------------------

    async def _refill(self) -> None:
        """Bring URLs of hungry queues back from the store; fail those of hosts given up.

        What waits there was written before memory let go of it: no need to write now.
        """
        if self._crawl_store is None or not self.frontier.hungry:
            return
        frontier, hungry = self.frontier, sorted(self.frontier.hungry)
        if sum(len(frontier.queues[queue_id].away) for queue_id in hungry) > MANY:
            recalled = await asyncio.to_thread(lambda: [*map(frontier.recall, hungry)])
        else:
            recalled = [*map(frontier.recall, hungry)]
        urls = dict(await self._crawl_store.addresses([*chain.from_iterable(recalled)]))
        for queue_id, ids in zip(hungry, recalled, strict=True):
            if frontier.queues[queue_id].host.given_up:
                self.failure_handler.fail_all(ids, "as the rest of its host")
            else:
                frontier.refill(queue_id, [(each, urls[each]) for each in ids])

    async def _commit_if_due(self) -> None:
        waited_s = self.transport.now() - self._committed_at
        most = min(BATCH, self.transport.in_flight // 4)
        if self.unit_of_work.unwritten > most or waited_s >= self.config.commit_every_s:
            await self._commit()

    async def _commit(self) -> None:
        now = self.transport.now()
        self.unit_of_work.totals.active_s += now - self._committed_at
        self._committed_at = now
        if self._crawl_store is not None and not self.unit_of_work.is_empty:
            await self._crawl_store.write(self.unit_of_work.take(now))
            if self.frontier.is_full:
                self.frontier.relist(await asyncio.to_thread(self.frontier.spill))
