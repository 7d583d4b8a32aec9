"""Hit rates of queues, hosts and hub pages, and the bonuses that follow from them.

Every request is counted for its queue (a host's URLs of one pattern), its host and its hub page
(the page whose link led to the URL). A strategy that learns turns the rates into bonuses that are
added to priorities: one per queue (`Frontier.set_bonus`), and one per hub page for its waiting
links. A reward is a number: the strategy's `reward` of a page, 0 for a failure.

A host that was never requested is a *newcomer*. Its bonus follows from the rewards of newcomers so
far (`newcomer_bonus`), except for one newcomer in `EXPLORATION_INTERVAL`, which has no bonus, so
that newcomers are tried even if all earlier ones were poor.

A queue that has given its good pages goes on to give its poor ones. Bonuses therefore use `Recent`
tallies, in which each further request to the host lowers the weight of the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from focus.admission.domain_budget import DomainBudget
from focus.config import TrapConfig
from focus.engine.fallback import Fallback
from focus.engine.ranking import Ranker
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.records import DEFERRED_PRIORITY, Page, RecentTally, Tally, UrlState
from focus.scheduling.queues import Host, Queue
from focus.scheduling.url_table import UrlTable

_NO_TALLY = Tally()
_NO_RECENT = RecentTally()
EXPLORATION_INTERVAL = 10  # one newcomer in this many has no bonus
_MAX_QUEUES_UPDATED = 64  # per request
_MAX_URLS_RAISED = 64  # per request


class HitRates:
    """Tallies of one crawl. `domains` holds the budgets of registered domains."""

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
        self._recent: dict[int, RecentTally] = {}  # by host
        self._newcomer_bonus = 0.0
        self._fallback = Fallback(ranker, url_table, frontier, unit_of_work)
        self.domains = DomainBudget(traps, frontier.hosts, self._hosts)

    def tallies(self, queue: Queue) -> tuple[Tally, Tally]:
        """Return the tallies of a queue and of its host."""
        tallies = self._unit_of_work.queue_tallies
        return tallies.get(queue.id, _NO_TALLY), self._hosts.get(queue.host.id, _NO_TALLY)

    def count_result(self, url_id: int, page: Page | None) -> None:
        """Count a finished request; `page` is None if it returned no page."""
        reward = self._strategy.reward(page) if page is not None else 0.0
        queue = self._frontier.queues[self._url_table.queue[url_id]]
        first = not self.request_count(queue.host)
        self.add_tally(queue, Tally(1, reward))
        self._unit_of_work.update_queue(queue)
        if not self._strategy.learns:
            return
        self._update_recent(queue, reward)
        for queue_to_update in self._queues_to_update(queue, is_first=first):
            self._set_bonus(queue_to_update)
        hub = self._url_table.parent[url_id]
        if self._url_table.depth[url_id]:
            self._fallback.count_result(url_id, reward)
            self._count_link(url_id, reward)
            if first:
                self.count_newcomer(reward)
        if hub >= 0:
            before = self._ranker.hubs.get(hub) or _NO_TALLY
            tally = self._ranker.count_hub(hub, Tally(1, reward))
            self._unit_of_work.update_hub(hub, tally)
            self._raise_children(hub, before, tally)

    def _count_link(self, url_id: int, reward: float) -> None:
        """Count a request for the kinds of links that lead to its URL."""
        totals, link_evidence = self._unit_of_work.totals, self._url_table.link_evidence(url_id)
        if self._strategy.names_subtopic(link_evidence):
            totals.subtopics += 1
            totals.subtopics_yielded += reward
        if self._strategy.is_near(link_evidence):
            totals.near += 1
            totals.near_yielded += reward
        else:
            totals.far += 1
            totals.far_yielded += reward
        if self.set_link_rates():
            totals.urls_to_raise = len(self._url_table)
        self._raise_urls()

    def set_link_rates(self) -> bool:
        """Give the strategy the tallies of each kind of link; return whether priorities rise."""
        totals = self._unit_of_work.totals
        return self._strategy.set_link_rates(
            Tally(totals.near, totals.near_yielded),
            Tally(totals.far, totals.far_yielded),
            Tally(totals.subtopics, totals.subtopics_yielded),
        )

    def _raise_urls(self) -> None:
        """Raise the priorities of some waiting URLs after the rate of a kind of link has risen.

        The newest come first. Each request continues, so that none takes long.
        """
        totals, table = self._unit_of_work.totals, self._url_table
        end = totals.urls_to_raise
        totals.urls_to_raise = start = max(0, end - _MAX_URLS_RAISED)
        for url_id in range(end - 1, start - 1, -1):
            if table.state[url_id] == UrlState.WAITING:
                self._raise_url(url_id, self._ranker.present_priority(url_id))

    @property
    def newcomers(self) -> Tally:
        """Tally of newcomers that were requested, and the rewards of their first pages."""
        totals = self._unit_of_work.totals
        return Tally(totals.newcomers, totals.newcomers_yielded)

    def count_newcomer(self, reward: float) -> None:
        """Count a newcomer with the reward of its first page."""
        totals = self._unit_of_work.totals
        totals.newcomers += 1
        totals.newcomers_yielded += reward
        self.set_newcomer_bonus()

    def count_abandoned_newcomer(self, host: Host, seeds: Iterable[int]) -> None:
        """Count an abandoned host as a newcomer without reward, if it was one."""
        homes = {self._frontier.queues[self._url_table.queue[seed]].host for seed in seeds}
        if self._strategy.learns and not self.request_count(host) and host not in homes:
            self.count_newcomer(0.0)

    def set_newcomer_bonus(self) -> None:
        """Update the bonus of all newcomers from the rewards of those that were requested."""
        bonus = self._strategy.newcomer_bonus(self.newcomers)
        if bonus != self._newcomer_bonus:
            self._newcomer_bonus = bonus
            for host in self._frontier.hosts:
                for queue in host.queues.values():
                    self.set_newcomer_queue_bonus(queue)

    def set_newcomer_queue_bonus(self, queue: Queue) -> None:
        """Set the bonus of a queue if its host is a newcomer."""
        if not self.request_count(queue.host) and queue.host.id % EXPLORATION_INTERVAL:
            self._frontier.set_bonus(queue, self._newcomer_bonus)

    def add_tally(self, queue: Queue, more: Tally) -> None:
        """Add a tally to those of a queue, its host and its domain."""
        host = self._hosts.setdefault(queue.host.id, Tally())
        for tally in (self._unit_of_work.queue_tallies.setdefault(queue.id, Tally()), host):
            tally.requests += more.requests
            tally.rewards += more.rewards
        self.domains.add_requests(queue.host, more)

    def host_tally(self, host: Host) -> Tally:
        """Return the tally of a host."""
        return self._hosts.get(host.id, _NO_TALLY)

    def request_count(self, host: Host) -> int:
        """Return the number of finished requests to a host."""
        return self.host_tally(host).requests

    def correct_reward(self, queue: Queue, change: float, nth: int) -> None:
        """Add `change` to the reward of the `nth` request to a host."""
        self.add_tally(queue, Tally(0, change))
        if not self._strategy.learns:
            return
        fade = self._strategy.hit_rate_decay
        for recent in (self._unit_of_work.recent.get(queue.id), self._recent.get(queue.host.id)):
            if recent is not None:
                recent.rewards += change * fade ** (recent.updated_at_request - nth)

    def correct_page(self, url_id: int, nth: int, change: float) -> None:
        """Add `change` to the reward of a page, the `nth` request to its host, and of its hub."""
        if not change:
            return
        self.correct_reward(self._frontier.queues[self._url_table.queue[url_id]], change, nth)
        if nth == 1 and self._url_table.depth[url_id]:
            self._unit_of_work.totals.newcomers_yielded += change
        if (hub := self._url_table.parent[url_id]) >= 0:
            self._unit_of_work.update_hub(hub, self._ranker.count_hub(hub, Tally(0, change)))

    def _queues_to_update(self, queue: Queue, *, is_first: bool) -> Sequence[Queue]:
        """Return the queue and those of its host whose bonus follows from the host's rate.

        With more than `_MAX_QUEUES_UPDATED` queues each request updates that many, in turn.
        """
        siblings = list(queue.host.queues.values())
        if is_first or len(siblings) <= _MAX_QUEUES_UPDATED:
            return siblings
        start = self.request_count(queue.host) * _MAX_QUEUES_UPDATED % len(siblings)
        return [queue, *(siblings + siblings)[start : start + _MAX_QUEUES_UPDATED]]

    def _update_recent(self, queue: Queue, reward: float) -> None:
        """Add a reward to the recent tallies; the earlier ones of the host decay."""
        at, fade = self.request_count(queue.host), self._strategy.hit_rate_decay
        for url_table, key in (
            (self._unit_of_work.recent, queue.id),
            (self._recent, queue.host.id),
        ):
            recent = url_table.get(key, _NO_RECENT).decayed(at, fade)
            recent.requests += 1.0
            recent.rewards += reward
            url_table[key] = recent

    def restore(self, queue: Queue, tally: Tally, recent: RecentTally) -> None:
        """Restore the tallies of a queue from an earlier run; call `restore_hosts` afterwards."""
        self.add_tally(queue, tally)
        if self._strategy.learns:
            self._unit_of_work.recent[queue.id] = recent

    def restore_hosts(self) -> None:
        """Restore the recent tallies of hosts from those of their queues."""
        for queue_id, recent in self._unit_of_work.recent.items():
            queue = self._frontier.queues[queue_id]
            at = self.request_count(queue.host)
            recent = recent.decayed(at, self._strategy.hit_rate_decay)
            host = self._recent.setdefault(queue.host.id, RecentTally(updated_at_request=at))
            host.requests += recent.requests
            host.rewards += recent.rewards

    def update_all_bonuses(self) -> None:
        """Compute the bonuses of all queues from their tallies."""
        for queue in self._frontier.queues:
            self._set_bonus(queue)

    def _set_bonus(self, queue: Queue) -> None:
        """Compute the bonus of a queue from its tallies and those of its host."""
        if not self.request_count(queue.host):
            return self.set_newcomer_queue_bonus(queue)
        host = self._recent.get(queue.host.id, _NO_RECENT)
        recent = self._unit_of_work.recent.get(queue.id, _NO_RECENT)
        bonus = self._strategy.bonus(
            recent.decayed(host.updated_at_request, self._strategy.hit_rate_decay), host
        )
        if bonus != queue.bonus:
            self._frontier.set_bonus(queue, bonus)
            self._unit_of_work.update_queue(queue)

    def _raise_children(self, hub: int, before: Tally, tally: Tally) -> None:
        """Raise the priorities of a hub page's waiting links after its hit rate has risen.

        Priorities that fall are corrected when the frontier is about to take the URL.
        """
        table, strategy = self._url_table, self._strategy
        bonus = strategy.hub_bonus(tally)
        if bonus <= strategy.hub_bonus(before):
            return
        parent, state, waiting = table.parent, table.state, UrlState.WAITING
        for child in strategy.graph.out_links(hub):
            if parent[child] == hub and state[child] == waiting:
                priority = strategy.priority(child, table.link_evidence(child)) + bonus
                self._raise_url(child, priority)

    def _raise_url(self, url_id: int, priority: float) -> None:
        """Set the priority of a waiting URL if it is higher than the present one.

        Deferred URLs keep theirs.
        """
        if DEFERRED_PRIORITY < self._url_table.priority[url_id] < priority:
            self._frontier.set_priority(url_id, priority)
            self._unit_of_work.update_priority(url_id)
