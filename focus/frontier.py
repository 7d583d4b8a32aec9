"""The frontier: chooses which URL is fetched next and when, best first among hosts that are due.

The life of a URL here
    push      a new URL enters the queue of its host (and URL pattern) with a priority
    improve   better evidence turned up: its priority changes, it moves in the queue
    next      the best URL among the hosts that may be asked now leaves its queue;
              the host is busy until `release`, then rests for the politeness delay
    defer     a URL that failed for now comes back at an instant of its own

Three levels, each a `Ranking` (a heap with lazy deletion): URLs in a queue, queues
in a host, hosts that are due. A host that rests lies on a wheel (a heap by time).
Larger priority = sooner; ties go by discovery order, so that the same input gives
the same order. With `strict` (one request at a time) the best URL of all is taken
and its start put off until its host is due: the order is then the strategy's own,
whatever the delays.

Where requests are limited, poor URLs are held back (`scheduling.holding_back`). Memory is
bounded: past `capacity` the worst URLs of the longest queues are let go, once they are in the
store, and come back by `refill` (`scheduling.url_memory`).
No clock, no I/O: `now` is an argument.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Protocol

from focus.config import PolitenessConfig
from focus.records import FetchResult, UrlState
from focus.scheduling.holding_back import Budget, HoldBack, OtherCrawls
from focus.scheduling.queues import Candidate, Host, Queue, Ranking
from focus.scheduling.retries import LAST_CHANCE
from focus.scheduling.throttling import Addresses, machine, throttled
from focus.scheduling.url_memory import UrlMemory
from focus.scheduling.url_table import UrlTable

ON_ITS_WAY = 0.1
"""Share of the delay that a request may need from here to its server."""


class Ranks(Protocol):
    """The maker of URLs' priorities.

    is_steady  those of waiting URLs never fall by themselves
    patience   URLs that one `next` finds to have fallen before it takes the best as it is
    """

    is_steady: bool
    patience: float

    def present_priority(self, url_id: int) -> float:
        """A waiting URL's priority as of now: asked when it is about to be taken, so that
        strategies may be lazy about numbers that fall."""


class Frontier:
    """The queues of every host and the politeness clock, over the known URLs.

    ranker     makes the priorities; None: they stay as they were given
    others     crawls that share the limits of this one
    capacity   URLs held in memory; the rest waits in the store
    memory     those URLs
    holds      a host's next request waits until the last one is known to have gone out
    is_told    `sent` is called for every request: with several at once on a host, the
               delay then runs between the moments of sending, as a server sees it
               (making a connection takes one longer than another); and addresses rest,
               so that one is asked `per_ip` times in a delay, by all its hosts together
    """

    SLACK = 1.05

    def __init__(
        self,
        url_table: UrlTable,
        politeness: PolitenessConfig,
        ranker: Ranks | None = None,
        *,
        others: OtherCrawls | None = None,
        strict: bool = False,
        capacity: int = 200_000,
        is_told: bool = False,
    ) -> None:
        self.url_table = url_table
        self.hosts: list[Host] = []
        self.queues: list[Queue] = []
        self.memory = UrlMemory(url_table, self.queues, capacity)
        self._is_live = self.memory.is_live
        self._urls, self._is_deferred = self.memory.urls, self.memory.deferred
        self._by_name: dict[str, Host] = {}
        self._ready = Ranking()
        self._wheel: list[tuple[float, int]] = []
        self._deferred: list[tuple[float, int]] = []
        self._per_host = politeness.per_host
        self._delay_s = politeness.delay_s
        rest_s = politeness.delay_s / max(1, politeness.per_ip) if is_told else 0.0
        self._addresses = Addresses(politeness.per_ip, rest_s)
        self._most_rest_s = politeness.max_slowdown_s
        self._strict = strict
        self._takes_up = False
        self._ranker = ranker if ranker is not None and not ranker.is_steady else None
        self._held_back = HoldBack(others)
        self.reconsider = self._held_back.reconsider
        self.holds = is_told and politeness.per_host > 1 and politeness.delay_s > 0

    # -- hosts and queues ---------------------------------------------------------

    def host(self, name: str) -> Host:
        """The host of that name, made if new."""
        host = self._by_name.get(name)
        if host is None:
            host = Host(len(self.hosts), name, self._delay_s)
            self.hosts.append(host)
            self._by_name[name] = host
        return host

    def knows(self, name: str) -> bool:
        """Whether there is a host of that name."""
        return name in self._by_name

    def queue(self, host: Host, pattern: str = "") -> Queue:
        """The queue of a host for a URL pattern, made if new."""
        queue = host.queues.get(pattern)
        if queue is None:
            queue = host.queues[pattern] = Queue(len(self.queues), host, pattern)
            self.queues.append(queue)
        return queue

    def set_bonus(self, queue: Queue, bonus: float) -> None:
        """What a strategy has learned about a queue: added to each priority in it."""
        if bonus != queue.bonus:
            queue.bonus = bonus
            self._relist(queue)

    # -- URLs in ------------------------------------------------------------------

    def push(self, url_id: int, url: str, priority: float) -> None:
        """Let a waiting URL stand in its queue."""
        self._urls[url_id] = url
        self.improve(url_id, priority)

    def improve(self, url_id: int, priority: float) -> None:
        """Give a waiting URL a new priority, higher or lower; it moves in its queue."""
        falls = priority < self.url_table.priority[url_id]
        self.url_table.priority[url_id] = priority
        if url_id in self._is_deferred:
            return
        queue = self.queues[self.url_table.queue[url_id]]
        entry = (-priority, url_id)
        if url_id in self._urls or self.memory.brings(entry, queue):
            heapq.heappush(queue.heap, entry)
        if falls or not queue.heap or queue.heap[0] >= entry:
            self._relist(queue)

    def defer(self, url_id: int, url: str | None, until: float) -> None:
        """Bring a waiting URL back at an instant of its own (a retry). None: it is in the store."""
        if url is not None:
            self._urls[url_id] = url
        self._is_deferred.add(url_id)
        heapq.heappush(self._deferred, (until, url_id))

    # -- URLs out -----------------------------------------------------------------

    def next(self, now: float, budget: Budget | None = None) -> Candidate | None:
        """Take the best URL that may be asked for now; its state becomes FETCHING.

        None: nobody is due (see `next_due`), or nobody with a URL that is good enough while
        better ones rest, or nothing waits at all. Then `occupy` its host when the request goes
        out and `release` it when it has ended, or `put_back` the candidate.

        budget   the requests of a crawl that limits them; None: nothing is held back
        """
        if budget is None or self._strict:
            return self._best(now, -math.inf)
        return self._held_back.choose(self, partial(self._best, now), budget, now)

    def coming(self, by: float) -> Iterator[float]:
        """Priorities of what comes up until then: the best of hosts at rest, and retries; inf
        for an address at rest, whose line is not looked at.
        """
        for at, number in self._wheel:
            host = self.hosts[number]
            if at <= by and at == host.wheel_at and (best := host.order.best()) is not None:
                key = host.order.key(best)
                yield -math.inf if key is None else -key[0]
        for at, url_id in self._deferred:
            if at <= by:
                yield self.url_table.priority[url_id]
        if (rested := self._addresses.next_due()) is not None and rested <= by:
            yield math.inf

    def _best(self, now: float, least: float) -> Candidate | None:
        """The best URL that may be asked for now, if its priority is at least that."""
        self._wake(now)
        tries = 0
        while (host_id := self._ready.best()) is not None:
            key = self._ready.key(host_id)
            if key is not None and -key[0] < least:
                return None
            host = self.hosts[host_id]
            if host.address and not self._has_slot(host):  # others took its address meanwhile
                self._place(host, now)
                continue
            best = host.order.best()
            if best is None:
                self._ready.set(host_id, None)
                self._call_in(host.address, now)  # it leaves its slot to others
                continue
            queue = self.queues[best]
            if not self._is_live(queue.heap[0]):
                self._relist(queue)
                continue
            negated, url_id = queue.heap[0]
            if self._ranker is not None and tries < self._ranker.patience:
                priority = self._ranker.present_priority(url_id)
                if priority < -negated:
                    tries += 1
                    self.improve(url_id, priority)
                    continue
            return self._take(queue, now)
        return None

    def _take(self, queue: Queue, now: float) -> Candidate:
        negated, url_id = heapq.heappop(queue.heap)
        url = self._urls.pop(url_id)
        self.url_table.move(url_id, UrlState.FETCHING)
        self._relist(queue)
        host = queue.host
        start_at = max(now, host.next_at)
        if self._strict:
            start_at = max(start_at, self._addresses.free_at(host.address))
        return Candidate(url_id, url, host, -negated, start_at)

    def occupy(self, host: Host, start_at: float) -> None:
        """Count a request to a host that starts at this instant."""
        host.active += 1
        self._addresses.start(host.address, start_at)
        host.next_at = start_at + host.rest_s
        host.held = self.holds
        self._place(host, start_at)

    def sent(self, host: Host, at: float) -> None:
        """The request that `occupy` counted last went out (or never will)."""
        host.held = False
        host.next_at = max(host.next_at, at + host.rest_s * (1.0 + ON_ITS_WAY))
        self._place(host, at)

    def release(self, host: Host, now: float) -> None:
        """A request to the host has ended: its rest begins.

        With one request at a time the delay runs from the end of the answer, so
        that the server never sees two requests closer than that; with more it
        runs from the sending of the last one, and a little longer, as that may
        still be on its way; but not longer than from an answer that came since.
        """
        host.active -= 1
        self._addresses.add(host.address, -1)
        if self._per_host == 1:
            host.next_at = max(host.next_at, now + host.rest_s)
        elif self.holds and not host.held:
            host.next_at = min(host.next_at, now + host.rest_s)
        self._place(host, now)
        self._call_in(host.address, now)

    def _call_in(self, address: str, now: float) -> None:
        """Hosts in line for an address come forward until one of them can be asked at once."""
        while address and (number := self._addresses.next(address)) is not None:
            host = self.hosts[number]
            self._place(host, now)
            if host.free and host.order.best() is not None:
                return

    def answered(self, host: Host, answer: FetchResult, now: float) -> None:
        """What an answer tells of its host (before `release`): address, and how slow it is."""
        host.located = bool(answer.address)
        self._settle(host, answer.address or "", now)
        host.throttle = throttled(host.throttle, answer.elapsed_s, answer.status, self._most_rest_s)

    def located(self, host: Host, address: str, now: float) -> None:
        """A host's name was looked up; "": it has no address now, which its request will tell."""
        host.located = True
        self._settle(host, address, now)
        self.rest(host, 0.0, now)

    def _settle(self, host: Host, address: str, now: float) -> None:
        """Take a host for one of those at an address; "" changes nothing."""
        before, found = host.address, machine(address)
        if found and found != before:
            host.address = found
            self._addresses.add(before, -host.active)
            self._addresses.add(found, host.active)
            self._call_in(before, now)

    def put_back(self, candidate: Candidate) -> None:
        """Undo a `next` whose request was not made."""
        self.url_table.move(candidate.id, UrlState.WAITING)
        self.push(candidate.id, candidate.url, candidate.priority)

    def rest(self, host: Host, until: float, now: float) -> None:
        """Put a host aside until an instant (inf: until told otherwise)."""
        host.rest_until = until
        self._place(host, now)

    def give_up(self, host: Host) -> list[int]:
        """Close a host's queues; the waiting URLs that memory held of them."""
        host.given_up = True
        host.free = False
        queues = self.queues
        left = [i for i in self._is_deferred if queues[self.url_table.queue[i]].host is host]
        for queue in host.queues.values():
            left += [entry[1] for entry in self.memory.live(queue)]
            queue.heap = []
            self._relist(queue)
        for url_id in left:
            self._urls.pop(url_id, None)
        self._call_in(host.address, -math.inf)  # the wheel brings them at once
        return left

    def shed(self, most: float) -> list[int]:
        """Let go for good of the worst URLs when too many wait, until `most` are left.

        A pass over all of them, so not for every URL too many: from `SLACK` · most on.
        Returns the ids, worst first, of equals the latest; the caller drops them.
        """
        url_table = self.url_table
        waiting = url_table.counts[UrlState.WAITING]
        if waiting <= self.SLACK * most:
            return []
        worst = heapq.nsmallest(
            waiting - int(most), url_table.waiting(), key=lambda i: (url_table.priority[i], -i)
        )
        self.memory.forget(worst)
        for queue_id in sorted({url_table.queue[url_id] for url_id in worst}):
            self._relist(self.queues[queue_id])
        return worst

    def next_due(self) -> float | None:
        """When a host, address or URL at rest comes up, or those under way hang; None = never."""
        while self._wheel and self.hosts[self._wheel[0][1]].order.best() is None:
            self.hosts[heapq.heappop(self._wheel)[1]].wheel_at = None
        due = [heap[0][0] for heap in (self._wheel, self._deferred) if heap]
        if (rested := self._addresses.next_due()) is not None:
            due.append(rested)
        if (
            patient_until := self._held_back.patient_until
        ) is not None and self._ready.best() is not None:
            due.append(patient_until)
        return min(due) if due else None

    # -- bounded memory -----------------------------------------------------------

    def relist(self, queues: Iterable[Queue]) -> None:
        """Bring the rankings up to date with queues whose heads have changed."""
        for queue in queues:
            self._relist(queue)

    def refill(self, rows: Iterable[tuple[int, str]]) -> None:
        """Let (id, url) that `UrlMemory.recall` has named stand in their queues again."""
        self.relist(dict.fromkeys([self.memory.bring(*row) for row in rows]))

    def reopen(self) -> None:
        """After a restart: all that waits is in the store."""
        self.memory.reopen()
        self.relist(self.queues)

    def lay_aside(self, before: float, *, until_last: bool = False) -> None:
        """After `reopen`: let nothing that waits now be taken, of URLs under that id; `until_last`:
        before nothing else waits (`take_up`).
        """
        self._takes_up = until_last
        self.memory.lay_aside(before)
        self._deferred = [each for each in self._deferred if each[1] >= before]
        heapq.heapify(self._deferred)
        self.relist(self.queues)

    def take_up(self) -> bool:
        """When nothing else waits: let what was laid aside be taken, if that was meant to be;
        whether there is any.
        """
        if not self._takes_up:
            return False
        self._takes_up = False
        found = self.memory.take_up()
        self.relist(self.queues)
        return found

    # -- inside -------------------------------------------------------------------

    def _wake(self, now: float) -> None:
        """Bring back hosts and addresses whose rest is over and URLs whose retry is due."""
        for address in self._addresses.woken(now):
            self._call_in(address, now)
        while self._wheel and self._wheel[0][0] <= now:
            host = self.hosts[heapq.heappop(self._wheel)[1]]
            host.wheel_at = None
            self._place(host, now)
        while self._deferred and self._deferred[0][0] <= now:
            _, url_id = heapq.heappop(self._deferred)
            self._is_deferred.discard(url_id)
            if self.url_table.state[url_id] == UrlState.WAITING:
                self.improve(url_id, self.url_table.priority[url_id])

    def _place(self, host: Host, now: float) -> None:
        """Say anew whether a host may be asked now."""
        host.free = self._has_slot(host) and self._due_at(host) <= now
        self._list(host)

    def _has_slot(self, host: Host) -> bool:
        if host.active >= self._per_host or host.given_up or host.held:
            return False
        if host.active and host.failures >= LAST_CHANCE:
            return False
        if not host.address or self._strict or self._addresses.has_slot(host.address):
            return True
        best = host.order.best()
        if best is not None and (key := host.order.key(best)) is not None:
            self._addresses.wait(host.address, host.id, key[0])
        return False

    def _due_at(self, host: Host) -> float:
        return host.rest_until if self._strict else max(host.rest_until, host.next_at)

    def _list(self, host: Host) -> None:
        """Rank a host among the ready ones, or lay it on the wheel, if it has URLs."""
        best = host.order.best()
        ready = host.free and best is not None
        self._ready.set(host.id, host.order.key(best) if ready and best is not None else None)
        if best is not None and not host.free and self._has_slot(host):
            due_at = self._due_at(host)
            if due_at < (math.inf if host.wheel_at is None else host.wheel_at):
                host.wheel_at = due_at
                heapq.heappush(self._wheel, (due_at, host.id))

    def _relist(self, queue: Queue) -> None:
        """Bring the rankings up to date after a change at the head of a queue."""
        heap = queue.heap
        while heap and not self._is_live(heap[0]):
            heapq.heappop(heap)
        if queue.floor is not None and (not heap or heap[0] > queue.floor):
            self.memory.hungry.add(queue.id)
        head = (heap[0][0] - queue.bonus, heap[0][1]) if heap else None
        queue.host.order.set(queue.id, head)
        self._list(queue.host)
