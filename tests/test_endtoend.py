"""`focus crawl` as a process over real sockets: signals, locks, full disks, politeness.

The long forms of the measurements are in bench/.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from hashlib import md5
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pytest import MonkeyPatch
from warcio.archiveiterator import ArchiveIterator

from focus.demo.server import DemoServer
from focus.demo.site import DemoWeb, generate
from tests.support.conduct import CLOCK_S, Conduct, conduct
from tests.support.processes import (
    LIFE_S,
    PATIENT,
    Crawl,
    crawl_options,
    endings,
    history,
    pages,
    read_copy,
    served,
    slow_hosts,
    start,
    wait_until,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="signals, tmpfs and /proc as on Linux"),
]


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return generate(seed=1, pages=300)


@pytest.fixture
def server(web: DemoWeb) -> Iterator[DemoServer]:
    with served(web) as server:
        yield server


def asked_twice(server: DemoServer) -> set[tuple[str, str]]:
    asked = [(entry.host, entry.path) for entry in server.log]
    return {url for url in asked if asked.count(url) > 1}


# -- signals ------------------------------------------------------------------------


def test_ctrl_c_lets_requests_finish_and_sums_up(web: DemoWeb, tmp_path: Path) -> None:
    with served(web, latency_s=0.5) as server:
        run = Crawl(server, tmp_path, program=PATIENT).after(20).send(signal.SIGINT)
        assert run.end() == 130
        assert "waiting for " in run.said and "ended: interrupted" in run.said
        assert "The same command continues it." in run.said
        assert Crawl(server, tmp_path, "--max-pages", "20").end() == 0
        assert asked_twice(server) == set()


def test_second_ctrl_c_ends_at_once_and_keeps_fetched_pages(web: DemoWeb, tmp_path: Path) -> None:
    with served(web) as server:
        run = Crawl(server, tmp_path, program=PATIENT).after(20)
        server.latency_s = LIFE_S  # no more answers come
        run.after(6).send(signal.SIGINT)
        assert wait_until(lambda: "waiting for " in run.said, LIFE_S)
        run.send(signal.SIGINT)
        assert run.end() == 130
    assert "cancelling requests in progress" in run.said
    assert read_copy(tmp_path / "focus.db", "PRAGMA integrity_check") == [("ok",)]
    assert read_copy(tmp_path / "focus.db", "SELECT count(*) FROM url WHERE state = 1") == [(0,)]
    assert pages(tmp_path / "focus.db")


# -- without a terminal --------------------------------------------------------------


def test_crawl_runs_in_environment_of_cron(server: DemoServer, tmp_path: Path) -> None:
    options = crawl_options(server, tmp_path / "focus.db", "--max-pages", "20")
    run = subprocess.run(
        [sys.executable, "-m", "focus", *options], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False, cwd="/",
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    assert "max-pages reached" in run.stderr


# -- politeness, by the server's log ------------------------------------------------


def assert_polite(observed: Conduct) -> None:
    assert (observed.early, observed.max_open, observed.forbidden) == ([], 1, [])
    assert observed.unasked == []


def test_hosts_get_no_early_or_forbidden_requests(server: DemoServer, tmp_path: Path) -> None:
    options = ["--delay", "0.1", "--concurrency", "64", "--max-requests", "250"]
    assert Crawl(server, tmp_path, *options).end() == 0
    assert_polite(conduct(server.web, server.log, 0.1))
    assert len(server.log) == 250


def test_concurrent_requests_to_a_host_are_a_delay_apart(web: DemoWeb, tmp_path: Path) -> None:
    """By the recording: a log has arrivals, and behind one that is late the next seems early."""
    archive = tmp_path / "x.warc.gz"
    options = ["--delay", "0.3", "--per-host", "3", "--concurrency", "64", "--max-requests", "60"]
    options += ["--warc", str(archive)]
    with served(web, latency_s=1.0) as server:
        assert Crawl(server, tmp_path, *options).end() == 0
        observed = conduct(web, server.log, 0.3)
    assert 2 <= observed.max_open <= 3
    assert observed.forbidden == []
    sent: dict[str | None, list[float]] = defaultdict(list)
    with archive.open("rb") as stream:
        for record in ArchiveIterator(stream):
            if record.rec_type == "request":
                host = urlsplit(record.rec_headers.get_header("WARC-Target-URI")).hostname
                date = record.rec_headers.get_header("WARC-Date")
                sent[host].append(datetime.fromisoformat(date).timestamp())
    assert sum(map(len, sent.values())) == len(server.log)
    gaps = [after - before for item in sent.values() for before, after in pairwise(sorted(item))]
    assert min(gaps) >= 0.3 - CLOCK_S


def test_delay_is_kept_after_a_kill(server: DemoServer, tmp_path: Path) -> None:
    for _ in range(2):
        Crawl(server, tmp_path, "--delay", "2.5").after(13).kill()
    observed = conduct(server.web, server.log, 2.5)
    assert_polite(observed)
    assert observed.requests >= 26


# -- many slow hosts ----------------------------------------------------------------


class HoldingServer:
    """Answers nobody until `together` requests are open at the same time."""

    def __init__(self, together: int) -> None:
        self._together, self._full = together, asyncio.Event()
        self.open = self.maximum = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.open += 1
                self.maximum = max(self.maximum, self.open)
                if self.open >= self._together:
                    self._full.set()
                await self._full.wait()
                self.open -= 1
                words = md5(head.partition(b"User-Agent")[0]).hexdigest()  # no repeated text
                body = f"<title>足球</title><a href=/1>{words}</a>".encode()
                status = "404 Not Found" if head.startswith(b"GET /robots.txt ") else "200 OK"
                kind = f"Content-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}"
                writer.write(f"HTTP/1.1 {status}\r\n{kind}\r\n\r\n".encode() + body)
        writer.close()


def limit_open_files() -> None:
    """Set the soft limit that shells have."""
    resource = pytest.importorskip("resource")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))


async def test_slow_hosts_are_waited_for_together(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """600 at once need more than the 1,024 open files of a shell: focus raises the limit."""
    for name in ("TIMEOUT", "READ_TIMEOUT", "CONNECT_TIMEOUT"):
        monkeypatch.setenv(f"FOCUS_{name}", "10m")
    slow = HoldingServer(together=550)
    seeds, summary = tmp_path / "seeds", tmp_path / "summary.json"
    seeds.write_text("".join(f"http://h{n}.example/\n" for n in range(600)), encoding="utf-8")
    async with await asyncio.start_server(slow.answer, "127.0.0.1", 0, backlog=4096) as server:
        port = server.sockets[0].getsockname()[1]
        where = ["--connect-to", f"127.0.0.1:{port}", "--allow-net", "127.0.0.0/8", "--delay", "0"]
        files = ["--seeds-file", str(seeds), "--db", str(tmp_path / "slow.db")]
        more = ["--summary", str(summary), "--concurrency", "600", "--topic", "足球"]
        command = ["crawl", *where, *files, *more]
        crawl = start(command, tmp_path / "stderr", before=limit_open_files)
        assert await asyncio.to_thread(crawl.wait, LIFE_S) == 0
    assert slow.maximum >= 550
    report = json.loads(summary.read_text("utf-8"))
    assert (report["failures"], report["run_pages"]) == ({}, 1200)


# -- a recorded web -----------------------------------------------------------------


def test_recorded_web_gives_order_of_the_live_web(server: DemoServer, tmp_path: Path) -> None:
    """The first crawl is over sockets and records; the second reads what was recorded."""
    live, replayed = tmp_path / "live", tmp_path / "replayed"
    live.mkdir()
    replayed.mkdir()
    archive = tmp_path / "web.warc.gz"
    options = ["--strategy", "yield", "--concurrency", "1", "--max-pages", "80"]
    slow = slow_hosts(server.web)
    assert Crawl(server, live, *options, *slow, "--warc", str(archive)).end() == 0
    asked = len(server.log)
    seeds = [part for seed in server.web.seeds for part in ("--seed", seed)]
    deny = ["--deny", "/calendar/", "--deny", "/online/", *slow]
    command = ["crawl", *seeds, *deny, "--topic", "足球", "--archive", str(archive), *options]
    said = tmp_path / "said"
    assert start([*command, "--db", str(replayed / "focus.db")], said).wait(LIFE_S) == 0
    assert len(server.log) == asked, "nothing is asked for while an archive is crawled"
    assert history(replayed / "focus.db") == history(live / "focus.db")
    assert endings(replayed / "focus.db") == endings(live / "focus.db")
