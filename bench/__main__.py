"""Runs the speed measurements of docs/performance.md in turn.

    make bench                                   all parts, about 40 minutes
    make bench BENCH_PAGES=2000 BENCH_ROUNDS=1   a small run, for trying out
    make bench-race                              one part: race or growth

    python -m bench [PARTS …] [--pages 20000] [--rounds 3] [--peers PYTHON]
        [--site build/bench/site] [--results bench/results]

All sizes are proportional to `--pages`: 20,000 means a site of 6,000 pages for race, and
5 million URLs for growth. Figures are printed and written to RESULTS/DATE.json after each
part, with machine, date and load.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from bench import growth, race
from bench.resources import machine
from bench.script import read_options, write_figures
from bench.site import build


def parts(options: Any) -> dict[str, Callable[[], dict[str, object]]]:
    """Return the parts by name, each as a function that measures it."""
    pages, site, rounds = options.pages, options.site, options.rounds
    whole = max(200, 3 * pages // 10)
    return {
        "race": lambda: race.measure(
            build(site, pages=whole),
            pages=max(200, pages // 10),
            full=whole,
            rounds=rounds,
            peers=options.peers,
        ),
        "growth": lambda: growth.measure(
            site.parent / "growth",
            urls=250 * pages,
            marks=[10_000, 50 * pages],
            pages=max(200, pages // 5),  # enough pages for evictions to occur in each measurement
            rounds=rounds,
        ),
    }


def main() -> None:
    """Measure the parts named on the command line, by default all."""
    options = read_options(__doc__)
    known = parts(options)
    if unknown := set(options.parts) - set(known):
        raise SystemExit(f"no such part: {', '.join(sorted(unknown))}; parts: {', '.join(known)}")
    options.results.mkdir(parents=True, exist_ok=True)
    file = options.results / f"{time.strftime('%Y-%m-%d-%H%M', time.gmtime())}.json"
    figures: dict[str, Any] = {"pages": options.pages, "machine": machine()}
    for name in options.parts or known:
        began = time.monotonic()
        figures[name] = known[name]()
        print(f"bench: {name} took {time.monotonic() - began:.0f} s", file=sys.stderr)
        write_figures(figures, file, quiet=True)
    write_figures({name: part for name, part in figures.items() if name != "race"}, None)
    if "race" in figures:
        print(race.comparison(msgspec.convert(figures["race"]["rows"], list[race.Row])))


if __name__ == "__main__":
    main()
