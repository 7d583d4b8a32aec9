"""Hit rates of queues, hosts and hubs: where this crawl pays, and what follows.

Every request is counted for its queue (a host's URLs of one pattern), its host and its
hub (the page whose link brought it here). A strategy that learns turns the rates into
what is added to priorities: per queue (`Frontier.set_bonus`), and per hub, for the
URLs that still wait on it. Rewards are soft: the strategy's `reward` of a page, a failure 0.

A host that links lead to and that was never tried is a *newcomer*: it stands by what such
hosts have brought so far (`newcomer_bonus`), but one in `EXPLORED`, which stands as if nothing
were known of them: so newcomers are tried however poor the others were, and may recover.

Queues run dry: one that has given its good pages goes on to give its poor ones. So the rates
that steer are counted by `Recent`, in which every further request to the host lets the earlier
ones count less.
"""

from __future__ import annotations

from collections.abc import Iterable

from focus.admission.domain_budget import DomainBudget
from focus.config import TrapConfig
from focus.engine.ranking import Ranker
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.records import AGAIN_PRIORITY, Page, Recent, Tally, UrlState
from focus.scheduling.queues import Host, Queue
from focus.scheduling.url_table import UrlTable

_NOTHING = Tally()
_NOTHING_YET = Recent()
EXPLORED = 10  # one newcomer in so many stands as if nothing were known of newcomers
_FEW_QUEUES = 64  # of a host: beyond, only the queue itself is looked at after each request


