"""Measures CPU and speed of a crawl by one process and by a cluster on this machine.

    python -m bench.cluster [--pages 2000] [--workers 2] [--rounds 3] [--site build/bench/cluster]

The frontier, the broker and the workers share the processors of this machine, so the CPU time per
page of the frontier says how many pages a second it can decide at most with workers elsewhere.
Figures are medians over rounds; the start of each program is included. Needs RabbitMQ.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.race import Course, focus_command
from bench.resources import cpu_s, run
from bench.script import read_options, table
from bench.serving import serving
from bench.site import build
from focus.cluster.private_broker import PrivateBroker
from tests.support.processes import descendants, read_copy

SLOTS = 64


class Lap(NamedTuple):
    """One crawl: CPU milliseconds per page of each role, and pages per second."""

    pages_s: float
    decide_ms: float
    work_ms: float
    broker_ms: float


def alone(course: Course, folder: Path) -> Lap:
    """Crawl with one process; its scorers are the workers."""
    usage = run(focus_command(course, folder / "focus.db", course.pages), log=folder / "log")
    pages = _pages(folder)
    own_ms, work_ms = 1000 * usage.own_s / pages, 1000 * usage.children_s / pages
    return Lap(pages / usage.seconds, own_ms, work_ms, 0.0)


def clustered(course: Course, folder: Path, workers: int) -> Lap:
    """Crawl with a frontier, workers and a broker."""
    with PrivateBroker() as broker:
        where = ["--connect-to", f"127.0.0.1:{course.web.port}", "--allow-net", "127.0.0.0/8"]
        worker = [sys.executable, "-m", "focus", "cluster", "worker", "--amqp", broker.url, *where]
        worker += ["--slots", str(SLOTS // workers), "--processes", "1", "--quiet"]
        started = [subprocess.Popen(worker) for _ in range(workers)]
        _, _, _, _, *options = focus_command(course, folder / "focus.db", course.pages)
        command = [sys.executable, "-m", "focus", "cluster", "frontier", "--amqp", broker.url]
        broker_s = _tree_cpu_s(broker.pid)
        usage = run([*command, *options], log=folder / "log")
        broker_s = _tree_cpu_s(broker.pid) - broker_s
        work_s = 0.0
        for process in started:
            process.send_signal(signal.SIGTERM)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            work_s += used.ru_utime + used.ru_stime
    pages = _pages(folder)
    decide_ms, work_ms, broker_ms = (
        1000 * seconds / pages for seconds in (usage.cpu_s, work_s, broker_s)
    )
    return Lap(pages / usage.seconds, decide_ms, work_ms, broker_ms)


def _tree_cpu_s(pid: int) -> float:
    return sum(cpu_s(process) for process in (pid, *descendants(pid)))


def _pages(folder: Path) -> int:
    return int(str(read_copy(folder / "focus.db", "SELECT count(*) FROM page_text")[0][0]))


def main() -> None:
    """Print the table."""
    options = read_options(__doc__)
    site = build(options.site, pages=options.pages)
    laps: dict[str, list[Lap]] = {"one process": [], "cluster": []}
    with serving(site) as web:
        course = Course(site, web, options.pages, None)
        for _ in range(options.rounds):
            for name, rounds in laps.items():
                with tempfile.TemporaryDirectory() as text:
                    folder = Path(text)
                    is_alone = name == "one process"
                    lap = (
                        alone(course, folder)
                        if is_alone
                        else clustered(course, folder, options.workers)
                    )
                    rounds.append(lap)
    head = ["", "pages/s", "decides, ms a page", "fetches and scores", "broker"]
    rows = [
        [name, *(f"{median(column):.2f}" for column in zip(*lap, strict=True))]
        for name, lap in laps.items()
    ]
    print(table(head, rows))


if __name__ == "__main__":
    main()
