"""Measures what real outages cost a crawl, a cluster and a server that watches.

    python -m bench.outages [ROW ...]

Needs root (network namespaces); elsewhere it says so in a line and ends. Two namespaces are
joined by a pair of interfaces: one serves four hosts, in the other `focus crawl` runs, or `focus
cluster start` with two workers and a broker (if rabbitmq-server is installed), or `focus serve`
with an alert on two of the hosts. The link is taken down, the name service is stopped, one host's
address is dropped; each for a while. For each outage a line: requests lost, time to recover, exit
code, what the user reads; of `serve`, at the alert while the network is away.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.support.processes import read_copy, wait_until

HERE, THERE = "focus-crawl", "focus-web"
LINK_HERE, LINK_THERE = "fo0", "fo1"
HOSTS = {f"h{n}.test": f"10.77.0.{n + 10}" for n in range(4)}
WATCHED = ("h1.test", "h2.test")
"""Sites of the alert that `serve` has; one of them is the host that drops all."""
PAGES = 40
PATIENCE_S = 90.0
VISIT_S = 1200.0  # until all sites of an alert were visited: the next time is 15 minutes later

SERVER = """
import http.server, socketserver, sys, threading, time
PAGES = int(sys.argv[1]); HOSTS = sys.argv[2].split(",")
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        host = self.headers["Host"].split(":")[0]
        to = [f"/{n}" for n in range(PAGES)] + [f"http://{host}/" for host in HOSTS]
        links = "".join(f'<a href="{url}">{url}</a> ' for url in to if self.path == "/")
        body = f"<!doctype html><title>足球 {host}{self.path}</title><p>{host}{self.path} {links}"
        body = b"" if self.path == "/robots.txt" else body.encode()
        print(f"{time.time():.3f} {host} {self.path}", flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
Server(("0.0.0.0", 80), Handler).serve_forever()
"""
"""The web: all hosts of it, by their Host header."""


class Outage(NamedTuple):
    """An outage as a row of the matrix.

    begin_s, length_s  seconds after the first request (None: before the start), and for how long
    what               link, dns or host
    program            crawl, cluster or serve
    """

    name: str
    begin_s: float | None
    length_s: float
    what: str = "link"
    max_offline: str = "10m"
    program: str = "crawl"


_CRAWL = (
    Outage("link down before the start, 10 s", None, 10),
    Outage("link down at the first request, 10 s", 0.2, 10),
    Outage("link down later, 10 s", 8, 10),
    Outage("link down later, 75 s", 8, 75),
    Outage("link down for good", 8, 3600, max_offline="20s"),
    Outage("names do not resolve before the start, 10 s", None, 10, "dns"),
    Outage("names do not resolve, later, 10 s", 8, 10, "dns"),
    Outage("one host drops all, for good", 8, 3600, "host"),
)
_CLUSTER = (0, 1, 3, 4, 5, 6, 7)
"""All of a crawl's rows, but for one of two that differ in length alone."""
_SERVE = (
    Outage("link down before the start, 30 s", None, 30),
    Outage("link down at the first request, 30 s", 0.2, 30),
    Outage("link down later, 75 s", 8, 75),
    Outage("names do not resolve before the start, 30 s", None, 30, "dns"),
    Outage("names do not resolve, later, 30 s", 8, 30, "dns"),
    Outage("one host drops all, 30 s", 0.2, 30, "host"),
)
MATRIX = (
    *_CRAWL,
    *(_CRAWL[number]._replace(program="cluster") for number in _CLUSTER),
    *(outage._replace(program="serve") for outage in _SERVE),
)


class Row(NamedTuple):
    """What came of an outage: `lost` URLs after the next run, of all that there are."""

    outage: Outage
    lost: int
    failed: int
    recovered_s: float | None
    code: int
    said: str


def ip(*arguments: str, check: bool = True) -> None:
    """One command of iproute2."""
    subprocess.run(["ip", *arguments], check=check, capture_output=True)


@contextmanager
def namespaces(folder: Path) -> Iterator[None]:
    """Both namespaces, joined; hosts are in a hosts file of the crawl's."""
    for name in (HERE, THERE):
        ip("netns", "add", name)
    hosts = Path("/etc/netns") / HERE
    try:
        ip(
            "link",
            "add",
            LINK_HERE,
            "netns",
            HERE,
            "type",
            "veth",
            "peer",
            LINK_THERE,
            "netns",
            THERE,
        )
        for name, link, number in ((HERE, LINK_HERE, 1), (THERE, LINK_THERE, 2)):
            ip("-n", name, "address", "add", f"10.77.0.{number}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")
            ip("-n", name, "link", "set", "lo", "up")
        for address in HOSTS.values():
            ip("-n", THERE, "address", "add", f"{address}/24", "dev", LINK_THERE)
        hosts.mkdir(parents=True, exist_ok=True)
        (hosts / "resolv.conf").write_text("nameserver 10.77.0.99\noptions timeout:1 attempts:1\n")
        names(hosts / "hosts", there=True)
        yield
    finally:
        shutil.rmtree(hosts, ignore_errors=True)
        for name in (HERE, THERE):
            ip("netns", "delete", name, check=False)


def names(file: Path, *, there: bool) -> None:
    """Have the names resolve, or not: written in place, as a mount holds the file."""
    lines = [f"{address} {name}" for name, address in HOSTS.items()] if there else []
    file.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))


