"""Samples memory, files, threads and the WAL of a crawl that runs for hours.

    python -m bench.soak [--minutes 60.0] [--hosts 200] [--pages 400000] [--delay 2.0]
        [--out build/soak] [-- options of the crawl]

Crawls a generated site of many hosts on loopback and samples the crawler's processes every few
seconds. The last half of the run is compared with the part before it, without the first sixth.
OUT/soak.json has the samples. Linux only.

Bounds: a crawl keeps 80 bytes for every known URL and 185 for every requested page of twelve
links (graph, counters, text fingerprint); all other resident memory grows by at most 5 %. Open
files, threads and requests in flight do not grow (5 % and a few); the WAL has at most 64 MiB;
the crawl makes at least 50 requests a second, ends with exit code 0 and within a minute of
SIGTERM.
"""

import json
import signal
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import NamedTuple, cast

from bench.script import read_options, table
from focus.demo.server import DemoServer
from focus.demo.site import DemoWeb, Response
from tests.support.processes import descendants, kill, present_mib, served, start

WAL_MIB = 64
PAGES_PER_S = 50.0
GROWTH = 0.05
URL_BYTES, PAGE_BYTES = 80, 185
"""Memory that a crawl keeps for each known URL and for each requested page."""
SLACK = {"files": 16.0, "threads": 2.0, "in flight": 16.0}  # added to GROWTH
SAMPLES = 720  # per run, at least one every 5 s
END_S, LONGEST_END_S = 300.0, 60.0
LINKS = 12
WORDS = "足球 比赛 球员 联赛 进球 天气 股票 旅游 电影 音乐 科技 汽车 房产 健康 教育".split()


