"""Counts the slow hosts that one process keeps busy at once, and its resources.

    python -m bench.slow_hosts [--hosts 2000] [--latency 2.0] [--pages 4] [--concurrency 2000]
        [-- options of the crawl]

A server on loopback answers for that many hosts, each request after its latency, and
counts the requests that lie open.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from bench.script import read_options
from tests.support.slow_hosts import hold


def main() -> int:
    """Print what was held; 1 if anything failed."""
    given = read_options(__doc__)
    options = ["--concurrency", str(given.concurrency), *given.options]
    with tempfile.TemporaryDirectory() as name:
        held = hold(given.hosts, given.latency, given.pages, Path(name), options)
        said = (Path(name) / "stderr").read_text(encoding="utf-8")
    busy = [sample for sample in held.samples if sample]
    bands = Counter(sample * 10 // given.concurrency for sample in busy)
    print(f"exit code {held.code}; {held.requests} requests in {held.seconds:.1f} s")
    print(f"open at the server: at most {held.most}, on average {sum(busy) / len(busy):.0f}")
    print("  share of the time by tenths of the concurrency:", end=" ")
    print(*(f"{band / 10:.1f}: {n / len(busy):.0%}" for band, n in sorted(bands.items())))
    workers = ", ".join(f"{mib:.0f}" for mib in held.workers_mib)
    print(f"peak memory: main {held.main_mib:.0f} MiB, workers {workers} MiB")
    failures = held.report.get("failures")
    print(f"failures {failures}; pages {held.report.get('run_pages')}")
    bad = held.code or failures or "Traceback" in said
    if bad:
        print(said)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
