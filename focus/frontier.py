"""The frontier: which URL is fetched next and when, best first among the hosts that are due.

    push            add a new URL to the queue of its host (and URL pattern) with a priority
    set_priority    change the priority of a waiting URL
    next_candidate  take the best URL of the hosts that may be requested now
    start_request, record_send, finish_request   the request clock of a host
    defer           schedule a URL for a retry at a given time

There are three levels, each a `Ranking` (a heap with lazy deletion): URLs in a queue, queues of a
host, hosts that are due. Hosts in their crawl delay wait in a heap by time. A larger priority is
sooner; ties are broken by order of discovery, so that the same input gives the same order. With
`strict` (one request at a time) the best URL of all hosts is taken and its start postponed until
its host is due: the order is then that of the strategy, whatever the delays.

Where requests are limited, `scheduling.priority_gate` sets a minimum priority. Above `capacity`
the lowest-priority URLs of the longest queues are evicted to the database and loaded again by
`add_loaded` (`scheduling.url_cache`). There is no clock and no I/O here: `now` is an argument.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Protocol

from focus.config import PolitenessConfig
from focus.records import FetchResult, UrlState
from focus.scheduling.priority_gate import Budget, PriorityGate
from focus.scheduling.queues import Candidate, Host, Queue, Ranking
from focus.scheduling.retries import FAILURES_BEFORE_LAST_TRY
from focus.scheduling.throttling import AddressSlots, address_group, update_throttle
from focus.scheduling.url_cache import UrlCache
from focus.scheduling.url_table import UrlTable

TRANSIT_RATIO = 0.1
"""Share of the crawl delay added because a request needs time to reach its server."""


class Ranker(Protocol):
    """Source of current priorities.

    is_steady  priorities of waiting URLs never fall without `set_priority`
    patience   maximum number of URLs whose fallen priority one `next_candidate` corrects
    """

    is_steady: bool
    patience: float

    def present_priority(self, url_id: int) -> float:
        """Return the current priority of a waiting URL that is about to be taken.

        Strategies may therefore compute falling priorities lazily.
        """


class Frontier:
    """Host queues and request clocks over the known URLs.

    ranker           source of current priorities; None keeps them as they were set
    capacity         maximum number of URLs in memory; the others are in the database
    url_cache        the URLs in memory
    waits_for_send   the next request to a host waits until the last one is known to be sent
    reports_sends    `record_send` is called for every request. With concurrent requests to a host
                     the delay then runs between the times of sending, as the server sees it, and
                     an IP address gets at most `per_ip` requests in one delay from all its hosts
    is_remote        other processes send the requests, some time after `start_request`
    """

    OVERFLOW_RATIO = 1.05

    def __init__(
        self,
        url_table: UrlTable,
        politeness: PolitenessConfig,
        ranker: Ranker | None = None,
        *,
        strict: bool = False,
        capacity: int = 200_000,
        reports_sends: bool = False,
        is_remote: bool = False,
    ) -> None:
        self.url_table = url_table
        self.hosts: list[Host] = []
        self.queues: list[Queue] = []
        self.url_cache = UrlCache(url_table, self.queues, capacity)
        self._is_available = self.url_cache.is_available
        self._urls, self._deferred_ids = self.url_cache.urls, self.url_cache.deferred
        self._by_name: dict[str, Host] = {}
        self._due_hosts = Ranking()
        self._wake_queue: list[tuple[float, int]] = []
        self._deferred: list[tuple[float, int]] = []
        self._per_host = politeness.per_host
        self._delay_s = politeness.delay_s
        address_delay_s = politeness.delay_s / max(1, politeness.per_ip) if reports_sends else 0.0
        hold_s = politeness.delay_s if is_remote else 0.0
        self._addresses = AddressSlots(politeness.per_ip, address_delay_s, hold_s)
        self._max_slowdown_s = politeness.max_slowdown_s
        self._strict = strict
        self._includes_excluded_last = False
        self._ranker = ranker if ranker is not None and not ranker.is_steady else None
        self._priority_gate = PriorityGate()
        self.reset = self._priority_gate.reset
        self.waits_for_send = reports_sends and politeness.per_host > 1 and politeness.delay_s > 0

    # -- hosts and queues ---------------------------------------------------------

    def host(self, name: str) -> Host:
        """Return the host of that name; create it if it is new."""
        host = self._by_name.get(name)
        if host is None:
            host = Host(len(self.hosts), name, self._delay_s)
            self.hosts.append(host)
            self._by_name[name] = host
        return host

    def has_host(self, name: str) -> bool:
        """Return whether there is a host of that name."""
        return name in self._by_name

    def queue(self, host: Host, pattern: str = "") -> Queue:
        """Return the queue of a host for a URL pattern; create it if it is new."""
        queue = host.queues.get(pattern)
        if queue is None:
            queue = host.queues[pattern] = Queue(len(self.queues), host, pattern)
            self.queues.append(queue)
        return queue

    def set_bonus(self, queue: Queue, bonus: float) -> None:
        """Set the bonus that is added to each priority in a queue."""
        if bonus != queue.bonus:
            queue.bonus = bonus
            self._update_queue(queue)

    # -- URLs in ------------------------------------------------------------------

    def push(self, url_id: int, url: str, priority: float) -> None:
        """Add a waiting URL to its queue."""
        self._urls[url_id] = url
        self.set_priority(url_id, priority)

    def set_priority(self, url_id: int, priority: float) -> None:
        """Change the priority of a waiting URL."""
        falls = priority < self.url_table.priority[url_id]
        self.url_table.priority[url_id] = priority
        if url_id in self._deferred_ids:
            return
        queue = self.queues[self.url_table.queue[url_id]]
        entry = (-priority, url_id)
        if url_id in self._urls or self.url_cache.should_load(entry, queue):
            heapq.heappush(queue.heap, entry)
        if falls or not queue.heap or queue.heap[0] >= entry:
            self._update_queue(queue)

    def defer(self, url_id: int, url: str | None, until: float) -> None:
        """Schedule a waiting URL for the time `until`; `url` is None if it was evicted."""
        if url is not None:
            self._urls[url_id] = url
        self._deferred_ids.add(url_id)
        heapq.heappush(self._deferred, (until, url_id))

    # -- URLs out -----------------------------------------------------------------

    def next_candidate(self, now: float, budget: Budget | None = None) -> Candidate | None:
        """Take the best URL that may be requested now; its state becomes FETCHING.

        The caller must then call `start_request` and, when it has ended, `finish_request`, or
        return the URL by `return_candidate`. Returns None if no host is due (see `next_due`), if
        the minimum priority excludes all URLs that are due, or if no URL waits.

        budget   use of the request limit; None sets no minimum priority
        """
        if budget is None or self._strict:
            return self._take_best(now, -math.inf)
        return self._priority_gate.choose(self, partial(self._take_best, now), budget, now)

    def priorities_due_by(self, by: float) -> Iterator[float]:
        """Yield the priorities of the best URLs that become due until the time `by`.

        These are the best URL of each host in its delay, and retries. An address in its delay
        yields inf, because the hosts that wait for it are not examined.
        """
        for at, number in self._wake_queue:
            host = self.hosts[number]
            if at <= by and at == host.wakes_at and (best := host.queue_ranking.best()) is not None:
                key = host.queue_ranking.key(best)
                yield -math.inf if key is None else -key[0]
        for at, url_id in self._deferred:
            if at <= by:
                yield self.url_table.priority[url_id]
        if (rested := self._addresses.next_due()) is not None and rested <= by:
            yield math.inf

    def _take_best(self, now: float, min_priority: float) -> Candidate | None:
        """Take the best URL that may be requested now if it has at least this priority."""
        self._wake(now)
        tries = 0
        while (host_id := self._due_hosts.best()) is not None:
            key = self._due_hosts.key(host_id)
            if key is not None and -key[0] < min_priority:
                return None
            host = self.hosts[host_id]
            if host.address and not self._has_slot(host):  # other hosts use its address meanwhile
                self._update_host(host, now)
                continue
            best = host.queue_ranking.best()
            if best is None:
                self._due_hosts.set(host_id, None)
                self._admit_waiting_hosts(host.address, now)  # its slot is free for another host
                continue
            queue = self.queues[best]
            if not self._is_available(queue.heap[0]):
                self._update_queue(queue)
                continue
            negated, url_id = queue.heap[0]
            if self._ranker is not None and tries < self._ranker.patience:
                priority = self._ranker.present_priority(url_id)
                if priority < -negated:
                    tries += 1
                    self.set_priority(url_id, priority)
                    continue
            return self._take_head(queue, now)
        return None

    def _take_head(self, queue: Queue, now: float) -> Candidate:
        negated, url_id = heapq.heappop(queue.heap)
        url = self._urls.pop(url_id)
        self.url_table.set_state(url_id, UrlState.FETCHING)
        self._update_queue(queue)
        host = queue.host
        start_at = max(now, host.next_at)
        if self._strict:
            start_at = max(start_at, self._addresses.free_at(host.address))
        return Candidate(url_id, url, host, -negated, start_at)

    def start_request(self, host: Host, start_at: float) -> None:
        """Count a request to a host that starts at the time `start_at`."""
        host.active += 1
        self._addresses.start(host.address, start_at)
        host.next_at = start_at + host.request_interval_s
        host.is_request_unsent = self.waits_for_send
        self._update_host(host, start_at)

    def record_send(self, host: Host, at: float) -> None:
        """Record that the last started request was sent (or will never be) at the time `at`."""
        host.is_request_unsent = False
        host.next_at = max(host.next_at, at + host.request_interval_s * (1.0 + TRANSIT_RATIO))
        self._update_host(host, at)

    def finish_request(self, host: Host, now: float) -> None:
        """Count a finished request to a host and start its crawl delay.

        With one request at a time the delay runs from the end of the response, so that the server
        never sees two requests closer than that. With concurrent requests it runs from the sending
        of the last one, a little longer because that may still be on its way, but not longer than
        from a response that has arrived since.
        """
        host.active -= 1
        self._addresses.finish(host.address, now)
        if self._per_host == 1:
            host.next_at = max(host.next_at, now + host.request_interval_s)
        elif self.waits_for_send and not host.is_request_unsent:
            host.next_at = min(host.next_at, now + host.request_interval_s)
        self._update_host(host, now)
        self._admit_waiting_hosts(host.address, now)

    def _admit_waiting_hosts(self, address: str, now: float) -> None:
        """Update hosts that wait for an address until one of them can be requested."""
        while address and (number := self._addresses.pop_next_host(address)) is not None:
            host = self.hosts[number]
            self._update_host(host, now)
            if host.is_available and host.queue_ranking.best() is not None:
                return

    def record_answer(self, host: Host, answer: FetchResult, now: float) -> None:
        """Record address and latency of a response; call it before `finish_request`."""
        host.is_resolved = bool(answer.address)
        self._move_to_address(host, answer.address or "", now)
        host.throttle = update_throttle(
            host.throttle, answer.elapsed_s, answer.status, self._max_slowdown_s
        )

    def set_address(self, host: Host, address: str, now: float) -> None:
        """Record the result of a DNS lookup and end the pause of the host.

        "" means that the name does not resolve at present; the next request will fail for it.
        """
        host.is_resolved = True
        self._move_to_address(host, address, now)
        self.pause_host(host, 0.0, now)

    def _move_to_address(self, host: Host, address: str, now: float) -> None:
        """Assign a host to an address; "" changes nothing."""
        before, group = host.address, address_group(address)
        if group and group != before:
            host.address = group
            self._addresses.change_active(before, -host.active)
            self._addresses.change_active(group, host.active)
            self._admit_waiting_hosts(before, now)

    def return_candidate(self, candidate: Candidate) -> None:
        """Return a candidate to its queue because its request was not made."""
        self.url_table.set_state(candidate.id, UrlState.WAITING)
        self.push(candidate.id, candidate.url, candidate.priority)

    def pause_host(self, host: Host, until: float, now: float) -> None:
        """Send nothing to a host until the time `until`; inf means until the next call."""
        host.paused_until = until
        self._update_host(host, now)

    def abandon_host(self, host: Host) -> list[int]:
        """Close the queues of a host and return the ids of its waiting URLs in memory."""
        host.is_abandoned = True
        host.is_available = False
        queues = self.queues
        url_ids = [i for i in self._deferred_ids if queues[self.url_table.queue[i]].host is host]
        for queue in host.queues.values():
            url_ids += [entry[1] for entry in self.url_cache.current_entries(queue)]
            queue.heap = []
            self._update_queue(queue)
        for url_id in url_ids:
            self._urls.pop(url_id, None)
        self._admit_waiting_hosts(host.address, -math.inf)  # waiting hosts become due at once
        return url_ids

    def remove_overflow(self, limit: float) -> list[int]:
        """Remove the lowest-priority URLs if more than `OVERFLOW_RATIO` · `limit` wait.

        `limit` URLs remain. Returns the removed ids, lowest priority first, the latest of equals
        first; the caller must drop them.
        """
        url_table = self.url_table
        waiting = url_table.counts[UrlState.WAITING]
        if waiting <= self.OVERFLOW_RATIO * limit:
            return []
        worst = heapq.nsmallest(
            waiting - int(limit), url_table.waiting_ids(), key=lambda i: (url_table.priority[i], -i)
        )
        self.url_cache.remove(worst)
        for queue_id in sorted({url_table.queue[url_id] for url_id in worst}):
            self._update_queue(self.queues[queue_id])
        return worst

    def next_due(self) -> float | None:
        """Return when the next host, address or retry becomes due, None if there is none."""
        while self._wake_queue and self.hosts[self._wake_queue[0][1]].queue_ranking.best() is None:
            self.hosts[heapq.heappop(self._wake_queue)[1]].wakes_at = None
        due = [heap[0][0] for heap in (self._wake_queue, self._deferred) if heap]
        if (rested := self._addresses.next_due()) is not None:
            due.append(rested)
        if (
            patient_until := self._priority_gate.waiting_until
        ) is not None and self._due_hosts.best() is not None:
            due.append(patient_until)
        return min(due) if due else None

    # -- bounded memory -----------------------------------------------------------

    def update_queues(self, queues: Iterable[Queue]) -> None:
        """Update the rankings after the first URLs of these queues have changed."""
        for queue in queues:
            self._update_queue(queue)

    def add_loaded(self, rows: Iterable[tuple[int, str]]) -> None:
        """Put (id, URL) rows that `UrlCache.ids_to_load` requested back into their queues."""
        self.update_queues(dict.fromkeys([self.url_cache.restore(*row) for row in rows]))

    def mark_all_evicted(self) -> None:
        """Mark all waiting URLs as evicted, as they are after a restart."""
        self.url_cache.mark_all_evicted()
        self.update_queues(self.queues)

    def exclude_ids_below(self, first_id: float, *, include_last: bool = False) -> None:
        """Exclude the waiting URLs with an id below `first_id`; call it after `mark_all_evicted`.

        `include_last` lets `include_excluded` bring them back when no other URL waits.
        """
        self._includes_excluded_last = include_last
        self.url_cache.exclude_ids_below(first_id)
        self._deferred = [entry for entry in self._deferred if entry[1] >= first_id]
        heapq.heapify(self._deferred)
        self.update_queues(self.queues)

    def include_excluded(self) -> bool:
        """Make excluded URLs available if `include_last` was set. Return whether there are any."""
        if not self._includes_excluded_last:
            return False
        self._includes_excluded_last = False
        has_urls = self.url_cache.include_excluded()
        self.update_queues(self.queues)
        return has_urls

    # -- inside -------------------------------------------------------------------

    def _wake(self, now: float) -> None:
        """Update hosts and addresses whose delay is over, and URLs whose retry is due."""
        for address in self._addresses.due_addresses(now):
            self._admit_waiting_hosts(address, now)
        while self._wake_queue and self._wake_queue[0][0] <= now:
            host = self.hosts[heapq.heappop(self._wake_queue)[1]]
            host.wakes_at = None
            self._update_host(host, now)
        while self._deferred and self._deferred[0][0] <= now:
            _, url_id = heapq.heappop(self._deferred)
            self._deferred_ids.discard(url_id)
            if self.url_table.state[url_id] == UrlState.WAITING:
                self.set_priority(url_id, self.url_table.priority[url_id])

    def _update_host(self, host: Host, now: float) -> None:
        """Update whether a host may be requested now."""
        host.is_available = self._has_slot(host) and self._due_at(host) <= now
        self._rank_host(host)

    def _has_slot(self, host: Host) -> bool:
        if host.active >= self._per_host or host.is_abandoned or host.is_request_unsent:
            return False
        if host.active and host.failures >= FAILURES_BEFORE_LAST_TRY:
            return False
        if not host.address or self._strict or self._addresses.has_slot(host.address):
            return True
        best = host.queue_ranking.best()
        if best is not None and (key := host.queue_ranking.key(best)) is not None:
            self._addresses.enqueue_host(host.address, host.id, key[0])
        return False

    def _due_at(self, host: Host) -> float:
        return host.paused_until if self._strict else max(host.paused_until, host.next_at)

    def _rank_host(self, host: Host) -> None:
        """Rank a host that has URLs among the due ones, or schedule it."""
        best = host.queue_ranking.best()
        ready = host.is_available and best is not None
        self._due_hosts.set(
            host.id, host.queue_ranking.key(best) if ready and best is not None else None
        )
        if best is not None and not host.is_available and self._has_slot(host):
            due_at = self._due_at(host)
            if due_at < (math.inf if host.wakes_at is None else host.wakes_at):
                host.wakes_at = due_at
                heapq.heappush(self._wake_queue, (due_at, host.id))

    def _update_queue(self, queue: Queue) -> None:
        """Update the rankings after a change at the head of a queue."""
        heap = queue.heap
        while heap and not self._is_available(heap[0]):
            heapq.heappop(heap)
        if queue.best_evicted is not None and (not heap or heap[0] > queue.best_evicted):
            self.url_cache.exhausted_queues.add(queue.id)
        head = (heap[0][0] - queue.bonus, heap[0][1]) if heap else None
        queue.host.queue_ranking.set(queue.id, head)
        self._rank_host(queue.host)
