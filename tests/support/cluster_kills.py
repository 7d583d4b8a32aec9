"""Kills, freezes and cuts off the roles and the broker of a cluster, at random moments."""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from focus.demo.server import LogEntry
from tests.support.processes import LIFE_S, asked_again, done, endings, integrity
from tests.support.roles import DONE, Crew, Role, crew
from tests.support.torture import Rack, Verdict, differing_ends

AT_ONCE = 0.2  # share of the faults that follow soon after the one before
AT_ONCE_S = 3.0
BROKEN_S = 15.0  # longest cut of a network
_REST = 1 << 60  # requests: until the crawl has ended


class Fault(NamedTuple):
    """A fault: what it hit, and the number of requests that the server had seen."""

    what: str
    mark: int


class Tormentor:
    """Injects faults into a crew that crawls the web of a rack."""

    def __init__(self, rack: Rack, victim: Crew) -> None:
        self._log, self._victim, self._rng = rack.server.log, victim, rack.rng
        self._mends: list[tuple[float, Role]] = []
        self.faults: list[Fault] = []

    def run(self, faults: Sequence[str], max_faults: int) -> bool:
        """Inject all faults, at most `most` requests apart; return whether the crawl ended."""
        for what in faults:
            if not self._wait(self._rng.randint(1, max_faults)):
                break
            self._strike(what)
        self._wait(_REST)
        return self._victim.is_done

    def _wait(self, requests: int) -> bool:
        """Wait for that many requests; return False if the crawl has ended or is stuck."""
        limit = LIFE_S
        if self._rng.random() < AT_ONCE and requests < _REST:
            limit = self._rng.uniform(0.0, AT_ONCE_S)
        expected = len(self._log) + requests
        seen, at = len(self._log), time.monotonic()
        while len(self._log) < expected:
            self._victim.look()
            self._mend()
            now = time.monotonic()
            if self._victim.is_done:
                return False
            if len(self._log) > seen:
                seen, at = len(self._log), now
            elif now - at > limit:
                return limit < LIFE_S
            time.sleep(0.002)
        return True

    def _strike(self, what: str) -> None:
        fault = Fault(what, len(self._log))
        kind, _, how = what.partition(" ")
        if kind == "broker":
            self._victim.broker.kill()
            time.sleep(self._rng.uniform(0.0, 3.0))
            self._victim.broker.start()
        else:
            among = self._victim.frontiers if kind == "frontier" else self._victim.workers
            running = [role for role in among if role.is_up]
            if not running:
                return
            self._hit(self._rng.choice(running), how)
        self.faults.append(fault)

    def _hit(self, role: Role, how: str) -> None:
        if not how:
            role.kill(self._rng.uniform(0.0, 1.0))
            return
        if how == "frozen":
            role.freeze(is_frozen=True)
        else:
            (role.at.cut if how == "cut" else role.at.deaden)()
        self._mends.append((time.monotonic() + self._rng.uniform(0.2, BROKEN_S), role))

    def _mend(self) -> None:
        for due, role in [pair for pair in self._mends if pair[0] <= time.monotonic()]:
            self._mends.remove((due, role))
            if role not in (taken_role for _, taken_role in self._mends):
                role.at.mend()
                role.freeze(is_frozen=False)


def drawn_faults(kills: int, cuts: int, rng: random.Random) -> list[str]:
    """Draw what to kill and what to cut off, in order."""
    odds = {"worker": 0.5, "frontier": 0.35, "broker": 0.15}
    faults = rng.choices(list(odds), list(odds.values()), k=kills)
    faults += [
        f"{rng.choice(('frontier', 'worker'))} {rng.choice(('cut', 'dead', 'frozen'))}"
        for _ in range(cuts)
    ]
    rng.shuffle(faults)
    return faults


def host_gaps(log: Sequence[LogEntry]) -> list[float]:
    """Return the seconds between the arrivals of successive requests to each host."""
    times = defaultdict(list)
    for entry in log:
        times[entry.host].append(entry.time)
    return [later - earlier for host in times.values() for earlier, later in pairwise(host)]


def cluster(
    rack: Rack,
    faults: Sequence[str],
    *,
    workers: int = 3,
    slots: int = 32,
    skew_s: float = 0.0,
    delay_s: float = 0.0,
) -> Verdict:
    """Crawl with a cluster under faults; the clocks of its roles are wrong by up to `skew_s`.

    With a crawl delay the requests of each host are timed by the server.
    """
    folder, log = rack.folder("cluster"), rack.server.log
    begin = len(log)
    skews = (-skew_s, -skew_s / 7, 0.0, skew_s) if skew_s else (0.0,)
    size = {"workers": workers, "slots": slots}
    more = [*rack.more, f"--delay={delay_s}s", "--per-host=1"] if delay_s else rack.more
    with crew(rack.server, folder, **size, more=more, skews=skews) as victim:
        tormentor = Tormentor(rack, victim)
        is_done = tormentor.run(faults, max(1, int(1.6 * rack.asked / (len(faults) + 1))))
        is_done &= all(role.code in DONE for role in victim.frontiers)
        db = victim.db
    marks = [begin, *(fault.mark for fault in tormentor.faults), len(log)]
    repeats = asked_again(log, marks, log[: rack.asked])
    again = Counter(first for first, later, _ in repeats if first != later)
    in_flight = sum(
        slots * (1 if fault.what.startswith("worker") else workers) for fault in tormentor.faults
    )
    pages, other_ends = done(db), differing_ends(rack.endings, endings(db))
    lost, said = len(rack.pages - pages), victim.said()
    gaps = host_gaps(log[begin:])
    message = (
        f"{Counter(fault.what for fault in tormentor.faults)}; lost {lost} of {len(rack.pages)}; "
        f"{again.total()} requests made again, at most {in_flight} were in flight; "
        f"other ends {other_ends[:9]}; {len(log) - begin} requests, "
        f"shortest time between two of a host {min(gaps):.3f} s"
        f"{said.partition('Traceback')[2][:4000]!r}"
    )
    broken = {
        "lost": lost, "extra": pages - rack.pages, "other_ends": other_ends,
        "too_fast": min(gaps) < delay_s, "repeated": again.total() > in_flight,
        "too_few_faults": len(tormentor.faults) < len(faults), "unsound": integrity(db) != "ok",
        "not_done": not is_done, "breakdowns": victim.breakdowns,
        "traceback": "Traceback" in said,
    }  # fmt: skip
    return Verdict("cluster", message, [name for name, value in broken.items() if value])
