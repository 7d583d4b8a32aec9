"""Measures a crawl with millions of known URLs: memory, disk, CPU per page, pauses, restart.

    python -m bench.growth [FOLDER] [--urls 5000000] [--marks 10000,1000000] [--pages 1000]
        [--rounds 1] [--strategy topic-pagerank] [--json FILE]

Crawl loop, frontier, graph and database are those of a crawl; fetching and scoring are replaced by
generated pages, whose cost is subtracted. At each mark and at the end, `--pages` pages of 97 links
are measured, 10 links of each new; between the marks, pages with new links only enlarge the crawl.
Further rounds end at the last mark. Afterwards another process resumes the crawl up to its first
request and ends at SIGTERM, when it writes all ranks; both times are measured.
"""

import asyncio
import hashlib
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.script import read_options, write_figures
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    LimitConfig,
    PolitenessConfig,
    RunPaths,
)
from focus.crawler import Crawl
from focus.engine.transports import Transport
from focus.engine.unit_of_work import Totals
from focus.records import FetchResult, Link, Page, Result, Task
from focus.session import Watcher, crawl_identity, run
from focus.session.process_limits import infrequent_garbage_collection, return_freed_memory
from focus.store import CrawlWriter, Store
from focus.topic.topic import from_words, to_builtins
from tests.support.processes import peak_mib, present_mib

HOSTS = 2000
LINKS, FRESH = 97, 10
BODY_BYTES = 10_000
PATTERN = "/news/D/N/article-N.html"  # the URL pattern of all pages
TICK_S = 0.005
RESULTS_AT_ONCE = 8


def config(strategy: str, **fetch: object) -> CrawlConfig:
    """Return the configuration of the crawl, equal for its start and its continuation."""
    return CrawlConfig(
        seeds=("http://h0.example/",),
        strategy=strategy,
        concurrency=256,
        politeness=PolitenessConfig(delay_s=0.0),
        fetch=msgspec.structs.replace(FetchConfig(allow_net=("127.0.0.0/8",)), **fetch),
        analysis=AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="position"),
    )


class Cost(msgspec.Struct, frozen=True):
    """Cost of a page at a number of known URLs.

    `cpu_ms` is the CPU of the process (loop and store's thread), `loop_ms` that of the loop alone.
    """

    known: int
    cpu_ms: float
    loop_ms: float
    wall_ms: float
    rss_mib: float


