"""Keeps failures back until it is known whose they are, and tries the line while nothing answers.

    sift    what came back: answers go on, failures wait for the verdict of `connectivity`
    look    the verdict: they go on as failures, or their URLs wait again as if never asked for
    tries   while our network is suspected nothing is sent but one request at a time, later and
            later, for the robots.txt of a host that had answered

Every state has an exit. A URL is returned to its queue `MAX_RETURNS` times in a run; its next
failure is its host's. Outages end the crawl after `--max-offline`, counted from the beginning of
the first outage since a result was last processed.

Of a recorded web nothing is kept back: it is never offline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from focus.engine.connectivity import MIN_PAUSE_S, Connectivity, Verdict, ended_at, is_answer
from focus.engine.effects import Effects
from focus.engine.intents import PutBack, Rest
from focus.engine.transports import Transport
from focus.engine.view import View
from focus.records import Result, Task
from focus.scheduling.holding_back import HOLD_S
from focus.scheduling.queues import Host

MAX_RETURNS = 2
"""Times that a URL is returned to its queue because of outages, before its failure is its host's.
A URL survives two outages that hit its request, and two wrong verdicts cost two requests."""
_KNOWN_HOSTS = 4  # of an earlier run, that are asked when none has answered in this one


class Outage(msgspec.Struct, frozen=True):
    """An outage of our network. Instants are Unix seconds; `reason` is the latest failure's."""

    since: float
    next_at: float
    reason: str