class HitRates:
    """Tallies of one crawl. `domains`: the budgets that hosts share, by what they brought."""

    def __init__(
        self,
        ranker: Ranker,
        *,
        url_table: UrlTable,
        frontier: Frontier,
        unit_of_work: UnitOfWork,
        traps: TrapConfig,
    ) -> None:
        self._ranker = ranker
        self._strategy = ranker.strategy
        self._url_table = url_table
        self._frontier = frontier
        self._unit_of_work = unit_of_work
        self._hosts: dict[int, Tally] = {}
        self._recent: dict[int, Recent] = {}  # by host
        self._newcomer_bonus = 0.0
        self.domains = DomainBudget(traps, frontier.hosts, self._hosts)

    def tallies(self, queue: Queue) -> tuple[Tally, Tally]:
        """What a queue and its host have brought."""
        tallies = self._unit_of_work.queue_tallies
        return tallies.get(queue.id, _NOTHING), self._hosts.get(queue.host.id, _NOTHING)

    def outcome(self, url_id: int, page: Page | None) -> None:
        """A request for a URL came to its end; `page` None: it brought none."""
        reward = self._strategy.reward(page) if page is not None else 0.0
        queue = self._frontier.queues[self._url_table.queue[url_id]]
        first = not self.requests(queue.host)
        self.count(queue, Tally(1, reward))
        self._unit_of_work.queue_changed(queue)
        if not self._strategy.learns:
            return
        self._remember(queue, reward)
        siblings = queue.host.queues.values()
        for other in siblings if first or len(siblings) <= _FEW_QUEUES else (queue,):
            self._set_bonus(other)
        hub = self._url_table.parent[url_id]
        if first and self._url_table.depth[url_id]:
            self.newcomer_came(reward)
        if hub >= 0:
            before = self._ranker.hubs.get(hub) or _NOTHING
            tally = self._ranker.count_hub(hub, Tally(1, reward))
            self._unit_of_work.hub_changed(hub, tally)
            self._reweigh_children(hub, before, tally)

    @property
    def newcomers(self) -> Tally:
        """The newcomers that were tried, and what their first pages brought."""
        totals = self._unit_of_work.totals
        return Tally(totals.newcomers, totals.newcomers_yielded)

    def newcomer_came(self, reward: float) -> None:
        """A newcomer was tried; what its first page brought."""
        totals = self._unit_of_work.totals
        totals.newcomers += 1
        totals.newcomers_yielded += reward
        self.set_newcomer_bonus()

    def lost(self, host: Host, seeds: Iterable[int]) -> None:
        """A host is given up; if it was a newcomer, it brought nothing."""
        homes = {self._frontier.queues[self._url_table.queue[seed]].host for seed in seeds}
        if self._strategy.learns and not self.requests(host) and host not in homes:
            self.newcomer_came(0.0)

    def set_newcomer_bonus(self) -> None:
        """Let newcomers stand by what those have brought that were tried."""
        bonus = self._strategy.newcomer_bonus(self.newcomers)
        if bonus != self._newcomer_bonus:
            self._newcomer_bonus = bonus
            for host in self._frontier.hosts:
                for queue in host.queues.values():
                    self.welcome(queue)

    def welcome(self, queue: Queue) -> None:
        """Let a queue of a newcomer stand where newcomers do."""
        if not self.requests(queue.host) and queue.host.id % EXPLORED:
            self._frontier.set_bonus(queue, self._newcomer_bonus)

    def count(self, queue: Queue, more: Tally) -> None:
        """Add to the tallies of a queue, its host and its domain."""
        host = self._hosts.setdefault(queue.host.id, Tally())
        for tally in (self._unit_of_work.queue_tallies.setdefault(queue.id, Tally()), host):
            tally.fetched += more.fetched
            tally.yielded += more.yielded
        self.domains.count(queue.host, more)

    def of_host(self, host: Host) -> Tally:
        """What a host has brought."""
        return self._hosts.get(host.id, _NOTHING)

    def requests(self, host: Host) -> int:
        """Requests to a host that came to their end."""
        return self.of_host(host).fetched

    def amend(self, queue: Queue, change: float, nth: int) -> None:
        """The request that was `nth`-th to its host had another reward than was counted."""
        self.count(queue, Tally(0, change))
        if not self._strategy.learns:
            return
        fade = self._strategy.fade
        for recent in (self._unit_of_work.recent.get(queue.id), self._recent.get(queue.host.id)):
            if recent is not None:
                recent.yielded += change * fade ** (recent.at - nth)

    def _remember(self, queue: Queue, reward: float) -> None:
        """One more request to a queue: all before it to the host fade."""
        at, fade = self.requests(queue.host), self._strategy.fade
        for url_table, key in (
            (self._unit_of_work.recent, queue.id),
            (self._recent, queue.host.id),
        ):
            recent = url_table.get(key, _NOTHING_YET).faded(at, fade)
            recent.fetched += 1.0
            recent.yielded += reward
            url_table[key] = recent

    def restore(self, queue: Queue, tally: Tally, recent: Recent) -> None:
        """What an earlier run has counted for a queue; then `restore_hosts`."""
        self.count(queue, tally)
        if self._strategy.learns:
            self._unit_of_work.recent[queue.id] = recent

    def restore_hosts(self) -> None:
        """What is recent of a host is what is recent of its queues."""
        for queue_id, recent in self._unit_of_work.recent.items():
            queue = self._frontier.queues[queue_id]
            at = self.requests(queue.host)
            recent = recent.faded(at, self._strategy.fade)
            host = self._recent.setdefault(queue.host.id, Recent(at=at))
            host.fetched += recent.fetched
            host.yielded += recent.yielded

    def reset_bonuses(self) -> None:
        """Set the bonuses of all queues by the tallies that were counted."""
        for queue in self._frontier.queues:
            self._set_bonus(queue)

    def _set_bonus(self, queue: Queue) -> None:
        if not self.requests(queue.host):
            return self.welcome(queue)
        host = self._recent.get(queue.host.id, _NOTHING_YET)
        recent = self._unit_of_work.recent.get(queue.id, _NOTHING_YET)
        bonus = self._strategy.bonus(recent.faded(host.at, self._strategy.fade), host)
        if bonus != queue.bonus:
            self._frontier.set_bonus(queue, bonus)
            self._unit_of_work.queue_changed(queue)

    def _reweigh_children(self, hub: int, before: Tally, tally: Tally) -> None:
        """The rate of a hub has changed: its waiting children rise by what it adds now.

        Those that fall stay where they stand: the frontier asks again before it takes one. So
        none is below what the rate before has earned it, and only a better one lifts any.
        """
        table, strategy = self._url_table, self._strategy
        bonus = strategy.hub_bonus(tally)
        if bonus <= strategy.hub_bonus(before) and not strategy.moves:
            return
        parent, state, waiting = table.parent, table.state, UrlState.WAITING
        for child in strategy.graph.row(hub):
            if parent[child] != hub or state[child] != waiting:
                continue
            if table.priority[child] > AGAIN_PRIORITY:
                priority = strategy.priority(child, table.link_evidence(child)) + bonus
                if priority > table.priority[child]:
                    self._frontier.set_priority(child, priority)
                    self._unit_of_work.improved(child)
