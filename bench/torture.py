"""Tests crawls with kills, power cuts, full disks and clock changes.

    python -m bench.torture [TRIALS …] [--kills 200] [--cuts 50] [--few 6] [--pages 10000]
        [--seed 1] [--workers 3] [--skew 0.0] [--delay 0.0]

The trial `cluster` injects --kills faults and --few cut networks into a cluster
(--workers; --skew: its clocks are wrong by up to that many seconds); it needs RabbitMQ. With
--delay the server checks that no host is requested sooner than that after its last request.

The trials are in tests/support/torture.py. Prints a row for each trial; the exit code is 1 if a
guarantee was broken. Linux only.
"""

import random
import sys
from collections.abc import Callable
from functools import partial

from bench.script import read_options
from tests.support import torture
from tests.support.cluster_kills import cluster, drawn_faults


def main() -> int:
    """Print a row per trial; return 1 if a guarantee was broken."""
    options = read_options(__doc__)
    trials: dict[str, Callable[[torture.Rack], torture.Verdict]] = {
        "overlap": partial(torture.overlaps, times=options.few),
        "workers": partial(torture.segfaults, times=2 * options.few),
        "stops": partial(torture.stops, times=options.few),
        "clock": torture.clocks,
        "disk": torture.full_disk,
        "cuts": partial(torture.cuts, times=options.cuts),
        "terms": partial(torture.kills, times=options.kills // 4, term=True),
        "kills": partial(torture.kills, times=options.kills),
        "cluster": partial(
            cluster,
            faults=drawn_faults(options.kills, options.few, random.Random(options.seed)),
            workers=options.workers,
            skew_s=options.skew,
            delay_s=options.delay,
        ),
    }
    if unknown := set(options.trials) - set(trials):
        raise SystemExit(f"no such trial: {', '.join(unknown)}; trials: {', '.join(trials)}")
    broken = False
    print("| trial | found | broken |\n|---|---|---|", flush=True)
    with torture.racked(options.pages, options.seed) as rack:
        for name in options.trials or trials:
            verdict = trials[name](rack)
            broken |= bool(verdict.broken)
            print(
                f"| {name} | {verdict.outcome} | {', '.join(verdict.broken) or '-'} |", flush=True
            )
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
