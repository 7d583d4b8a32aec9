"""Measures `focus search`, and checks its results against plain substring search.

    python -m bench.search FOLDER [--pages 100000] [--queries 100] [--sample 10000] [--json FILE]

The pages are those of the demo's generated web, stored as a crawl stores them in
FOLDER/search.db; a database and an index that are already there are taken as they are.
Measured are time and bytes of the index per page; the time of each of `--queries` queries,
from its text to ten results with their passages, first in a cold process and then again; and
whether pages are found that hold the words of a query, and no others, by plain substring
search in title and main text of `--sample` pages. The queries are drawn from the pages:
words of two ideographs and longer ones, pieces of three to eight ideographs cut without
regard to words (in quotes), pairs of words, and English words.
"""

import asyncio
import json
import random
import re
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.script import read_options
from focus.admission.near_duplicates import simhash
from focus.demo.site import DemoWeb, generate
from focus.http import zstd
from focus.records import Batch, HostRow, Outcome, Page, PageRow, QueueRow, UrlRow, UrlState
from focus.storage.results import Selection
from focus.storage.search import search
from focus.storage.search_file import index_path
from focus.storage.search_index import SearchIndex, page_text
from focus.storage.search_terms import plain, read
from focus.store import Store
from focus.text.tokenisation import has_han
from focus.urls.normal_form import fingerprint

HOSTS = 50
AT_ONCE = 500
DAY_S = 86_400.0
_TITLE = re.compile(r"<title>(.*?)</title>")
_CHARSET = re.compile(r"charset=([\w-]+)")


class Asked(NamedTuple):
    """A query, its kind, and the words that a page must hold."""

    kind: str
    text: str
    words: tuple[str, ...]


# -- the pages ------------------------------------------------------------------------


def fill(path: Path, number: int) -> None:
    """A database with about so many pages."""
    web = generate(pages=number, hosts=HOSTS)
    asyncio.run(_store(path, web))


async def _store(path: Path, web: DemoWeb) -> None:
    rng = random.Random(1)
    compressor = zstd.ZstdCompressor(level=1)
    async with Store.open(path, now=0.0, pid=1) as store:
        identity = {"seeds": list(web.seeds), "topic": "足球", "strategy": "bfs"}
        crawl = (await store.begin_crawl(identity, "{}", fresh=True, now=1.0)).id
        hosts = {host: n for n, host in enumerate(web.hosts)}
        first = Batch(
            hosts=[HostRow(n, host) for host, n in hosts.items()],
            queues=[QueueRow(n, n, "") for n in hosts.values()],
        )
        await store.write(crawl, first)
        for part in _parts(web.urls()):
            pages = [page_row(web, url, n, rng, compressor) for n, url in part]
            urls = [
                UrlRow(n, fingerprint(url), url, hosts[url.split("/")[2]], 1, 0.0, parent=None)
                for n, url in part
            ]
            done = [Outcome(n, UrlState.DONE) for n, _ in part]
            await store.write(crawl, Batch(urls=urls, pages=pages, outcomes=done, now=1.0))
        await store.finish(crawl, reason="empty", report_json="{}", now=2.0)


def _parts(urls: list[str]) -> Iterator[list[tuple[int, str]]]:
    for start in range(0, len(urls), AT_ONCE):
        yield list(enumerate(urls[start : start + AT_ONCE], start))


def page_row(
    web: DemoWeb, url: str, number: int, rng: random.Random, packer: zstd.ZstdCompressor
) -> PageRow:
    """A page of the web as a crawl stores it; relevance, rank and time are drawn."""
    response = web.respond(url)
    assert response is not None
    kind = dict(response.headers).get("content-type", "")
    named = _CHARSET.search(kind) or _CHARSET.search(response.body[:600].decode("latin-1"))
    text = response.body.decode(named[1] if named else "utf-8", "replace")
    title = _TITLE.search(text)
    page = Page(
        title=title[1] if title else "",
        relevance=rng.random(),
        relevant=rng.random() < 0.3,
        simhash=simhash(re.sub(r"<[^>]+>", " ", text)),
        body_zstd=zstd.frame(packer, text.encode()),
    )
    return PageRow(
        id=number,
        url=url,
        nth=number + 1,
        waiting=0,
        status=200,
        fetched_at=DAY_S * (number % 1000),
        elapsed_s=0.1,
        raw_bytes=len(response.body),
        priority=0.0,
        pagerank=rng.random() ** 4,
        page=page,
    )


# -- the queries ----------------------------------------------------------------------


def sampled(index: SearchIndex, number: int) -> dict[int, str]:
    """Title and main text, as the index spells it, of so many pages."""
    rows = index.reader.run(lambda db: db.execute(_TEXTS, (number,)).fetchall())
    return {
        page: f"{plain(title)}\n{plain(page_text(packed, description))}"
        for page, title, description, packed in rows
    }


