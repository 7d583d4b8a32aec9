"""Takes in a page's links: new URLs, better evidence, ranks, and the priorities that follow.

    expand       the links of a page: each target known or new, the graph, the priorities
    offer        any other URL, as a seed, a redirect's target or a sitemap
    enter        a URL becomes known: host, queue, state

A URL keeps the largest of each float of evidence that any link gave it; its priority
is the strategy's function of that, so it only rises, whoever links to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import msgspec

from focus.admission.scope import Scope
from focus.admission.traps import Suspicion, Traps
from focus.config import TrapConfig
from focus.engine.hit_rates import HitRates
from focus.engine.partition import Crossing, Partition
from focus.engine.ranking import Ranker
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.records import (
    AGAIN_PRIORITY,
    SEED_PRIORITY,
    DropReason,
    FailureKind,
    Link,
    UrlRow,
    UrlState,
)
from focus.scheduling.queues import Queue
from focus.scheduling.url_table import UrlTable
from focus.score.strategy import LinkEvidence, Parent, Strategy
from focus.urls.normal_form import host_of, url_pattern


class LinkHandler:
    """Turns links into known URLs with priorities.

    partition     takes the URLs of hosts that are not this crawl's own
    min_priority  new URLs under it are dropped
    nofollow      what links with rel=nofollow are worth: follow, weigh or skip
    """

    def __init__(
        self,
        ranker: Ranker,
        *,
        url_table: UrlTable,
        frontier: Frontier,
        unit_of_work: UnitOfWork,
        scope: Scope,
        partition: Partition | None = None,
        traps: Traps | None = None,
        min_priority: float | None = None,
        nofollow: str = "follow",
    ) -> None:
        self.strategy: Strategy = ranker.strategy
        self.url_table = url_table
        self.frontier = frontier
        self.unit_of_work = unit_of_work
        self.scope = scope
        self.traps = traps or Traps(TrapConfig(is_on=False), now=0.0)
        self.partition = partition or Partition()
        self._ranker = ranker
        self._priority = ranker.priority
        self._min_priority = min_priority
        self._nofollow = nofollow
        self._fresh: dict[int, UrlRow] = {}  # known since just now, priority not made yet
        self.hit_rates = HitRates(
            ranker,
            url_table=url_table,
            frontier=frontier,
            unit_of_work=unit_of_work,
            traps=self.traps.config,
        )
        self.domains = self.hit_rates.domains

    def expand(self, parent: Parent, links: Sequence[Link]) -> list[int]:
        """Take in a page's links; the ids of those that are followed.

        The graph comes before the priorities, so that a child's rank counts this page.
        """
        found = self.url_table.find_all([link.key for link in links])
        evidence: Sequence[LinkEvidence | None]
        if self.strategy.follows_all:
            evidence = self._evidence_wanted(parent, links, found)
        else:
            evidence = self.evidence(parent, links)
        if not self.partition.is_whole:
            evidence = self.partition.part(parent, links, evidence)
        targets, followed, entered = [], [], dict[bytes, int]()
        for target, link, link_evidence in zip(found, links, evidence, strict=True):
            if link_evidence is None:
                continue
            if target < 0 and (target := entered.get(link.key, -1)) < 0:
                if (target := self._enter_link(link, parent)) < 0:
                    continue
                entered[link.key] = target
            targets.append(target)
            followed.append((target, link.anchor, link_evidence))
        risen = self.strategy.graph.add(parent.id, targets)
        state, waiting = self.url_table.state, UrlState.WAITING
        for target, anchor, link_evidence in followed:
            if state[target] == waiting:
                self._weigh(target, link_evidence, parent.id, anchor)
        if self.strategy.moves:
            for target in sorted(risen):
                if state[target] == waiting:
                    self._rerank(target)
        return targets

    def _evidence_wanted(
        self, parent: Parent, links: Sequence[Link], found: Sequence[int]
    ) -> list[LinkEvidence | None]:
        """`evidence`, but () for links to URLs that have come to an end: it is of no use there."""
        state, waiting = self.url_table.state, UrlState.WAITING
        wanted = [target < 0 or state[target] == waiting for target in found]
        made = iter(self.evidence(parent, [*compress(links, wanted)]))
        return [next(made) if each else () for each in wanted]

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        """What each link gives its target, None: it is not followed.

        One with rel=nofollow, where that is to weigh, gives what it would on a page half as
        relevant and off topic, itself half as promising; never more than without.
        """
        evidence = self.strategy.evidence(parent, links)
        if self._nofollow == "follow" or not any(link.nofollow for link in links):
            return evidence
        weak: Sequence[LinkEvidence | None] = [None] * len(links)
        if self._nofollow == "weigh":
            weak = self.strategy.evidence(_halved_parent(parent), [*map(_halved, links)])
        return [
            _lesser(link_evidence, less) if link.nofollow else link_evidence
            for link, link_evidence, less in zip(links, evidence, weak, strict=True)
        ]

    def _enter_link(self, link: Link, parent: Parent) -> int:
        """The id of a link that is not known yet, -1 if it is not to be.

        It lies too deep, or its host would be one too many of its domain.
        """
        max_depth = self.scope.max_depth
        if max_depth is not None and parent.depth >= max_depth:
            return -1
        if not (self.frontier.has_host(link.host) or self.domains.has_room(link.host)):
            self.unit_of_work.drops[DropReason.TRAP_HOSTS] += 1
            return -1
        blank = UrlRow(
            id=-1,
            key=link.key,
            url=link.url,
            queue=-1,
            depth=parent.depth + 1,
            priority=0.0,
            parent=parent.id,
            anchor=link.anchor,
        )
        return self.enter(blank, link.host, link.pattern)

    def wants_wording(self, url_id: int) -> bool:
        """Whether traps will compare the text of a page that is asked for now."""
        queue = self.frontier.queues[self.url_table.queue[url_id]]
        return self.traps.wants_wording(queue, self.hit_rates.tallies(queue)[0].fetched)

    def enter(
        self, row: UrlRow, host_name: str = "", pattern: str = "", *, listing: bool = False
    ) -> int:
        """Make a URL known; its id. It waits for its evidence unless it is not wanted."""
        host = self.frontier.host(host_name or host_of(row.url))
        if not pattern and (self.strategy.url_patterns or self.traps.wants_patterns(host)):
            pattern = url_pattern(row.url)
        queue = self.frontier.queue(host, pattern)
        if self.strategy.learns:
            self.hit_rates.welcome(queue)
        self.traps.count(host)
        self.domains.look()
        self.unit_of_work.place_known(host, queue)
        reason = self.scope.reason_against(row.url, host.name, listing=listing)
        state, why, detail = UrlState.WAITING, "", ""
        if reason is not None:
            state, why = UrlState.DROPPED, str(reason)
        elif not listing and (trap := self._trap(row, queue)) is not None:
            state, why, detail = UrlState.DROPPED, str(trap.reason), trap.detail
        url_id = self.url_table.add(row.key, queue.id, row.depth, state)
        if row.hops:
            self.url_table.hops[url_id] = row.hops
        self.url_table.parent[url_id] = -1 if row.parent is None else row.parent
        self.strategy.graph.grow(url_id + 1)
        if state is UrlState.WAITING:
            self._fresh[url_id] = row
        else:
            dropped = msgspec.structs.replace(
                row, id=url_id, queue=queue.id, state=state, reason=why, detail=detail
            )
            self.unit_of_work.discovered(dropped)
        return url_id

    def offer(
        self, row: UrlRow, *, listing: bool = False, is_home: bool = False, typed: str = ""
    ) -> int:
        """Make a URL known, with its evidence and at least its priority, here or where it belongs.

        Its id; -1: its host is another crawl's. For all but a page's links (`expand`).
        """
        host = host_of(row.url)
        if not self.partition.owns(host):
            self.partition.forward(Crossing(row, listing, is_home, typed))
            return -1
        url_id = self.url_table.find(row.key)
        if url_id < 0:
            url_id = self.enter(row, host, listing=listing)
        self.strengthen(url_id, row.link_evidence, row.priority, row.parent)
        return url_id

    def arrive(self, row: UrlRow, *, listing: bool = False) -> int:
        """A URL with its evidence (priority: at least that) from another crawl; its id."""
        url_id = self.url_table.find(row.key)
        if url_id < 0:
            url_id = self.enter(row, listing=listing)
        if self.url_table.state[url_id] == UrlState.WAITING:
            self._weigh(url_id, row.link_evidence, None, row.anchor)
            if row.priority > 0.0:
                self.strengthen(url_id, row.link_evidence, row.priority, None)
        return url_id

    def _trap(self, row: UrlRow, queue: Queue) -> Suspicion | None:
        """Why a new URL is taken for part of a trap; seeds never are."""
        if row.parent is None and row.depth == 0:
            return None
        spent = self.spent(queue)
        if spent:
            return Suspicion(DropReason.TRAP_BUDGET, spent)
        return self.traps.look(row.url, queue.host)

    def spent(self, queue: Queue) -> str:
        """Why no more of a queue is to be asked for, "" if nothing speaks against it."""
        by_pattern = self.traps.is_spent(queue, *self.hit_rates.tallies(queue))
        return by_pattern or self.domains.is_spent(queue.host)

    def spent_on(self, url_id: int, priority: float) -> str:
        """The same of a URL that is about to be asked for; seeds always are."""
        if priority >= SEED_PRIORITY:
            return ""
        return self.spent(self.frontier.queues[self.url_table.queue[url_id]])

    def _weigh(
        self, target: int, link_evidence: LinkEvidence, parent: int | None, anchor: str
    ) -> None:
        """Add a link's evidence to a waiting URL; most links to known URLs bring none."""
        url_table = self.url_table
        fresh = self._fresh.pop(target, None)
        if fresh is not None:
            url_table.set_link_evidence(target, link_evidence)
            self._admit(target, fresh, self._priority(target), url_table.link_evidence(target))
        elif (
            url_table.improves(target, link_evidence)
            and url_table.priority[target] > AGAIN_PRIORITY
        ):
            self._gain(target, link_evidence, parent, anchor)

    def _gain(
        self, target: int, link_evidence: LinkEvidence, parent: int | None, anchor: str
    ) -> None:
        """Keep what is better in a link's evidence; its URL rises in the frontier if that helps."""
        url_table, of_evidence = self.url_table, self.strategy.priority
        old = url_table.link_evidence(target)
        before = of_evidence(target, old)
        url_table.set_link_evidence(target, tuple(map(max, link_evidence, old)))
        after = of_evidence(target, url_table.link_evidence(target))
        if after <= before:
            parent = None
        elif parent is not None:
            url_table.parent[target] = parent
        priority = self._ranker.with_hub(target, after)
        if priority > url_table.priority[target]:
            self.frontier.set_priority(target, priority)
        self.unit_of_work.improved(target, parent, anchor)

    def _rerank(self, target: int) -> None:
        """The graph has changed: a waiting URL rises in the frontier if that helps."""
        kept = self.url_table.priority[target]
        if kept > AGAIN_PRIORITY and (priority := self._priority(target)) > kept:
            self.frontier.set_priority(target, priority)
            self.unit_of_work.improved(target)

    def _admit(
        self, url_id: int, row: UrlRow, priority: float, link_evidence: LinkEvidence
    ) -> None:
        """A new URL has its priority: into the frontier, or dropped if that is too low."""
        queue = self.frontier.queues[self.url_table.queue[url_id]]
        state, reason = UrlState.WAITING, ""
        if self._min_priority is not None and priority < self._min_priority:
            state, reason = UrlState.DROPPED, str(DropReason.PRIORITY)
        elif queue.host.is_abandoned:
            state, reason = UrlState.FAILED, str(FailureKind.HOST_GIVEN_UP)
        if state is UrlState.WAITING:
            self.frontier.push(url_id, row.url, priority)
        else:
            self.url_table.set_state(url_id, state)
        row = msgspec.structs.replace(
            row,
            id=url_id,
            queue=queue.id,
            priority=priority,
            link_evidence=link_evidence,
            state=state,
            reason=reason,
        )
        self.unit_of_work.discovered(row)

    def strengthen(
        self, target: int, link_evidence: LinkEvidence, priority: float, parent: int | None
    ) -> None:
        """Give a waiting URL this evidence and at least this priority (seeds, redirects)."""
        is_waiting = self.url_table.state[target] == UrlState.WAITING
        if not is_waiting or self.url_table.priority[target] <= AGAIN_PRIORITY:
            return
        fresh = self._fresh.pop(target, None)
        if fresh is not None:
            self.url_table.set_link_evidence(target, link_evidence)
            self._admit(target, fresh, priority, link_evidence)
            return
        self._weigh(target, link_evidence, parent, "")
        if priority > self.url_table.priority[target]:
            self.frontier.set_priority(target, priority)
            self.unit_of_work.improved(target)


def _halved_parent(parent: Parent) -> Parent:
    return msgspec.structs.replace(parent, relevance=parent.relevance / 2, relevant=False)


def _halved(link: Link) -> Link:
    return msgspec.structs.replace(
        link,
        anchor_score=link.anchor_score / 2,
        url_score=link.url_score / 2,
        heading_score=link.heading_score / 2,
        context_score=link.context_score / 2,
        cosine_score=link.cosine_score / 2,
        euclid_score=link.euclid_score / 2,
    )


def _lesser(one: LinkEvidence | None, other: LinkEvidence | None) -> LinkEvidence | None:
    return None if one is None or other is None else tuple(map(min, one, other))