class GeneratedWeb(Transport):
    """A transport that generates pages with links to new and to known URLs."""

    is_live = True

    def __init__(self, marks: Sequence[int], pages: int) -> None:
        self.costs: list[Cost] = []
        self.crawl: Crawl
        self._rng = random.Random(1)
        self._marks = list(marks)
        self._pages = pages
        self._remaining = 0  # pages of the measurement in progress
        self._sent: list[Task] = []
        self._url_count = 1  # the seed
        self._generating_s = 0.0
        self._began = (0.0, 0.0, 0.0)
        self._offset = time.time() - time.monotonic()
        self._body = self._rng.randbytes(BODY_BYTES)
        self.body_bytes = 0

    def now(self) -> float:
        """Unix seconds."""
        return self._offset + time.monotonic()

    def send(self, task: Task) -> None:
        """Queue a request; a later `receive` returns its result."""
        self.in_flight += 1
        self._sent.append(task)

    async def receive(self, until: float | None) -> list[Result]:
        """Return the next results."""
        await asyncio.sleep(0)
        if not self._sent:
            await asyncio.sleep(0.001)
        began = time.thread_time()
        tasks, self._sent = self._sent[:RESULTS_AT_ONCE], self._sent[RESULTS_AT_ONCE:]
        results = [self._answer(task) for task in tasks]
        self.in_flight -= len(results)
        self._generating_s += time.thread_time() - began
        return results

    def cancel(self) -> None:
        """Discard all requests."""
        self._sent.clear()
        self.in_flight = 0

    def _answer(self, task: Task) -> Result:
        now = self.now()
        if task.id is None:
            return Result(task, FetchResult(task.url, now, status=404, elapsed_s=0.01))
        self._follow_plan()
        fresh = FRESH if self._remaining else LINKS
        links = [_link(self._url_count + n, self._rng) for n in range(fresh)]
        links += [
            _link(self._rng.randrange(self._url_count), self._rng) for _ in range(LINKS - fresh)
        ]
        self._url_count += fresh
        body = self._body if self._remaining else b""
        self.body_bytes += len(body)
        unique = list({link.key: link for link in links}.values())
        page = Page(
            title="一个网页",
            relevance=0.3,
            links=unique,
            text_digest=self._rng.getrandbits(64) or 1,  # a page without a new text is a trap
            wording_hash=self._rng.getrandbits(64),
            text_length=1000,
            body_zstd=body,
        )
        fetch = FetchResult(task.url, now, status=200, raw_bytes=30_000, elapsed_s=0.01)
        return Result(task, fetch, page)

    def _follow_plan(self) -> None:
        """Begin or end a measurement."""
        if self._remaining:
            self._remaining -= 1
            if not self._remaining:
                self._finish_measurement()
        elif self._marks and len(self.crawl.url_table) >= self._marks[0]:
            self._remaining = self._pages
            self._began = self._clocks()

    def _finish_measurement(self) -> None:
        cpu, loop, wall = (
            1000 * (now - then) / self._pages
            for now, then in zip(self._clocks(), self._began, strict=True)
        )
        self.costs.append(Cost(self._marks.pop(0), cpu, loop, wall, present_mib()))
        print(
            f"at {len(self.crawl.url_table):,} URLs: {self.costs[-1]}", file=sys.stderr, flush=True
        )
        if not self._marks:
            self.crawl.stop("measured")

    def _clocks(self) -> tuple[float, float, float]:
        generating_s = self._generating_s
        return (
            time.process_time() - generating_s,
            time.thread_time() - generating_s,
            time.monotonic() - generating_s,
        )


def _link(number: int, rng: random.Random) -> Link:
    """Return a link to the URL with this number."""
    host = f"h{number % HOSTS}.example"
    url = f"http://{host}/news/2026/{number % 365:03d}/article-{number}.html"
    score = rng.random()
    return Link(
        url=url,
        key=hashlib.md5(url.encode()).digest(),
        host=host,
        anchor="某地举行足球比赛",
        anchor_score=score if score > 0.9 else 0.0,
        url_score=0.0,
        region=1,
        pattern=PATTERN,
    )


class Pauses:
    """Delays of a periodic timer in the event loop: wall time and CPU time of the thread."""

    def __init__(self) -> None:
        self.wall_ms = self.cpu_ms = 0.0
        self.over = 0

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            wall, cpu = time.monotonic(), time.thread_time()
            await asyncio.sleep(TICK_S)
            late = 1000 * (time.monotonic() - wall - TICK_S)
            spent = 1000 * (time.thread_time() - cpu)
            self.wall_ms, self.cpu_ms = max(self.wall_ms, late), max(self.cpu_ms, spent)
            self.over += late > 100


