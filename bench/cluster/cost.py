"""Measures what a page costs in a cluster and in one process, in the same run.

    python -m bench.cluster.cost [--pages 4000] [--workers 1] [--shards 1] [--slots 64]
        [--strategy yield] [--relevance evidence] [--site build/bench/site] [--json FILE]
        [-- options of the crawls]

Crawls the generated site of `make bench` (32 KB and 97 links a page) over loopback: once by
`focus crawl`, once by frontiers and workers over a private RabbitMQ. Told is CPU per page of
each part between a tenth of the pages and the last, so that start and end do not count, and
what went over the frontiers' and the workers' wires: AMQP methods and bytes per page.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from bench.cluster.meter import Meter
from bench.script import read_options, tell
from bench.serving import Web, serving
from bench.site import TOPIC, Site, build
from focus.cluster.private_broker import PrivateBroker
from tests.support.cables import Cables


class Cost(msgspec.Struct, frozen=True):
    """CPU milliseconds per page by part; `wires`: methods and bytes per page by role."""

    name: str
    pages: int
    seconds: float
    cpu_ms: dict[str, float]
    wires: dict[str, dict[str, float]] = {}
    mib: dict[str, float] = {}


def crawl_options(site: Site, web: Web, given: Any) -> list[str]:
    """The crawl, as both are told."""
    seeds = [part for seed in site.seeds for part in ("--seed", seed)]
    return [
        *(*seeds, "--topic", TOPIC, "--strategy", given.strategy, "--relevance", given.relevance),
        *("--eager", "--delay", "0", "--max-pages", str(given.pages), "--keep", "none"),
        *("--connect-to", f"127.0.0.1:{web.port}", "--allow-net", "127.0.0.0/8"),
        *given.options,
    ]


def _start(arguments: Sequence[str], said: Path, stack: ExitStack) -> subprocess.Popen[bytes]:
    file = stack.enter_context(said.open("ab"))
    command = [sys.executable, "-m", "focus", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def alone(options: Sequence[str], given: Any, folder: Path) -> Cost:
    """By one process with one scorer worker."""
    with ExitStack() as stack:
        db = folder / "alone.db"
        more = ["--db", str(db), "--workers", "1", "--concurrency", str(given.slots)]
        process = _start(["crawl", *options, *more], folder / "alone.said", stack)
        meter = Meter({"one process": [process.pid]}, [db])
        meter.watch(lambda: process.poll() is not None)
        return _cost("one process", meter, ())


def spread(options: Sequence[str], given: Any, folder: Path) -> Cost:
    """By a cluster."""
    with ExitStack() as stack:
        broker = stack.enter_context(PrivateBroker(folder / "broker"))
        cables = stack.enter_context(Cables(broker.port))
        ends = {kind: cables.lay() for kind in ("frontier", "worker")}
        reach = {
            kind: ["--amqp", f"amqp://guest:guest@127.0.0.1:{cable.port}/"]
            for kind, cable in ends.items()
        }
        databases = [folder / f"shard{number}.db" for number in range(1, given.shards + 1)]
        said = folder / "cluster.said"
        frontiers = [
            _start(
                [
                    *("cluster", "frontier", "--shard", f"{number}/{given.shards}"),
                    *("--db", str(db), *reach["frontier"], *options),
                ],
                said,
                stack,
            )
            for number, db in enumerate(databases, 1)
        ]
        slots = str(max(1, given.slots // given.workers))
        at = options.index("--connect-to")
        past = options[at : at + 4]  # and --allow-net
        worker = [
            *("cluster", "worker", *reach["worker"]),
            *("--slots", slots, "--processes", "1", *past),
        ]
        workers = [_start(worker, said, stack) for _ in range(given.workers)]
        parts = {
            "frontier": [each.pid for each in frontiers],
            "worker": [each.pid for each in workers],
            "broker": [broker.pid],
        }

        def wires() -> Counter[str]:
            return Counter(
                {
                    f"{kind}: {name}": value
                    for kind, cable in ends.items()
                    for name, value in cable.counts.items()
                }
            )

        meter = Meter(parts, databases, wires)
        meter.watch(lambda: all(each.poll() is not None for each in frontiers))
        if any(each.returncode for each in frontiers):
            raise SystemExit(said.read_text(encoding="utf-8")[-3000:])
        return _cost("cluster", meter, ends)


def _cost(name: str, meter: Meter, ends: Iterable[str]) -> Cost:
    first, last = meter.between(0.1)
    pages = last.pages - first.pages
    own = {
        part: round(1000 * (last.cpu_s[part] - first.cpu_s.get(part, 0.0)) / pages, 3)
        for part in last.cpu_s
    }
    wires: dict[str, dict[str, float]] = {kind: {} for kind in ends}
    for key, value in (last.wires - first.wires).items():
        kind, _, method = key.partition(": ")
        wires[kind][method] = round(value / pages, 3)
    seconds = round(last.at - first.at, 1)
    mib = {part: round(value, 1) for part, value in meter.samples[-2].mib.items()}
    return Cost(name, last.pages, seconds, own, wires, mib)


def main() -> None:
    """Measure and print."""
    given = read_options(__doc__)
    site = build(given.site, pages=2 * given.pages)
    with serving(site) as web, tempfile.TemporaryDirectory(prefix="focus-bench-") as folder:
        options = crawl_options(site, web, given)
        costs = [way(options, given, Path(folder)) for way in (alone, spread)]
    tell({"costs": msgspec.to_builtins(costs)}, given.json)


if __name__ == "__main__":
    main()
