"""Samples memory, files, threads and the WAL of a crawl that runs for hours.

    python -m bench.soak [--minutes 60.0] [--hosts 200] [--pages 400000] [--delay 2.0]
        [--out build/soak] [-- options of the crawl]

A site of many hosts on loopback, made up page by page, is crawled for so long. Every few
seconds the crawler's processes are looked at. In the end the last half of the time is
compared with the part before it (the first sixth is left to warming up), and everything is
drawn to FOLDER/soak.svg beside FOLDER/soak.json. Linux only.

Stated bounds: a crawl has to know 80 bytes of every URL that it has heard of and 185 of every
page of twelve links that it has asked for (graph, tallies, marks of its text); all other
resident memory of the last half is within 5 % above the part before. Open files, threads and
requests under way do not grow (5 % and a few); WAL at most 64 MiB; at least 50 pages a second;
exit code 0, and the end takes no longer than a minute.
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
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import NamedTuple, cast

from bench.script import read_options
from focus.demo.server import DemoServer
from focus.demo.site import DemoWeb, Response
from tests.support.processes import descendants, kill, present_mib, served, start

WAL_LIMIT = 64 * 2**20
PAGES_PER_S = 50.0
GROWTH = 0.05
URL_BYTES, PAGE_BYTES = 80, 185
"""What a crawl must know of a URL, and of a page besides. Addresses wait on disk, but for some."""
SLACK = {"files": 16.0, "threads": 2.0, "in flight": 16.0}  # beside GROWTH
SAMPLES = 720  # about so many in all, at least one every 5 s
END_S, LONGEST_END_S = 300.0, 60.0
LINKS = 12
WORDS = "足球 比赛 球员 联赛 进球 天气 股票 旅游 电影 音乐 科技 汽车 房产 健康 教育".split()
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df")


class Site:
    """Hosts of pages that are made when they are asked for; stands in for a `DemoWeb`."""

    def __init__(self, hosts: int, pages: int) -> None:
        self.hosts = [f"h{number:03}.example" for number in range(hosts)]
        self.per_host = max(1, pages // hosts)
        self.seeds = [f"http://{host}/" for host in self.hosts[:20]]

    def respond(self, url: str) -> Response | None:
        """A page of some 5 kB with links, half of them to other hosts."""
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
    """The crawler at one moment: all its processes together, files and threads of the main one.

    memory MiB resident; wal MiB; requests so far; in_flight connections to the site; known URLs
    """

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
        """Memory without what has to be known, MiB."""
        return self.memory - (URL_BYTES * self.known + PAGE_BYTES * self.requests) / 2**20


def look(pid: int, db: Path, server: DemoServer, began: float) -> Sample | None:
    """A sample; None if the process, or one of its own just then, has gone."""
    try:
        files, threads = (list(Path(f"/proc/{pid}/{kind}").iterdir()) for kind in ("fd", "task"))
        memory = sum(present_mib(each) for each in (pid, *descendants(pid)))
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
        known=_known(db),
    )


def _known(db: Path) -> int:
    """URLs that the crawl has heard of, as far as it has written that down."""
    try:
        with closing(sqlite3.connect(f"{db.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (last,) = connection.execute("SELECT max(id) FROM url").fetchone()
    except sqlite3.Error:
        return 0
    return (last or 0) & 0xFFFFFFFF


class Finding(NamedTuple):
    """One bound: what was found, what is allowed, whether that holds."""

    what: str
    found: str
    bound: str
    holds: bool


def judge(
    samples: Sequence[Sample], code: int, requests_per_s: float, end_s: float
) -> list[Finding]:
    """Hold samples against the stated bounds."""
    length = samples[-1].at
    early = [s for s in samples if length / 6 <= s.at < length / 2] or list(samples[:1])
    late = [s for s in samples if s.at >= length / 2]
    values: dict[str, Callable[[Sample], float]] = {
        "memory beside what is known, MiB": lambda s: s.beside_state,
        "files": lambda s: s.files,
        "threads": lambda s: s.threads,
        "in flight": lambda s: s.in_flight,
    }
    findings = []
    for name, value in values.items():
        before, after = mean(map(value, early)), mean(map(value, late))
        most = before * (1 + GROWTH) + SLACK.get(name, 0.0)
        findings.append(
            Finding(name, f"{before:.1f} → {after:.1f}", f"≤ {most:.1f}", after <= most)
        )
    memory = [mean(s.memory for s in part) for part in (early, late)]
    wal = max(s.wal for s in samples)
    speed = requests_per_s >= PAGES_PER_S
    findings += [
        Finding("memory, MiB", f"{memory[0]:.1f} → {memory[1]:.1f}", "-", True),
        Finding("WAL", f"{wal:.1f} MiB", "≤ 64 MiB", wal * 2**20 <= WAL_LIMIT),
        Finding("requests", f"{requests_per_s:.1f}/s", f"≥ {PAGES_PER_S:g}/s", speed),
        Finding("exit code", str(code), "0", code == 0),
        Finding("end", f"{end_s:.1f} s", f"≤ {LONGEST_END_S:g} s", end_s <= LONGEST_END_S),
    ]
    return findings


def draw(samples: Sequence[Sample]) -> str:
    """The course of everything as an SVG of small charts, one above the other."""
    wide, high, left = 900, 110, 90
    rows: list[tuple[str, list[float]]] = [
        ("memory, MiB", [s.memory for s in samples]),
        ("open files", [float(s.files) for s in samples]),
        ("threads", [float(s.threads) for s in samples]),
        ("WAL, MiB", [s.wal for s in samples]),
        ("requests/s", _rates(samples)),
    ]
    length = max(samples[-1].at, 1e-9)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high * len(rows) + 30}" '
        'font-family="sans-serif" font-size="12">'
    ]
    for row, (name, values) in enumerate(rows):
        floor, top = high * (row + 1) - 10, max(max(values), 1e-9)
        points = " ".join(
            f"{left + (wide - left - 20) * s.at / length:.1f},{floor - (high - 30) * v / top:.1f}"
            for s, v in zip(samples, values, strict=True)
        )
        parts.append(
            f'<line x1="{left}" x2="{wide - 20}" y1="{floor}" y2="{floor}" stroke="#ccc"/>'
        )
        parts.append(f'<text x="4" y="{floor - 40}">{name}</text>')
        parts.append(f'<text x="4" y="{floor - 24}">most {top:,.1f}</text>')
        parts.append(
            f'<polyline fill="none" stroke="{COLOURS[row]}" stroke-width="1.5" points="{points}"/>'
        )
    parts.append(
        f'<text x="{left}" y="{high * len(rows) + 18}">0 to {length / 60:.1f} minutes</text></svg>'
    )
    return "\n".join(parts)


def _rates(samples: Sequence[Sample]) -> list[float]:
    rates = [
        (after.requests - before.requests) / max(after.at - before.at, 1e-9)
        for before, after in pairwise(samples)
    ]
    return [*rates[:1], *rates] if rates else [0.0]


def soak(
    site: Site, folder: Path, *, minutes: float, more: Sequence[str]
) -> tuple[list[Sample], int, float]:
    """Crawl for so long; the samples, the exit code, and how long SIGTERM took to end it."""
    db, seconds = folder / "soak.db", minutes * 60
    every = min(5.0, max(0.5, seconds / SAMPLES))
    samples = []
    with served(cast(DemoWeb, site)) as server:
        began = time.monotonic()
        process = start(_options(site, server, db, seconds, more), folder / "stderr")
        try:
            while time.monotonic() - began < seconds and process.poll() is None:
                time.sleep(every)
                if (sample := look(process.pid, db, server, began)) is not None:
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
    """Print the findings as a table; 1 if a bound was broken."""
    given = read_options(__doc__)
    given.out.mkdir(parents=True, exist_ok=True)
    site = Site(given.hosts, given.pages)
    options = ["--delay", f"{given.delay}s", "--strategy", "yield", *given.options]
    with tempfile.TemporaryDirectory() as name:
        samples, code, end_s = soak(site, Path(name), minutes=given.minutes, more=options)
        said = (Path(name) / "stderr").read_text(encoding="utf-8")
    if not samples or "Traceback" in said:
        print(said)
        return 1
    findings = judge(samples, code, samples[-1].requests / samples[-1].at, end_s)
    print("| what | found | bound | holds |\n|---|---|---|---|")
    for each in findings:
        print(f"| {each.what} | {each.found} | {each.bound} | {'yes' if each.holds else 'NO'} |")
    course = [sample._asdict() for sample in samples]
    (given.out / "soak.json").write_text(json.dumps(course), encoding="utf-8")
    (given.out / "soak.svg").write_text(draw(samples), encoding="utf-8")
    print(f"drawn to {given.out / 'soak.svg'}")
    return 0 if all(each.holds for each in findings) else 1


if __name__ == "__main__":
    sys.exit(main())
