"""Serves a site with nginx if it is installed, else with a server of this module.

    with serving(site) as web:     web.port, web.name

One loopback port serves all hosts by their Host header. Both servers run in one process and read
the same files. A site of articles or a recorded web is served by the server of this module, which
answers after 5 to 50 ms and closes a connection after 100 requests.
"""

import argparse
import asyncio
import random
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench.site import Site
from focus.archive.replay import Archive

_NGINX = """\
daemon off; master_process off; worker_processes 1; pid {tmp}/pid; error_log {tmp}/error warn;
events {{ worker_connections 8192; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_timeout 300; keepalive_requests 1000000;
  types {{ text/html html; text/plain txt; }}
  client_body_temp_path {tmp}/a; proxy_temp_path {tmp}/b; fastcgi_temp_path {tmp}/c;
  uwsgi_temp_path {tmp}/d; scgi_temp_path {tmp}/e;
  open_file_cache max={files} inactive=1h;
  server {{
    listen 127.0.0.1:{port} backlog=4096 default_server;
    root {www}/$host;
    gzip_static on;
    rewrite ^/$ /index.html break;
  }}
}}
"""


class Web(NamedTuple):
    """Port and name of the server of a site."""

    port: int
    name: str


def _max_open_files() -> int:
    """Return how many files nginx may keep open; as many descriptors remain for connections."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 50_000 if soft == resource.RLIM_INFINITY else min(50_000, soft // 2)


@contextmanager
def serving(site: Site, *, own: bool = False) -> Iterator[Web]:
    """Serve the site on a loopback port; `own` uses the server of this module in any case."""
    is_portal = site.kind == "portal"
    nginx = shutil.which("nginx") if is_portal and not own else None
    with tempfile.TemporaryDirectory() as name:
        tmp, port = Path(name), _free_port()
        if nginx:
            conf = tmp / "nginx.conf"
            text = _NGINX.format(
                files=_max_open_files(), tmp=tmp, port=port, www=(site.folder / "www").resolve()
            )
            conf.write_text(text, encoding="utf-8")
            # As root it would give up its rights and not reach the temporary folder.
            command = [nginx, "-p", name, "-c", str(conf), "-g", "user root;"]
        else:
            command = [sys.executable, "-m", "bench.serving", str(site.folder), str(port)]
            command += [] if is_portal else ["slow"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
            try:
                _wait_until_open(port, server)
                yield Web(port, "nginx" if nginx else "bench.serving")
            finally:
                server.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_open(port: int, server: subprocess.Popen[bytes], limit_s: float = 10.0) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if server.poll() is not None:
            break
        time.sleep(0.02)
    output = server.stderr.read() if server.poll() is not None and server.stderr else b"no output"
    raise SystemExit(f"the server of the site did not start: {output.decode()[:500]}")


# -- the server of this module ----------------------------------------------------

_REQUEST = re.compile(
    rb"GET (?:http://[^/ ]+)?(/[^ ?]*)([^ ]*)[^\r]*\r\n(?:.*\r\n)?host: ([^\r:]+)", re.I | re.S
)
_LATENCY_S = (0.005, 0.05)
_MAX_REQUESTS = 100  # per connection of a slow server


class Files:
    """Responses made from the files of a site."""

    def __init__(self, folder: Path) -> None:
        self._www = folder / "www"
        self._missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nmissing"

    def answer(self, head: bytes) -> bytes:
        """Return the whole response to a request head."""
        request = _REQUEST.match(head)
        if request is None:
            return self._missing
        path, host = request[1].decode(), request[3].decode()
        name = f"{self._www}/{host}{path}{'index.html' if path == '/' else ''}"
        return self._read(name, b" br" in head) or self._missing

    def _read(self, name: str, accepts_br: bool) -> bytes:
        kind = "text/plain" if name.endswith(".txt") else "text/html"
        for suffix, coding in (
            ("", ""),
            (".br" if accepts_br else "", "Content-Encoding: br\r\n"),
            (".gz", "Content-Encoding: gzip\r\n"),
        ):
            try:
                with open(name + suffix, "rb", buffering=0) as file:  # noqa: PTH123 (speed)
                    body = file.read()
            except OSError:
                continue
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{coding}"
            return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        return b""


class RecordedPages:
    """Responses of a recorded web. Its links lead to http."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def answer(self, head: bytes) -> bytes:
        """Return the whole response to a request head."""
        request = _REQUEST.match(head)
        assert request is not None
        path, query, host = (part.decode() for part in request.groups())
        page = self._archive.lookup(f"http://{host}{path}{query}", robots=path == "/robots.txt")
        body = page.body.replace(b"https://", b"http://")
        lines = [f"HTTP/1.1 {page.status or 404} Recorded", f"Content-Length: {len(body)}"]
        lines.append(f"Content-Type: {page.header('content-type') or 'text/html'}")
        if page.redirect_to:
            lines.append(f"Location: {page.redirect_to.replace('https://', 'http://')}")
        return "\r\n".join((*lines, "", "")).encode() + body


class _Connection(asyncio.Protocol):
    """A connection whose client sends one request at a time."""

    def __init__(self, files: Files | RecordedPages, *, is_slow: bool) -> None:
        self._files, self._is_slow = files, is_slow
        self._requests = 0
        self._head = b""
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._head += data
        if self._head.endswith(b"\r\n\r\n"):
            head, self._head = self._head, b""
            self._requests += 1
            if self._is_slow:
                latency_s = random.uniform(*_LATENCY_S)
                asyncio.get_running_loop().call_later(latency_s, self._answer, head)
            else:
                self._answer(head)

    def _answer(self, head: bytes) -> None:
        if self._transport.is_closing():
            return
        answer = self._files.answer(head)
        is_last = self._is_slow and self._requests >= _MAX_REQUESTS
        if is_last:
            answer = answer.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
        self._transport.write(answer)
        if is_last:
            self._transport.close()


async def _serve(files: Files | RecordedPages, port: int, *, is_slow: bool) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: _Connection(files, is_slow=is_slow), "127.0.0.1", port, backlog=4096
    )
    await server.serve_forever()


def _raise_file_limit() -> None:
    import resource  # not on Windows

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Serve until terminated."""
    parser = argparse.ArgumentParser(prog="python -m bench.serving")
    parser.add_argument("folder", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("speed", nargs="?", default="fast")
    options = parser.parse_args()
    _raise_file_limit()
    is_recorded, folder = options.folder.is_file(), options.folder
    files = RecordedPages(Archive.open(folder)) if is_recorded else Files(folder)
    uvloop.run(_serve(files, options.port, is_slow=options.speed == "slow"))


if __name__ == "__main__":
    main()
