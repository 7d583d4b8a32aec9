"""Puts a crawl through SIGKILLs, power cuts, full disks and jumping clocks.

    python -m bench.torture [--kills 200] [--pages 10000] [--cuts 50] [--seed 1] [--quick]

    kills     SIGKILLs at random moments, half of them to the workers too (bench.kill)
    cuts      the same, and then the WAL is cut off at a random byte, as by a power cut
    workers   SIGSEGV to a scorer worker, again and again
    stops     SIGSTOP and SIGCONT to the crawl
    overlap   a second start while the first runs, and one after a kill -9 (stale lock)
    clock     a wall clock put back and forth by a day between two lives
    disk      a small tmpfs that fills up, and grows (needs root)

Each prints one line of a table; exit code 1 if anything was lost. Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from bench.kill import Torture, done, torture
from bench.live import (
    CONCURRENCY,
    crawl_options,
    descendants,
    kill,
    read_copy,
    served,
    start,
    wait_until,
)
from focus.demo.server import DemoServer
from focus.demo.site import DemoWeb, generate

LIFE_S = 600.0
START_S = 5.0
"""From a start to its first request, at most."""

_CLOCK = """
import sys, time
shift, real = float(sys.argv[1]), time.time
time.time = lambda: real() + shift
sys.argv = ["focus", *sys.argv[2:]]
from focus.__main__ import main
sys.exit(main())
"""


class Verdict(NamedTuple):
    """One trial: what was done, what came of it, whether that is as promised."""

    trial: str
    found: str
    holds: bool


class Rack:
    """A served web, what a crawl in peace makes of it, and a folder for each trial."""

    def __init__(self, web: DemoWeb, server: DemoServer, folder: Path, rng: random.Random) -> None:
        self.web, self.server, self.rng = web, server, rng
        self._folder = folder
        slow = [f"--deny=//{site.host}/" for site in web.plan.sites if site.kind.delay_s]
        self.more = [*slow, "--per-host", "8"]
        self.calm = self.folder("calm") / "x.db"
        self.finish(self.calm)
        self.pages = done(self.calm)
        self.asked = len(server.log)

    def folder(self, name: str) -> Path:
        """A folder of its own."""
        folder = self._folder / name
        folder.mkdir()
        return folder

    def crawl(self, db: Path, *more: str) -> subprocess.Popen[bytes]:
        """A crawl into `db`, begun or continued."""
        return start(crawl_options(self.server, db, *self.more, *more), db.with_name("said"))

    def finish(self, db: Path) -> int:
        """Crawl to the end; the exit code."""
        process = self.crawl(db)
        try:
            return process.wait(LIFE_S)
        finally:
            kill(process)

    def after(self, process: subprocess.Popen[bytes], requests: int) -> None:
        """Wait until the server has seen so many requests more, or the process has ended."""
        wanted = len(self.server.log) + requests
        wait_until(lambda: len(self.server.log) >= wanted or process.poll() is not None, LIFE_S)

    def some(self, parts: int) -> int:
        """A number of requests, about the whole crawl divided by so many parts."""
        return self.rng.randint(1, max(2, 2 * self.asked // parts))

    def judged(
        self, trial: str, db: Path, code: int, remark: str = "", *, may_lose: int = 0
    ) -> Verdict:
        """The verdict when a trial's crawl has come to its end."""
        lost = len(self.pages - done(db))
        check = "; ".join(str(row[0]) for row in read_copy(db, "PRAGMA integrity_check"))
        said = db.with_name("said").read_text(encoding="utf-8")
        traces = said.count("Traceback")
        found = f"lost {lost} of {len(self.pages)}, integrity {check}, exit {code}"
        found += f", tracebacks {traces}" + (f", {remark}" if remark else "")
        sound = check == "ok" and not code and not traces
        return Verdict(trial, found, sound and lost <= may_lose)


def cut_off(rack: Rack, cuts: int) -> Verdict:
    """Kill, and cut the tail off the WAL, as if the disk had not written it."""
    db = rack.folder("cuts") / "x.db"
    bad, gone, done = 0, 0, 0
    wal = db.with_name(db.name + "-wal")
    for _ in range(cuts):
        process = rack.crawl(db)
        rack.after(process, rack.some(cuts))
        if process.poll() is not None:
            break
        kill(process, descendants(process.pid))
        size = wal.stat().st_size if wal.exists() else 0
        if size:
            tail = min(size, rack.rng.choice([100, 5000, 200_000]))
            os.truncate(wal, size - rack.rng.randint(0, tail))
            gone, done = gone + tail, done + 1
        bad += read_copy(db, "PRAGMA integrity_check") != [("ok",)]
    code = rack.finish(db)
    verdict = rack.judged("cuts", db, code, f"{done} cuts, {bad} unsound")
    return verdict._replace(holds=verdict.holds and not bad and done > 0)


