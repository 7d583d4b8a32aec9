"""Checks in the server's log that crawls keep delays, request limits and robots.txt.

    python -m bench.politeness [--pages 600] [--delay 0.2] [--per-host 1] [--kills 4]

Crawls the generated web over loopback, then again with a long delay and several SIGKILLs, each
followed by a restart: the delay must also hold across restarts.
"""

import sys
import tempfile
import time
from pathlib import Path

from bench.script import read_options
from focus.demo.site import generate
from tests.support.conduct import Conduct, conduct
from tests.support.processes import Crawl, served

RESTART_DELAY_S = 4.0


def _report(name: str, result: Conduct, delay_s: float, per_host: int) -> int:
    print(f"{name}: {result.requests} requests, delay {delay_s:g} s, per host {per_host}")
    print(f"  closest two to a host {result.closest_s:.4f} s; most at once {result.max_open}")
    print(
        f"  early {len(result.early)} {result.early[:3]}; forbidden {result.forbidden[:3]};", end=""
    )
    print(f" without robots.txt {result.unasked[:3]}")
    return result.faults(per_host)


def main() -> int:
    """Print both results; return 1 if there was a fault."""
    arguments = read_options(__doc__)
    web, many = generate(1, pages=arguments.pages), str(arguments.per_host)
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(web) as server:
            began = time.monotonic()
            options = ["--delay", str(arguments.delay), "--per-host", many, "--concurrency", "64"]
            Crawl(server, folder, *options).end()
            result = conduct(web, server.log, arguments.delay)
            faults += _report("whole", result, arguments.delay, arguments.per_host)
            print(f"  {time.monotonic() - began:.0f} s")
        with served(web) as server:
            options = ["--delay", str(RESTART_DELAY_S), "--concurrency", "64"]
            (lives := folder / "lives").mkdir()
            for _ in range(arguments.kills + 1):
                Crawl(server, lives, *options).after(30).kill()
            result = conduct(web, server.log, RESTART_DELAY_S)
            faults += _report(f"{arguments.kills} kills", result, RESTART_DELAY_S, 1)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
