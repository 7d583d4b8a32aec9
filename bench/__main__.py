"""Runs all speed measurements of `focus` in turn, and holds the figures against its targets.

    make bench                                   everything, about 50 minutes
    make bench BENCH_PAGES=2000 BENCH_ROUNDS=1   small, for trying out
    make bench-race                              a part: race profile latency growth ranks commands

    python -m bench [PARTS …] [--pages 20000] [--rounds 3] [--peers PYTHON]
        [--site build/bench/site] [--results bench/results]

`--pages` is what everything goes by: at 20,000 a site of 6,000 pages for race and profile, 5
million URLs, a million rows, 2,000 slow hosts. Figures go to RESULTS/DATE.json part by part,
with machine, date and load, and as a table to DATE.md; `python -m bench.figures` writes
docs/performance.md and `python -m bench.scaling` docs/scaling.md of them.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import commands, growth, latency, race, ranks
from bench.figures import markdown
from bench.resources import machine, run
from bench.script import read_options
from bench.serving import serving
from bench.site import build


def profile(site: Path, pages: int, full: int) -> dict[str, object]:
    """Where the time goes, as `focus crawl --profile` tells it."""
    made = build(site, pages=full)
    with serving(made) as web, tempfile.TemporaryDirectory(prefix="focus-bench-") as name:
        course = race.Course(made, web, pages, None)
        report, log = Path(name) / "report.json", Path(name) / "log"
        options = ["--profile", "--report", str(report)]
        usage = run(race.focus_command(course, Path(name) / "x.db", pages, *options), log=log)
        if usage.code:
            raise SystemExit(log.read_text(encoding="utf-8"))
        told: dict[str, object] = json.loads(report.read_text(encoding="utf-8"))["profile"]
        return told


def parts(given: Any) -> dict[str, Callable[[], dict[str, object]]]:
    """Every part with its size."""
    pages, site, rounds = given.pages, given.site, given.rounds
    whole = max(200, 3 * pages // 10)
    return {
        "race": lambda: race.measure(
            site, pages=max(200, pages // 10), full=whole, rounds=rounds, peers=given.peers
        ),
        "profile": lambda: profile(site, whole, whole),
        "latency": lambda: latency.measure(
            site.with_name("hosts"),
            site_pages=pages,
            hosts=min(2000, pages),
            latency_s=2.0,
            pages=pages,
            rounds=min(2, rounds),
            concurrency=2500,
        ),
        "growth": lambda: growth.measure(
            site.parent / "growth",
            urls=250 * pages,
            marks=[10_000, 50 * pages],
            pages=max(200, pages // 5),  # so that each has its share of spills
            rounds=rounds,
        ),
        "ranks": lambda: ranks.measure(5 * pages),
        "commands": lambda: commands.measure(50 * pages, 7),
    }


def main() -> None:
    """Measure the parts asked for, all of them by default."""
    given = read_options(__doc__)
    known = parts(given)
    if unknown := set(given.parts) - set(known):
        raise SystemExit(
            f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        )
    given.results.mkdir(parents=True, exist_ok=True)
    file = given.results / f"{time.strftime('%Y-%m-%d-%H%M', time.gmtime())}.json"
    told: dict[str, object] = {"pages": given.pages, "machine": machine()}
    for name in given.parts or known:
        began = time.monotonic()
        print(f"bench: {name}", file=sys.stderr)
        told[name] = known[name]()
        took = time.monotonic() - began
        print(f"bench: {name} took {took:.0f} s", file=sys.stderr)
        text = json.dumps(told, ensure_ascii=False, indent=1)
        file.write_text(text + "\n", encoding="utf-8")
    table = markdown(told)
    file.with_suffix(".md").write_text(table, encoding="utf-8")
    print(table)
    print(f"written to {file}", file=sys.stderr)


if __name__ == "__main__":
    main()
