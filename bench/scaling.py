"""Computes docs/scaling.md, the model of larger machines, from the figures of `make bench`.

    python -m bench.scaling [RESULT.json …]

The model: a page costs `main` in the one process that decides (event loop and database; it
counts as one core, though the database's thread overlaps a little) and `workers` in processes
of which there may be any number. So

    pages/s = min(1 / main, (cores - 1) / workers, cores / (main + workers))

for one crawl, and cores / (main + workers) for as many crawls as it takes to fill a machine.
Several machines: `bench.cluster.scaling`, from bench/results/cluster.json.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bench.cluster import scaling as cluster
from bench.figures import RESULTS, Told, chosen, machine_text
from bench.script import table
from bench.wording import say, write_both

CORES = (2, 4, 8, 32)
DAY_S = 86_400
MACHINE = (
    *("cores", "pages/s, one crawl", "has no time left first", "workers needed", "pages a day"),
    *("Mbit/s, unpacked", "pages/s, several crawls", "crawls for that"),
)
STORAGE = ("pages", "known URLs", "disk", "memory of the main process")


class Costs(NamedTuple):
    """Measured: milliseconds and KiB a page, bytes a URL, MiB."""

    main_ms: float
    workers_ms: float
    page_kib: float
    raw_kib: float
    url_bytes: float
    rss_mib: float
    rss_urls: int
    url_rss_bytes: float
    pages_s: float
    cores: int


def costs(told: Told) -> Costs:
    """The costs out of a result."""
    rows = {row["name"]: row for row in told["race"]["rows"]}
    whole, growth = rows["focus, whole site"], told["growth"]["crawl"]
    site = told["race"]["site"]
    return Costs(
        main_ms=whole["main_ms"],
        workers_ms=whole["workers_ms"],
        page_kib=whole["disk_kib"],
        raw_kib=site["bytes_mean"] / 1024,
        url_bytes=growth["disk_bytes_per_url"],
        rss_mib=growth["rss_mib"],
        rss_urls=growth["urls"],
        url_rss_bytes=_slope(growth["costs"]),
        pages_s=whole["pages_s"],
        cores=told["machine"]["cores"],
    )


def _slope(costs: Sequence[Told]) -> float:
    """Bytes of memory that one more known URL takes, between the last two marks."""
    first, last = costs[-2:]
    more = (last["rss_mib"] - first["rss_mib"]) * 2**20
    return max(0.0, more / (last["known"] - first["known"]))


def ceilings(cost: Costs, cores: int) -> dict[str, float]:
    """Pages/s at which each part of one crawl has no time left."""
    return {
        "main process": 1000 / cost.main_ms,
        "workers": (cores - 1) * 1000 / cost.workers_ms,
        "all cores": cores * 1000 / (cost.main_ms + cost.workers_ms),
    }


def machine_rows(cost: Costs) -> Iterator[list[str]]:
    """A row per size of machine."""
    for cores in CORES:
        limits = ceilings(cost, cores)
        first = min(limits, key=lambda name: limits[name])
        pace = limits[first]
        workers = max(1, -(-int(pace * cost.workers_ms) // 1000))
        yield [
            str(cores),
            f"{pace:,.0f}",
            say(first),
            str(min(workers, cores - 1)),
            f"{pace * DAY_S / 1e6:,.0f} M",
            f"{pace * cost.raw_kib * 8 / 1024:,.0f}",
            f"{limits['all cores']:,.0f}",
            str(max(1, round(limits["all cores"] / pace))),
        ]


def storage_rows(cost: Costs) -> Iterator[list[str]]:
    """Disk and memory by size of a crawl: pages, and ten URLs known for each of them."""
    for pages in (100_000, 1_000_000, 10_000_000):
        urls = 10 * pages
        disk = pages * cost.page_kib / 2**20 + urls * cost.url_bytes / 2**30
        memory = cost.rss_mib + (urls - cost.rss_urls) * cost.url_rss_bytes / 2**20
        yield [f"{pages:,}", f"{urls:,}", f"{disk:,.1f} GiB", f"{max(0.0, memory):,.0f} MiB"]


def text(told: Told) -> str:
    """The page, in the language of the moment."""
    cost = costs(told)
    return say(
        _PAGE,
        machine=machine_text(told).strip(),
        machines=table([say(each) for each in MACHINE], list(machine_rows(cost))).rstrip(),
        storage=table([say(each) for each in STORAGE], list(storage_rows(cost))).rstrip(),
        cluster=_cluster(told),
        computed=min(ceilings(cost, cost.cores).values()),
        polite=1000 / cost.main_ms,
        enough=1 + -(-cost.workers_ms // cost.main_ms),
        a_gib=2**30 / max(cost.url_rss_bytes, 1.0) / 1e6,
        written=1000 / cost.main_ms * cost.page_kib / 1024,
        **cost._asdict(),
    )


_PAGE = """\
# Scaling

Made by `python -m bench.scaling` from the figures of `make bench`; do not edit.

{machine}

## What is measured, what is computed

A page costs {main_ms:.2f} CPU-ms in the process that decides (event loop, frontier, graph,
database) and {workers_ms:.2f} in a scorer worker. Only the workers can be multiplied. So one
crawl does min(1/main, (cores - 1)/workers, cores/(main + workers)) pages a second, if the web
answers at once and nobody else wants the machine. On the {cores} cores of the measurement
that is {computed:,.0f}; measured were {pages_s:,.0f}, with the server on the same cores.

## One machine

{machines}

From {enough:.0f} cores on, the main process is the end of one
crawl; more cores then help only as further crawls (other seeds, hosts or topics, each with a
database of its own). The columns on the right fill a machine that way.

These are ceilings of the processor. A polite crawl is slower: with one request a second to
each host, {polite:,.0f} pages/s need {polite:,.0f} hosts that have something to fetch at every
moment, and at 2 s of latency as many requests in flight twice over (`--concurrency`).

## Disk and memory

{storage}

A page takes {page_kib:.1f} KiB on disk, compressed, with its links;
a URL takes {url_bytes:.0f} bytes more. The main process took
{rss_mib:,.0f} MiB at {rss_urls:,} known URLs, and each further one takes
{url_rss_bytes:.0f} bytes: what is known about it stays in memory, URLs that wait beyond
50,000 are on disk. Each worker adds 100 to 150 MiB (dictionary and what it remembers).

## When one machine is not enough

- **More than {polite:,.0f} pages/s for one topic:** a cluster (docs/cluster.md): shards share the
  hosts, hand links over and keep a common order, on one machine as long as there are cores, then
  on several. See below.
- **More URLs than memory:** {a_gib:,.0f} million for each GiB.
- **More than a disk takes:** {written:,.1f} MiB/s are written at full speed.
- **Politeness is no reason:** a host is asked at its own pace, from however many machines.

{cluster}"""


def _cluster(told: Told) -> str:
    """The part about several machines, if that was measured."""
    kept = RESULTS / "cluster.json"
    if "cluster" in told:
        return cluster.text(told["cluster"])
    return cluster.text(json.loads(kept.read_text(encoding="utf-8"))) if kept.exists() else ""


def main() -> None:
    """Write docs/scaling.md, and the Chinese one."""
    told: dict[str, Any] = chosen(sys.argv[1:])
    write_both("scaling.md", lambda: text(told))


if __name__ == "__main__":
    main()
