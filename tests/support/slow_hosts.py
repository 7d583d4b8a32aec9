"""A web of slow hosts on loopback that counts the requests that lie open, and a crawl of it.

The server is a process of its own: `python -m tests.support.slow_hosts PAGES LATENCY TOGETHER`.
`focus crawl` begins with a soft limit of 1,024 file descriptors, as shells have it.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import uvloop

from tests.support.processes import descendants, peak_mib, start

SOFT_LIMIT = 1024
SAMPLE_S = 0.1
_PARAGRAPH = "<p>昨天晚上的足球比赛吸引了许多球迷到场观看，双方在下半场各进一球。</p>"


class SlowWeb:
    """Pages `/`, `/1`, … of any host, linked from `/`; robots.txt is missing everywhere.

    together   nobody gets an answer until so many requests lie open, however long that takes
    """

    def __init__(self, pages: int, latency_s: float, together: int = 0) -> None:
        self.latency_s, self._together = latency_s, together
        self.open = self.most = self.requests = 0
        self._held: list[_Line] = []
        self.samples: list[int] = []
        links = "".join(f'<li><a href="/{n}">第{n}页</a></li>' for n in range(1, pages))
        html = f"<title>足球</title><ul>{links}</ul>{_PARAGRAPH * 40}"
        self._page = _answer("200 OK", "text/html; charset=utf-8", html)
        self._missing = _answer("404 Not Found", "text/plain", "missing")

    def answer(self, head: bytes) -> bytes:
        """What to send for a request, in the end."""
        return self._missing if head.startswith(b"GET /robots.txt ") else self._page

    def came(self, line: _Line) -> None:
        """A request lies open; those that may be answered now begin their wait."""
        self.open += 1
        self.requests += 1
        self.most = max(self.most, self.open)
        self._held.append(line)
        if self.most >= self._together:
            for each in self._held:
                each.answer_in(self.latency_s)
            self._held.clear()

    async def run(self) -> None:
        """Serve until standard input ends; the port first, what was counted at the end."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Line(self), "127.0.0.1", 0, backlog=4096)
        print(server.sockets[0].getsockname()[1], flush=True)
        ended = loop.run_in_executor(None, sys.stdin.read)
        while not ended.done():
            self.samples.append(self.open)
            await asyncio.sleep(SAMPLE_S)
        print(json.dumps([self.most, self.requests, self.samples]), flush=True)
        server.close()


def _answer(status: str, kind: str, text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class _Line(asyncio.Protocol):
    """A connection; its client sends one request at a time."""

    def __init__(self, web: SlowWeb) -> None:
        self._web = web
        self._head = self._answer = b""
        self._transport: asyncio.WriteTransport
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._head += data
        if not self._head.endswith(b"\r\n\r\n"):
            return
        self._answer, self._head = self._web.answer(self._head), b""
        self._web.came(self)

    def answer_in(self, seconds: float) -> None:
        """The answer goes so much later, if anybody still wants it."""
        if self._answer:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._send)

    def _send(self) -> None:
        self._web.open -= 1
        self._transport.write(self._answer)
        self._answer, self._timer = b"", None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer:
            self._web.open -= 1
            self._answer = b""
        if self._timer is not None:
            self._timer.cancel()


class Held(NamedTuple):
    """What came of it. `samples`: requests open at the server, ten a second."""

    code: int
    most: int
    requests: int
    seconds: float
    samples: list[int]
    main_mib: float
    workers_mib: list[float]
    report: dict[str, object]


def hold(
    hosts: int,
    latency_s: float,
    pages: int,
    folder: Path,
    options: Sequence[str],
    *,
    together: int = 0,
) -> Held:
    """Crawl that many slow hosts to the end; `together` as in `SlowWeb`."""
    seeds, report = folder / "seeds", folder / "report.json"
    seeds.write_text("".join(f"http://h{n}.example/\n" for n in range(hosts)), encoding="utf-8")
    numbers = map(str, (pages, latency_s, together))
    serve = [sys.executable, "-m", "tests.support.slow_hosts", *numbers]
    with subprocess.Popen(
        serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        began = time.monotonic()
        where = ["--connect-to", f"127.0.0.1:{port}", "--allow-net", "127.0.0.0/8"]
        files = ["--seeds-file", seeds, "--db", folder / "slow.db", "--summary", report]
        command = ["crawl", "--topic", "足球", "--delay", "0", *where, *map(str, files), *options]
        process = start(command, folder / "stderr", before=partial(_limit_descriptors, SOFT_LIMIT))
        peaks: dict[int, float] = {}
        while process.poll() is None:
            for pid in (process.pid, *descendants(process.pid)):
                with suppress(OSError):  # it has ended since
                    peaks[pid] = max(peaks.get(pid, 0.0), peak_mib(pid))
            time.sleep(SAMPLE_S)
        seconds = time.monotonic() - began
        most, requests, samples = json.loads(server.communicate()[0])
    main = peaks.pop(process.pid, 0.0)
    told = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return Held(process.returncode, most, requests, seconds, samples, main, [*peaks.values()], told)


def _limit_descriptors(soft: int) -> None:
    import resource  # not on Windows

    resource.setrlimit(
        resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )


if __name__ == "__main__":
    uvloop.run(SlowWeb(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])).run())
