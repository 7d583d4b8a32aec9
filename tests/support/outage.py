"""A transport over a tiny web with network faults, under a virtual clock.

Example: nothing is reachable from 60 s to 120 s, and the name of a host is unknown for an hour.

    transport = FaultyTransport(web, scorer, [NetworkFault(60.0, 120.0)], start=0.0)
    NetworkFault(0.0, 3600.0, frozenset({"a.test"}), K.DNS)
"""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from focus.engine.transports import ReplayTransport, Scorer, latency_s
from focus.records import FailureKind as K
from focus.records import FetchResult, Result, Task
from tests.support.web import Answer, Hit, TinyWeb

REFUSAL_S, TIMEOUT_S = 0.002, 10.0


class NetworkFault(NamedTuple):
    """A period in which hosts cannot be reached.

    Attributes:
        hosts: Hosts of the fault. None for all hosts.
        kind: How requests fail.
        portal: Where requests are redirected instead. An empty string lets them fail.
    """

    begin: float
    end: float
    hosts: frozenset[str] | None = None
    kind: K = K.UNREACHABLE
    portal: str = ""

    def applies_to(self, host: str, at: float) -> bool:
        return self.begin <= at < self.end and (self.hosts is None or host in self.hosts)


class FaultyTransport(ReplayTransport):
    """A live transport over a tiny web; requests that reach it are in the web's log.

    Attributes:
        failed_requests: Requests that reached no host.
    """

    is_live = True

    def __init__(
        self,
        web: TinyWeb,
        scorer: Scorer,
        faults: list[NetworkFault],
        *,
        start: float,
        locates: bool = False,
        outcomes: Mapping[str, Sequence[K | None]] | None = None,
    ) -> None:
        """Make a transport.

        Args:
            locates: Whether the crawl looks up the address of a host before its first request.
            outcomes: Failures of a host's requests in order, repeated; None is an answer.
        """
        super().__init__(self, scorer, start=start)
        self.web, self.faults = web, faults
        self.supports_lookups = locates
        self._outcomes = outcomes or {}
        self._requests: Counter[str] = Counter()  # of each host of `outcomes`
        self._settled: list[tuple[Task, FetchResult]] = []
        self._departed: list[tuple[Task, float]] = []
        self.failed_requests: list[Hit] = []

    def send(self, task: Task) -> None:
        begin = max(self.now(), task.start_at)
        fault = self._fault(task.host, begin)
        takes_s = latency_s(task.url)
        if task.should_report_send:
            self._departed.append((task, begin))
        if fault is not None:
            takes_s = TIMEOUT_S if fault.kind is K.TIMEOUT else REFUSAL_S
        self._sent += 1
        self.in_flight += 1
        heapq.heappush(self._running, (begin + takes_s, self._sent, task))

    def _fault(self, host: str, at: float) -> NetworkFault | None:
        return next((fault for fault in self.faults if fault.applies_to(host, at)), None)

    async def receive(self, until: float | None) -> list[Result]:
        """The next result; answers to URLs are reported as settled, as by `LiveTransport`."""
        waits = until is not None and self._running and until < self._running[0][0]
        if self._running and self._running[0][2].is_lookup and not waits:
            ended_at, _, task = heapq.heappop(self._running)
            self._clock = max(self._clock, ended_at)
            self.in_flight -= 1
            address = "" if self._fault(task.host, ended_at) else f"192.0.2.{len(task.host)}"
            return [Result(task, FetchResult(task.url, ended_at, address=address))]
        results = await super().receive(until)
        self._settled += [
            (result.task, result.fetch)
            for result in results
            if result.task.id is not None and result.fetch.failure is None
        ]
        return results

    def sent_tasks(self) -> list[tuple[Task, float]]:
        """Requests that went out, each as soon as it was sent."""
        departed, self._departed = self._departed, []
        return departed

    def unscored_answers(self) -> list[tuple[Task, FetchResult]]:
        """Answers of the latest results."""
        settled, self._settled = self._settled, []
        return settled

    def _failure(self, host: str) -> K | None:
        """The failure that is next in the host's `outcomes`."""
        outcomes = self._outcomes.get(host)
        if not outcomes:
            return None
        self._requests[host] += 1
        return outcomes[(self._requests[host] - 1) % len(outcomes)]

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        host = url.split("/")[2]
        ended = fetched_at + elapsed_s
        fault = self._fault(host, ended)
        if fault is not None:
            begin = ended - (TIMEOUT_S if fault.kind is K.TIMEOUT else REFUSAL_S)
            self.failed_requests.append(Hit(url, ended))
            if fault.portal:
                return FetchResult(
                    url, begin, status=302, redirect_to=fault.portal, elapsed_s=ended - begin
                )
            return FetchResult(
                url, begin, failure=fault.kind, detail="no network here", elapsed_s=ended - begin
            )
        if (failure := self._failure(host)) is not None:
            self.failed_requests.append(Hit(url, ended))
            return FetchResult(url, fetched_at, failure=failure, elapsed_s=elapsed_s)
        self.web.log.append(Hit(url, fetched_at))
        answer = self.web.answers.get(url) or Answer(status=404)
        fetch = self.web._result(url, answer, fetched_at, robots)
        return msgspec.structs.replace(fetch, fetched_at=fetched_at, elapsed_s=elapsed_s)
