"""Runs `focus` as a process against the generated web over real sockets.

with served(web) as server:                    the generated web on loopback, its log at hand
    crawl = Crawl(server, folder).after(60)    a `focus crawl` that has made 60 requests
    crawl.kill(workers=True)                   SIGKILL, here to its workers as well
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
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path

from focus.demo.server import DemoServer, LogEntry, serve
from focus.demo.site import DemoWeb

ENDLESS = ("/calendar/", "/online/")  # traps of the generated web: a crawl of it all denies them
CONCURRENCY = 32
DEAD_S = 60.0
LIFE_S = 600.0
"""Longer than anything here lasts on any machine: a guard against waiting for ever."""
FOCUS = ("-m", "focus")
PATIENT = (
    "-c",
    "import sys; from focus import __main__ as program; from focus.session import signals; "
    f"signals.GRACE_S = {LIFE_S}; sys.exit(program.main())",
)
"""The same, but what is in flight at a stop may take as long as it does."""


@contextmanager
def served(web: DemoWeb, *, latency_s: float = 0.0) -> Iterator[DemoServer]:
    """The web on a port of loopback, in a thread; `log` may be read at any time."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        work = serve(web, latency_s=latency_s)
        server = asyncio.run_coroutine_threadsafe(work, loop).result(LIFE_S)
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.close(), loop).result(LIFE_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def crawl_options(server: DemoServer, db: Path, *more: str) -> list[str]:
    """`focus crawl` over the whole served web, traps aside; `more` overrides."""
    seeds = [part for seed in server.web.seeds for part in ("--seed", seed)]
    deny = [part for trap in ENDLESS for part in ("--deny", trap)]
    where = ["--connect-to", f"127.0.0.1:{server.port}", "--allow-net", "127.0.0.0/8"]
    options = ["--topic=足球", "--strategy=bfs", "--delay=0", f"--concurrency={CONCURRENCY}"]
    return ["crawl", *seeds, *deny, *where, *options, "--db", str(db), *more]


def start(
    arguments: Sequence[str],
    stderr: Path,
    *,
    before: Callable[[], None] | None = None,
    program: Sequence[str] = FOCUS,
) -> subprocess.Popen[bytes]:
    """A `focus` process in a group of its own; what it says is appended to a file.

    `before` runs in the new process before `focus` does.
    """
    with stderr.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, *program, *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=file, start_new_session=True, preexec_fn=before,
        )  # fmt: skip


class Crawl:
    """A `focus crawl` of the served web into `folder/focus.db`, begun or continued."""

    def __init__(
        self, server: DemoServer, folder: Path, *more: str, program: Sequence[str] = FOCUS
    ) -> None:
        self._server = server
        self.db, self._said = folder / "focus.db", folder / "said"
        self._before = len(server.log)
        self._from = self._said.stat().st_size if self._said.exists() else 0
        self.process = start(crawl_options(server, self.db, *more), self._said, program=program)

    @property
    def requests(self) -> int:
        """How many the server has seen of it."""
        return len(self._server.log) - self._before

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def after(self, requests: int) -> Crawl:
        """Wait until the server has seen so many requests more, or it has ended."""
        expected = len(self._server.log) + requests
        seen = wait_until(lambda: len(self._server.log) >= expected or self.is_over, LIFE_S)
        assert seen, self.said
        return self

    def send(self, number: signal.Signals) -> Crawl:
        """A signal to it."""
        self.process.send_signal(number)
        return self

    def kill(self, *, workers: bool = False) -> None:
        """SIGKILL, to its workers too if wanted; the server has seen all that it sent."""
        kill(self.process, descendants(self.process.pid) if workers else ())
        assert wait_until(lambda: not self._server.connections, LIFE_S)

    def end(self) -> int:
        """Its exit code, when it has come to its end."""
        try:
            return self.process.wait(LIFE_S)
        finally:
            kill(self.process)

    @property
    def said(self) -> str:
        """What it has said."""
        return self._said.read_bytes()[self._from :].decode()


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
    pids = []
    for task in Path("/proc").glob(f"{pid}/task/*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since
            for child in map(int, task.read_text().split()):
                pids += [child, *descendants(child)]
    return pids


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


def integrity(db: Path) -> str:
    """What SQLite says of a database as a crash left it: "ok" if it is sound."""
    return "; ".join(str(row[0]) for row in read_copy(db, "PRAGMA integrity_check"))


def done(db: Path) -> set[str]:
    """Stored pages by the key that tells pages apart: a page may have several addresses."""
    sql = "SELECT hex(key) FROM url JOIN page ON page.id = url.id WHERE state = 2"
    return {str(key) for (key,) in read_copy(db, sql)}


def history(db: Path) -> list[tuple[object, ...]]:
    """What was stored, in order: address, relevance, links."""
    sql = """SELECT page_text.url, round(page.relevance, 9), length(link.targets) / 4
             FROM page JOIN page_text USING (id) JOIN link ON link.source = page.id & 4294967295
             ORDER BY page.nth"""
    return read_copy(db, sql)


def endings(db: Path) -> dict[object, object]:
    """Every URL with its state and the reason for it."""
    rows = read_copy(db, "SELECT url, state, reason FROM url")
    return {url: (state, why) for url, state, why in rows}


def asked_again(
    log: Sequence[LogEntry], marks: Sequence[int], base: Collection[LogEntry]
) -> list[tuple[int, int, str]]:
    """Requests made again: (life of the first, life of the next, URL), in order.

    marks   where in the log each life begins; the last one ends at the last mark
    base    requests of a crawl in peace: what it makes more than once (retries) is left out
    """
    usual = Counter((entry.host, entry.path) for entry in base)
    lives = defaultdict(list)
    for number, (begin, end) in enumerate(pairwise(marks)):
        for entry in log[begin:end]:
            lives[entry.host, entry.path].append(number)
    return sorted(
        (earlier, later, "".join(url))
        for url, numbers in lives.items()
        if usual[url] <= 1
        for earlier, later in pairwise(numbers)
    )


def slow_hosts(web: DemoWeb) -> list[str]:
    """Options that leave out the generated web's hosts with a Crawl-delay."""
    return [f"--deny=//{site.host}/" for site in web.plan.sites if site.kind.delay_s]


def count(db: Path, table: str) -> int:
    """Rows of a table of a database that is being written; 0 while it is not there."""
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=1.0)) as opened,
    ):
        number: int = opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        return number
    return 0


def peak_mib(pid: int | str = "self") -> float:
    """The most memory a process ever had (Linux)."""
    return _memory(pid, "VmHWM:")


def present_mib(pid: int | str = "self") -> float:
    """The memory of a process now (Linux)."""
    return _memory(pid, "VmRSS:")


def _memory(pid: int | str, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0
