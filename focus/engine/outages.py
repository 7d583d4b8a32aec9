"""Detects outages of the local network.

Failures are held until it is clear whether the host or the network caused them (`connectivity`).
During an outage no URL is requested; a probe, which is a request for the robots.txt of a host that
has answered, is sent at growing intervals.

    release  results, new or held earlier, that can be processed now
    update   acts upon the cause of the held failures: they are processed as failures of their
             hosts, or their URLs return to their queues

Every state has an exit. A URL is returned to its queue `MAX_RETURNS` times in a run; its next
failure is its host's. Outages end the crawl after `max_offline_s`, counted from the beginning of
the first outage since a result was last processed.

Crawls of a recorded web have no outages: nothing is held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from focus.engine.connectivity import MIN_PAUSE_S, Connectivity, Verdict, ended_at, is_answer
from focus.engine.effects import Effects
from focus.engine.intents import PauseHost, ReturnToQueue
from focus.engine.transports import Transport
from focus.engine.view import View
from focus.records import Result, Task
from focus.scheduling.priority_gate import MAX_WAIT_S
from focus.scheduling.queues import Host

MAX_RETURNS = 2
"""Times that a URL is returned to its queue because of outages, before its failure is its host's.
A URL survives two outages that hit its request, and two wrong verdicts cost two requests."""
_MAX_KNOWN_HOSTS = 4  # hosts of an earlier run that are probed while none has answered in this one


class Outage(msgspec.Struct, frozen=True):
    """An outage of the local network.

    Attributes:
        since: When the first request failed (Unix seconds).
        next_at: When the next probe is sent (Unix seconds).
        reason: Text of the latest failure.
    """

    since: float
    next_at: float
    reason: str


class Outages:
    """Holds doubtful results and returns URLs to their queues during outages.

    Args:
        max_offline_s: Seconds of outages without a processed result that end the crawl.
        on_change: Called when an outage begins, and with None when it is over.

    Attributes:
        held_results: Results whose cause is not known yet.
        is_paused: Whether an outage is suspected or in progress: only probes may be sent.
    """

    def __init__(
        self,
        view: View,
        effects: Effects,
        transport: Transport,
        max_offline_s: float,
        *,
        on_change: Callable[[Outage | None], object],
    ) -> None:
        self.held_results: list[Result] = []
        self.is_paused = False
        self.connectivity = Connectivity()
        self._view, self._effects, self._transport = view, effects, transport
        self._frontier = view.frontier
        self._max_offline_s = max_offline_s
        self._on_change = on_change
        self._released_results: list[Result] = []
        self._probe: Task | None = None
        self._probe_at = 0.0
        self._is_reported = False
        self._returns: Counter[str] = Counter()  # URL -> times that it was returned to its queue
        self._stalled_at: float | None = None  # first outage since a result was processed

    @property
    def current(self) -> Outage | None:
        """The outage in progress, or None."""
        since = self.connectivity.failing_since
        if not self.connectivity.is_offline or since is None:
            return None
        return Outage(since, self._probe_at, self.connectivity.reason)

    @property
    def is_busy(self) -> bool:
        """Whether results or probes must be waited for before the crawl may end."""
        return bool(self.is_paused or self.held_results or self._released_results)

    def has_timed_out(self, now: float) -> bool:
        """Return whether outages have lasted for `max_offline_s`, so that the crawl ends."""
        outage = self.current
        return outage is not None and now >= self._times_out_at(outage)

    def _times_out_at(self, outage: Outage) -> float:
        stalled_at = outage.since if self._stalled_at is None else self._stalled_at
        return stalled_at + self._max_offline_s

    def wake_at(self, now: float) -> float | None:
        """Return when `update` must be called although no result has arrived, None if never."""
        if self._released_results:
            return now
        outage = self.current
        times = [] if outage is None else [self._times_out_at(outage)]
        if self.is_paused and self._probe is None:
            times.append(self._probe_at)
        return min((time for time in times if time > now), default=None)

    # -- results ------------------------------------------------------------------

    def release(self, results: Sequence[Result]) -> list[Result]:
        """Return the results, new or held earlier, that can be processed now, in order."""
        if not self._transport.is_live:
            return [*results]
        released, self._released_results = self._released_results, []
        for result in results:
            if result.task is self._probe:
                self._process_probe(result, released)
            elif result.task.is_lookup:
                released.append(result)  # a name may come from a cache, or have no address
            elif not self.connectivity.is_doubtful(result.fetch):
                if is_answer(result.fetch):
                    self._record_answer(result, released)
                released.append(result)
            elif self._returns[result.task.url] < MAX_RETURNS:
                self._record_failure(result)
                self.held_results.append(result)
            else:
                released.append(result)
        if not all(result.task.is_lookup for result in released):
            self._stalled_at = None
        return released

    def _record_answer(
        self, result: Result, released: list[Result], *, is_probe: bool = False
    ) -> None:
        """Release the failures that ended before this answer: the network was up."""
        host, origin = result.task.host, _origin(result.task.url)
        answered_at = self._transport.now() if is_probe else ended_at(result.fetch)
        if not self.connectivity.record_answer(host, origin, answered_at, is_probe=is_probe):
            return
        held_results, self.held_results = self.held_results, []
        self.is_paused = False
        for held_result in held_results:
            if ended_at(held_result.fetch) <= answered_at:
                released.append(held_result)
            else:
                self._record_failure(held_result)
                self.held_results.append(held_result)
        self._report_change()

    def _record_failure(self, result: Result, *, is_probe: bool = False) -> None:
        host = self._frontier.host(result.task.host)
        self.connectivity.record_failure(
            host.name,
            _origin(result.task.url),
            result.fetch,
            is_known=bool(host.robots),
            is_probe=is_probe,
        )

    def _process_probe(self, result: Result, released: list[Result]) -> None:
        self._probe = None
        host, now = self._frontier.host(result.task.host), self._transport.now()
        self._frontier.finish_request(host, now)
        if is_answer(result.fetch) and not self.connectivity.is_doubtful(result.fetch):
            totals = self._view.unit_of_work.totals
            totals.requests += 1
            totals.robots += 1
            totals.bytes += result.fetch.raw_bytes
            self._record_answer(result, released, is_probe=True)
        else:
            self._record_failure(result, is_probe=True)
            self._probe_at = now + self.connectivity.probe_pause_s()

    # -- verdicts -----------------------------------------------------------------

    def update(self, *, may_send: bool) -> None:
        """Act upon the cause of the held failures, and send a probe when one is due.

        Args:
            may_send: Whether the crawl's limits allow further requests.
        """
        if not self.held_results and not self.is_paused:
            return
        now = self._transport.now()
        verdict = self.connectivity.judge(is_idle=self._is_idle(now, may_send=may_send))
        if verdict is Verdict.HOSTS:
            self._released_results, self.held_results = self.held_results, []
            self.is_paused = False
            self.connectivity.attribute_to_hosts()
        elif verdict is Verdict.NETWORK:
            for result in self.held_results:
                self._return_to_queue(result.task, now)
            self.held_results.clear()
            if self._stalled_at is None:
                self._stalled_at = self.connectivity.failing_since
        if verdict in (Verdict.SUSPECTED, Verdict.NETWORK):
            if not self.is_paused:
                self.is_paused, self._probe_at = True, now
            if self._probe is None and now >= self._probe_at and not self.has_timed_out(now):
                self._send_probe(now)
        self._report_change()

    def _is_idle(self, now: float, *, may_send: bool) -> bool:
        if self._transport.in_flight:
            return False
        if self.is_paused:
            return True
        due_at = self._frontier.next_due() if may_send else None
        return due_at is None or due_at > now + MAX_WAIT_S

    def _return_to_queue(self, task: Task, now: float) -> None:
        host = self._frontier.host(task.host)
        self._returns[task.url] += 1
        if self._occupies_host(task):
            self._frontier.finish_request(host, now)
        if task.id is None:
            self._effects.apply([PauseHost(host, until=0.0)], now)  # robots.txt may be sent again
        else:
            self._effects.apply([ReturnToQueue(task.id, task.url, task.priority)], now)

    def _occupies_host(self, task: Task) -> bool:
        """Return whether the request of a held result still counts as active at its host."""
        return task.id is None or not self._view.request(task.id).is_settled

    def _send_probe(self, now: float) -> None:
        targets = self._probe_targets()
        if not targets:  # a request to each of these hosts is in flight
            self._probe_at = now + MIN_PAUSE_S
            return
        host, origin = targets[self.connectivity.failed_probes % len(targets)]
        start_at = self._probe_at = max(now, host.next_at)
        path = "/" if self._view.robots_gate.ignores_robots else "/robots.txt"
        tell = self._frontier.waits_for_send
        self._probe = Task(
            None, origin + path, host.name, start_at=start_at, should_report_send=tell
        )
        self._frontier.start_request(host, start_at)
        self._transport.send(self._probe)

    def _probe_targets(self) -> list[tuple[Host, str]]:
        """Return the hosts that may be probed, with their scheme://host, the first due first.

        These are hosts that have answered in this run, else in an earlier run, else those that
        failed. Of them, a host outside the series of failures is preferred: a probe of a dead host
        would be taken for an outage.
        """
        frontier, failed_hosts = self._frontier, self.connectivity.failed_hosts
        targets = [
            (frontier.host(name), origin) for name, origin in self.connectivity.answered_hosts()
        ]
        if not targets:
            known = (
                (host, f"{scheme}://{host.name}")
                for host in frontier.hosts
                for scheme in host.robots
            )
            targets = [*islice(known, _MAX_KNOWN_HOSTS)]
        if not targets:
            targets = [(frontier.host(name), origin) for name, origin in failed_hosts.items()]
        targets = [target for target in targets if target[0].name not in failed_hosts] or targets
        held_tasks = [result.task for result in self.held_results]
        held_requests = Counter(task.host for task in held_tasks if self._occupies_host(task))
        idle = [target for target in targets if target[0].active <= held_requests[target[0].name]]
        return sorted(idle, key=lambda target: target[0].next_at)

    def _report_change(self) -> None:
        """Call `on_change` when an outage begins and when it is over."""
        outage = self.current
        if self._is_reported is not (outage is not None):
            self._is_reported = outage is not None
            self._on_change(outage)


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"
