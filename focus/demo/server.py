"""Serves the generated web over real HTTP, on loopback, all hosts on one port.

The Host header says which host is meant, so a client connects every name to this
one address. HTTP/1.1 with keep-alive and pipelining, GET and HEAD, conditional
requests by ETag. As a program (`python -m focus.demo.server`) it prints one line
"READY http://127.0.0.1:PORT pages=N hosts=H" and ends when its standard input does,
so that it never outlives the process that started it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, cast

from focus.demo.site import DemoWeb, Response, generate

MAX_HEAD_BYTES = 64 * 1024
IDLE_S = 60.0  # a silent connection is closed after this


class LogEntry(NamedTuple):
    """One request: when it came (seconds of the monotonic clock), and how long it took."""

    time: float
    host: str
    path: str
    status: int
    elapsed_s: float


class DemoServer:
    """A running server; `port` is where, `log` what was asked so far."""

    def __init__(self, web: DemoWeb, latency_s: float) -> None:
        self.web = web
        self.latency_s = latency_s
        self.log: list[LogEntry] = []
        self.port = 0
        self.connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen; OSError if the address is taken."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), host, port, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
            for connection in list(self.connections):
                connection.drop()
            await self._server.wait_closed()


async def serve(
    web: DemoWeb, *, host: str = "127.0.0.1", port: int = 0, latency_s: float = 0.0
) -> DemoServer:
    """Serve `web`; every answer waits `latency_s` more than its host does by itself."""
    server = DemoServer(web, latency_s)
    await server.start(host, port)
    return server


class _Connection(asyncio.Protocol):
    """One client: its requests are answered one after the other, in order."""

    def __init__(self, server: DemoServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._pending: asyncio.TimerHandle | None = None  # an answer that is being delayed
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is of no such class
        self._server.connections.add(self)
        self._idle = self._loop.call_later(IDLE_S, self.drop)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        for timer in (self._pending, self._idle):
            if timer is not None:
                timer.cancel()
        self._transport = None

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > MAX_HEAD_BYTES:
            self.drop()
        elif self._pending is None:
            self._serve_next()

    def _serve_next(self) -> None:
        """Answer requests until one has to wait or none is complete."""
        while self._pending is None and self._transport is not None:
            head, end, rest = self._buffer.partition(b"\r\n\r\n")
            if not end:
                return
            self._buffer = rest
            self._serve_one(head)

    def _serve_one(self, head: bytes) -> None:
        started = time.monotonic()
        request = parse_request(head)
        if request is None:
            self._send(encode(_plain(400), keep_alive=False), keep_alive=False)
            return
        response = self._server.web.respond(f"http://{request.host}{request.target}")
        if response is None:
            response = _plain(HTTPStatus.MISDIRECTED_REQUEST)
        elif request.if_none_match and ("etag", request.if_none_match) in response.headers:
            response = response._replace(status=304, body=b"")
        delay = response.delay_s + self._server.latency_s
        entry = LogEntry(started, request.host, request.target, response.status, delay)
        data = encode(response, keep_alive=request.keep_alive, head_only=request.head_only)
        position = len(self._server.log)
        self._server.log.append(entry)
        if delay:
            self._pending = self._loop.call_later(
                delay, self._send_late, data, request.keep_alive, position
            )
        else:
            self._send(data, keep_alive=request.keep_alive)

    def _send_late(self, data: bytes, keep_alive: bool, position: int) -> None:
        self._pending = None
        entry = self._server.log[position]
        self._server.log[position] = entry._replace(elapsed_s=time.monotonic() - entry.time)
        self._send(data, keep_alive=keep_alive)
        self._serve_next()

    def _send(self, data: bytes, *, keep_alive: bool) -> None:
        if self._transport is None:
            return
        self._transport.write(data)
        if not keep_alive:
            self._transport.close()
            self._transport = None
        elif self._idle is not None:
            self._idle.cancel()
            self._idle = self._loop.call_later(IDLE_S, self.drop)


class DemoRequest(NamedTuple):
    """The part of a request's head that matters; `target` is path and query."""

    host: str
    target: str
    keep_alive: bool = True
    head_only: bool = False
    if_none_match: str = ""


def parse_request(head: bytes) -> DemoRequest | None:
    """A GET or HEAD request, in origin or in proxy form; None for anything else."""
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or parts[0] not in ("GET", "HEAD") or not parts[2].startswith("HTTP/1."):
        return None
    fields = {}
    for line in lines:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    host, target = fields.get("host", ""), parts[1]
    if target.startswith("http://"):
        host, slash, path = target.removeprefix("http://").partition("/")
        target = slash + path or "/"
    host = host.partition(":")[0].lower()
    if not re.fullmatch(r"[a-z0-9.-]+", host) or not target.startswith("/"):
        return None
    keep = fields.get("connection", "").lower()
    keep_alive = keep != "close" if parts[2] == "HTTP/1.1" else keep == "keep-alive"
    return DemoRequest(
        host=host,
        target=target,
        keep_alive=keep_alive,
        head_only=parts[0] == "HEAD",
        if_none_match=fields.get("if-none-match", ""),
    )


def encode(response: Response, *, keep_alive: bool, head_only: bool = False) -> bytes:
    """The response as it goes over the wire."""
    status = HTTPStatus(response.status)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += [f"{name}: {value}" for name, value in response.headers]
    if status != HTTPStatus.NOT_MODIFIED:
        lines.append(f"content-length: {len(response.body)}")
    lines.append(f"connection: {'keep-alive' if keep_alive else 'close'}")
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    return head if head_only else head + response.body


def _plain(status: int) -> Response:
    text = HTTPStatus(status).phrase.encode()
    return Response(status, (("content-type", "text/plain"),), text)


def main(arguments: list[str] | None = None) -> None:
    """Serve a web until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m focus.demo.server", description=main.__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--log", type=Path, help="write the requests here at the end, as TSV")
    options = parser.parse_args(arguments)
    web = generate(options.seed, pages=options.pages)
    with suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        log = runner.run(_run(web, options.port))
        if options.log is not None:
            rows = ["\t".join(map(str, row)) for row in [LogEntry._fields, *log]]
            options.log.write_text("\n".join(rows) + "\n", encoding="utf-8")


async def _run(web: DemoWeb, port: int) -> list[LogEntry]:
    server = await serve(web, port=port)
    pages, hosts = len(web.urls()), len(web.hosts)
    print(f"READY http://127.0.0.1:{server.port} pages={pages} hosts={hosts}", flush=True)
    await _stdin_closed()
    await server.close()
    return server.log


async def _stdin_closed() -> None:
    """Wait for the end of standard input, whatever sort of file it is."""
    loop, closed = asyncio.get_running_loop(), asyncio.Event()

    def watch() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        with suppress(RuntimeError):  # the loop has ended before
            loop.call_soon_threadsafe(closed.set)

    threading.Thread(target=watch, daemon=True).start()
    await closed.wait()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where it is installed: it leaves more of the machine to the crawler."""
    try:
        import uvloop
    except ImportError:  # Windows
        return None
    return uvloop.new_event_loop


if __name__ == "__main__":
    main()
