"""Measures a crawl of 2,000 hosts that take 2 s each, against the same hosts at once.

    python -m bench.latency [--site build/bench/hosts] [--site-pages 20000] [--hosts 2000]
        [--latency 2.0] [--pages 20000] [--concurrency 2500] [--rounds 1] [--json FILE]

A generated site of as many hosts, from our own server, whose every answer (robots.txt, too)
comes that much later, or at once. The front page of each is a seed. pages/s are of the whole
run, so that the first seconds, in which nothing can have come yet, count; `middle` leaves the
first and last fifth of the pages out.
"""

import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.resources import run
from bench.script import read_options, tell
from bench.serving import serving
from bench.site import TOPIC, Site, build, host_name
from tests.support.processes import read_copy


def crawl(site: Site, *, latency_s: float, pages: int, concurrency: int) -> dict[str, float]:
    """One crawl, from every host at once."""
    with (
        tempfile.TemporaryDirectory(prefix="focus-bench-") as tmp,
        serving(site, latency_s=latency_s, own=True) as web,
    ):
        folder = Path(tmp)
        db, seeds, report = folder / "focus.db", folder / "seeds", folder / "report.json"
        seeds.write_text("".join(f"http://{host_name(n)}/\n" for n in range(site.hosts)))
        command = [
            *(sys.executable, "-m", "focus", "crawl", "--seeds-file", str(seeds)),
            *("--topic", TOPIC, "--strategy", "topic-pagerank", "--relevance", "position"),
            *("--delay", "0", "--eager", "--concurrency", str(concurrency)),
            *("--max-pages", str(pages), "--db", str(db), "--report", str(report)),
            *("--connect-to", f"127.0.0.1:{web.port}", "--allow-net", "127.0.0.0/8"),
        ]
        usage = run(command, log=folder / "log")
        if usage.code:
            raise SystemExit((folder / "log").read_text(encoding="utf-8"))
        told = json.loads(report.read_text(encoding="utf-8"))
        times = [float(str(at)) for (at,) in read_copy(db, _ENDS)]
    first, last = len(times) // 5, 4 * len(times) // 5
    return {
        "pages": told["run_pages"],
        "pages_s": told["pages_per_second"],
        "middle_pages_s": round((last - first) / (times[last] - times[first]), 1),
        "cpu_ms": round(1000 * usage.cpu_s / told["run_pages"], 3),
        "peak_mib": round(usage.own_mib + usage.children_mib, 1),
    }


_ENDS = "SELECT fetched_at + elapsed_s AS ended FROM page ORDER BY ended"


def measure(
    folder: Path, *, site_pages: int, hosts: int, latency_s: float, pages: int, **more: int
) -> dict[str, object]:
    """Slow and at once in turns, medians, and the share that is left."""
    rounds, concurrency = more["rounds"], more["concurrency"]
    site = build(folder, pages=site_pages, hosts=hosts)
    runs = {"at_once": [], "slow": []}  # type: dict[str, list[dict[str, float]]]
    for _ in range(rounds):
        for name, latency in (("at_once", 0.0), ("slow", latency_s)):
            told = crawl(site, latency_s=latency, pages=pages, concurrency=concurrency)
            print(f"{name}: {told}", file=sys.stderr)
            runs[name].append(told)
    middle = {
        name: {key: median(each[key] for each in laps) for key in laps[0]}
        for name, laps in runs.items()
    }
    return {
        "hosts": hosts,
        "latency_s": latency_s,
        "concurrency": concurrency,
        "rounds": rounds,
        **middle,
        "share": round(middle["slow"]["pages_s"] / middle["at_once"]["pages_s"], 3),
        "middle_share": round(
            middle["slow"]["middle_pages_s"] / middle["at_once"]["middle_pages_s"], 3
        ),
    }


def main() -> None:
    """Print what is left of the speed."""
    given = read_options(__doc__)
    told = measure(
        given.site,
        site_pages=given.site_pages,
        hosts=given.hosts,
        latency_s=given.latency,
        pages=given.pages,
        concurrency=given.concurrency,
        rounds=given.rounds,
    )
    tell(told, given.json)


if __name__ == "__main__":
    main()
