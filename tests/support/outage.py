"""Webs whose network goes away, under a clock that nobody waits for.

sky = Sky(web, [Cut(60.0, 120.0)])                    # nothing from 60 s to 120 s
sky = Sky(web, [Cut(0.0, 3600.0, {"a.test"}, K.DNS)])  # one name, for an hour
"""

import heapq
from typing import NamedTuple

import msgspec

from focus.engine.transports import ReplayTransport, Scorer, latency_s
from focus.records import FailureKind as K
from focus.records import FetchResult, Task
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
    """A live transport over a tiny web; what reached it is in the web's log."""

    is_live = True

    def __init__(self, web: TinyWeb, scorer: Scorer, cuts: list[Cut], *, start: float) -> None:
        super().__init__(self, scorer, start=start)
        self.web, self.cuts = web, cuts
        self.tries: list[Hit] = []  # requests that did not get through

    def send(self, task: Task) -> None:
        begin = max(self.now(), task.start_at)
        cut = self._cut(task.host, begin)
        takes_s = latency_s(task.url)
        if cut is not None:
            takes_s = SILENT_S if cut.kind is K.TIMEOUT else INSTANT_S
        self._sent += 1
        self.in_flight += 1
        heapq.heappush(self._running, (begin + takes_s, self._sent, task))

    def _cut(self, host: str, at: float) -> Cut | None:
        return next((cut for cut in self.cuts if cut.holds(host, at)), None)

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
        self.web.log.append(Hit(url, fetched_at))
        answer = self.web.answers.get(url) or Answer(status=404)
        found = self.web._result(url, answer, fetched_at, robots)
        return msgspec.structs.replace(found, fetched_at=fetched_at, elapsed_s=elapsed_s)
