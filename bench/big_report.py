"""Measures time and memory of `focus report` on a large database.

    python -m bench.big_report [--pages 500000] [--json FILE]

Makes a database of so many pages (four URLs and 30 links to a page, 20,000 hosts) in a folder
of its own, by the store itself, reports on it in a process of its own, and prints a table.
Making it takes some minutes at full size; the report is what is measured.
"""

import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.script import read_options
from focus.records import Batch, HostRow, Outcome, Page, PageRow, QueueRow, UrlRow, UrlState
from focus.store import Store

URLS, LINKS, CHUNK = 4, 30, 2000  # URLs per page, links per page, pages per batch


def batches(pages: int, rng: Random) -> Iterator[Batch]:
    """A crawl of `pages` pages: every fourth URL is one, some of the others failed."""
    hosts = max(10, pages // 25)
    yield Batch(
        hosts=[HostRow(n, f"h{n}.example") for n in range(hosts)],
        queues=[
            QueueRow(n, n // 2, "/D/S/" if n % 2 else "/", 1 + pages // (2 * hosts), rng.random())
            for n in range(2 * hosts)
        ],
    )
    for start in range(0, pages, CHUNK):
        numbers = range(start, min(pages, start + CHUNK))
        yield Batch(
            urls=[_url(URLS * n + more, hosts, rng) for n in numbers for more in range(URLS)],
            pages=[_page(n, pages, rng) for n in numbers],
            outcomes=[Outcome(id=URLS * n, state=UrlState.DONE) for n in numbers],
            counters={"requests": 1.3 * numbers[-1] + 2, "active_s": float(numbers[-1])},
            now=float(start),
        )


def _url(number: int, hosts: int, rng: Random) -> UrlRow:
    failed = number % 12 == 1
    return UrlRow(
        id=number,
        key=number.to_bytes(16, "big"),
        url=f"http://h{number % hosts}.example/2026/{number}/a-page-with-a-long-name",
        queue=number % (2 * hosts),
        depth=min(30, number.bit_length()),
        priority=rng.random(),
        parent=rng.randrange(number // URLS) * URLS if number >= URLS else None,
        anchor="足球新闻",
        state=UrlState.FAILED if failed else UrlState.WAITING,
        reason="http-4xx" if failed else "",
    )


def _page(number: int, pages: int, rng: Random) -> PageRow:
    relevance = rng.random() ** 4
    return PageRow(
        id=URLS * number,
        url=f"http://h/{number}",
        nth=int(1.3 * number) + 1,
        waiting=1000,
        status=200,
        fetched_at=float(number),
        elapsed_s=0.2,
        raw_bytes=20_000,
        priority=rng.random() * 5,
        pagerank=rng.random(),
        page=Page(title=f"足球 {number}", relevance=relevance, relevant=relevance > 0.5),
        targets=tuple(rng.randrange(pages) * URLS for _ in range(LINKS)),
    )


def make(path: Path, pages: int) -> None:
    """Write the crawl."""
    asyncio.run(_make(path, pages))


async def _make(path: Path, pages: int) -> None:
    async with Store.open(path, now=0.0, pid=1) as store:
        identity = {"seeds": ["http://h0.example/"], "topic": "足球", "strategy": "yield"}
        begun = await store.begin_crawl(identity, "{}", fresh=True, now=0.0)
        for batch in batches(pages, Random(1)):
            await store.write(begun.id, batch)


def measure(path: Path) -> dict[str, float]:
    """The command in a process of its own."""
    out = path.with_suffix(".html")
    began = time.perf_counter()
    command = [sys.executable, "-m", "focus", "report", "--db", str(path), "-o", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, process.returncode
    return {
        "database MB": path.stat().st_size / 2**20,
        "seconds": time.perf_counter() - began,
        "CPU seconds": used.ru_utime + used.ru_stime,
        "peak RSS MB": used.ru_maxrss / 1024,
        "page KB": out.stat().st_size / 1024,
    }


def main() -> None:
    options = read_options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.db"
        # In another process: a child's peak begins at what its parent holds.
        maker = multiprocessing.get_context("spawn").Process(
            target=make, args=(path, options.pages)
        )
        maker.start()
        maker.join()
        found = {"pages": float(options.pages), **measure(path)}
    print("| " + " | ".join(found) + " |")
    print("|" + "---:|" * len(found))
    print("| " + " | ".join(f"{value:,.1f}" for value in found.values()) + " |")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
