"""Where does this crawl pay? Hit rates of queues, hosts and hubs, and what follows.

Every request is counted for its queue (a host's URLs of one shape), its host and its
hub (the page whose link brought it here). A strategy that learns turns the rates into
what is added to priorities: per queue (`Frontier.set_bonus`), and per hub, for the
URLs that still wait on it. Rewards are soft: a page's relevance in 0…1, a failure 0.
"""

from __future__ import annotations

from collections.abc import Callable

from focus.frontier import Frontier
from focus.known import Known
from focus.ledger import Ledger
from focus.queues import Queue
from focus.records import Page, Tally, UrlState
from focus.score.strategy import Strategy

_NOTHING = Tally()
_FEW_QUEUES = 64  # of a host: beyond, only the queue itself is looked at after each request


class Learning:
    """Tallies of one crawl. `reweigh(url_id, bonus)`: what a URL's hub adds has changed."""

    def __init__(
        self,
        strategy: Strategy,
        *,
        known: Known,
        frontier: Frontier,
        ledger: Ledger,
        reweigh: Callable[[int, float], None],
    ) -> None:
        self._strategy = strategy
        self._known = known
        self._frontier = frontier
        self._ledger = ledger
        self._reweigh = reweigh
        self._hosts: dict[int, Tally] = {}
        self._hubs: dict[int, Tally] = {}

    def tallies(self, queue: Queue) -> tuple[Tally, Tally]:
        """What a queue and its host have brought."""
        tallies = self._ledger.queue_tallies
        return tallies.get(queue.id, _NOTHING), self._hosts.get(queue.host.id, _NOTHING)

    def hub_bonus(self, url_id: int) -> float:
        """What the hub of a URL adds to its priority."""
        hub = self._hubs.get(self._known.parent[url_id])
        return 0.0 if hub is None else self._strategy.hub_bonus(hub)

    def outcome(self, url_id: int, page: Page | None) -> None:
        """A request for a URL came to its end; `page` None: it brought none."""
        reward = min(1.0, max(0.0, page.relevance)) if page is not None else 0.0
        queue = self._frontier.queues[self._known.queue[url_id]]
        self.count(queue, Tally(1, reward))
        self._ledger.queue_changed(queue)
        if not self._strategy.learns:
            return
        siblings = queue.host.queues.values()
        for other in siblings if len(siblings) <= _FEW_QUEUES else (queue,):
            self._set_bonus(other)
        hub = self._known.parent[url_id]
        if hub >= 0:
            self.count_hub(hub, Tally(1, reward))
            self._ledger.hub_changed(hub, self._hubs[hub])
            self._reweigh_children(hub)

    def count(self, queue: Queue, more: Tally) -> None:
        """Add to the tallies of a queue and its host."""
        host = self._hosts.setdefault(queue.host.id, Tally())
        for tally in (self._ledger.queue_tallies.setdefault(queue.id, Tally()), host):
            tally.fetched += more.fetched
            tally.yielded += more.yielded

    def count_hub(self, hub: int, more: Tally) -> None:
        """Add to the tally of a page whose links were followed."""
        tally = self._hubs.setdefault(hub, Tally())
        tally.fetched += more.fetched
        tally.yielded += more.yielded

    def restore(self) -> None:
        """Set the bonuses of all queues by the tallies that were counted."""
        for queue in self._frontier.queues:
            self._set_bonus(queue)

    def _set_bonus(self, queue: Queue) -> None:
        tally = self._ledger.queue_tallies.get(queue.id, _NOTHING)
        host = self._hosts.get(queue.host.id, _NOTHING)
        bonus = self._strategy.bonus(tally, host)
        if bonus != queue.bonus:
            self._frontier.set_bonus(queue, bonus)
            self._ledger.queue_changed(queue)

    def _reweigh_children(self, hub: int) -> None:
        """The rate of a hub has changed: so have the priorities of its waiting children."""
        bonus = self._strategy.hub_bonus(self._hubs[hub])
        parent, state, waiting = self._known.parent, self._known.state, UrlState.WAITING
        for child in self._strategy.graph.row(hub):
            if parent[child] == hub and state[child] == waiting:
                self._reweigh(child, bonus)
