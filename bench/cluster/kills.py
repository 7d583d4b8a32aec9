"""Counts what a cluster loses, and fetches twice, when its roles are killed and cut off at random.

    python -m bench.cluster.kills [--kills 100] [--cuts 0] [--pages 10000] [--shards 2]
        [--workers 3] [--slots 32] [--seed 1] [--skew 0.0] [--keep FOLDER]
        [-- options of the crawls]

Crawls the generated web over loopback twice: by one process in peace, and by a cluster whose
frontiers, workers and broker are killed (SIGKILL) at moments drawn from a seed and started
again. `--cuts`: so many times a role's network is cut, or lets nothing through for a while, or
the role itself stands still (SIGSTOP).
`--skew`: the roles' clocks are wrong by up to so many seconds. In the end both must know the
same. A request counts as made again if one crawl in peace makes it once; it is put down to
the faults since it was made first.
"""

import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from bench.script import read_options
from focus.demo.site import generate
from tests.support.cluster_kills import Fault, Torture, torture
from tests.support.processes import served, slow_hosts

ODDS = {"worker": 0.5, "frontier": 0.35, "broker": 0.15}


def plan(kills: int, cuts: int, rng: random.Random) -> list[str]:
    """What to do, in order."""
    found = rng.choices(list(ODDS), list(ODDS.values()), k=kills)
    whom, how = ("frontier", "worker"), ("cut", "dead", "frozen")
    found += [f"{rng.choice(whom)} {rng.choice(how)}" for _ in range(cuts)]
    rng.shuffle(found)
    return found


def report(result: Torture, *, verbose: bool) -> None:
    """Print the faults, and what came of them."""
    if verbose:
        print("nth\tfault\twhom\tat request\tleases\tagain\tnext request after s")
        for number, (fault, again) in enumerate(zip(result.faults, result.again, strict=False), 1):
            at = fault.mark - result.requests[0]
            row = (number, fault.what, fault.whom, at, fault.leases, again, f"{fault.idle_s:.1f}")
            print(*row, sep="\t")
        for number, url in result.urls[:60]:
            print(f"made before {number} and again: {url}")
    by_kind: dict[str, list[tuple[Fault, int]]] = defaultdict(list)
    for fault, again in zip(result.faults, result.again, strict=False):
        by_kind[fault.what].append((fault, again))
    print("\n| fault | times | leases open | requests made again | most | longest pause s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for what, pairs in sorted(by_kind.items()):
        leases, made = sum(each.leases for each, _ in pairs), [number for _, number in pairs]
        pause = max(each.idle_s for each, _ in pairs)
        print(f"| {what} | {len(pairs)} | {leases} | {sum(made)} | {max(made)} | {pause:.0f} |")
    calm, hurt = result.ends
    print(
        f"\nlost {len(result.lost)}, extra {len(result.extra)}; at its end: {result.is_done}; ",
        end="",
    )
    print(f"roles that broke down: {result.breakdowns}")
    print(f"requests {result.requests[0]} in peace, {result.requests[1]} hurt, ", end="")
    print(f"{result.again[-1]} made twice between two faults; {result.seconds:.0f} s; ", end="")
    print("longest silence of a host {:.1f} s in peace, {:.1f} s hurt".format(*result.silence_s))
    print(f"URLs {sum(calm.values())} and {sum(hurt.values())}; ends that differ: ", end="")
    print(f"{dict(calm - hurt)} {dict(hurt - calm)}; leases and links left: {result.left}")


def main() -> int:
    """Print what was done and the verdict; 1 if anything was lost, or did not end."""
    given = read_options(__doc__)
    web, rng = generate(given.seed, pages=given.pages), random.Random(given.seed)
    with tempfile.TemporaryDirectory() as temporary, served(web) as server:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        result = torture(
            server,
            folder,
            faults=plan(given.kills, given.cuts, rng),
            rng=rng,
            shards=given.shards,
            workers=given.workers,
            slots=given.slots,
            more=[*slow_hosts(web), *given.options],
            skew=given.skew,
        )
    report(result, verbose=True)
    is_bad = (
        result.lost
        or result.extra
        or not result.is_done
        or result.breakdowns
        or "Traceback" in result.said
    )
    if is_bad:
        print(result.said[-6000:])
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main())
