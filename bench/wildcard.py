"""Counts what a crawl asks of one machine that answers to endlessly many names.

    python -m bench.wildcard [--seconds 96.0] [--latency 0.2] [--links 12] [--own 2] [--domains 1]

A wildcard in the DNS: whatever name below `wild.example` is asked for, it has the same address, and
a page about the topic with links to hosts that nobody has heard of. The server counts. With
`--domains N` the hosts lie in N registered domains, as those of a large hoster do.
"""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast
from unittest import mock

import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult

from bench.script import read_options
from focus import session
from focus.config import AnalysisConfig, CrawlConfig, FetchConfig, LimitConfig, RunPaths
from focus.fetch import WebFetcher
from focus.session import RunReport, Watcher
from focus.topic.topic import from_words, to_builtins

ADDRESS = "127.0.0.1"
WORDS = "比赛 球员 联赛 进球 教练 球迷 主场 射门 传球 守门员 裁判 冠军 转会 杯赛 后卫 前锋".split()
PARAGRAPHS = 6


class Request(NamedTuple):
    """One line of the server's log."""

    at: float
    elapsed_s: float
    host: str
    path: str


class Wildcard:
    """The pages of every host there could be, each with links to new ones.

    own   links of a page to its own host
    """

    def __init__(self, links: int, own: int, domains: int, latency_s: float) -> None:
        self.latency_s = latency_s
        self.log: list[Request] = []
        self.port = 0
        self._links = links
        self._own = own
        self._domains = domains

    def answer(self, host: str, path: str) -> bytes:
        """What to send for a request."""
        if path == "/robots.txt":
            return _encoded("text/plain", "User-agent: *\nAllow: /\n")
        return _encoded("text/html; charset=utf-8", "".join(self._page(host, path)))

    def _page(self, host: str, path: str) -> Iterator[str]:
        chance = zlib.crc32(f"{host}{path}".encode())
        yield f"<!doctype html><title>足球 {chance}</title><h1>足球{WORDS[chance % 16]}</h1>"
        for _ in range(PARAGRAPHS):
            chance = zlib.crc32(chance.to_bytes(4, "big"))
            said = "".join(WORDS[(chance >> shift) & 15] for shift in range(0, 32, 4))
            yield f"<p>足球{said}，{chance}。{said[::-1]}的足球消息，{WORDS[chance % 16]}。</p>"
        for at in range(self._links):
            chance = zlib.crc32(chance.to_bytes(4, "big"))
            name = host if at < self._own else f"{self.name(chance)}:{self.port}"
            yield f'<a href="http://{name}/{chance % 1000}">足球{WORDS[chance % 16]}</a>\n'

    def name(self, chance: int) -> str:
        """A host that nobody has heard of."""
        domain = f"wild{chance % self._domains}" if self._domains > 1 else "wild"
        return f"h{chance:x}.{domain}.example"

    async def run(self) -> None:
        """Serve until standard input ends; the port first, the log at the end."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Line(self), ADDRESS, 0, backlog=4096)
        self.port = server.sockets[0].getsockname()[1]
        print(self.port, flush=True)
        await loop.run_in_executor(None, sys.stdin.read)
        print(json.dumps(self.log), flush=True)
        server.close()


class _Line(asyncio.Protocol):
    """A connection: one request after the other, each answered after the latency."""

    def __init__(self, web: Wildcard) -> None:
        self._web = web
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._head += data
        if not self._head.endswith(b"\r\n\r\n"):
            return
        first, *fields = self._head.decode("latin-1").split("\r\n")
        self._head = b""
        host = next(field[6:] for field in fields if field.lower().startswith("host: "))
        asked = (time.monotonic(), host, first.split(" ")[1])
        asyncio.get_running_loop().call_later(self._web.latency_s, self._send, asked)

    def _send(self, asked: tuple[float, str, str]) -> None:
        at, host, path = asked
        self._transport.write(self._web.answer(host, path))
        self._web.log.append(Request(at, time.monotonic() - at, host, path))


def _encoded(kind: str, text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Everywhere(AbstractResolver):
    """A resolver for which every name is the same machine."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The address, after a moment as a real one takes."""
        await asyncio.sleep(0.005)
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(
                hostname=host, host=ADDRESS, port=port, family=socket.AF_INET, proto=0, flags=flags
            )
        ]

    async def close(self) -> None:
        """There is nothing to close."""


class Load(NamedTuple):
    """What a server had to bear. `peak`: most requests that came within one second."""

    requests: int
    seconds: float
    peak: int
    parallel: int
    robots: int
    hosts: int

    @property
    def mean(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds if self.seconds else 0.0


def load(log: Iterable[Request]) -> Load:
    """What a log comes to."""
    entries = sorted(log)
    starts = [each.at for each in entries]
    moments = [(each.at, 1) for each in entries]
    moments += [(each.at + each.elapsed_s, -1) for each in entries]
    return Load(
        requests=len(entries),
        seconds=starts[-1] - starts[0] if entries else 0.0,
        peak=_most_within(starts, 1.0),
        parallel=_most_open(moments),
        robots=Counter(each.path for each in entries)["/robots.txt"],
        hosts=len({each.host for each in entries}),
    )


def _most_within(starts: list[float], seconds: float) -> int:
    first = most = 0
    for last, at in enumerate(starts):
        while starts[first] <= at - seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def _most_open(moments: list[tuple[float, int]]) -> int:
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def crawl(port: int, seconds: float, db: Path) -> RunReport:
    """Crawl from one host of it for so long, with everything as it is by default."""
    config = CrawlConfig(
        seeds=(f"http://www.wild.example:{port}/",),
        fetch=FetchConfig(allow_net=(f"{ADDRESS}/32",)),
        limits=LimitConfig(max_time_s=seconds),
        analysis=AnalysisConfig(topic=to_builtins(from_words("足球"))),
    )
    fetcher = partial(WebFetcher, resolver=Everywhere())
    with (
        mock.patch.object(session, "WebFetcher", fetcher),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return runner.run(session.run(config, RunPaths(db), Watcher()))


def main() -> int:
    """Print what the server had to bear; 1 if that was more than the crawl promises."""
    given = read_options(__doc__, serve=False)
    if given.serve:
        uvloop.run(Wildcard(given.links, given.own, given.domains, given.latency).run())
        return 0
    serve = [sys.executable, "-m", "bench.wildcard", "--serve", "--latency", str(given.latency)]
    for name in ("links", "own", "domains"):
        serve += [f"--{name}", str(getattr(given, name))]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        port = int(server.stdout.readline())
        report = crawl(port, given.seconds, Path(folder) / "wild.db")
        found = load(Request(*row) for row in json.loads(server.communicate()[0]))
    polite = CrawlConfig().politeness
    print(f"{found.requests} requests to {found.hosts} hosts in {found.seconds:.1f} s", end=": ")
    print(
        f"{found.mean:.1f} a second, at most {found.peak} within one; in parallel at most", end=" "
    )
    print(f"{found.parallel}; robots.txt {found.robots} ({found.robots / found.requests:.0%})")
    print(f"relevant pages {report.totals.relevant} of {report.totals.pages}; known hosts", end=" ")
    print(f"{report.hosts}; dropped {report.dropped}; ended: {report.stop_reason}")
    promised = polite.per_ip / polite.delay_s + 1
    return 1 if found.parallel > polite.per_ip or found.peak > promised else 0


if __name__ == "__main__":
    sys.exit(main())