class Site:
    """Hosts with pages generated on request, with the interface of `DemoWeb`."""

    def __init__(self, hosts: int, pages: int) -> None:
        self.hosts = [f"h{number:03}.example" for number in range(hosts)]
        self.per_host = max(1, pages // hosts)
        self.seeds = [f"http://{host}/" for host in self.hosts[:20]]

    def respond(self, url: str) -> Response | None:
        """Return a page of about 5 kB; half of its links lead to other hosts."""
        host, _, path = url.removeprefix("http://").partition("/")
        if path == "robots.txt":
            return Response(404, (("content-type", "text/plain"),), b"none")
        number = int(path) if path.isdigit() else 0
        chance = zlib.crc32(url.encode())
        body = "".join(self._body(host, number, chance))
        return Response(200, (("content-type", "text/html; charset=utf-8"),), body.encode())

    def _body(self, host: str, number: int, chance: int) -> Iterator[str]:
        word = WORDS[chance % len(WORDS)]
        yield f"<!doctype html><title>{word} {host} {number}</title><h1>{word}</h1>"
        for at in range(12):
            chance = zlib.crc32(chance.to_bytes(4, "big"))
            said = "".join(WORDS[(chance >> shift) % len(WORDS)] for shift in range(0, 28, 2))
            yield f"<p>{said}，{chance}。{word}的消息第{at}段，{said[::-1]}。</p>"
        for at in range(LINKS):
            chance = zlib.crc32(chance.to_bytes(4, "big"))
            to = host if at % 2 else self.hosts[chance % len(self.hosts)]
            page = (chance >> 8) % self.per_host if at else (number + 1) % self.per_host
            yield f'<a href="http://{to}/{page}">{WORDS[chance % len(WORDS)]} {page}</a>\n'


class Sample(NamedTuple):
    """State of the crawl: memory and WAL in MiB, open files and threads of the main process."""

    at: float
    memory: float
    files: int
    threads: int
    wal: float
    requests: int
    in_flight: int
    known: int

    @property
    def beside_state(self) -> float:
        """Memory in MiB without that kept for known URLs and requested pages."""
        return self.memory - (URL_BYTES * self.known + PAGE_BYTES * self.requests) / 2**20


def take_sample(pid: int, db: Path, server: DemoServer, began: float) -> Sample | None:
    """Return a sample, or None if one of the processes has ended."""
    try:
        files, threads = (list(Path(f"/proc/{pid}/{kind}").iterdir()) for kind in ("fd", "task"))
        memory = sum(map(present_mib, (pid, *descendants(pid))))
    except OSError:
        return None
    wal = db.with_name(db.name + "-wal")
    return Sample(
        at=time.monotonic() - began,
        memory=memory,
        files=len(files),
        threads=len(threads),
        wal=(wal.stat().st_size if wal.exists() else 0) / 2**20,
        requests=len(server.log),
        in_flight=len(server.connections),
        known=_count_known(db),
    )


def _count_known(db: Path) -> int:
    """Return the number of known URLs in the database."""
    try:
        with closing(sqlite3.connect(f"{db.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (last,) = connection.execute("SELECT max(id) FROM url").fetchone()
    except sqlite3.Error:
        return 0
    return (last or 0) & 0xFFFFFFFF


def judge(
    samples: Sequence[Sample], code: int, requests_per_s: float, end_s: float
) -> list[tuple[str, str, str, bool]]:
    """Return a row for each bound: what it limits, the figure, the bound, whether it holds."""
    length = samples[-1].at
    early = [s for s in samples if length / 6 <= s.at < length / 2] or list(samples[:1])
    late = [s for s in samples if s.at >= length / 2]
    values: dict[str, Callable[[Sample], float]] = {
        "memory without state, MiB": lambda s: s.beside_state,
        "files": lambda s: s.files,
        "threads": lambda s: s.threads,
        "in flight": lambda s: s.in_flight,
    }
    rows = []
    for name, value in values.items():
        before, after = mean(map(value, early)), mean(map(value, late))
        bound = before * (1 + GROWTH) + SLACK.get(name, 0.0)
        rows.append((name, f"{before:.1f} → {after:.1f}", f"≤ {bound:.1f}", after <= bound))
    wal = max(s.wal for s in samples)
    return [
        *rows,
        ("WAL, MiB", f"{wal:.1f}", f"≤ {WAL_MIB}", wal <= WAL_MIB),
        (
            "requests/s",
            f"{requests_per_s:.1f}",
            f"≥ {PAGES_PER_S:g}",
            requests_per_s >= PAGES_PER_S,
        ),
        ("exit code", str(code), "0", code == 0),
        ("end, s", f"{end_s:.1f}", f"≤ {LONGEST_END_S:g}", end_s <= LONGEST_END_S),
    ]


def soak(
    site: Site, folder: Path, *, minutes: float, more: Sequence[str]
) -> tuple[list[Sample], int, float]:
    """Crawl for `minutes`; return samples, exit code and seconds from SIGTERM to the end."""
    db, seconds = folder / "soak.db", minutes * 60
    every = min(5.0, max(0.5, seconds / SAMPLES))
    samples = []
    with served(cast(DemoWeb, site)) as server:
        began = time.monotonic()
        process = start(_options(site, server, db, seconds, more), folder / "stderr")
        try:
            while time.monotonic() - began < seconds and process.poll() is None:
                time.sleep(every)
                if (sample := take_sample(process.pid, db, server, began)) is not None:
                    samples.append(sample)
            process.send_signal(signal.SIGTERM)
            stopped = time.monotonic()
            code = process.wait(END_S)
            end_s = time.monotonic() - stopped
        finally:
            kill(process)
    return samples, code, end_s


def _options(
    site: Site, server: DemoServer, db: Path, seconds: float, more: Sequence[str]
) -> list[str]:
    seeds = [part for seed in site.seeds for part in ("--seed", seed)]
    where = ["--connect-to", f"127.0.0.1:{server.port}", "--allow-net", "127.0.0.0/8"]
    limits = ["--max-time", f"{seconds + END_S:.0f}s"]
    return ["crawl", *seeds, "--topic", "足球", *where, *limits, "--db", str(db), *more]


def main() -> int:
    """Print the bounds as a table; return 1 if one was broken."""
    options = read_options(__doc__)
    options.out.mkdir(parents=True, exist_ok=True)
    site = Site(options.hosts, options.pages)
    crawl_options = ["--delay", f"{options.delay}s", "--strategy", "yield", *options.options]
    with tempfile.TemporaryDirectory() as name:
        samples, code, end_s = soak(site, Path(name), minutes=options.minutes, more=crawl_options)
        stderr = (Path(name) / "stderr").read_text(encoding="utf-8")
    if not samples or "Traceback" in stderr:
        print(stderr)
        return 1
    rows = judge(samples, code, samples[-1].requests / samples[-1].at, end_s)
    print(table(["limited", "found", "bound", "holds"], rows))
    course = [sample._asdict() for sample in samples]
    (options.out / "soak.json").write_text(json.dumps(course), encoding="utf-8")
    return 0 if all(holds for *_, holds in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
