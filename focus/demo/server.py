"""Serves the generated web over real HTTP, on loopback, all hosts on one port.

The Host header says which host is meant, so a client connects every name to this one address:
GET over HTTP/1.1 with keep-alive, pipelining and conditional requests by ETag. As a program
(`python -m focus.demo.server`) it prints one line "READY http://127.0.0.1:PORT" and ends when its
standard input does, so that it never outlives the process that started it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from http import HTTPStatus
from typing import NamedTuple, cast

from focus.demo.site import DemoWeb, Response, generate

MAX_HEAD_BYTES = 64 * 1024


class LogEntry(NamedTuple):
    """One request: when it came (seconds of the monotonic clock), and how long it took."""

    time: float
    host: str
    path: str
    status: int
    elapsed_s: float


class DemoRequest(NamedTuple):
    """A request; `target` is path and query, `etag` that of the client's copy."""

    host: str
    target: str
    etag: str


class DemoServer:
    """A running server; `port` is where, `log` the requests so far.

    latency_s  how much longer every response takes than its host does by itself
    """

    def __init__(self, web: DemoWeb, latency_s: float) -> None:
        self.web = web
        self.latency_s = latency_s
        self.log: list[LogEntry] = []
        self.connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on any free port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), "127.0.0.1", backlog=4096
        )
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
            for connection in list(self.connections):
                connection.transport.abort()
            await self._server.wait_closed()


async def serve(web: DemoWeb, *, latency_s: float = 0.0) -> DemoServer:
    """Serve a web on any free port of the loopback interface."""
    server = DemoServer(web, latency_s)
    await server.start()
    return server


class _Connection(asyncio.Protocol):
    """One client: its requests are answered one after the other, in order."""

    def __init__(self, server: DemoServer) -> None:
        self._server = server
        self._buffer = b""
        self._pending: asyncio.TimerHandle | None = None  # a response that is under way

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is of no such class
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._pending is not None:
            self._pending.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > MAX_HEAD_BYTES:
            self.transport.abort()
        elif self._pending is None:
            self._answer_next()

    def _answer_next(self) -> None:
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end or self.transport.is_closing():
            return
        self._buffer = rest
        request, server = parse_request(head), self._server
        if request is None:
            self.transport.write(encode(_plain(HTTPStatus.BAD_REQUEST)))
            self.transport.close()
            return
        response = server.web.respond(f"http://{request.host}{request.target}")
        if response is None:
            response = _plain(HTTPStatus.MISDIRECTED_REQUEST)
        elif request.etag and ("etag", request.etag) in response.headers:
            response = response._replace(status=304, body=b"")
        delay_s = response.delay_s + server.latency_s
        server.log.append(
            LogEntry(time.monotonic(), request.host, request.target, response.status, delay_s)
        )
        self._pending = asyncio.get_running_loop().call_later(
            delay_s, self._send, encode(response), len(server.log) - 1
        )

    def _send(self, data: bytes, position: int) -> None:
        self._pending = None
        entry = self._server.log[position]
        self._server.log[position] = entry._replace(elapsed_s=time.monotonic() - entry.time)
        self.transport.write(data)
        self._answer_next()


def parse_request(head: bytes) -> DemoRequest | None:
    """Return the GET request in a head; None for anything else."""
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    fields = {name.lower(): value.strip() for name, _, value in pairs}
    target = re.fullmatch(r"GET (/\S*) HTTP/1\.1", first)
    host = re.fullmatch(r"([a-z0-9.-]+)(?::\d+)?", fields.get("host", "").lower())
    if target is None or host is None:
        return None
    return DemoRequest(host[1], target[1], fields.get("if-none-match", ""))


def encode(response: Response) -> bytes:
    """Return the response as it goes over the wire."""
    status = HTTPStatus(response.status)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += [f"{name}: {value}" for name, value in response.headers]
    if status != HTTPStatus.NOT_MODIFIED:
        lines.append(f"content-length: {len(response.body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + response.body


def _plain(status: HTTPStatus) -> Response:
    return Response(status, (("content-type", "text/plain"),), status.phrase.encode())


def main() -> None:
    """Serve a web until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m focus.demo.server", description=main.__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=3000)
    options = parser.parse_args()
    import uvloop  # leaves more of the machine to the crawler

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(generate(options.seed, pages=options.pages)))


async def _run(web: DemoWeb) -> None:
    server = await serve(web)
    print(f"READY http://127.0.0.1:{server.port}", flush=True)
    await asyncio.to_thread(sys.stdin.buffer.read)
    await server.close()


if __name__ == "__main__":
    main()
