"""Puts a crawl on the rack: kills, power cuts, worse (tests/support/torture.py says what each is).

    python -m bench.torture [TRIALS …] [--kills 200] [--cuts 50] [--few 6] [--pages 10000]
        [--seed 1] [--shards 2] [--workers 3] [--skew 0.0]

The trial `cluster` injects --kills faults and --few cut networks into a cluster (--shards,
--workers; --skew: its clocks are wrong by up to that many seconds); it needs RabbitMQ.

Prints a line of a table for each trial; exit code 1 if a promise was broken. Linux only.
"""

import random
import sys
from functools import partial

from bench.script import read_options
from tests.support import torture
from tests.support.cluster_kills import cluster, drawn_faults


def main() -> int:
    """Print a line per trial; 1 if a promise was broken."""
    given = read_options(__doc__)
    trials = {
        "overlap": partial(torture.overlaps, times=given.few),
        "workers": partial(torture.segfaults, times=2 * given.few),
        "stops": partial(torture.stops, times=given.few),
        "clock": torture.clocks,
        "disk": torture.full_disk,
        "cuts": partial(torture.cuts, times=given.cuts),
        "terms": partial(torture.kills, times=given.kills // 4, term=True),
        "kills": partial(torture.kills, times=given.kills),
        "cluster": partial(
            cluster,
            faults=drawn_faults(given.kills, given.few, random.Random(given.seed)),
            shards=given.shards,
            workers=given.workers,
            skew_s=given.skew,
        ),
    }
    if unknown := set(given.trials) - set(trials):
        raise SystemExit(f"no such trial: {', '.join(unknown)}; there are {', '.join(trials)}")
    broken = False
    print("| trial | found | broken |\n|---|---|---|", flush=True)
    with torture.racked(given.pages, given.seed) as rack:
        for name in given.trials or trials:
            verdict = trials[name](rack)
            broken |= bool(verdict.broken)
            print(f"| {name} | {verdict.found} | {', '.join(verdict.broken) or '-'} |", flush=True)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
