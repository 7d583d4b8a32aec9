"""Trials that a crawl has to stand: kills, power cuts, broken workers, sleep, jumping clocks.

    kills, terms  SIGKILLs at drawn moments, half of them to the workers too; SIGTERMs
    cuts          a kill, and the WAL is cut off at a random byte, as by a power cut
    workers       SIGSEGV to a scorer worker, again and again
    stops         SIGSTOP and SIGCONT to the crawl
    overlap       a second start while the first runs, and one after a kill -9 (stale lock)
    clock         a wall clock put back and forth by a day between two lives
    disk          a small tmpfs that fills up, and grows (needs root)

A trial's crawl must end with the pages of a crawl in peace, a sound database, exit code 0 and
no traceback; each says what must hold besides. Linux only.
"""

import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from focus.demo.server import DemoServer
from focus.demo.site import DemoWeb, generate
from focus.records import DropReason, UrlState
from tests.support.processes import (
    CONCURRENCY,
    FOCUS,
    LIFE_S,
    Crawl,
    asked_again,
    descendants,
    done,
    endings,
    integrity,
    kill,
    orphans,
    read_copy,
    served,
    slow_hosts,
)

START_UP_SHARE, START_UP_S = 0.15, 1.5  # of the kills: before the first request

_SHIFTED = (
    "import sys, time; real = time.time; time.time = lambda: real() + {seconds}; "
    "from focus.__main__ import main; sys.exit(main())"
)


class Verdict(NamedTuple):
    """One trial: what came of it, and which promises were broken."""

    trial: str
    outcome: str
    broken: list[str]