def drawn(index: SearchIndex, texts: list[str], number: int, rng: random.Random) -> list[Asked]:
    """Queries of each kind in turn."""

    def word(fits: Callable[[str], bool]) -> str:
        while True:
            words = [w for w in index.segmenter.tokens(rng.choice(texts)) if fits(w)]
            if words:
                return str(rng.choice(words))

    def piece() -> str:
        while True:
            runs = re.findall(r"[\u4e00-\u9fff]{8,}", rng.choice(texts))
            if runs:
                run, size = rng.choice(runs), rng.randint(3, 8)
                start = rng.randint(0, len(run) - size)
                return str(run[start : start + size])

    def two(w: str) -> bool:
        return has_han(w) and len(w) == 2

    found = []
    for n in range(number):
        kind = ("word", "long word", "piece", "pair", "english")[n % 5]
        if kind == "piece":
            one = piece()
            found.append(Asked(kind, f'"{one}"', (one,)))
            continue
        if kind == "pair":
            words: tuple[str, ...] = (word(two), word(two))
        elif kind == "english":
            words = (word(lambda w: w.isascii() and w.isalpha() and len(w) > 2),)
        else:
            words = (word(two if kind == "word" else lambda w: has_han(w) and len(w) > 2),)
        found.append(Asked(kind, " ".join(words), words))
    return found


def agreement(
    index: SearchIndex, queries: list[Asked], texts: dict[int, str]
) -> dict[str, tuple[float, float]]:
    """By kind of query: recall and precision against substring search, over all its matches."""
    sums: dict[str, list[int]] = {}
    for asked in queries:
        expression = read(asked.text, index.segmenter).expression
        rows = index.db.execute(_MATCHES, (expression,)).fetchall()
        found = {page for (page,) in rows} & texts.keys()
        truth = {page for page, text in texts.items() if all(w in text for w in asked.words)}
        for name in (asked.kind, "all"):
            both, all_true, all_found = sums.setdefault(name, [0, 0, 0])
            sums[name] = [both + len(found & truth), all_true + len(truth), all_found + len(found)]
    return {
        name: (both / (true or 1), both / (got or 1)) for name, (both, true, got) in sums.items()
    }


def timed(index: SearchIndex, queries: list[Asked]) -> list[float]:
    """Seconds of each query."""
    found = []
    for asked in queries:
        begun = time.perf_counter()
        search(index, asked.text, Selection(crawl="all"))
        found.append(time.perf_counter() - begun)
    return sorted(found)


# -- the figures ----------------------------------------------------------------------


def measure(folder: Path, *, pages: int, queries: int, sample: int) -> dict[str, object]:
    """All of it."""
    path = folder / "search.db"
    if not path.exists():
        fill(path, pages)
    with SearchIndex(path) as index:
        begun, cpu = time.perf_counter(), time.process_time()
        number = index.update()
        took, cpu = time.perf_counter() - begun, time.process_time() - cpu
        index.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        known = search(index, "足球").indexed
        bytes_ = index_path(path).stat().st_size
        texts = sampled(index, sample)
        asked = drawn(index, list(texts.values()), queries, random.Random(7))
    with SearchIndex(path) as index:
        first, again = timed(index, asked), timed(index, asked)
        matches = [search(index, each.text).pages for each in asked]
        agreed = agreement(index, asked, texts)
    return {
        "pages": known,
        "database_bytes_per_page": round(path.stat().st_size / known),
        "index_bytes_per_page": round(bytes_ / known),
        "characters_per_page": round(sum(map(len, texts.values())) / len(texts)),
        "indexing_ms_per_page": round(1e3 * took / number, 2) if number else None,
        "indexing_cpu_ms_per_page": round(1e3 * cpu / number, 2) if number else None,
        "matches_median": median(matches),
        "matches_most": max(matches),
        "first_ms": _spread(first),
        "again_ms": _spread(again),
        "recall_precision": {k: (round(r, 4), round(p, 4)) for k, (r, p) in agreed.items()},
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _spread(seconds: list[float]) -> dict[str, float]:
    def at(share: float) -> float:
        return round(1e3 * seconds[min(len(seconds) - 1, int(share * len(seconds)))], 1)

    return {"p50": at(0.5), "p95": at(0.95), "most": at(1.0)}


def main() -> None:
    given = read_options(__doc__)
    given.folder.mkdir(parents=True, exist_ok=True)
    figures = measure(given.folder, pages=given.pages, queries=given.queries, sample=given.sample)
    print("| figure | |\n|---|---:|")
    for name, value in figures.items():
        print(f"| {name.replace('_', ' ')} | {value} |")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


_TEXTS = """
SELECT p.id, x.title, x.description, b.zstd FROM page p JOIN page_text x ON x.id = p.id
LEFT JOIN body b ON b.id = p.id WHERE NOT p.noindex ORDER BY p.id LIMIT ?"""
_MATCHES = """
SELECT d.page FROM text_index JOIN doc d ON d.id = text_index.rowid
WHERE text_index MATCH ? AND d.page IS NOT NULL"""

if __name__ == "__main__":
    main()
