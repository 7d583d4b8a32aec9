"""Measures millions of known URLs: memory, disk, time per page, pauses, a restart.

    python -m bench.growth [FOLDER] [--urls 5000000] [--marks 10000,1000000] [--pages 1000]
        [--rounds 1] [--strategy topic-pagerank] [--json FILE]

The crawl's own loop, frontier, graph and database; only web and workers are replaced, by
pages made on the spot, whose cost is taken off. At each mark, and at the end, `--pages` pages
of 97 links, 10 of them new, are measured; between the marks the crawl grows by pages whose
links are all new; further rounds end at the last of the marks, as a machine's speed changes
within minutes. Then it is opened again by a process of its own, up to its first request,
where a SIGTERM ends it: how long that takes, too, all ranks written, as after a kill
(`--urls 1 --pages 200000`: of 200,000 pages).
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

from bench.script import read_options, tell
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    LimitConfig,
    PolitenessConfig,
    RunPaths,
)
from focus.crawler import Crawl
from focus.engine.unit_of_work import Totals
from focus.records import Batch, FetchResult, Link, Page, Result, Task
from focus.session import Watcher, identity, run
from focus.session.process_limits import collecting_rarely, give_memory_back
from focus.store import Store
from focus.topic.topic import from_words, to_builtins
from tests.support.processes import peak_mib, present_mib

HOSTS = 2000
LINKS, FRESH = 97, 10
BODY_BYTES = 10_000
PATTERN = "/news/D/N/article-N.html"  # of all, as workers find
TICK_S = 0.005
AT_ONCE = 8  # results that arrive together


def config(strategy: str, **fetch: object) -> CrawlConfig:
    """The crawl, as `focus crawl` would have it; the same for growing and for going on."""
    return CrawlConfig(
        seeds=("http://h0.example/",),
        strategy=strategy,
        concurrency=256,
        politeness=PolitenessConfig(delay_s=0.0),
        fetch=msgspec.structs.replace(FetchConfig(allow_net=("127.0.0.0/8",)), **fetch),
        analysis=AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="position"),
    )


class Cost(msgspec.Struct, frozen=True):
    """What a page took at so many known URLs: CPU of the process (loop and store's thread)
    and of the loop alone, milliseconds; `rss_mib`: memory of the process then."""

    known: int
    cpu_ms: float
    loop_ms: float
    wall_ms: float
    rss_mib: float


class MadeWeb:
    """A transport that makes pages: links to new URLs, the others to known ones."""

    is_live = True
    window = sys.maxsize
    expects = False
    locates = False

    def __init__(self, marks: Sequence[int], pages: int) -> None:
        self.in_flight = 0
        self.costs: list[Cost] = []
        self.crawl: Crawl
        self._rng = random.Random(1)
        self._marks = list(marks)
        self._pages = pages
        self._left = 0  # pages of the present measurement
        self._sent: list[Task] = []
        self._made = 1  # URLs there are: h0.example/ is the seed
        self._making_s = 0.0
        self._began = (0.0, 0.0, 0.0)
        self._offset = time.time() - time.monotonic()
        self._body = self._rng.randbytes(BODY_BYTES)
        self.body_bytes = 0

    def now(self) -> float:
        """Unix seconds."""
        return self._offset + time.monotonic()

    def send(self, task: Task) -> None:
        """Its answer comes at the next `receive`."""
        self.in_flight += 1
        self._sent.append(task)

    async def receive(self, until: float | None) -> list[Result]:
        """The next few answers."""
        await asyncio.sleep(0)
        if not self._sent:
            await asyncio.sleep(0.001)
        began = time.thread_time()
        tasks, self._sent = self._sent[:AT_ONCE], self._sent[AT_ONCE:]
        results = [self._answer(task) for task in tasks]
        self.in_flight -= len(results)
        self._making_s += time.thread_time() - began
        return results

    def departed(self) -> list[tuple[Task, float]]:
        """Nobody waits for that."""
        return []

    def answered(self) -> list[tuple[Task, FetchResult]]:
        """Nor for that."""
        return []

    async def update(self, payload: bytes) -> None:
        """Nobody learns here."""

    def wake(self) -> None:
        """Nothing waits long."""

    def cancel(self) -> None:
        """Forget what was sent."""
        self._sent.clear()
        self.in_flight = 0

    async def close(self) -> None:
        """Nothing is open."""

    def _answer(self, task: Task) -> Result:
        now = self.now()
        if task.id is None:
            return Result(task, FetchResult(task.url, now, status=404, elapsed_s=0.01))
        self._follow_plan()
        fresh = FRESH if self._left else LINKS
        links = [_link(self._made + n, self._rng) for n in range(fresh)]
        links += [_link(self._rng.randrange(self._made), self._rng) for _ in range(LINKS - fresh)]
        self._made += fresh
        body = self._body if self._left else b""
        self.body_bytes += len(body)
        unique = list({link.key: link for link in links}.values())
        page = Page(title="一个网页", relevance=0.3, links=unique, body_zstd=body)
        fetch = FetchResult(task.url, now, status=200, raw_bytes=30_000, elapsed_s=0.01)
        return Result(task, fetch, page)

    def _follow_plan(self) -> None:
        """Begin or end a measurement."""
        if self._left:
            self._left -= 1
            if not self._left:
                self._measured()
        elif self._marks and len(self.crawl.url_table) >= self._marks[0]:
            self._left = self._pages
            self._began = self._clocks()

    def _measured(self) -> None:
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
        made = self._making_s
        return time.process_time() - made, time.thread_time() - made, time.monotonic() - made


def _link(number: int, rng: random.Random) -> Link:
    """The link to a made URL; always the same host, path and key for a number."""
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
    """How long the loop let a timer wait that was due: wall, and CPU of its own thread."""

    def __init__(self) -> None:
        self.wall_ms = self.cpu_ms = 0.0
        self.over = 0

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            wall, cpu = time.monotonic(), time.thread_time()
            await asyncio.sleep(TICK_S)
            late = 1000 * (time.monotonic() - wall - TICK_S)
            spent = 1000 * (time.thread_time() - cpu)
            self.wall_ms, self.cpu_ms = max(self.wall_ms, late), max(self.cpu_ms, spent)
            self.over += late > 100


class _Shelf:
    def __init__(self, store: Store, crawl: int) -> None:
        self._store, self._crawl = store, crawl

    async def write(self, batch: Batch) -> None:
        await self._store.write(self._crawl, batch)

    async def addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        return await self._store.addresses(self._crawl, ids)


async def grow(db: Path, marks: Sequence[int], pages: int, strategy: str) -> dict[str, object]:
    """A crawl from nothing to the last mark; what it cost on the way."""
    web, order, pauses = MadeWeb(marks, pages), config(strategy), Pauses()
    before_mib = present_mib()
    give_memory_back()  # as `session.run` does
    began = time.monotonic()
    async with Store.open(db, now=time.time(), pid=0) as store:
        text = msgspec.json.encode(order).decode()
        info = await store.begin_crawl(identity(order), text, fresh=True, now=time.time())
        crawl = web.crawl = Crawl(order, web, crawl_store=_Shelf(store, info.id))
        crawl.sow(order.seeds)
        watching = asyncio.create_task(pauses.watch())
        # Elsewhere it is there by the time that the first page has been scored.
        await asyncio.to_thread(import_module, "numpy")
        with collecting_rarely():
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


# -- going on -----------------------------------------------------------------------


def reopen(db: Path, strategy: str) -> dict[str, object]:
    """Seconds from the start of a process that continues the crawl to its first request."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        began = time.monotonic()
        command = [sys.executable, "-m", "bench.growth", str(db.parent), "--strategy", strategy]
        command += ["--go-on", str(door.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
            door.settimeout(600)
            door.accept()[0].close()
            seconds = time.monotonic() - began
            mib = peak_mib(process.pid)
            process.terminate()
            door.close()  # what is under way ends at once, or the crawl lets it, for 10 s
            process.wait()
        end = time.monotonic() - began - seconds
    return {
        "first_request_s": round(seconds, 2),
        "peak_mib": round(mib, 1),
        "end_s": round(end, 2),
    }


def go_on(db: Path, port: int, strategy: str) -> None:
    """Continue the crawl over that port."""
    order = config(strategy, connect_to=f"127.0.0.1:{port}")
    order = msgspec.structs.replace(order, limits=LimitConfig(max_time_s=60.0))
    uvloop.run(run(order, RunPaths(db), Watcher()))


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
    """Measure, or do one part of it."""
    given = read_options(__doc__, grow=False, go_on=int)
    folder = given.folder or Path(tempfile.mkdtemp(prefix="focus-bench-"))
    marks = [each for each in map(int, filter(None, given.marks.split(","))) if each < given.urls]
    if given.go_on:
        go_on(folder / "growth.db", given.go_on, given.strategy)
    elif given.grow:
        marks = [*marks, given.urls]
        grown = uvloop.run(grow(folder / "growth.db", marks, given.pages, given.strategy))
        print(json.dumps(grown))
    else:
        told = measure(
            folder,
            urls=given.urls,
            marks=marks,
            pages=given.pages,
            rounds=given.rounds,
            strategy=given.strategy,
        )
        tell(told, given.json)


if __name__ == "__main__":
    main()