def switch(outage: Outage, *, down: bool) -> None:
    """Begin the outage, or end it."""
    if outage.what == "link":
        ip("-n", HERE, "link", "set", LINK_HERE, "down" if down else "up")
    elif outage.what == "dns":
        names(Path("/etc/netns") / HERE / "hosts", there=not down)
    else:
        verb = "delete" if down else "add"
        ip("-n", THERE, "address", verb, f"{HOSTS['h2.test']}/24", "dev", LINK_THERE)


def _focus(said: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """`focus` in its namespace."""
    with said.open("ab") as file:
        return subprocess.Popen(
            ["ip", "netns", "exec", HERE, sys.executable, "-m", "focus", *arguments],
            stdout=file,
            stderr=file,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"FOCUS_CONNECT_TIMEOUT": "3"},
        )


def begin(program: str, folder: Path, said: Path, max_offline: str) -> subprocess.Popen[bytes]:
    """Start a program on all hosts, or go on with it."""
    guard = ["--allow-net", "10.77.0.0/24"]
    if program == "serve":
        return _focus(said, "serve", "--port", "8431", "--db", str(folder / "focus.db"), *guard)
    seeds = [part for name in HOSTS for part in ("--seed", f"http://{name}/")]
    how = ["--topic", "足球", "--strategy", "bfs", "--delay", "0.5"]
    how += ["--max-offline", max_offline, *guard]
    if program == "crawl":
        return _focus(said, "crawl", *seeds, *how, "--db", str(folder / "focus.db"))
    return _focus(said, "cluster", "start", "--folder", str(folder), *seeds, *how)


def database(outage: Outage, folder: Path) -> Path:
    """Where a program keeps its URLs."""
    return folder / ("shard1.db" if outage.program == "cluster" else "focus.db")


def run(outage: Outage, folder: Path, log: Path) -> Row:
    """One outage, and a further run after it."""
    program, db, said = outage.program, database(outage, folder), folder / "said"
    if program == "serve":
        sites = [part for name in WATCHED for part in ("--site", f"http://{name}/")]
        what = ["--words", "足球", "--every", "15m", "--db", str(db)]
        _focus(folder / "added", "watch", "add", "demo", *sites, *what).wait(60)
    before = len(_requests(log))
    if outage.begin_s is None:
        switch(outage, down=True)
    process = begin(program, folder, said, outage.max_offline)
    back: float | None = None
    try:
        if outage.begin_s is not None:
            wait_until(lambda: len(_requests(log)) > before, PATIENCE_S)
            time.sleep(outage.begin_s)
            switch(outage, down=True)
        ended = wait_until(lambda: process.poll() is not None, min(outage.length_s, PATIENCE_S))
        shown = _shown(db, folder) if program == "serve" else ""
        switch(outage, down=False)
        back = None if ended else time.time()
        if program == "serve":
            until = time.monotonic() + VISIT_S
            while _missing(outage, db) and time.monotonic() < until:
                time.sleep(2.0)
            process.terminate()
        code = process.wait(300)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    after = [at for at in _requests(log)[before:] if back is not None and at >= back]
    recovered = min(after) - back if after and back is not None and outage.what != "host" else None
    failed = read_copy(db, "SELECT count(*) FROM url WHERE state = 3")[0][0]
    if program != "serve":
        begin(program, folder, folder / "again", "10m").wait(300)
    return Row(
        outage, _missing(outage, db), int(str(failed)), recovered, code, shown or _said(said)
    )