class Rack:
    """A served web, what a crawl in peace makes of it, and a folder for each trial."""

    def __init__(self, web: DemoWeb, server: DemoServer, folder: Path, rng: random.Random) -> None:
        self.server, self.rng = server, rng
        self._folder = folder
        self.more = [*slow_hosts(web), "--per-host", "8"]
        calm = self.crawl(self.folder("calm"))
        calm.end()
        self.size = calm.db.stat().st_size
        self.pages, self.endings = done(calm.db), endings(calm.db)
        self.asked = len(server.log)

    def folder(self, name: str) -> Path:
        """A folder of its own."""
        folder = self._folder / name
        folder.mkdir()
        return folder

    def crawl(self, folder: Path, program: Sequence[str] = FOCUS) -> Crawl:
        """A crawl into that folder, begun or continued."""
        return Crawl(self.server, folder, *self.more, program=program)

    def some(self, parts: int) -> int:
        """A number of requests, about the whole crawl divided by so many parts."""
        return self.rng.randint(1, max(2, 2 * self.asked // parts))

    def judged(
        self, folder: Path, code: int, remark: str, *, may_lose: int = 0, **broken: object
    ) -> Verdict:
        """The verdict when a trial's crawl has come to its end; `broken`: more promises."""
        lost, check = len(self.pages - done(folder / "focus.db")), integrity(folder / "focus.db")
        traces = (folder / "said").read_text(encoding="utf-8").count("Traceback")
        outcome = f"{remark}; lost {lost} of {len(self.pages)}, integrity {check}, exit {code}"
        broken |= {"lost": lost > may_lose, "unsound": check != "ok", "failed": code}
        broken |= {"traceback": traces}
        return Verdict(folder.name, outcome, [name for name, value in broken.items() if value])


def differing_ends(calm: dict[object, object], ended: dict[object, object]) -> list[object]:
    """Return URLs with another end than in the crawl in peace.

    Rules that a crawl learns about URLs depend on the order of the results and are left out.
    """
    rules = (UrlState.DROPPED, str(DropReason.URL_RULE))
    both = calm.keys() & ended.keys()
    pairs = [(url, calm[url], ended[url]) for url in both if rules not in (calm[url], ended[url])]
    return [pair for pair in pairs if pair[1] != pair[2]]


class Life(NamedTuple):
    """One crawl from its start to the signal that ended it.

    requests   that the server saw of it
    first_s    from its start to its first request; 0 if it did not come to that
    end_s      from the signal to its end
    pages      in the database after it
    orphans    worker processes that outlived it by a minute
    """

    requests: int
    first_s: float
    end_s: float
    code: int
    pages: int
    check: str
    orphans: int


def _live(rack: Rack, folder: Path, requests: int, *, term: bool) -> Life | None:
    """A life of about that many requests, or of moments before the first; None: it was done."""
    rng, log = rack.rng, rack.server.log
    before, began = len(log), time.monotonic()
    crawl = rack.crawl(folder)
    if not term and rng.random() < START_UP_SHARE:
        time.sleep(rng.uniform(0, START_UP_S))
    else:
        crawl.after(requests)
        time.sleep(rng.uniform(0, 0.03))
    if crawl.is_over:
        return None
    workers, signalled = descendants(crawl.process.pid), time.monotonic()
    if term:
        crawl.send(signal.SIGTERM).process.wait(LIFE_S)
    else:
        kill(crawl.process, workers if rng.random() < 0.5 else ())
    end_s, asked = time.monotonic() - signalled, crawl.requests
    is_there = read_copy(crawl.db, "SELECT 1 FROM sqlite_master WHERE name = 'page'")
    return Life(
        requests=asked, first_s=log[before].time - began if asked else 0.0, end_s=end_s,
        code=crawl.process.returncode,
        pages=len(read_copy(crawl.db, "SELECT 1 FROM page")) if is_there else 0,
        check=integrity(crawl.db), orphans=len(orphans(workers)),
    )  # fmt: skip


def kills(rack: Rack, times: int, *, term: bool = False) -> Verdict:
    """At drawn moments; only what was under way is asked for again, nothing after a SIGTERM.

    Fewer lives if the crawl was done before the last kill.
    """
    folder, log = rack.folder("terms" if term else "kills"), rack.server.log
    lives: list[Life] = []
    marks, step = [len(log)], max(1, int(1.7 * rack.asked / (times + 1)))
    while len(lives) < times:
        life = _live(rack, folder, rack.rng.randint(1, step), term=term)
        if life is None:
            break
        lives.append(life)
        marks.append(len(log))
    code = rack.crawl(folder).end()
    repeats = asked_again(log, [*marks, len(log)], log[: rack.asked])
    again = Counter(first for first, _, _ in repeats if first < len(lives))
    most_again = max(again.values(), default=0)
    first_s = max((life.first_s for life in lives), default=0.0)
    end_s = max((life.end_s for life in lives), default=0.0)
    pages = [0, *(life.pages for life in lives)]
    stuck = sum(
        life.requests > 2 * CONCURRENCY and life.pages <= before
        for life, before in zip(lives, pages, strict=False)
    )
    return rack.judged(
        folder,
        code,
        f"{len(lives)} lives, at most {first_s:.1f} s to the first request, {end_s:.1f} s to end; "
        f"{again.total()} requests made again, at most {most_again} a kill",
        extra=done(folder / "focus.db") - rack.pages,
        other_ends=differing_ends(rack.endings, endings(folder / "focus.db")),
        repeated=most_again > (0 if term else CONCURRENCY),
        unsound_between={life.check for life in lives} != {"ok"},
        never_killed=not lives,
        no_progress=stuck,
        orphans=sum(life.orphans for life in lives),
        codes=term and {life.code for life in lives} != {0},
    )


def cuts(rack: Rack, times: int) -> Verdict:
    """Kill, and cut the tail off the WAL, as if the disk had not written it."""
    folder, bad, done = rack.folder("cuts"), 0, 0
    for _ in range(times):
        crawl = rack.crawl(folder).after(rack.some(times))
        if crawl.is_over:
            break
        crawl.kill(workers=True)
        wal = crawl.db.with_name(crawl.db.name + "-wal")
        if size := wal.stat().st_size if wal.exists() else 0:
            tail = min(size, rack.rng.choice([100, 5000, 200_000]))
            os.truncate(wal, size - rack.rng.randint(0, tail))
            done += 1
        bad += integrity(crawl.db) != "ok"
    code, remark = rack.crawl(folder).end(), f"{done} cuts, {bad} unsound"
    return rack.judged(folder, code, remark, unsound_between=bad, never_cut=not done)


def segfaults(rack: Rack, times: int) -> Verdict:
    """A scorer worker dies of SIGSEGV while it works; the crawl goes on without a word.

    A page is tried again, alone; only one whose worker dies both times is given up.
    """
    folder, hit = rack.folder("workers"), 0
    crawl = rack.crawl(folder)
    for _ in range(times):
        crawl.after(rack.some(times + 1))
        for worker in descendants(crawl.process.pid)[:1]:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGSEGV)
                hit += 1
    remark = f"{hit} workers killed by SIGSEGV"
    return rack.judged(folder, crawl.end(), remark, may_lose=hit // 2, never_hit=not hit)


def stops(rack: Rack, times: int) -> Verdict:
    """The whole process group sleeps for seconds and goes on."""
    folder = rack.folder("stops")
    crawl = rack.crawl(folder)
    for _ in range(times):
        if not crawl.after(rack.some(times + 1)).is_over:
            os.killpg(crawl.process.pid, signal.SIGSTOP)
            time.sleep(rack.rng.uniform(0.2, 3.0))
            os.killpg(crawl.process.pid, signal.SIGCONT)
    return rack.judged(folder, crawl.end(), f"{times} times stopped")


def overlaps(rack: Rack, times: int) -> Verdict:
    """Cron starts a second crawl: it ends with 5 at once; after kill -9 it takes over."""
    folder, codes, slowest, unnamed = rack.folder("overlap"), set(), 0.0, 0
    for _ in range(times):
        crawl = rack.crawl(folder).after(8)
        crawl.send(signal.SIGSTOP)  # it shall not end before the second does
        began = time.monotonic()
        second = rack.crawl(folder)
        codes.add(second.end())
        unnamed += f"pid {crawl.process.pid}" not in second.said
        slowest = max(slowest, time.monotonic() - began)
        crawl.kill()
    code, remark = rack.crawl(folder).end(), f"second start {codes}, {slowest:.1f} s"
    return rack.judged(folder, code, remark, second_start=codes != {5}, unnamed=unnamed)


def clocks(rack: Rack) -> Verdict:
    """Lives whose wall clocks are a day apart.

    A clock that is taken at its word makes it a host's longest rest, an hour, until the first
    request.
    """
    folder, slowest, lives, begun = rack.folder("clock"), 0.0, (0, 1, -1, 0), 0
    for days in lives:
        began = time.monotonic()
        crawl = rack.crawl(folder, ("-c", _SHIFTED.format(seconds=days * 86400))).after(1)
        slowest = max(slowest, time.monotonic() - began)
        begun += crawl.requests > 0
        crawl.after(rack.some(8)).kill()
    code, remark = rack.crawl(folder).end(), f"first request after {slowest:.1f} s"
    return rack.judged(folder, code, remark, never_began=begun < len(lives))


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[bool]:
    """A tmpfs of that size at `folder`; False where that cannot be had."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        result = not subprocess.run(command, capture_output=True, check=False).returncode
    except FileNotFoundError:
        result = False
    try:
        yield result
    finally:
        if result:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def full_disk(rack: Rack) -> Verdict:
    """It fills up three times, each time with one line, and there is room again."""
    folder, codes, lines = rack.folder("disk"), [], 0
    whole = rack.size // 1024 + 2048
    with small_disk(folder, f"{whole // 4}k") as result:
        if not result:
            return Verdict("disk", "skipped: a tmpfs cannot be mounted here", [])
        for room in (whole // 2, 3 * whole // 4, 4 * whole + 80_000):
            codes.append(rack.crawl(folder).end())
            said = (folder / "said").read_text(encoding="utf-8").splitlines()
            errors = [line for line in said if line.startswith("focus: error:")]
            lines = sum("the disk is full" in line for line in errors)
            remount = ["mount", "-o", f"remount,size={room}k", str(folder)]
            subprocess.run(remount, check=True)
        code, remark = rack.crawl(folder).end(), f"full with {codes}, {lines} error lines"
        wrong = 1 not in codes or not lines == len(errors) == codes.count(1)
        return rack.judged(folder, code, remark, error_lines=wrong)


@contextmanager
def racked(pages: int, seed: int) -> Iterator[Rack]:
    """A web of about so many pages, served, and crawled in peace."""
    web = generate(seed, pages=pages)
    with tempfile.TemporaryDirectory() as folder, served(web) as server:
        yield Rack(web, server, Path(folder), random.Random(seed))
