"""Measures the waits of `focus --help`, `focus status` and an export of a million pages.

    python -m bench.commands [--rows 1000000] [--times 7] [--json FILE]

The pages are written by the store itself, without bodies, which are in no export. Memory is
that of the exporting process, for a tenth of the rows and for all of them.
"""

import asyncio
import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.resources import Usage, run
from bench.script import read_options, tell
from focus.records import (
    Batch,
    HostRow,
    Outcome,
    Page,
    PageRow,
    QueueRow,
    UrlRow,
    UrlState,
)
from focus.store import Store

HOSTS = 200
BATCH = 2000


def batches(rows: int) -> Iterator[Batch]:
    """So many fetched pages, as a crawl would hand them over."""
    for first in range(0, rows, BATCH):
        numbers = range(first, min(rows, first + BATCH))
        batch = Batch(
            urls=[_url(n) for n in numbers],
            pages=[_page(n) for n in numbers],
            outcomes=[Outcome(id=n, state=UrlState.DONE) for n in numbers],
            counters={"requests": float(numbers[-1] + 1), "pages": float(numbers[-1] + 1)},
            now=float(first),
        )
        if first == 0:
            batch.hosts = [HostRow(n, f"h{n}.example") for n in range(HOSTS)]
            batch.queues = [QueueRow(n, n, "", 0, 0.0) for n in range(HOSTS)]
        yield batch


def _address(number: int) -> str:
    return f"http://h{number % HOSTS}.example/news/2026/{number % 365:03d}/article-{number}.html"


def _url(number: int) -> UrlRow:
    key = hashlib.md5(_address(number).encode()).digest()
    parent = number - 1 if number else None
    return UrlRow(number, key, _address(number), number % HOSTS, 1, 1.0, (0.5, 2.0), parent, "新闻")


def _page(number: int) -> PageRow:
    return PageRow(
        id=number,
        url=_address(number),
        nth=number + 1,
        waiting=1,
        status=200,
        fetched_at=1_790_000_000.0 + number,
        elapsed_s=0.1,
        raw_bytes=30_000,
        priority=1.0,
        pagerank=0.2,
        page=Page(
            title=f"某地举行第{number}届足球比赛",
            keywords="足球,比赛,新闻",
            description="昨天晚上的足球比赛吸引了许多球迷到场观看，双方在下半场各进一球。",
            language="zh-CN",
            charset="utf-8",
            relevance=0.5,
            relevant=number % 3 == 0,
            parts={"title": 0.5, "body": 0.2},
            matched={"title": ["足球"], "body": ["足球", "球迷"]},
        ),
        content_type="text/html",
        targets=tuple(range(max(0, number - 10), number)),
    )


async def fill(db: Path, rows: int) -> None:
    """A database of so many pages."""
    async with Store.open(db, now=0.0, pid=1) as store:
        identity = {"seeds": ["x"], "topic": "足球", "strategy": "bfs"}
        crawl = (await store.begin_crawl(identity, "{}", fresh=True, now=1.0)).id
        for batch in batches(rows):
            await store.write(crawl, batch)
        await store.finish(crawl, reason="made", report_json="{}", now=2.0)


def measure(rows: int, times: int) -> dict[str, object]:
    """Seconds of the quick commands, rows a second and memory of the slow one."""
    with tempfile.TemporaryDirectory(prefix="focus-bench-") as name:
        db, out = Path(name) / "focus.db", Path(name) / "out.jsonl"
        began = time.monotonic()
        asyncio.run(fill(db, rows))
        filled_s = time.monotonic() - began
        focus = [sys.executable, "-m", "focus"]
        quick = {
            "help": [*focus, "--help"],
            "crawl_help": [*focus, "crawl", "--help"],
            "status": [*focus, "status", "--db", str(db)],
        }
        waits = {key: [_good(run(each)) for _ in range(times)] for key, each in quick.items()}
        whole = [*focus, "export", "--db", str(db), "-o", str(out)]
        small = _good(run([*whole, "--limit", str(rows // 10)]))
        large = _good(run(whole))
        size = out.stat().st_size
        assert out.read_bytes().count(b"\n") == rows
    return {
        "seconds": {key: round(median(u.seconds for u in each), 3) for key, each in waits.items()},
        "cpu_s": {key: round(median(u.cpu_s for u in each), 3) for key, each in waits.items()},
        "export": {
            "rows": rows,
            "seconds": round(large.seconds, 2),
            "rows_s": round(rows / large.seconds),
            "rows_cpu_s": round(rows / large.cpu_s),
            "bytes": size,
            "peak_mib": round(large.own_mib, 1),
            "peak_mib_of_a_tenth": round(small.own_mib, 1),
        },
        "fill_us_per_row": round(1e6 * filled_s / rows, 1),
    }


def _good(usage: Usage) -> Usage:
    if usage.code:
        raise SystemExit(f"a command ended with {usage.code}")
    return usage


def main() -> None:
    """Print how long they take."""
    given = read_options(__doc__)
    tell(measure(given.rows, given.times), given.json)


if __name__ == "__main__":
    main()
