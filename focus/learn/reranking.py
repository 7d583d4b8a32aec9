"""What would a crawl look like if its pages had been judged as they are judged now?

The topic has moved (labels, a new classifier), but a crawl's stored pages and waiting URLs
still stand as they were judged then. `rerank` plays the crawl back from the database, without
a request: every stored page is analysed again, gives its links the evidence that it would
give today, and waiting URLs get the priority that follows, hit rates of queues, hosts and
hubs included. What cannot be played back (links of pages whose text was not kept, targets
of redirects) keeps the evidence it had.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import cast

import msgspec

from focus.config import AnalysisConfig, CrawlConfig
from focus.crawl import Crawl
from focus.engine.transports import Transport
from focus.records import SEED_PRIORITY, Batch, Change, Link, Page, Tally, UrlState
from focus.resume import restore
from focus.score.strategy import Parent
from focus.storage import labels
from focus.storage.labels import Rejudged, Stored
from focus.storage.writer import CrawlInfo
from focus.store import Store
from focus.workers import WorkerPool

AHEAD = 64  # pages given to the workers before the first comes back
CHUNK = 256  # pages per read and per write
_HTML = "text/html; charset=utf-8"

Watch = Callable[[int, int], None]
"""Told now and then: pages judged so far, pages in all."""


class Reranked(msgspec.Struct):
    """What came of it.

    pages      judged again; `kept` as they were, for their text is not stored
    turned_on  became relevant, turned_off no longer are
    waiting    URLs that wait; `moved` of them have another priority now
    """

    pages: int = 0
    kept: int = 0
    turned_on: int = 0
    turned_off: int = 0
    waiting: int = 0
    moved: int = 0


class _Still:
    """A transport of a crawl that goes nowhere."""

    in_flight = 0
    is_live = False

    def now(self) -> float:
        """No time passes."""
        return 0.0


async def rerank(
    store: Store, info: CrawlInfo, config: CrawlConfig, *, now: float, watch: Watch
) -> Reranked:
    """Judge all stored pages of a crawl by `config.analysis` and rank what waits anew.

    Pages are written as they are judged, priorities at the end: broken off in between, the
    same call begins again and comes to the same end.
    """
    crawl = Crawl(config, cast(Transport, _Still()))
    await restore(crawl, store, info)
    replay = _Replay(crawl)
    analysis = msgspec.structs.replace(config.analysis, keep="none")
    batch: list[Rejudged] = []
    async with aclosing(_judged(store, info.id, analysis)) as judged:
        async for stored, page in judged:
            replay.take(stored, page)
            if page is not None:
                batch.append(
                    Rejudged(stored.id, page.relevance, page.relevant, page.parts, page.matched)
                )
            if len(batch) >= CHUNK:
                await store.run(partial(labels.rejudge, crawl=info.id, judged=batch))
                batch = []
            watch(replay.found.pages + replay.found.kept, crawl.ledger.totals.pages)
    await store.run(partial(labels.rejudge, crawl=info.id, judged=batch))
    await store.write(info.id, replay.batch(now))
    return replay.found


async def _judged(
    store: Store, crawl: int, analysis: AnalysisConfig
) -> AsyncGenerator[tuple[Stored, Page | None]]:
    """Stored pages in order, each with what it is judged now; None: its text is not there."""
    workers = max(1, (os.cpu_count() or 2) - 1)
    async with WorkerPool(analysis, workers=workers) as pool:
        under_way: deque[tuple[Stored, asyncio.Task[Page] | None]] = deque()
        after = -1
        while part := await store.run(partial(labels.pages, crawl=crawl, after=after, limit=CHUNK)):
            after = part[-1].nth
            for stored in part:
                under_way.append((stored, _scoring(pool, stored)))
                if len(under_way) > AHEAD:
                    yield await _done(under_way.popleft())
        while under_way:
            yield await _done(under_way.popleft())


def _scoring(pool: WorkerPool, stored: Stored) -> asyncio.Task[Page] | None:
    if not stored.html:
        return None
    return asyncio.create_task(pool.score(stored.url, stored.html.encode(), _HTML))


async def _done(pair: tuple[Stored, asyncio.Task[Page] | None]) -> tuple[Stored, Page | None]:
    stored, task = pair
    page = await task if task is not None else None
    return stored, page if page is not None and page.failure is None else None


class _Replay:
    """Takes the pages of a crawl in their order and collects what follows for its URLs."""

    def __init__(self, crawl: Crawl) -> None:
        self.found = Reranked()
        self._crawl = crawl
        self._known = crawl.known
        self._touched = bytearray(len(crawl.known))  # evidence made anew
        self._before: dict[int, tuple[float, ...]] = {}  # carry of waiting URLs that changed
        self._brought: dict[int, str] = {}  # waiting URL with another parent -> anchor
        self._rewards_changed = False
        self._redirected: list[tuple[int, int]] = []  # (source, target that took its place)

    def take(self, stored: Stored, page: Page | None) -> None:
        """The next page, and how it is judged now."""
        if page is None:
            self.found.kept += 1
            return
        self.found.pages += 1
        self.found.turned_on += page.relevant and not stored.relevant
        self.found.turned_off += stored.relevant and not page.relevant
        self._count(stored, page)
        if not page.nofollow:
            self._give(stored, page)

    def _count(self, stored: Stored, page: Page) -> None:
        """The page's reward has changed: for its queue, its host, and the page it came from."""
        change = _reward(page.relevance) - _reward(stored.relevance)
        self._crawl.ledger.totals.relevant += page.relevant - stored.relevant
        if not change:
            return
        learning = self._crawl.discovery.learning
        queue = self._crawl.frontier.queues[self._known.queue[stored.id]]
        learning.amend(queue, change, stored.place)
        self._rewards_changed = True
        if (hub := self._known.parent[stored.id]) >= 0:
            learning.count_hub(hub, Tally(0, change))

    def _give(self, stored: Stored, page: Page) -> None:
        """Its links give their targets the evidence that they would give today."""
        known, strategy = self._known, self._crawl.discovery.strategy
        queue = self._crawl.frontier.queues[known.queue[stored.id]]
        parent = Parent(
            id=stored.id,
            nth=self.found.pages + self.found.kept,
            depth=known.depth[stored.id],
            host=queue.host.name,
            shape=queue.shape,
            relevance=page.relevance,
            relevant=page.relevant,
            carry=known.carry(stored.id),
        )
        carries = strategy.carries(parent, page.links)
        for link, carry in zip(page.links, carries, strict=False):
            target = known.find(link.key)
            if carry is not None and target >= 0 and known.priority[target] < SEED_PRIORITY:
                self._strengthen(target, carry, stored.id, link)

    def _strengthen(self, target: int, carry: Sequence[float], parent: int, link: Link) -> None:
        known, strategy = self._known, self._crawl.discovery.strategy
        old = known.carry(target)
        waits = known.state[target] == UrlState.WAITING
        if not self._touched[target]:
            self._touched[target] = 1
            source = known.parent[target]
            if source >= 0 and known.state[source] == UrlState.DROPPED:
                self._redirected.append((source, target))
            if waits:
                self._before[target] = old
            new, better = tuple(carry), True
        elif known.gains(target, carry):
            new = tuple(map(max, old, carry))
            better = strategy.priority(target, new) > strategy.priority(target, old)
        else:
            return
        known.set_carry(target, new)
        if waits and better and known.parent[target] != parent:
            known.parent[target] = parent
            self._brought[target] = link.anchor

    def batch(self, now: float) -> Batch:
        """Everything that has changed, for the store."""
        known, ledger = self._known, self._crawl.ledger
        if self._rewards_changed:
            self._crawl.discovery.learning.reset_bonuses()
        for source, target in self._redirected:
            known.set_carry(target, tuple(map(max, known.carry(source), known.carry(target))))
        changes = []
        for url_id in known.waiting():
            self.found.waiting += 1
            priority = self._crawl.discovery.present_priority(url_id)
            carry = known.carry(url_id)
            moved = abs(priority - known.priority[url_id]) > 1e-9
            self.found.moved += moved
            if moved or url_id in self._brought or carry != self._before.get(url_id, carry):
                changes.append(self._change(url_id, priority, carry))
        return Batch(
            queues=[ledger.queue_row(queue) for queue in self._crawl.frontier.queues],
            changes=changes,
            counters=msgspec.structs.asdict(ledger.totals),
            now=now,
        )

    def _change(self, url_id: int, priority: float, carry: tuple[float, ...]) -> Change:
        brought = self._brought.get(url_id)
        return Change(
            id=url_id,
            priority=priority,
            carry=carry,
            depth=self._known.depth[url_id],
            parent=None if brought is None else self._known.parent[url_id],
            anchor=brought or "",
        )


def _reward(relevance: float) -> float:
    return min(1.0, max(0.0, relevance))
