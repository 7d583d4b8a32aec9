"""Hurts a cluster's roles, network and broker at drawn instants, and says what it lost by that."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from focus.demo.server import DemoServer, LogEntry
from tests.support.processes import Crawl, asked_again, count, done, ends
from tests.support.roles import DONE, Crew, Role, crew

STUCK_S = 600.0  # without a request, when nothing is broken any more, on any machine
AT_ONCE = 0.2  # of the faults: soon after the one before, whatever has come of that
AT_ONCE_S = 3.0
BROKEN_S = 15.0  # a network is cut for so long at most: shorter and longer than all patience


class Fault(NamedTuple):
    """Something that was done to a role, and what hung on it.

    mark     requests that the server had seen
    leases   open at that moment in all shards
    idle_s   from the fault to the next request
    """

    what: str
    whom: str
    mark: int
    leases: int
    at: float
    idle_s: float = 0.0


class Torture(NamedTuple):
    """What came of it.

    lost, extra   pages that only the one process has, or only the cluster
    again         per fault, requests made again that were first made before it and after
                  the fault before; last, those made again though no fault began in between
    urls          those requests
    silence_s     the longest time without a request to a host that had more to come, of both
    ends          (state, reason) -> URLs, of both
    left          leases and strays that are still in the shards' databases
    is_done       all frontiers came to their end by themselves
    breakdowns    roles that ended by themselves though the crawl had not, with another error
                  than that there is no broker
    """

    faults: list[Fault]
    lost: set[str]
    extra: set[str]
    again: list[int]
    urls: list[tuple[int, str]]
    silence_s: tuple[float, float]
    ends: tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]
    left: int
    is_done: bool
    breakdowns: int
    requests: tuple[int, int]
    seconds: float
    said: str


class Tormentor:
    """Hurts a crew."""

    def __init__(self, server: DemoServer, victim: Crew, rng: random.Random) -> None:
        self._server, self._victim, self._rng = server, victim, rng
        self._mends: list[tuple[float, Role]] = []
        self.faults: list[Fault] = []

    def run(self, faults: Sequence[str], most: int) -> bool:
        """All of `faults`, at most `most` requests apart; whether the crawl came to its end."""
        for what in faults:
            if not self._wait(self._rng.randint(1, most)):
                break
            self._strike(what)
        return self._wait(1 << 60) or self._victim.is_done

    def _wait(self, requests: int) -> bool:
        """Let the crawl go on for so many requests; False if it has ended, or is stuck."""
        log, rng = self._server.log, self._rng
        before, limit = len(log), STUCK_S
        if rng.random() < AT_ONCE and requests < 1 << 60:
            limit = rng.uniform(0.0, AT_ONCE_S)
        seen, at = before, time.monotonic()
        while len(log) < before + requests:
            self._victim.look()
            self._mend()
            if self._victim.is_done:
                return False
            now = time.monotonic()
            if len(log) > seen:
                seen, at = len(log), now
            elif now - at > limit:
                return limit < STUCK_S
            time.sleep(0.002)
        return True

    def _strike(self, what: str) -> None:
        leases, mark, at = self._leases(), len(self._server.log), time.monotonic()
        whom = "broker"
        if what == "broker":
            self._victim.broker.kill()
            time.sleep(self._rng.uniform(0.0, 3.0))
            self._victim.broker.start()
        else:
            kind, _, how = what.partition(" ")
            among = self._victim.frontiers if kind == "frontier" else self._victim.workers
            up = [role for role in among if role.is_up]
            if not up:
                return
            role = self._rng.choice(up)
            whom = role.name
            if how:
                self._break(role, how)
            else:
                role.kill(self._rng.uniform(0.0, 1.0))
        self.faults.append(Fault(what, whom, mark, leases, at))

    def _break(self, role: Role, how: str) -> None:
        if how == "frozen":
            role.freeze(is_frozen=True)
        else:
            (role.at.cut if how == "cut" else role.at.deaden)()
        until = time.monotonic() + self._rng.uniform(0.2, BROKEN_S)
        self._mends.append((until, role))

    def _mend(self) -> None:
        due = [pair for pair in self._mends if pair[0] <= time.monotonic()]
        for pair in due:
            self._mends.remove(pair)
            if pair[1] not in (role for _, role in self._mends):
                pair[1].at.mend()
                pair[1].freeze(is_frozen=False)

    def _leases(self) -> int:
        return sum(count(db, "lease") for db in self._victim.databases())


def torture(
    server: DemoServer,
    folder: Path,
    *,
    faults: Sequence[str],
    rng: random.Random,
    shards: int = 2,
    workers: int = 3,
    slots: int = 32,
    more: Sequence[str] = (),
    skew: float = 0.0,
) -> Torture:
    """Crawl in peace by one process, then by a cluster that is hurt."""
    calm, log = Crawl(server, folder, *more), server.log
    if code := calm.end():
        raise RuntimeError(f"the crawl in peace ended with {code}: {calm.said}")
    begin = len(log)
    most, began = max(1, int(1.6 * begin / (len(faults) + 1))), time.monotonic()
    with crew(
        server,
        folder,
        shards=shards,
        workers=workers,
        slots=slots,
        more=more,
        skews=(-skew, -skew / 7, 0.0, skew) if skew else (0.0,),
    ) as victim:
        tormentor = Tormentor(server, victim, rng)
        is_done = tormentor.run(faults, most)
        seconds = time.monotonic() - began
        databases = victim.databases()
    end = len(log)
    mine = set().union(*map(done, databases))
    theirs = done(calm.db)
    marks = [begin, *(each.mark for each in tormentor.faults), end]
    repeats = asked_again(log, marks, log[:begin])
    again = Counter(first for first, later, _ in repeats if first != later)
    same = sum(first == later for first, later, _ in repeats)
    return Torture(
        faults=[_idle(fault, server) for fault in tormentor.faults],
        lost=theirs - mine,
        extra=mine - theirs,
        again=[*(again[number] for number in range(len(marks) - 2)), same],
        urls=[(first + 1, f"{url} (again after {later})") for first, later, url in repeats],
        silence_s=(_silence(log[:begin]), _silence(log[begin:end])),
        ends=(ends(calm.db), sum(map(ends, databases), Counter())),
        left=sum(count(db, table) for db in databases for table in ("lease", "stray")),
        is_done=is_done and all(role.code in DONE for role in victim.frontiers),
        breakdowns=victim.breakdowns,
        requests=(begin, end - begin),
        seconds=seconds,
        said=victim.said(),
    )


def _idle(fault: Fault, server: DemoServer) -> Fault:
    if fault.mark >= len(server.log):
        return fault
    return fault._replace(idle_s=server.log[fault.mark].time - fault.at)


def _silence(log: Sequence[LogEntry]) -> float:
    last: dict[str, float] = {}
    longest = 0.0
    for entry in log:
        longest = max(longest, entry.time - last.get(entry.host, entry.time))
        last[entry.host] = entry.time
    return longest