async def grow(db: Path, marks: Sequence[int], pages: int, strategy: str) -> dict[str, object]:
    """Run a new crawl up to the last mark and return its costs."""
    web, settings, pauses = GeneratedWeb(marks, pages), config(strategy), Pauses()
    before_mib = present_mib()
    return_freed_memory()  # as `session.run` does
    began = time.monotonic()
    async with Store.open(db, now=time.time(), pid=0) as store:
        text = msgspec.json.encode(settings).decode()
        info = await store.begin_crawl(crawl_identity(settings), text, fresh=True, now=time.time())
        crawl = web.crawl = Crawl(settings, web, crawl_store=CrawlWriter(store, info.id))
        crawl.add_seeds(settings.seeds)
        watching = asyncio.create_task(pauses.watch())
        # In a crawl the import has finished before the first page is scored.
        await asyncio.to_thread(import_module, "numpy")
        with infrequent_garbage_collection():
            await crawl.run()
        watching.cancel()
        seconds = time.monotonic() - began
        rss = present_mib()
        totals = msgspec.structs.replace(crawl.unit_of_work.totals)
    known = len(crawl.url_table)
    assert isinstance(totals, Totals)
    size = sum(file.stat().st_size for file in db.parent.glob(db.name + "*"))
    return {
        "urls": known,
        "waiting": crawl.url_table.counts[0],
        "pages": totals.pages,
        "seconds": round(seconds, 1),
        "rss_mib": round(rss, 1),
        "peak_mib": round(peak_mib(), 1),
        "rss_at_start_mib": round(before_mib, 1),
        "disk_bytes_per_url": round((size - web.body_bytes) / known, 1),
        "longest_pause_ms": round(pauses.wall_ms, 1),
        "longest_pause_cpu_ms": round(pauses.cpu_ms, 1),
        "pauses_over_100_ms": pauses.over,
        "costs": [msgspec.to_builtins(cost) for cost in web.costs],
    }


# -- the restart -----------------------------------------------------------------------


def reopen(db: Path, strategy: str) -> dict[str, object]:
    """Measure a process that resumes the crawl until its first request, and its end."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        began = time.monotonic()
        command = [sys.executable, "-m", "bench.growth", str(db.parent), "--strategy", strategy]
        command += ["--resume", str(listener.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
            listener.settimeout(600)
            listener.accept()[0].close()
            seconds = time.monotonic() - began
            mib = peak_mib(process.pid)
            process.terminate()
            listener.close()  # or the crawl would wait 10 s for the open request
            process.wait()
        end = time.monotonic() - began - seconds
    return {"first_request_s": round(seconds, 2), "peak_mib": round(mib, 1), "end_s": round(end, 2)}


def resume(db: Path, port: int, strategy: str) -> None:
    """Resume the crawl; all requests go to this port."""
    settings = config(strategy, connect_to=f"127.0.0.1:{port}")
    settings = msgspec.structs.replace(settings, limits=LimitConfig(max_time_s=60.0))
    uvloop.run(run(settings, RunPaths(db), Watcher()))


def measure(
    folder: Path,
    *,
    urls: int,
    marks: Sequence[int],
    pages: int,
    rounds: int = 1,
    strategy: str = "topic-pagerank",
) -> dict[str, object]:
    """Return the figures of the rounds and of the restart, each from a process of its own."""

    def grown(urls: int, marks: Sequence[int]) -> Any:
        command = [sys.executable, "-m", "bench.growth", str(folder), "--grow"]
        command += ["--urls", str(urls), "--marks", ",".join(map(str, marks))]
        command += ["--pages", str(pages), "--strategy", strategy]
        return json.loads(subprocess.run(command, check=True, stdout=-1).stdout)

    def clean() -> None:
        for old in folder.glob("growth.db*"):
            old.unlink()

    folder.mkdir(parents=True, exist_ok=True)
    clean()
    again = []
    for _ in range(rounds - 1 if marks else 0):
        again.append(grown(marks[-1], marks[:-1])["costs"])
        clean()
    crawl = grown(urls, marks)
    opened = reopen(folder / "growth.db", strategy)
    clean()
    return {"crawl": crawl, "again": again, "reopened": opened}


def main() -> None:
    """Measure, or run one step in a subprocess."""
    options = read_options(__doc__, grow=False, resume=int)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="focus-bench-"))
    marks = [
        mark for mark in map(int, filter(None, options.marks.split(","))) if mark < options.urls
    ]
    if options.resume:
        resume(folder / "growth.db", options.resume, options.strategy)
    elif options.grow:
        marks = [*marks, options.urls]
        grown = uvloop.run(grow(folder / "growth.db", marks, options.pages, options.strategy))
        print(json.dumps(grown))
    else:
        figures = measure(
            folder,
            urls=options.urls,
            marks=marks,
            pages=options.pages,
            rounds=options.rounds,
            strategy=options.strategy,
        )
        write_figures(figures, options.json)


if __name__ == "__main__":
    main()