_PAGE = "(url GLOB 'http://h?.test/[0-9]*' OR url GLOB 'http://h?.test/')"
"""A page of the web, and no sitemap that was asked for on the way."""


def _missing(outage: Outage, db: Path) -> int:
    """Pages that are not had, of all that there are."""
    try:
        had = read_copy(db, f"SELECT count(*) FROM url WHERE state = 2 AND {_PAGE}")[0][0]
    except sqlite3.Error:
        had = 0
    hosts = WATCHED if outage.program == "serve" else HOSTS
    return len(hosts) * (PAGES + 1) - int(str(had))


def _shown(db: Path, folder: Path) -> str:
    """What `focus watch show` says of the alert's sites."""
    _focus(folder / "shown", "watch", "show", "demo", "--db", str(db)).wait(60)
    lines = (folder / "shown").read_text(encoding="utf-8").splitlines()
    told = [" ".join(line.split()) for line in lines if ": failing " in line]
    return " / ".join(dict.fromkeys(re.sub(r"^.*?(h\d\.test: )", r"\1", line) for line in told))


def _requests(log: Path) -> list[float]:
    """When requests came, as the server noted; it also complains there of broken connections."""
    return [float(found) for found in re.findall(r"^(\d+\.\d+) ", log.read_text(), re.M)]


def _said(file: Path) -> str:
    """What the user reads of it: lines about the network, and the last."""
    lines = file.read_text(encoding="utf-8").splitlines()
    told = [line for line in lines if re.search("[Oo]ffline|Online", line)]
    ended = [line for line in lines if " ended: " in line]
    return " / ".join(dict.fromkeys([*told[:1], *told[-1:], *ended]))


@contextmanager
def served(log: Path) -> Iterator[None]:
    """The web, in its namespace."""
    with log.open("wb") as file:
        command = ["ip", "netns", "exec", THERE, sys.executable, "-c", SERVER, str(PAGES)]
        server = subprocess.Popen([*command, ",".join(HOSTS)], stdout=file, stderr=file)
    try:
        time.sleep(2.0)
        yield
    finally:
        server.kill()
        server.wait()


def matrix(rows: Sequence[Outage], show: Callable[[Row], None]) -> list[Row]:
    """Each outage by itself, with a database of its own."""
    found = []
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        with namespaces(folder), served(folder / "log"):
            for number, outage in enumerate(rows):
                own = folder / str(number)
                own.mkdir()
                found.append(run(outage, own, folder / "log"))
                show(found[-1])
    return found


def _show(row: Row) -> None:
    recovered = "-" if row.recovered_s is None else f"{row.recovered_s:.1f}"
    cells = (
        row.outage.program,
        row.outage.name,
        row.lost,
        row.failed,
        recovered,
        row.code,
        row.said,
    )
    print(*cells, sep="\t", flush=True)


def main() -> int:
    """Print the matrix; 1 if anything was lost."""
    parser = argparse.ArgumentParser(prog="python -m bench.outages")
    parser.add_argument("rows", nargs="*", type=int, help="only these, from 1")
    given = parser.parse_args()
    if sys.platform != "linux" or os.geteuid() or shutil.which("ip") is None:
        print("skipped: needs root on Linux, and ip (iproute2), for network namespaces")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the namespaces go, too
    rows = [MATRIX[number - 1] for number in given.rows] or MATRIX
    print(
        "program",
        "outage",
        "lost",
        "failed then",
        "recovered s",
        "exit code",
        "the user reads",
        sep="\t",
    )
    return 1 if any(row.lost for row in matrix(rows, _show)) else 0


if __name__ == "__main__":
    sys.exit(main())