class Outages:
    """The outages of one crawl.

    most_s     outages end the crawl after so many seconds in which nothing was processed
    on_change  is called when an outage begins, and with None when it is over
    """

    def __init__(
        self,
        view: View,
        effects: Effects,
        transport: Transport,
        most_s: float,
        *,
        on_change: Callable[[Outage | None], object],
    ) -> None:
        self.held: list[Result] = []
        self.is_closed = False
        self.connectivity = Connectivity()
        self._view, self._effects, self._transport = view, effects, transport
        self._frontier = view.frontier
        self._most_s = most_s
        self._on_change = on_change
        self._released: list[Result] = []
        self._try: Task | None = None
        self._try_at = 0.0
        self._is_told = False
        self._returns: Counter[str] = Counter()  # URL -> times that it was returned to its queue
        self._stalled_at: float | None = None  # first outage since a result was processed

    @property
    def outage(self) -> Outage | None:
        """The one that there is."""
        since = self.connectivity.failing_since
        if not self.connectivity.is_offline or since is None:
            return None
        return Outage(since, self._try_at, self.connectivity.reason)

    @property
    def is_busy(self) -> bool:
        """Whether there is something to find out before the crawl may end."""
        return bool(self.is_closed or self.held or self._released)

    def is_over(self, now: float) -> bool:
        """Whether an outage, and those just before it, have lasted too long."""
        outage = self.outage
        return outage is not None and now >= self._ends_at(outage)

    def _ends_at(self, outage: Outage) -> float:
        began_at = outage.since if self._stalled_at is None else self._stalled_at
        return began_at + self._most_s

    def wake_at(self, now: float) -> float | None:
        """When `look` has something to do though nothing has come."""
        if self._released:
            return now
        outage = self.outage
        times = [] if outage is None else [self._ends_at(outage)]
        if self.is_closed and self._try is None:
            times.append(self._try_at)
        return min((each for each in times if each > now), default=None)

    # -- what came back -----------------------------------------------------------

    def sift(self, results: Sequence[Result]) -> list[Result]:
        """Of these and earlier ones, those to draw conclusions from now, in their order."""
        if not self._transport.is_live:
            return [*results]
        ready, self._released = self._released, []
        for result in results:
            if result.task is self._try:
                self._tried(result, ready)
            elif result.task.lookup:
                ready.append(result)  # a name may come from a cache, or have no address
            elif not self.connectivity.is_doubtful(result.fetch):
                if is_answer(result.fetch):
                    self._answered(result, ready)
                ready.append(result)
            elif self._returns[result.task.url] < MAX_RETURNS:
                self._failed(result)
                self.held.append(result)
            else:
                ready.append(result)
        if not all(result.task.lookup for result in ready):
            self._stalled_at = None
        return ready

    def _answered(self, result: Result, ready: list[Result], *, is_probe: bool = False) -> None:
        """Our network is there: failures that ended before this were their hosts' own."""
        at = self._transport.now() if is_probe else ended_at(result.fetch)
        if not self.connectivity.record_answer(
            result.task.host, _origin(result.task.url), at, is_probe=is_probe
        ):
            return
        held, self.held = self.held, []
        self.is_closed = False
        for each in held:
            if ended_at(each.fetch) <= at:
                ready.append(each)
            else:
                self._failed(each)
                self.held.append(each)
        self._tell()

    def _failed(self, result: Result, *, is_probe: bool = False) -> None:
        host = self._frontier.host(result.task.host)
        self.connectivity.record_failure(
            host.name,
            _origin(result.task.url),
            result.fetch,
            is_known=bool(host.robots),
            is_probe=is_probe,
        )

    def _tried(self, result: Result, ready: list[Result]) -> None:
        self._try = None
        host, now = self._frontier.host(result.task.host), self._transport.now()
        self._frontier.release(host, now)
        if is_answer(result.fetch) and not self.connectivity.is_doubtful(result.fetch):
            totals = self._view.unit_of_work.totals
            totals.requests += 1
            totals.robots += 1
            totals.bytes += result.fetch.raw_bytes
            self._answered(result, ready, is_probe=True)
        else:
            self._failed(result, is_probe=True)
            self._try_at = now + self.connectivity.probe_pause_s()

    # -- verdicts -----------------------------------------------------------------

    def look(self, *, may_send: bool) -> None:
        """Act upon what the failures mean; `may_send`: the crawl would go on if it could."""
        if not self.held and not self.is_closed:
            return
        now = self._transport.now()
        verdict = self.connectivity.judge(is_idle=self._is_idle(now, may_send=may_send))
        if verdict is Verdict.HOSTS:
            self._released, self.held = self.held, []
            self.is_closed = False
            self.connectivity.attribute_to_hosts()
        elif verdict is Verdict.NETWORK:
            for result in self.held:
                self._put_back(result.task, now)
            if self._stalled_at is None:
                self._stalled_at = self.connectivity.failing_since
            self.held.clear()
        if verdict in (Verdict.SUSPECTED, Verdict.NETWORK):
            if not self.is_closed:
                self.is_closed, self._try_at = True, now
            if self._try is None and now >= self._try_at and not self.is_over(now):
                self._send(now)
        self._tell()

    def _is_idle(self, now: float, *, may_send: bool) -> bool:
        if self._transport.in_flight:
            return False
        if self.is_closed:
            return True
        due = self._frontier.next_due() if may_send else None
        return due is None or due > now + HOLD_S

    def _put_back(self, task: Task, now: float) -> None:
        """A request that did not leave our network was not made."""
        host = self._frontier.host(task.host)
        self._returns[task.url] += 1
        if self._occupies(task):
            self._frontier.release(host, now)
        waits = Rest(host) if task.id is None else PutBack(task.id, task.url, task.priority)
        self._effects.apply([waits], now)

    def _occupies(self, task: Task) -> bool:
        """Whether a held result's request still counts as one to its host."""
        return task.id is None or not self._view.request(task.id).is_settled

    def _send(self, now: float) -> None:
        """Ask a host that has answered; another each time."""
        places = self._places()
        if not places:  # each of them is being asked already
            self._try_at = now + MIN_PAUSE_S
            return
        host, origin = places[self.connectivity.failed_probes % len(places)]
        start_at = self._try_at = max(now, host.next_at)
        path = "/" if self._view.robots_gate.is_open else "/robots.txt"
        tell = self._frontier.holds
        self._try = Task(None, origin + path, host.name, start_at=start_at, tell=tell)
        self._frontier.occupy(host, start_at)
        self._transport.send(self._try)

    def _places(self) -> list[tuple[Host, str]]:
        """Whom to ask, the best first, with their scheme://host."""
        hosts = self._frontier.hosts
        places = [
            (self._frontier.host(name), at) for name, at in self.connectivity.answered_hosts()
        ]
        if not places:
            had = ((host, f"{scheme}://{host.name}") for host in hosts for scheme in host.robots)
            places = [*islice(had, _KNOWN_HOSTS)]
        if not places:
            failed = self.connectivity.failed_hosts.items()
            places = [(self._frontier.host(name), at) for name, at in failed]
        outside = [each for each in places if each[0].name not in self.connectivity.failed_hosts]
        places = outside or places  # a host of the row that is dead would be taken for an outage
        held = Counter(each.task.host for each in self.held if self._occupies(each.task))
        places = [each for each in places if each[0].active <= held[each[0].name]]
        return sorted(places, key=lambda each: each[0].next_at)

    def _tell(self) -> None:
        """Say when an outage begins and when it is over."""
        outage = self.outage
        if self._is_told is not (outage is not None):
            self._is_told = outage is not None
            self._on_change(outage)


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"
