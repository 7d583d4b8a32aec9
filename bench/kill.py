"""Counts what a crawl loses, and fetches twice, when it is killed again and again.

    python -m bench.kill [--kills 20] [--pages 3000] [--seed 1] [--term] [-- --per-host 8]

Crawls the generated web over loopback twice: once in peace, and once with SIGKILLs
(or SIGTERMs) at moments drawn from a seed, each followed by the same command. After
each the database is checked as it was left; in the end both crawls must know the same.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple

from bench.live import (
    CONCURRENCY,
    crawl_options,
    descendants,
    kill,
    orphans,
    read_copy,
    served,
    start,
    wait_until,
)
from focus.demo.server import DemoServer
from focus.demo.site import generate

START_UP_SHARE = 0.15  # of the kills: before the first request
START_UP_S = 1.5
LIFE_S = 240.0
GRACE_S = 15.0


class Life(NamedTuple):
    """One process from its start to the signal that ended it.

    whole      its workers were killed with it
    requests   that the server saw of it
    first_s    from its start to its first request; None: it did not come to that
    end_s      from the signal to its end
    code       what it ended with, negative for a signal
    pages      in the database after it
    check      what `PRAGMA integrity_check` says
    orphans    worker processes that outlived it by 5 s
    """

    whole: bool
    requests: int
    first_s: float | None
    end_s: float
    code: int
    pages: int
    check: str
    orphans: int


class Torture(NamedTuple):
    """What came of it.

    lost, extra    pages that only the crawl in peace has, or only the killed one
    refetched      life -> URLs of it that a later life asked for again
    ends           (state, reason) -> URLs, of both crawls
    last           exit code of the last life
    """

    lives: list[Life]
    lost: set[str]
    extra: set[str]
    refetched: list[int]
    ends: tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]
    last: int

    @property
    def stuck(self) -> list[int]:
        """Lives that brought nothing into the database though they had the time for it."""
        pages = [0, *(life.pages for life in self.lives)]
        return [
            number
            for number, (life, before) in enumerate(zip(self.lives, pages, strict=False))
            if life.requests > 2 * CONCURRENCY and life.pages <= before
        ]


class Victim:
    """A crawl into `folder` that is to be killed; `more` are options of `focus crawl`."""

    def __init__(self, server: DemoServer, folder: Path, more: Sequence[str]) -> None:
        self._server = server
        self._said = folder / "stderr"
        self._more = more
        self.db = folder / "killed.db"

    def crawl(self, db: Path) -> Popen[bytes]:
        """A process that crawls into `db`."""
        return start(crawl_options(self._server, db, *self._more), self._said)

    def finish(self, db: Path) -> int:
        """Crawl to the end; the exit code."""
        process = self.crawl(db)
        try:
            return process.wait(LIFE_S)
        finally:
            kill(process)

    def live(self, rng: random.Random, requests: int, *, term: bool, whole: bool) -> Life | None:
        """A life of about that many requests, or of moments before the first; None: it was done."""
        log = self._server.log
        before, began = len(log), time.monotonic()
        process = self.crawl(self.db)
        if not term and rng.random() < START_UP_SHARE:
            time.sleep(rng.uniform(0, START_UP_S))
        else:
            wait_until(lambda: len(log) >= before + requests or process.poll() is not None, LIFE_S)
            time.sleep(rng.uniform(0, 0.03))
        if process.poll() is not None:
            if process.returncode:
                raise RuntimeError(f"ended by itself with {process.returncode}: see {self._said}")
            return None
        workers, signalled = descendants(process.pid), time.monotonic()
        if term:
            process.terminate()
            process.wait(GRACE_S)
        else:
            kill(process, workers if whole else ())
        end_s = time.monotonic() - signalled
        left, asked = orphans(workers), len(log) - before
        return Life(
            whole=whole,
            requests=asked,
            first_s=log[before].time - began if asked else None,
            end_s=end_s,
            code=process.returncode,
            pages=self._pages(),
            check="; ".join(str(row[0]) for row in read_copy(self.db, "PRAGMA integrity_check")),
            orphans=len(left),
        )

    def _pages(self) -> int:
        is_there = read_copy(self.db, "SELECT 1 FROM sqlite_master WHERE name = 'page'")
        return len(read_copy(self.db, "SELECT 1 FROM page")) if is_there else 0


def torture(
    server: DemoServer,
    folder: Path,
    *,
    kills: int,
    rng: random.Random,
    term: bool = False,
    more: Sequence[str] = (),
) -> Torture:
    """Crawl in peace, then under SIGKILLs, half of them to the workers as well.

    `term`: under SIGTERMs, once there was a request. Fewer lives if the crawl was done before
    the last kill. Raises RuntimeError if a life fails before its signal.
    """
    victim, calm, log = Victim(server, folder, more), folder / "calm.db", server.log
    begun = len(log)  # other crawls of this server
    victim.finish(calm)
    base = Counter((entry.host, entry.path) for entry in log[begun:])
    most = int(1.7 * (len(log) - begun) / (kills + 1))
    lives, marks = [], [len(log)]
    for _ in range(kills):
        whole = not term and rng.random() < 0.5
        life = victim.live(rng, rng.randint(1, most), term=term, whole=whole)
        if life is None:
            break
        lives.append(life)
        marks.append(len(log))
    last = victim.finish(victim.db)
    marks.append(len(log))
    mine, theirs = done(victim.db), done(calm)
    return Torture(
        lives=lives,
        lost=theirs - mine,
        extra=mine - theirs,
        refetched=_refetched(server, marks, base),
        ends=(_ends(calm), _ends(victim.db)),
        last=last,
    )


def _refetched(server: DemoServer, marks: list[int], base: Counter[tuple[str, str]]) -> list[int]:
    """Requests after each kill for what was asked for before it.

    What the crawl in peace asks for more than once (retries) is left out.
    """
    lives = defaultdict(list)
    for number, (begin, end) in enumerate(itertools.pairwise(marks)):
        for entry in server.log[begin:end]:
            lives[entry.host, entry.path].append(number)
    again = Counter(
        earlier for url, numbers in lives.items() if base[url] <= 1 for earlier in numbers[:-1]
    )
    return [again[number] for number in range(len(marks) - 2)]


def done(db: Path) -> set[str]:
    """Stored pages by the key that tells pages apart: a page may have several addresses."""
    sql = "SELECT hex(key) FROM url JOIN page ON page.id = url.id WHERE state = 2"
    return {str(key) for (key,) in read_copy(db, sql)}


def _ends(db: Path) -> Counter[tuple[object, ...]]:
    return Counter(read_copy(db, "SELECT state, reason FROM url"))


def _report(result: Torture) -> None:
    print("life\tkilled\trequests\tfirst s\tend s\tcode\tpages\tagain\torphans\tintegrity")
    for number, (life, again) in enumerate(zip(result.lives, result.refetched, strict=True), 1):
        first = "-" if life.first_s is None else f"{life.first_s:.2f}"
        row = (number, "all" if life.whole else "main", life.requests, first, f"{life.end_s:.2f}")
        print(*row, life.code, life.pages, again, life.orphans, life.check, sep="\t")
    calm, killed = result.ends
    starts = [life.first_s for life in result.lives if life.first_s is not None]
    total = sum(result.refetched)
    print(f"last life ended with {result.last}; {sum(calm.values())} URLs known")
    print(f"lost {len(result.lost)}, extra {len(result.extra)}; {total} requests made twice,")
    print(f"  {total / len(result.lives):.1f} a kill, at most {max(result.refetched)}")
    print(f"ends that differ: {dict(calm - killed)} {dict(killed - calm)}")
    print(f"lives without progress: {len(result.stuck)}")
    print(f"start to first request: at most {max(starts, default=0.0):.2f} s")


def main() -> int:
    """Print a line per life and the verdict; 1 if anything was lost."""
    parser = argparse.ArgumentParser(prog="python -m bench.kill")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--term", action="store_true", help="SIGTERM, not SIGKILL")
    parser.add_argument("options", nargs="*", help="more for `focus crawl`, after --")
    given = parser.parse_args()
    web, rng = generate(given.seed, pages=given.pages), random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder, served(web) as server:
        result = torture(
            server, Path(folder), kills=given.kills, rng=rng, term=given.term, more=given.options
        )
        said = (Path(folder) / "stderr").read_text(encoding="utf-8")
    _report(result)
    if "Traceback" in said:
        print(said)
    bad = result.lost or result.last or any(life.check != "ok" for life in result.lives)
    return 1 if bad or "Traceback" in said else 0


if __name__ == "__main__":
    sys.exit(main())
