"""Replay of a stored crawl with a new relevance model, to rank its waiting URLs again.

After labels or a new training, stored pages and waiting URLs still have the scores of the old
model. `rerank` replays the crawl from the database without requests: every stored page is scored
again, its links get the evidence that it would give now, and waiting URLs get the resulting
priority, with the hit rates of queues, hosts and hub pages. Links of pages whose text was not
stored, and targets of redirects, cannot be replayed and keep their evidence.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial

import msgspec

from focus.config import AnalysisConfig, CrawlConfig
from focus.crawler import Crawl
from focus.engine.transports import Transport
from focus.engine.view import View
from focus.records import (
    SEED_PRIORITY,
    Batch,
    Link,
    NewRelevance,
    Page,
    PriorityChange,
    ReportProgress,
    UrlState,
)
from focus.score.matching import topic_segmenter
from focus.score.strategy import Parent, strategy_class
from focus.score.subtopics import TitledPage
from focus.session.resume import restore
from focus.storage import labels
from focus.storage.labels import ScoredPage
from focus.storage.writer import CrawlInfo
from focus.store import Store
from focus.workers import WorkerPool
from focus.workers.messages import Job

MAX_UNSCORED = 64  # pages in the scorer processes at a time
CHUNK = 256  # pages per read and per write
_HTML = "text/html; charset=utf-8"


class RerankCounts(msgspec.Struct):
    """Results of a replay.

    pages       pages scored again; `unscored` pages kept their score, because no text is stored
    turned_on   pages that became relevant; `turned_off` pages no longer are
    waiting     waiting URLs; `moved` of them have another priority now
    """

    pages: int = 0
    unscored: int = 0
    turned_on: int = 0
    turned_off: int = 0
    waiting: int = 0
    moved: int = 0


class _IdleTransport(Transport):
    """A transport without requests."""

    def now(self) -> float:
        """Return 0: no time passes."""
        return 0.0


async def rerank(
    store: Store,
    info: CrawlInfo,
    config: CrawlConfig,
    *,
    now: float,
    report_progress: ReportProgress,
) -> RerankCounts:
    """Score all stored pages of a crawl with `config.analysis`, and rank its waiting URLs again.

    A page with a label is relevant or not by its label; its relevance stays that of the model.
    Pages are written while they are scored, priorities at the end. After an interruption the same
    call starts again and has the same result.
    """
    crawl = Crawl(config, _IdleTransport())
    await restore(crawl, store, info)
    replay = _Replay(crawl)
    analysis = strategy_class(config.strategy).extend_analysis(config.analysis)
    analysis = msgspec.structs.replace(analysis, keep="none")
    topic = str(config.analysis.topic["name"])
    verdicts = await store.run_in_thread(partial(labels.load_verdicts, crawl=info.id, topic=topic))
    batch: list[NewRelevance] = []
    async with aclosing(_score_stored_pages(store, info.id, analysis, crawl.view)) as judged:
        async for stored, page in judged:
            if page is not None and stored.id in verdicts:
                page = msgspec.structs.replace(page, is_relevant=verdicts[stored.id])
            replay.add_page(stored, page)
            if page is not None:
                batch.append(
                    NewRelevance(
                        stored.id,
                        page.relevance,
                        page.is_relevant,
                        page.part_scores,
                        page.matched_terms,
                    )
                )
            if len(batch) >= CHUNK:
                await store.write(info.id, Batch(new_relevances=batch, now=now))
                batch = []
            report_progress(
                replay.counts.pages + replay.counts.unscored, crawl.unit_of_work.totals.pages
            )
    await store.write(info.id, Batch(new_relevances=batch, now=now))
    await store.write(info.id, replay.make_batch(now))
    return replay.counts


async def _score_stored_pages(
    store: Store, crawl: int, analysis: AnalysisConfig, view: View
) -> AsyncGenerator[tuple[ScoredPage, Page | None]]:
    """Yield stored pages in order with their new score, None if no text is stored."""
    workers = max(1, (os.cpu_count() or 2) - 1)
    async with WorkerPool(analysis, workers=workers) as pool:
        in_progress: deque[tuple[ScoredPage, asyncio.Task[Page] | None]] = deque()
        last_nth = -1
        while part := await store.run_in_thread(
            partial(labels.load_pages, crawl=crawl, after=last_nth, limit=CHUNK)
        ):
            last_nth = part[-1].request_number
            for stored in part:
                host = view.queue(stored.id).host
                scoring = (
                    pool.score(
                        Job(
                            stored.url,
                            stored.html.encode(),
                            _HTML,
                            template=view.templates.template(host.id),
                            software=host.software,
                        )
                    )
                    if stored.html
                    else None
                )
                in_progress.append((stored, asyncio.create_task(scoring) if scoring else None))
                if len(in_progress) > MAX_UNSCORED:
                    yield await _finish_scoring(in_progress.popleft())
        while in_progress:
            yield await _finish_scoring(in_progress.popleft())


async def _finish_scoring(
    pair: tuple[ScoredPage, asyncio.Task[Page] | None],
) -> tuple[ScoredPage, Page | None]:
    stored, task = pair
    page = await task if task is not None else None
    return stored, page if page is not None and page.failure is None else None


class _Replay:
    """Processes the pages of a crawl in their order and collects the changes of its URLs."""

    def __init__(self, crawl: Crawl) -> None:
        self.counts = RerankCounts()
        self._crawl = crawl
        self._url_table = crawl.url_table
        self._is_replaced = bytearray(
            len(crawl.url_table)
        )  # 1 if the evidence of a URL was replaced
        self._old_evidence: dict[
            int, tuple[float, ...]
        ] = {}  # link_evidence of waiting URLs that changed
        self._new_anchors: dict[int, str] = {}  # waiting URL with another parent -> anchor
        self._rewards_changed = False
        crawl.strategy.resume_at(0)
        self._segmenter = topic_segmenter(crawl.config.analysis.topic)
        self._redirected: list[tuple[int, int]] = []  # (source, target that took its place)

    def add_page(self, stored: ScoredPage, page: Page | None) -> None:
        """Add the next page with its new score."""
        if page is None:
            self.counts.unscored += 1
            self._learn_from_page(stored, stored.is_relevant)
            return
        self.counts.pages += 1
        self.counts.turned_on += page.is_relevant and not stored.is_relevant
        self.counts.turned_off += stored.is_relevant and not page.is_relevant
        self._change_reward(stored, page)
        if not page.nofollow:
            self._add_link_evidence(stored, page)
        self._learn_from_page(stored, page.is_relevant)

    def _learn_from_page(self, stored: ScoredPage, is_relevant: bool) -> None:
        if self._crawl.strategy.resume_pages:
            page = stored.url, stored.title, is_relevant, self._url_table.parent[stored.id]
            self._crawl.strategy.learn_from_page(TitledPage.from_title(*page, self._segmenter))

    def _change_reward(self, stored: ScoredPage, page: Page) -> None:
        """Correct the hit rates of the queue, host and hub of a page for its new reward."""
        reward = self._crawl.strategy.reward
        old_page = msgspec.structs.replace(page, relevance=stored.relevance)
        change = reward(page) - reward(old_page)
        if not page.is_index_page:
            self._crawl.unit_of_work.totals.relevant += page.is_relevant - stored.is_relevant
        self._crawl.link_handler.hit_rates.correct_page(
            stored.id, stored.host_request_number, change
        )
        self._rewards_changed |= bool(change)

    def _add_link_evidence(self, stored: ScoredPage, page: Page) -> None:
        """Give the targets of its links the evidence that the page gives now."""
        url_table = self._url_table
        queue = self._crawl.frontier.queues[url_table.queue[stored.id]]
        parent = Parent(
            id=stored.id,
            nth=self.counts.pages + self.counts.unscored,
            depth=url_table.depth[stored.id],
            host=queue.host.name,
            pattern=queue.pattern,
            relevance=page.relevance,
            relevant=page.is_relevant,
            link_evidence=url_table.link_evidence(stored.id),
            index=page.is_index_page,
            named=page.index_topic_score,
        )
        evidence = self._crawl.link_handler.link_evidence(parent, page.links)
        for link, link_evidence in zip(page.links, evidence, strict=False):
            target = url_table.find(link.key)
            if (
                link_evidence is not None
                and target >= 0
                and url_table.priority[target] < SEED_PRIORITY
            ):
                self._raise_evidence(target, link_evidence, stored.id, link)

    def _raise_evidence(
        self, target: int, link_evidence: Sequence[float], parent: int, link: Link
    ) -> None:
        url_table, strategy = self._url_table, self._crawl.strategy
        old = url_table.link_evidence(target)
        is_waiting = url_table.state[target] == UrlState.WAITING
        if not self._is_replaced[target]:
            self._is_replaced[target] = 1
            source = url_table.parent[target]
            if source >= 0 and url_table.state[source] == UrlState.DROPPED:
                self._redirected.append((source, target))
            if is_waiting:
                self._old_evidence[target] = old
            new, is_better = tuple(link_evidence), True
        elif url_table.improves(target, link_evidence):
            new = tuple(map(max, old, link_evidence))
            is_better = strategy.priority(target, new) > strategy.priority(target, old)
        else:
            return
        url_table.set_link_evidence(target, new)
        if is_waiting and is_better and url_table.parent[target] != parent:
            url_table.parent[target] = parent
            self._new_anchors[target] = link.anchor

    def make_batch(self, now: float) -> Batch:
        """Return all changes, for the store."""
        url_table, unit_of_work = self._url_table, self._crawl.unit_of_work
        if self._rewards_changed:
            self._crawl.link_handler.hit_rates.update_all_bonuses()
            self._crawl.link_handler.hit_rates.set_newcomer_bonus()
        for source, target in self._redirected:
            url_table.set_link_evidence(
                target,
                tuple(map(max, url_table.link_evidence(source), url_table.link_evidence(target))),
            )
        changes = []
        for url_id in url_table.waiting_ids():
            self.counts.waiting += 1
            priority = self._crawl.ranker.present_priority(url_id)
            link_evidence = url_table.link_evidence(url_id)
            is_changed = abs(priority - url_table.priority[url_id]) > 1e-9
            self.counts.moved += is_changed
            if (
                is_changed
                or url_id in self._new_anchors
                or link_evidence != self._old_evidence.get(url_id, link_evidence)
            ):
                changes.append(self._make_change(url_id, priority, link_evidence))
        return Batch(
            queues=[unit_of_work.queue_row(queue) for queue in self._crawl.frontier.queues],
            priority_changes=changes,
            counters=msgspec.structs.asdict(unit_of_work.totals),
            now=now,
        )

    def _make_change(
        self, url_id: int, priority: float, link_evidence: tuple[float, ...]
    ) -> PriorityChange:
        anchor = self._new_anchors.get(url_id)
        return PriorityChange(
            id=url_id,
            priority=priority,
            link_evidence=link_evidence,
            parent_id=None if anchor is None else self._url_table.parent[url_id],
            anchor=anchor or "",
        )
