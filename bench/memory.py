"""Measures the memory of a crawl before, while and after large pages arrive together.

    python -m bench.memory [--large 12] [--size 8.0] [--seconds 45.0]

Crawls many hosts with pages of about 60 kB on loopback. After a third of the time all pages link to
`--large` pages of `--size` MB. Resident memory of the main process and its worker is sampled.
Linux only.
"""

import os
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple, cast

from bench.script import read_options
from focus.demo.server import DemoServer
from focus.demo.site import DemoWeb, Response
from tests.support.processes import descendants, kill, present_mib, served, start

HOSTS = 64
EVERY_S = 0.1
WORDS = "足球 比赛 球员 联赛 进球 天气 股票 旅游 电影 音乐 科技 汽车 房产 健康 教育".split()
_HTML = (("content-type", "text/html; charset=utf-8"),)


class Site:
    """An endless site like a `DemoWeb`; from `large_at` on, pages link to the large ones."""

    def __init__(self, large: int, size_mb: float, large_at: float) -> None:
        self.seeds = [f"http://h{number}.example/" for number in range(HOSTS)]
        self._large = [f"http://large{number}.example/" for number in range(large)]
        self._large_at = large_at
        self.requested: set[str] = set()
        paragraph = "".join(self._text(zlib.crc32(b"large"), 40))
        repeated = int(size_mb * 1e6) // len(paragraph.encode()) + 1
        self._body = f"<title>足球</title>{paragraph * repeated}".encode()

    def respond(self, url: str) -> Response | None:
        """Return a page."""
        host, _, path = url.removeprefix("http://").partition("/")
        if path == "robots.txt":
            return Response(404, (("content-type", "text/plain"),), b"none")
        if host.startswith("large"):
            self.requested.add(host)
            return Response(200, _HTML, self._body)
        chance = zlib.crc32(url.encode())
        body = "".join(self._page(host, chance))
        return Response(200, _HTML, body.encode())

    def _page(self, host: str, chance: int) -> Iterator[str]:
        yield f"<!doctype html><title>足球 {chance}</title>"
        yield from self._text(chance, 300)
        for at in range(6):
            chance = zlib.crc32(chance.to_bytes(4, "big"))
            to = host if at % 2 else f"h{chance % HOSTS}.example"
            yield f'<a href="http://{to}/{chance}">{WORDS[chance % len(WORDS)]}</a>\n'
        if time.monotonic() >= self._large_at:
            yield from (f'<a href="{large}">足球</a>' for large in self._large)

    @staticmethod
    def _text(chance: int, paragraphs: int) -> Iterator[str]:
        for at in range(paragraphs):
            chance = zlib.crc32(chance.to_bytes(4, "big"))
            said = "".join(WORDS[(chance >> shift) % len(WORDS)] for shift in range(0, 28, 2))
            yield f"<p>{said}，{chance}。足球的消息第{at}段，{said[::-1]}。</p>\n"


class Sample(NamedTuple):
    """Resident memory in MiB at one time."""

    at: float
    main: float
    workers: float

    @property
    def both(self) -> float:
        """Memory of main process and worker together."""
        return self.main + self.workers


def watch(site: Site, folder: Path, seconds: float) -> tuple[list[Sample], int]:
    """Crawl for `seconds`; return samples and the number of requests."""
    with served(cast(DemoWeb, site)) as server:
        began = time.monotonic()
        process = start(_options(site, server, folder, seconds), folder / "stderr")
        samples = []
        try:
            while process.poll() is None:
                main = present_mib(process.pid)
                workers = sum(map(present_mib, descendants(process.pid)))
                samples.append(Sample(time.monotonic() - began, main, workers))
                time.sleep(EVERY_S)
        except OSError:
            pass  # the process ended during a sample
        finally:
            kill(process)
        return samples, len(server.log)


def _options(site: Site, server: DemoServer, folder: Path, seconds: float) -> list[str]:
    seeds = [part for seed in site.seeds for part in ("--seed", seed)]
    where = ["--connect-to", f"127.0.0.1:{server.port}", "--allow-net", "127.0.0.0/8"]
    how = ["--topic", "足球", "--delay", "0.5s", "--workers", "1"]
    ends = ["--max-time", f"{seconds:.0f}s", "--db", str(folder / "memory.db")]
    return ["crawl", *seeds, *where, *how, *ends]


def main() -> int:
    """Print peaks and medians before and after the large pages."""
    os.environ["FOCUS_PARSE_TIMEOUT"] = "20s"
    options = read_options(__doc__)
    large_at = time.monotonic() + options.seconds / 3
    site = Site(options.large, options.size, large_at)
    with tempfile.TemporaryDirectory() as name:
        samples, requests = watch(site, Path(name), options.seconds)
        stderr = (Path(name) / "stderr").read_text(encoding="utf-8")
    if "Traceback" in stderr or not samples:
        print(stderr)
        return 1
    third = options.seconds / 3
    before = [sample for sample in samples if third / 2 <= sample.at < third]
    after = [sample for sample in samples if 2.5 * third <= sample.at]
    peak = max(samples, key=lambda sample: sample.both)
    print(f"{requests} requests; large pages requested: {len(site.requested)}")
    for what, part in (("before", before), ("after", after)):
        main_mib, workers = (median(s.main for s in part), median(s.workers for s in part))
        print(f"steady {what}: main {main_mib:.0f}, worker {workers:.0f}", end=", ")
        print(f"together {main_mib + workers:.0f} MiB")
    print(f"peak: main {max(s.main for s in samples):.0f}, worker", end=" ")
    print(f"{max(s.workers for s in samples):.0f}, together {peak.both:.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
