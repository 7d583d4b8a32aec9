"""Shows a cluster at work: one frontier, two workers and a broker crawl the generated web.

    python -m focus.cluster.demo [--pages 1000] [--amqp URL]

Everything runs on this machine: the web, the roles, and a RabbitMQ in a folder of its own
unless a broker is given.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from focus.demo.run import DELAY_S, SHARE, TOPIC, served
from focus.demo.site import generate

SEED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Crawl, and show what was found; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--pages", type=int, default=1000, help="size of the web")
    parser.add_argument("--amqp", default="", help="a broker; one is started if none is given")
    told = parser.parse_args(arguments)
    web = generate(SEED, pages=told.pages)
    seeds = [part for seed in web.seeds for part in ("--seed", seed)]
    with served(told.pages, SEED) as address, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        roles = ["--shards", "1", "--workers", "2", "--slots", "16", "--folder", str(folder)]
        roles += ["--amqp", told.amqp, "--cluster", "demo"] if told.amqp else []
        crawl = [*seeds, "--topic", TOPIC, "--connect-to", address, "--allow-net", "127.0.0.0/8"]
        crawl += ["--delay", f"{DELAY_S}s", "--max-pages", str(told.pages // SHARE)]
        code = _focus("cluster", "start", *roles, *crawl)
        return code or _focus("status", "--db", str(folder / "shard1.db"))


def _focus(*arguments: str) -> int:
    print("focus", *arguments, file=sys.stderr, flush=True)
    return subprocess.run([sys.executable, "-m", "focus", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
