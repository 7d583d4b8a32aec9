"""Measures what one frontier shard sustains when fetching and judging cost nothing.

    python -m bench.cluster.sim [--pages 20000] [--slots 256] [--hosts 1000] [--links 97]
        [--new 10] [--shards 1,2] [--strategy yield] [--json FILE] [-- options of the crawl]

A real frontier (`focus cluster frontier`), a real broker, and a worker that makes its pages up
(`bench.cluster.made`), by default with 97 links of which 10 are new. Told is what the frontier's
process used per page between a tenth of the pages and the last (CPU of its loop and of its
database's thread; start and end do not count; of all shards together), how much memory a
further known URL took, and what went over the wires; pages/s is what one shard has room for
(pages of all, each owning as many), not what this machine did.
"""

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from bench.cluster.made import host_name
from bench.cluster.meter import Meter, Sample
from bench.script import read_options, tell
from focus.cluster.private_broker import PrivateBroker
from tests.support.cables import Cables

LIMIT_S = 1500.0


class Shard(msgspec.Struct, frozen=True):
    """What one run came to, per page unless said otherwise."""

    shards: int
    strategy: str
    pages: int
    urls: int
    seconds: float
    frontier_ms: float
    made_ms: float
    broker_ms: float
    pages_s: float
    rss_mib: float
    url_rss_bytes: float
    page_bytes: float
    task_messages: float
    publishes: float
    delivers: float
    disk_kib: float


def run(shards: int, given: Any, folder: Path) -> Shard:
    """A crawl of made pages by so many shards."""
    with ExitStack() as stack:
        broker = stack.enter_context(PrivateBroker(folder / "broker"))
        cables = stack.enter_context(Cables(broker.port))
        ends = [cables.lay(), cables.lay()]
        reach = [f"amqp://guest:guest@127.0.0.1:{each.port}/" for each in ends]
        said = stack.enter_context((folder / "said").open("wb"))
        command = ["-m", "focus", "cluster", "frontier", "--amqp", reach[0], "--topic", "足球"]
        command += ["--seed", f"http://{host_name(0)}/", "--strategy", given.strategy]
        command += ["--eager", "--delay", "0", "--max-pages", str(given.pages), *given.options]
        databases = [folder / f"shard{number}.db" for number in range(1, shards + 1)]
        commands = [
            [*command, "--shard", f"{number}/{shards}", "--db", str(db)]
            for number, db in enumerate(databases, 1)
        ]
        made = ["-m", "bench.cluster.made", "--amqp", reach[1], "--slots", str(given.slots)]
        made += [f"--{name}={getattr(given, name)}" for name in ("hosts", "links", "new")]
        *frontiers, worker = (
            subprocess.Popen([sys.executable, *each], stdout=said, stderr=said)
            for each in (*commands, made)
        )
        for each in (*frontiers, worker):
            stack.callback(each.wait)
            stack.callback(each.kill)
        parts = {"made": [worker.pid], "broker": [broker.pid]}
        parts["frontier"] = [each.pid for each in frontiers]
        meter = Meter(parts, databases, lambda: ends[0].counts)
        deadline = time.monotonic() + LIMIT_S
        meter.watch(
            lambda: (
                all(each.poll() is not None for each in frontiers) or time.monotonic() > deadline
            )
        )
        if any(each.returncode != 0 for each in frontiers):
            raise SystemExit((folder / "said").read_text(encoding="utf-8")[-3000:])
        size = sum(file.stat().st_size for file in folder.glob("shard?.db*")) / 1024
        last = meter.samples[-1]
        return shard(
            (shards, given.strategy), meter.between(0.1), meter.between(0.5)[0], size / last.pages
        )


def shard(
    form: tuple[int, str], ends: tuple[Sample, Sample], half: Sample, disk_kib: float
) -> Shard:
    """The figures of a run."""
    first, last = ends
    pages = last.pages - first.pages

    def ms(part: str) -> float:
        return round(1000 * (last.cpu_s[part] - first.cpu_s.get(part, 0.0)) / pages, 3)

    def each(name: str) -> float:
        return round((last.wires[name] - first.wires[name]) / pages, 3)

    grown = (last.mib["frontier"] - half.mib["frontier"]) * 2**20 / max(1, last.urls - half.urls)
    return Shard(
        shards=form[0],
        strategy=form[1],
        pages=last.pages,
        urls=last.urls,
        seconds=round(last.at - first.at, 1),
        frontier_ms=ms("frontier"),
        made_ms=ms("made"),
        broker_ms=ms("broker's children"),
        pages_s=round(1000 / max(0.001, ms("frontier")), 0),
        rss_mib=round(last.mib["frontier"], 0),
        url_rss_bytes=round(grown, 0),
        page_bytes=each("bytes"),
        task_messages=each("ack"),
        publishes=each("publish"),
        delivers=each("deliver"),
        disk_kib=round(disk_kib, 1),
    )


def main() -> None:
    """Run and print."""
    given = read_options(__doc__)
    found = []
    for shards in map(int, given.shards.split(",")):
        with tempfile.TemporaryDirectory(prefix="focus-bench-") as folder:
            found.append(run(shards, given, Path(folder)))
        print(found[-1], file=sys.stderr)
    tell({"sim": msgspec.to_builtins(found)}, given.json)


if __name__ == "__main__":
    main()
