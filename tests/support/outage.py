"""Webs whose network goes away, under a clock that nobody waits for.

sky = Sky(web, [Cut(60.0, 120.0)])                    # nothing from 60 s to 120 s
sky = Sky(web, [Cut(0.0, 3600.0, {"a.test"}, K.DNS)])  # one name, for an hour
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

INSTANT_S, SILENT_S = 0.002, 10.0  # until the system says no; until nobody has answered


class Cut(NamedTuple):
    """A stretch of time without a network. `hosts`: of these alone; None: of all.

    log_in   where everybody is sent meanwhile; "": it fails with `kind`
    """

    begin: float
    end: float
    hosts: frozenset[str] | None = None
    kind: K = K.UNREACHABLE
    log_in: str = ""

    def holds(self, host: str, at: float) -> bool:
        return self.begin <= at < self.end and (self.hosts is None or host in self.hosts)


class Sky(ReplayTransport):
    """A live transport over a tiny web; what reached it is in the web's log.

    locates   the crawl looks up the address of a host before its first request
    outcomes  host -> failures of its requests in order, again from the first; None: it answers
    """

    is_live = True

    def __init__(
        self,
        web: TinyWeb,
        scorer: Scorer,
        cuts: list[Cut],
        *,
        start: float,
        locates: bool = False,
        outcomes: Mapping[str, Sequence[K | None]] | None = None,
    ) -> None:
        super().__init__(self, scorer, start=start)
        self.web, self.cuts = web, cuts
        self.locates = locates
        self._outcomes = outcomes or {}
        self._requests: Counter[str] = Counter()  # of each host of `outcomes`
        self._settled: list[tuple[Task, FetchResult]] = []
        self._departed: list[tuple[Task, float]] = []
        self.tries: list[Hit] = []  # requests that did not get through

    def send(self, task: Task) -> None:
        begin = max(self.now(), task.start_at)
        cut = self._cut(task.host, begin)
        takes_s = latency_s(task.url)
        if task.tell:
            self._departed.append((task, begin))
        if cut is not None:
            takes_s = SILENT_S if cut.kind is K.TIMEOUT else INSTANT_S
        self._sent += 1
        self.in_flight += 1
        heapq.heappush(self._running, (begin + takes_s, self._sent, task))

    def _cut(self, host: str, at: float) -> Cut | None:
        return next((cut for cut in self.cuts if cut.holds(host, at)), None)

    async def receive(self, until: float | None) -> list[Result]:
        """The next result; answers to URLs are reported as settled, as by `LiveTransport`."""
        waits = until is not None and self._running and until < self._running[0][0]
        if self._running and self._running[0][2].lookup and not waits:
            ended_at, _, task = heapq.heappop(self._running)
            self._clock = max(self._clock, ended_at)
            self.in_flight -= 1
            address = "" if self._cut(task.host, ended_at) else f"192.0.2.{len(task.host)}"
            return [Result(task, FetchResult(task.url, ended_at, address=address))]
        results = await super().receive(until)
        self._settled += [
            (result.task, result.fetch)
            for result in results
            if result.task.id is not None and result.fetch.failure is None
        ]
        return results

    def departed(self) -> list[tuple[Task, float]]:
        """Requests that went out, each as soon as it was sent."""
        departed, self._departed = self._departed, []
        return departed

    def answered(self) -> list[tuple[Task, FetchResult]]:
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
        cut = self._cut(host, ended)
        if cut is not None:
            begin = ended - (SILENT_S if cut.kind is K.TIMEOUT else INSTANT_S)
            self.tries.append(Hit(url, ended))
            if cut.log_in:
                return FetchResult(
                    url, begin, status=302, redirect_to=cut.log_in, elapsed_s=ended - begin
                )
            return FetchResult(
                url, begin, failure=cut.kind, detail="no network here", elapsed_s=ended - begin
            )
        if (failure := self._failure(host)) is not None:
            self.tries.append(Hit(url, ended))
            return FetchResult(url, fetched_at, failure=failure, elapsed_s=elapsed_s)
        self.web.log.append(Hit(url, fetched_at))
        answer = self.web.answers.get(url) or Answer(status=404)
        found = self.web._result(url, answer, fetched_at, robots)
        return msgspec.structs.replace(found, fetched_at=fetched_at, elapsed_s=elapsed_s)
