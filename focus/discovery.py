"""What do a page's links tell? New URLs, better evidence, ranks, and so priorities.

    expand       the links of a page: each target known or new, the graph, the priorities
    enter        a URL becomes known: host, queue, state
    strengthen   the target of a redirect takes the place of its source
    learn        what a request brought steers the queues of its host

A URL keeps the largest of each float of evidence that any link gave it; its priority
is the strategy's function of that, so it only rises, whoever links to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from focus.frontier import Frontier, Queue
from focus.known import Known
from focus.ledger import Ledger
from focus.records import (
    SEED_PRIORITY,
    Change,
    DropReason,
    FailureKind,
    Link,
    Page,
    Tally,
    UrlRow,
    UrlState,
)
from focus.scope import Scope
from focus.score.strategy import Carry, Parent, Strategy
from focus.urls import host_of, shape

_RELEARN_EVERY = 64  # requests after which all queues' bonuses are made anew
_NOTHING = Tally()


class Discovery:
    """Turns links into known URLs with priorities. `min_priority`: drop new ones under it."""

    def __init__(
        self,
        strategy: Strategy,
        *,
        known: Known,
        frontier: Frontier,
        ledger: Ledger,
        scope: Scope,
        min_priority: float | None = None,
    ) -> None:
        self.strategy = strategy
        self.known = known
        self.frontier = frontier
        self.ledger = ledger
        self.scope = scope
        self._min_priority = min_priority
        self._fresh: dict[int, UrlRow] = {}  # known since just now, priority not made yet
        self._host_tallies: dict[int, Tally] = {}
        self._tally = Tally()
        self._hubs: dict[int, Tally] = {}

    def expand(self, parent: Parent, links: Sequence[Link]) -> list[int]:
        """Take in a page's links; the ids of those that are followed.

        The graph comes before the priorities, so that a child's rank counts this page.
        """
        carries = self.strategy.carries(parent, links)
        followed = []
        for link, carry in zip(links, carries, strict=True):
            if carry is not None and (target := self._id_of(link, parent)) is not None:
                followed.append((target, link.anchor, carry))
        targets = [target for target, _, _ in followed]
        risen = self.strategy.graph.add(parent.id, targets)
        state = self.known.state
        for target, anchor, carry in followed:
            if state[target] == UrlState.WAITING:
                self._weigh(target, carry, parent.id, anchor)
        if self.strategy.moves:
            for target in sorted(risen.difference(targets)):
                if state[target] == UrlState.WAITING:
                    self._weigh(target, None, None, "")
        return targets

    def _id_of(self, link: Link, parent: Parent) -> int | None:
        found = self.known.find(link.key)
        if found >= 0:
            return found
        max_depth = self.scope.max_depth
        if max_depth is not None and parent.depth >= max_depth:
            return None
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
        return self.enter(blank, link.host, link.shape)

    def enter(self, row: UrlRow, host_name: str = "", url_shape: str = "") -> int:
        """Make a URL known; its id. It waits for its evidence unless it is not wanted."""
        host = self.frontier.host(host_name or host_of(row.url))
        if self.strategy.shapes and not url_shape:
            url_shape = shape(row.url)
        queue = self.frontier.queue(host, url_shape)
        self.ledger.place_known(host, queue)
        reason = self.scope.reason_against(row.url, host.name)
        state, why = UrlState.WAITING, ""
        if host.given_up:
            state, why = UrlState.FAILED, str(FailureKind.HOST_GIVEN_UP)
        if reason is not None:
            state, why = UrlState.DROPPED, str(reason)
        url_id = self.known.add(row.key, queue.id, row.depth, state)
        self.known.hops[url_id] = row.hops
        self.known.parent[url_id] = -1 if row.parent is None else row.parent
        self.strategy.graph.grow(url_id + 1)
        row = msgspec.structs.replace(row, id=url_id, queue=queue.id, state=state, reason=why)
        if state is UrlState.WAITING:
            self._fresh[url_id] = row
        else:
            self.ledger.discovered(row)
        return url_id

    def _weigh(self, target: int, carry: Carry | None, parent: int | None, anchor: str) -> None:
        """Add a link's evidence to a waiting URL; it rises in the frontier if that helps.

        `carry` None: only the graph has changed.
        """
        known = self.known
        fresh = self._fresh.pop(target, None)
        old = known.carry(target)
        if carry is not None:
            known.set_carry(target, carry if fresh else tuple(map(max, old, carry)))
        new = known.carry(target)
        rises_static = fresh is None and parent is not None and new != old and self.strategy.priority(target,new) > self.strategy.priority(target,old)
        if rises_static:
            known.parent[target] = parent
        priority = self.strategy.priority(target, new) + self._hub_bonus(known.parent[target])
        if fresh is not None:
            self._admit(fresh, priority, new)
            return
        rises = priority > known.priority[target]
        if rises:
            self.frontier.improve(target, priority)
        if rises or new != old:
            depth = known.depth[target]
            self.ledger.improved(Change(target, known.priority[target], new, depth, parent, anchor))

    def _admit(self, row: UrlRow, priority: float, carry: Carry) -> None:
        """A new URL has its priority: into the frontier, or dropped if that is too low."""
        row = msgspec.structs.replace(row, priority=priority, carry=carry)
        if self._min_priority is not None and priority < self._min_priority:
            self.known.move(row.id, UrlState.DROPPED)
            reason = str(DropReason.PRIORITY)
            row = msgspec.structs.replace(row, state=UrlState.DROPPED, reason=reason)
        else:
            self.frontier.push(row.id, row.url, priority)
        self.ledger.discovered(row)

    def strengthen(self, target: int, carry: Carry, priority: float, parent: int | None) -> None:
        """Give a waiting URL this evidence and at least this priority (seeds, redirects)."""
        if self.known.state[target] != UrlState.WAITING:
            return
        fresh = self._fresh.pop(target, None)
        if fresh is not None:
            self.known.set_carry(target, carry)
            self._admit(fresh, priority, carry)
            return
        self._weigh(target, carry, parent, "")
        if priority > self.known.priority[target]:
            self.frontier.improve(target, priority)
            new, depth = self.known.carry(target), self.known.depth[target]
            self.ledger.improved(Change(target, priority, new, depth, parent, ""))

    def present_priority(self, url_id: int) -> float:
        """The priority of a waiting URL as of now; seeds keep theirs."""
        stored = self.known.priority[url_id]
        if stored >= SEED_PRIORITY:
            return stored
        return self.strategy.priority(url_id, self.known.carry(url_id))

    def _hub_bonus(self, parent: int) -> float:
        tally = self._hubs.get(parent)
        if tally is None:
            return 0.0
        return self.strategy.hub_bonus(tally)

    def learn(self, queue: Queue, page: Page | None, url_id: int) -> None:
        """Count what a request brought, and let it steer the queues (empirical Bayes)."""
        reward = min(1.0, max(0.0, page.relevance)) if page is not None else 0.0
        parent = self.known.parent[url_id]
        if parent >= 0 and self.strategy.params.get("hub"):
            self._hubs.setdefault(parent, Tally()).add(reward)
            bonus = self._hub_bonus(parent)
            known = self.known
            for child in self.strategy.graph.row(parent):
                if known.parent[child] == parent and known.state[child] == UrlState.WAITING:
                    priority = self.strategy.priority(child, known.carry(child)) + bonus
                    if priority != known.priority[child]:
                        self.frontier.improve(child, priority)
                        self.frontier._relist(self.frontier.queues[known.queue[child]])
        self.count(queue, Tally(1, reward))
        self.ledger.queue_changed(queue)
        everywhere = self._tally.fetched % _RELEARN_EVERY == 0
        for other in self.frontier.queues if everywhere else queue.host.queues.values():
            self._set_bonus(other)

    def count(self, queue: Queue, more: Tally) -> None:
        """Add to the tallies of a queue, its host and the crawl."""
        tallies = self.ledger.queue_tallies
        host_tally = self._host_tallies.setdefault(queue.host.id, Tally())
        for tally in (tallies.setdefault(queue.id, Tally()), host_tally, self._tally):
            tally.fetched += more.fetched
            tally.yielded += more.yielded

    def _set_bonus(self, queue: Queue) -> None:
        bonus = self.strategy.bonus(
            self.ledger.queue_tallies.get(queue.id, _NOTHING),
            self._host_tallies.get(queue.host.id, _NOTHING),
            self._tally,
        )
        self.frontier.set_bonus(queue, bonus)
