"""Counts what a cluster loses, and fetches twice, when its roles are killed and cut off at random.

    python -m bench.cluster.kills [--kills 100] [--cuts 0] [--pages 10000] [--shards 2]
        [--workers 3] [--slots 32] [--seed 1] [--skew 0] [-- --per-host 4]

Crawls the generated web over loopback twice: by one process in peace, and by a cluster whose
frontiers, workers and broker are killed (SIGKILL) at moments drawn from a seed and started
again. `--cuts`: so many times a role's network is cut, or lets nothing through for a while, or
the role itself stands still (SIGSTOP).
`--skew`: the roles' clocks are wrong by up to so many seconds. In the end both must know the
same. A request counts as made again if one crawl in peace makes it once; it is put down to
the faults since it was made first.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bench.cluster.roles import DONE, Crew, Role, crew
from bench.kill import done
from bench.live import crawl_options, read_copy, served, start
from focus.demo.server import DemoServer, LogEntry
from focus.demo.site import generate

LIFE_S = 900.0
STUCK_S = 90.0  # without a request, when nothing is broken any more
AT_ONCE = 0.2  # of the faults: soon after the one before, whatever has come of that
AT_ONCE_S = 3.0
BROKEN_S = 15.0  # a network is cut for so long at most: shorter and longer than all patience
ODDS = {"worker": 0.5, "frontier": 0.35, "broker": 0.15}


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
                  the fault before
    urls          those requests
    silence_s     the longest time without a request to a host that had more to come, of both
    ends          (state, reason) -> URLs, of both
    left          leases and links that are still in the shards' databases
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
        return sum(_count(db, "lease") for db in self._victim.databases())


def _count(db: Path, table: str) -> int:
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=1.0)) as opened,
    ):
        number: int = opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        return number
    return 0


def plan(kills: int, cuts: int, rng: random.Random) -> list[str]:
    """What to do, in order."""
    found = rng.choices(list(ODDS), list(ODDS.values()), k=kills)
    whom, how = ("frontier", "worker"), ("cut", "dead", "frozen")
    found += [f"{rng.choice(whom)} {rng.choice(how)}" for _ in range(cuts)]
    rng.shuffle(found)
    return found


def in_peace(server: DemoServer, folder: Path, more: Sequence[str]) -> Path:
    """The crawl by one process; its database."""
    db = folder / "calm.db"
    process = start(crawl_options(server, db, *more), folder / "calm.said")
    try:
        if code := process.wait(LIFE_S):
            raise RuntimeError(f"the crawl in peace ended with {code}: see {folder / 'calm.said'}")
    finally:
        process.kill()
    return db


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
    calm, log = in_peace(server, folder, more), server.log
    base, begin = Counter((entry.host, entry.path) for entry in log), len(log)
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
    theirs = done(calm)
    marks = [begin, *(each.mark for each in tormentor.faults), end]
    again, urls = _again(server, marks, base)
    return Torture(
        faults=[_idle(fault, server) for fault in tormentor.faults],
        lost=theirs - mine,
        extra=mine - theirs,
        again=again,
        urls=urls,
        silence_s=(_silence(log[:begin]), _silence(log[begin:end])),
        ends=(_ends(calm), sum(map(_ends, databases), Counter())),
        left=sum(_count(db, table) for db in databases for table in ("lease", "link")),
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


def _again(
    server: DemoServer, marks: list[int], base: Counter[tuple[str, str]]
) -> tuple[list[int], list[tuple[int, str]]]:
    """Per fault, requests between it and the one before that were made again afterwards.

    The last number is of those made again though no fault began in between.
    """
    lives: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number in range(len(marks) - 1):
        for entry in server.log[marks[number] : marks[number + 1]]:
            lives[entry.host, entry.path].append(number)
    found, same, urls = Counter[int](), 0, []
    for (host, path), numbers in lives.items():
        if base[host, path] <= 1:
            for earlier, later in pairwise(numbers):
                found[earlier] += earlier != later
                same += earlier == later
                urls.append((earlier + 1, f"{host}{path} (again after {later})"))
    return [*(found[number] for number in range(len(marks) - 2)), same], sorted(urls)


def _ends(db: Path) -> Counter[tuple[object, ...]]:
    return Counter(read_copy(db, "SELECT state, reason FROM url"))


def report(result: Torture, *, verbose: bool) -> None:
    """Print the faults, and what came of them."""
    if verbose:
        print("nth\tfault\twhom\tat request\tleases\tagain\tnext request after s")
        for number, (fault, again) in enumerate(zip(result.faults, result.again, strict=False), 1):
            at = fault.mark - result.requests[0]
            row = (number, fault.what, fault.whom, at, fault.leases, again, f"{fault.idle_s:.1f}")
            print(*row, sep="\t")
        for number, url in result.urls[:60]:
            print(f"made before {number} and again: {url}")
    by_kind: dict[str, list[tuple[Fault, int]]] = defaultdict(list)
    for fault, again in zip(result.faults, result.again, strict=False):
        by_kind[fault.what].append((fault, again))
    print("\n| fault | times | leases open | requests made again | most | longest pause s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for what, pairs in sorted(by_kind.items()):
        leases, made = sum(each.leases for each, _ in pairs), [number for _, number in pairs]
        pause = max(each.idle_s for each, _ in pairs)
        print(f"| {what} | {len(pairs)} | {leases} | {sum(made)} | {max(made)} | {pause:.0f} |")
    calm, hurt = result.ends
    print(
        f"\nlost {len(result.lost)}, extra {len(result.extra)}; at its end: {result.is_done}; ",
        end="",
    )
    print(f"roles that broke down: {result.breakdowns}")
    print(f"requests {result.requests[0]} in peace, {result.requests[1]} hurt, ", end="")
    print(f"{result.again[-1]} made twice between two faults; {result.seconds:.0f} s; ", end="")
    print("longest silence of a host {:.1f} s in peace, {:.1f} s hurt".format(*result.silence_s))
    print(f"URLs {sum(calm.values())} and {sum(hurt.values())}; ends that differ: ", end="")
    print(f"{dict(calm - hurt)} {dict(hurt - calm)}; leases and links left: {result.left}")


def main() -> int:
    """Print what was done and the verdict; 1 if anything was lost, or did not end."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.kills")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--slots", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skew", type=float, default=0.0, help="seconds a clock may be wrong by")
    parser.add_argument("--keep", type=Path, help="work here, and leave everything")
    parser.add_argument("options", nargs="*", help="more for the crawls, after --")
    given = parser.parse_args()
    web, rng = generate(given.seed, pages=given.pages), random.Random(given.seed)
    slow = [f"--deny=//{site.host}/" for site in web.plan.sites if site.kind.delay_s]
    with tempfile.TemporaryDirectory() as temporary, served(web) as server:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        result = torture(
            server,
            folder,
            faults=plan(given.kills, given.cuts, rng),
            rng=rng,
            shards=given.shards,
            workers=given.workers,
            slots=given.slots,
            more=[*slow, *given.options],
            skew=given.skew,
        )
    report(result, verbose=True)
    is_bad = (
        result.lost
        or result.extra
        or not result.is_done
        or result.breakdowns
        or "Traceback" in result.said
    )
    if is_bad:
        print(result.said[-6000:])
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main())
