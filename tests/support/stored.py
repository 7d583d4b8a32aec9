"""Rows of a crawl with defaults, and databases that hold them."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from focus.records import Batch, Page, PageRow, UrlRow
from focus.store import Store


def url_row(number: int, **fields: Any) -> UrlRow:
    """Return the row of URL `number`."""
    defaults: dict[str, Any] = {
        "id": number, "key": number.to_bytes(16, "big"), "url": f"https://a.example/{number}",
        "queue_id": 0, "depth": 1, "priority": 1.0,
    }  # fmt: skip
    return UrlRow(**(defaults | fields))


def page_row(number: int, **fields: Any) -> PageRow:
    """Return the row of the page at URL `number`."""
    defaults: dict[str, Any] = {
        "id": number, "url": f"https://a.example/{number}", "request_number": number + 1,
        "waiting_count": 3, "status": 200, "fetched_at": 1000.0 + number, "elapsed_s": 0.1,
        "raw_bytes": 10, "priority": 1.0, "pagerank": 0.25,
        "page": Page(title="球", relevance=0.5, is_relevant=True, body_zstd=b"zzz"),
    }  # fmt: skip
    return PageRow(**(defaults | fields))


def store_crawl(
    path: Path,
    *batches: Batch,
    topic: str = "足球",
    seed: str = "x",
    strategy: str = "bfs",
    config: str = "{}",
    now: float = 1.0,
    report: str = "",
    ranks: Iterable[tuple[int, float, float, float]] = (),
) -> int:
    """Store a new crawl with these batches and return its id; a `report` ends it at 200 s."""

    async def fill() -> int:
        async with Store.open(path, now=0.0, pid=1) as store:
            identity = {"seeds": [seed], "topic": topic, "strategy": strategy}
            crawl = (await store.begin_crawl(identity, config, fresh=True, now=now)).id
            for batch in batches:
                await store.write(crawl, batch)
            if report:
                await store.finish_crawl(
                    crawl, reason="max-pages", report_json=report, ranks=ranks, now=200.0
                )
            return crawl

    return asyncio.run(fill())