def segfaults(rack: Rack, times: int) -> Verdict:
    """A scorer worker dies of SIGSEGV while it works; the crawl goes on without a word.

    A page is tried again, alone; only one whose worker dies both times is given up.
    """
    db = rack.folder("workers") / "x.db"
    process, hit = rack.crawl(db), 0
    for _ in range(times):
        rack.after(process, rack.some(times + 1))
        for worker in descendants(process.pid)[:1]:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGSEGV)
                hit += 1
    code = process.wait(LIFE_S)
    remark = f"{hit} workers killed by SIGSEGV"
    verdict = rack.judged("workers", db, code, remark, may_lose=hit // 2)
    return verdict._replace(holds=verdict.holds and hit > 0)


def stops(rack: Rack, times: int) -> Verdict:
    """The whole process group sleeps for seconds and goes on."""
    db = rack.folder("stops") / "x.db"
    process = rack.crawl(db)
    for _ in range(times):
        rack.after(process, rack.some(times + 1))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(rack.rng.uniform(0.2, 3.0))
            os.killpg(process.pid, signal.SIGCONT)
    return rack.judged("stops", db, process.wait(LIFE_S), f"{times} times stopped")


def overlaps(rack: Rack, times: int) -> Verdict:
    """Cron starts a second crawl: it ends with 5 at once; after kill -9 it takes over."""
    db = rack.folder("overlap") / "x.db"
    codes, slowest = set(), 0.0
    for _ in range(times):
        process = rack.crawl(db, "--delay", "1s")  # it shall not end before the second begins
        rack.after(process, 8)
        began = time.monotonic()
        second = rack.crawl(db)
        codes.add(second.wait(LIFE_S))
        slowest = max(slowest, time.monotonic() - began)
        kill(process)
    verdict = rack.judged("overlap", db, rack.finish(db), f"second start {codes}, {slowest:.1f} s")
    return verdict._replace(holds=verdict.holds and codes == {5})


def clocks(rack: Rack) -> Verdict:
    """Lives whose wall clocks are a day apart."""
    db = rack.folder("clock") / "x.db"
    options = crawl_options(rack.server, db, *rack.more)
    slowest = 0.0
    for days in (0, 1, -1, 0):
        with db.with_name("said").open("ab") as said:
            command = [sys.executable, "-c", _CLOCK, str(days * 86400), *options]
            process = subprocess.Popen(command, stderr=said, start_new_session=True)
        began, before = time.monotonic(), len(rack.server.log)
        wait_until(lambda seen=before: len(rack.server.log) > seen, 4 * START_S)  # type: ignore[misc]
        slowest = max(slowest, time.monotonic() - began)
        rack.after(process, rack.some(8))
        kill(process)
    verdict = rack.judged("clock", db, rack.finish(db), f"first request after {slowest:.1f} s")
    return verdict._replace(holds=verdict.holds and slowest <= 2 * START_S)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[bool]:
    """A tmpfs of that size at `folder`; False where that cannot be had."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        made = not subprocess.run(command, capture_output=True, check=False).returncode
    except FileNotFoundError:
        made = False
    try:
        yield made
    finally:
        if made:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def full_disk(rack: Rack) -> Verdict:
    """It fills up three times, each time with one line, and there is room again."""
    folder = rack.folder("disk")
    db, codes, lines = folder / "x.db", [], 0
    whole = rack.calm.stat().st_size // 1024 + 2048
    with small_disk(folder, f"{whole // 4}k") as made:
        if not made:
            return Verdict("disk", "skipped: a tmpfs cannot be mounted here", True)
        for room in (whole // 2, 3 * whole // 4, 4 * whole + 80_000):
            codes.append(rack.finish(db))
            said = db.with_name("said").read_text(encoding="utf-8").splitlines()
            lines = sum(line.startswith("focus: error:") for line in said)
            remount = ["mount", "-o", f"remount,size={room}k", str(folder)]
            subprocess.run(remount, check=True)
        code = rack.finish(db)
        verdict = rack.judged("disk", db, code, f"full with {codes}, {lines} error lines")
    return verdict._replace(holds=verdict.holds and 1 in codes and lines == codes.count(1))


def killed(rack: Rack, kills: int) -> Verdict:
    """SIGKILLs at random moments."""
    result: Torture = torture(
        rack.server, rack.folder("kills"), kills=kills, rng=rack.rng, more=rack.more
    )
    checks = {life.check for life in result.lives}
    first = max((life.first_s for life in result.lives if life.first_s is not None), default=0.0)
    again = max(result.refetched)
    found = (
        f"{len(result.lives)} kills: lost {len(result.lost)}, extra {len(result.extra)}, "
        f"integrity {checks}, "
        f"asked again at most {again} a kill, {sum(result.refetched)} in all, "
        f"first request after {first:.1f} s at most, {len(result.stuck)} lives without progress, "
        f"{sum(life.orphans for life in result.lives)} orphans, exit {result.last}"
    )
    sound = not (result.lost or result.extra or result.last or result.stuck) and checks == {"ok"}
    return Verdict("kills", found, sound and again <= CONCURRENCY)


def trials(rack: Rack, kills: int, cuts: int, few: int) -> Iterator[Callable[[], Verdict]]:
    """Everything, one after the other."""
    yield lambda: overlaps(rack, few)
    yield lambda: segfaults(rack, 2 * few)
    yield lambda: stops(rack, few)
    yield lambda: clocks(rack)
    yield lambda: full_disk(rack)
    yield lambda: cut_off(rack, cuts)
    if kills:
        yield lambda: killed(rack, kills)


@contextmanager
def racked(pages: int, seed: int) -> Iterator[Rack]:
    """A web of about so many pages, served, and crawled in peace."""
    web = generate(seed, pages=pages)
    with tempfile.TemporaryDirectory() as folder, served(web) as server:
        yield Rack(web, server, Path(folder), random.Random(seed))


def main() -> int:
    """Print a line per trial; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m bench.torture")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="20 kills, 8 cuts, 1,500 pages")
    given = parser.parse_args()
    sizes = (1_500, 20, 8, 3) if given.quick else (given.pages, given.kills, given.cuts, 6)
    many, kills, cuts, few = sizes
    holds = True
    print("| trial | found | holds |\n|---|---|---|", flush=True)
    with racked(many, given.seed) as rack:
        for trial in trials(rack, kills, cuts, few):
            verdict = trial()
            holds = holds and verdict.holds
            print(
                f"| {verdict.trial} | {verdict.found} | {'yes' if verdict.holds else 'NO'} |",
                flush=True,
            )
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
