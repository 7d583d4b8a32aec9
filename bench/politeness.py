"""Checks in the server's own log that no host was asked too fast, too often or against its rules.

    python -m bench.politeness [--pages 600] [--delay 0.2] [--per-host 1] [--kills 4]

Crawls the generated web over loopback, then again with a long delay and SIGKILLs, each
followed by the same command: the delay must hold across a restart, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple
from urllib.robotparser import RobotFileParser

from bench.live import crawl_options, kill, served, start, wait_until
from focus.demo.server import DemoServer, LogEntry
from focus.demo.site import DemoWeb, generate

CLOCK_S = 0.002  # what timers and the two sides' clocks may differ
RESTART_DELAY_S = 4.0


class Conduct(NamedTuple):
    """How a crawler behaved towards the hosts of a web.

    closest_s   shortest time from one request to the next of the same host
    most        requests to one host at once
    early       (host, path, seconds after the request before) under the host's delay
    forbidden   what robots.txt forbids and was asked for all the same
    unasked     hosts of which something was fetched before their robots.txt
    """

    requests: int
    closest_s: float
    most: int
    early: list[tuple[str, str, float]]
    forbidden: list[str]
    unasked: list[str]

    def faults(self, per_host: int) -> int:
        """How often it misbehaved."""
        crowds = self.most > per_host
        return len(self.early) + len(self.forbidden) + len(self.unasked) + crowds


def conduct(web: DemoWeb, log: Iterable[LogEntry], delay_s: float) -> Conduct:
    """Judge a log; `delay_s` is what was asked for, a host's Crawl-delay may be longer."""
    hosts = defaultdict(list)
    for entry in log:
        hosts[entry.host].append(entry)
    rules = {host: _rules(web, host) for host in hosts}
    delays = {host: max(delay_s, asked) for host, (_, asked) in rules.items()}
    gaps = [
        (later.time - earlier.time, later)
        for entries in hosts.values()
        for earlier, later in pairwise(entries)
    ]
    return Conduct(
        requests=sum(map(len, hosts.values())),
        closest_s=min((gap for gap, _ in gaps), default=0.0),
        most=max(map(_most_at_once, hosts.values()), default=0),
        early=[
            (entry.host, entry.path, gap)
            for gap, entry in gaps
            if gap < delays[entry.host] - CLOCK_S
        ],
        forbidden=[
            f"{entry.host}{entry.path}"
            for host, entries in hosts.items()
            for entry in entries
            if entry.path != "/robots.txt" and not rules[host][0].can_fetch("focus", entry.path)
        ],
        unasked=[host for host, entries in hosts.items() if entries[0].path != "/robots.txt"],
    )


def _rules(web: DemoWeb, host: str) -> tuple[RobotFileParser, float]:
    """What may be asked, by the standard library's parser (not the crawler's), and how often."""
    parser = RobotFileParser()
    answer = web.respond(f"http://{host}/robots.txt")
    lines = answer.body.decode().splitlines() if answer and answer.status == 200 else []
    parser.parse(lines)
    pairs = (line.partition(":") for line in lines)  # the parser takes whole seconds only
    asked = [float(value) for name, _, value in pairs if name.lower() == "crawl-delay"]
    return parser, max(asked, default=0.0)


def _most_at_once(entries: list[LogEntry]) -> int:
    """Answers take their time: how many requests lay open together."""
    moments = [(entry.time, 1) for entry in entries]
    moments += [(entry.time + entry.elapsed_s, -1) for entry in entries]
    now = most = 0
    for _, change in sorted(moments, key=lambda each: (each[0], -each[1])):  # some take no time
        now += change
        most = max(most, now)
    return most


def crawl_in_lives(
    server: DemoServer, folder: Path, *more: str, lives: int, requests: int, timeout_s: float = 60.0
) -> None:
    """Processes that are killed after so many requests each."""
    for _ in range(lives):
        wanted = len(server.log) + requests
        process = start(crawl_options(server, folder / "lives.db", *more), folder / "stderr")
        wait_until(partial(_is_over, process, server, wanted), timeout_s)
        kill(process)


def _is_over(process: Popen[bytes], server: DemoServer, wanted: int) -> bool:
    return len(server.log) >= wanted or process.poll() is not None


def _tell(what: str, found: Conduct, delay_s: float, per_host: int) -> int:
    print(f"{what}: {found.requests} requests, delay {delay_s:g} s, per host {per_host}")
    print(f"  closest two to a host {found.closest_s:.4f} s; most at once {found.most}")
    print(f"  early {len(found.early)} {found.early[:3]}; forbidden {found.forbidden[:3]};", end="")
    print(f" without robots.txt {found.unasked[:3]}")
    return found.faults(per_host)


def main() -> int:
    """Print both judgements; 1 if there was any fault."""
    parser = argparse.ArgumentParser(prog="python -m bench.politeness")
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--per-host", type=int, default=1)
    parser.add_argument("--kills", type=int, default=4)
    given = parser.parse_args()
    web, many = generate(1, pages=given.pages), str(given.per_host)
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(web) as server:
            began = time.monotonic()
            options = ["--delay", str(given.delay), "--per-host", many, "--concurrency", "64"]
            start(crawl_options(server, folder / "x.db", *options), folder / "stderr").wait()
            found = conduct(web, server.log, given.delay)
            faults += _tell("whole", found, given.delay, given.per_host)
            print(f"  {time.monotonic() - began:.0f} s")
        with served(web) as server:
            options = ["--delay", str(RESTART_DELAY_S), "--concurrency", "64"]
            crawl_in_lives(server, folder, *options, lives=given.kills + 1, requests=30)
            found = conduct(web, server.log, RESTART_DELAY_S)
            faults += _tell(f"{given.kills} kills", found, RESTART_DELAY_S, 1)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
