"""Serves a generated web and runs a `focus` process on it, for measurements with real sockets.

with served(web) as server:                    the generated web on loopback, its log at hand
    run = start(["crawl", …], folder / "said") a `focus` of its own process group
    kill(run, descendants(run.pid))            SIGKILL, here to its workers as well
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from focus.demo.server import DemoServer, serve
from focus.demo.site import DemoWeb

ENDLESS = ("/calendar/", "/online/")  # traps of the generated web: a crawl of it all denies them
CONCURRENCY = 32
DEAD_S = 5.0


@contextmanager
def served(web: DemoWeb, *, latency_s: float = 0.0) -> Iterator[DemoServer]:
    """The web on a port of loopback, in a thread; `log` may be read at any time."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        work = serve(web, latency_s=latency_s)
        server = asyncio.run_coroutine_threadsafe(work, loop).result(10)
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.close(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def crawl_options(server: DemoServer, db: Path, *more: str) -> list[str]:
    """`focus crawl` over the whole served web, traps aside; `more` overrides."""
    seeds = [part for seed in server.web.seeds for part in ("--seed", seed)]
    deny = [part for trap in ENDLESS for part in ("--deny", trap)]
    where = ["--connect-to", f"127.0.0.1:{server.port}", "--allow-net", "127.0.0.0/8"]
    options = [
        "--topic",
        "足球",
        "--strategy",
        "bfs",
        "--delay",
        "0",
        f"--concurrency={CONCURRENCY}",
    ]
    return ["crawl", *seeds, *deny, *where, *options, "--db", str(db), *more]


def start(
    arguments: Sequence[str], stderr: Path, *, before: Callable[[], None] | None = None
) -> subprocess.Popen[bytes]:
    """A `focus` process in a group of its own; what it says is appended to a file.

    `before` runs in the new process before `focus` does.
    """
    with stderr.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "focus", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
            preexec_fn=before,
        )


def kill(process: subprocess.Popen[bytes], others: Iterable[int] = ()) -> None:
    """SIGKILL to the process and to others at the same moment; waits for its end."""
    for pid in (process.pid, *others):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def wait_until(done: Callable[[], bool], timeout_s: float) -> bool:
    """Whether it came true in time; looked at every 2 ms."""
    deadline = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def descendants(pid: int) -> list[int]:
    """Process ids of children and theirs (Linux; elsewhere none)."""
    found = []
    for task in Path("/proc").glob(f"{pid}/task/*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has buried yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def orphans(pids: Sequence[int], timeout_s: float = DEAD_S) -> list[int]:
    """Those that are still there when all had time to notice that their parent is gone."""
    wait_until(lambda: not any(map(is_alive, pids)), timeout_s)
    return [pid for pid in pids if is_alive(pid)]


def read_copy(db: Path, sql: str) -> list[tuple[object, ...]]:
    """Rows of a database as a crash left it: read from a copy, so that nothing is repaired."""
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal"):
            part = db.with_name(db.name + suffix)
            if part.exists():
                shutil.copy(part, Path(folder) / part.name)
        with closing(sqlite3.connect(Path(folder) / db.name)) as connection:
            return connection.execute(sql).fetchall()


def pages(db: Path) -> set[str]:
    """Addresses of the pages that a crawl stored."""
    return {str(url) for (url,) in read_copy(db, "SELECT url FROM page_text")}
