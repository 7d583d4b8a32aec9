"""Measures CPU, speed, memory and disk of `focus` and other crawlers on the same site.

    python -m bench.race [--pages 2000] [--full 20000] [--rounds 3] [--peers PYTHON]
        [--site build/bench/site] [--kind portal|articles] [--web ARCHIVE] [--json FILE]

The site is generated (`bench.site`, two kinds), or with --web it is a recorded web, of which only
the recorded hosts are crawled. Each round runs every crawler once to `--pages` pages and, except
the slowest, once to `--full` pages, where the start has little weight. The slowest runs in the
first round only. `focus` runs with its defaults, always with robots.txt, politeness accounting
(delay 0), the durable frontier and compressed pages. All figures are medians over rounds. CPU per
page includes the start of the program.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from bench.resources import Usage, run
from bench.script import read_options, table, write_figures
from bench.serving import Web, serving
from bench.site import TOPIC, Site, build, recorded
from tests.support.processes import read_copy

CONCURRENCY = 64
PEERS = {
    "Scrapy, lean spider": "scrapy_lean",
    "Scrapy, LinkExtractor": "scrapy_links",
    "Crawlee, BeautifulSoup": "crawlee_soup",
    "mudfish (Rust, links only)": "mudfish_links",
}
ONCE = frozenset(("Crawlee, BeautifulSoup",))
"""These run to `--pages` only, in the first round."""
WHOLE = ", whole site"
_ROOT = Path(__file__).parent


class Lap(msgspec.Struct, frozen=True):
    """One run of one crawler."""

    pages: int
    usage: Usage


class Row(msgspec.Struct, frozen=True):
    """Medians of a crawler over the rounds; `trouble` says why there are none."""

    name: str
    pages: int = 0
    laps: int = 0
    pages_s: float = 0.0
    cpu_ms: float = 0.0
    main_ms: float = 0.0
    workers_ms: float = 0.0
    peak_mib: float = 0.0
    disk_kib: float = 0.0
    trouble: str = ""


class Course(NamedTuple):
    """The site, its server, the number of pages to crawl, and the Python of the peers."""

    site: Site
    web: Web
    pages: int
    peers: Path | None


def focus_command(course: Course, db: Path, pages: int, *more: str) -> list[str]:
    """Return the command line of `focus crawl`."""
    seeds = [part for seed in course.site.seeds for part in ("--seed", seed)]
    return [
        *(sys.executable, "-m", "focus", "crawl", *seeds),
        *("--topic", TOPIC, "--delay", "0", "--concurrency", str(CONCURRENCY)),
        *("--max-pages", str(pages), "--scope", "host" if course.site.recorded_hosts else "any"),
        *("--connect-to", f"127.0.0.1:{course.web.port}", "--allow-net", "127.0.0.0/8"),
        *("--db", str(db), *more),
    ]


def focus_lap(course: Course, folder: Path, pages: int) -> Lap:
    """Crawl with focus; the pages are those in its database."""
    db = folder / "focus.db"
    usage = run(focus_command(course, db, pages), log=folder / "log")
    if usage.code:
        raise SystemExit((folder / "log").read_text(encoding="utf-8"))
    return Lap(int(str(read_copy(db, "SELECT count(*) FROM page_text")[0][0])), usage)


def peer_lap(course: Course, folder: Path, name: str, pages: int) -> Lap:
    """Crawl with a peer; the pages are the lines that it wrote."""
    (folder / "seeds").write_text("\n".join(course.site.seeds), encoding="utf-8")
    script = _ROOT / "peers" / f"{PEERS[name]}.py"
    arguments = [folder / "seeds", course.web.port, pages, CONCURRENCY, folder]
    arguments += ["host"] if course.site.recorded_hosts else []
    usage = run([str(course.peers), str(script), *map(str, arguments)], log=folder / "log")
    lines = folder / "pages.jsonl"
    return Lap(lines.read_bytes().count(b"\n") if lines.exists() else 0, usage)


def why_missing(course: Course, name: str) -> str:
    """Return why a peer cannot run, or ""."""
    if course.peers is None or not course.peers.exists():
        return "not installed"
    library = PEERS[name].partition("_")[0]
    attempt = subprocess.run([str(course.peers), "-c", f"import {library}"], capture_output=True)
    return "" if attempt.returncode == 0 else f"{library} cannot be imported"


def race(course: Course, *, rounds: int, full: int) -> list[Row]:
    """Return a row for focus and every peer, to `pages` and over the whole site."""
    laps: dict[str, list[Lap]] = {}
    disk: dict[str, list[float]] = {}
    missing = {name: why_missing(course, name) for name in PEERS}
    entries = [
        (name, pages, name + end)
        for pages, end in ((course.pages, ""), (full, WHOLE))
        for name in ("focus", *PEERS)
        if not (end and name in ONCE)
    ]
    for number in range(rounds):
        for name, pages, row in entries:
            if missing.get(name) or (number and name in ONCE):
                continue
            with tempfile.TemporaryDirectory(prefix="focus-bench-") as tmp:
                folder = Path(tmp)
                if name in PEERS:
                    lap = peer_lap(course, folder, name, pages)
                else:
                    lap = focus_lap(course, folder, pages)
                if not lap.pages:
                    missing[name] = (folder / "log").read_text(errors="replace")[-200:]
                    continue
                laps.setdefault(row, []).append(lap)
                size = sum(file.stat().st_size for file in folder.iterdir())
                disk.setdefault(row, []).append(size / 1024 / lap.pages)
            print(f"round {number + 1}: {row}: {lap.pages} pages, {lap.usage}", file=sys.stderr)
    return [
        _row(row, laps[row], disk[row])
        if row in laps
        else Row(row, trouble=missing.get(name) or "no pages")
        for name, _, row in entries
    ]


def _row(name: str, laps: Sequence[Lap], disk: Sequence[float]) -> Row:
    def middle(values: Sequence[float]) -> float:
        return round(median(values), 3)

    return Row(
        name=name,
        pages=laps[0].pages,
        laps=len(laps),
        pages_s=middle([lap.pages / lap.usage.seconds for lap in laps]),
        cpu_ms=middle([1000 * lap.usage.cpu_s / lap.pages for lap in laps]),
        main_ms=middle([1000 * lap.usage.own_s / lap.pages for lap in laps]),
        workers_ms=middle([1000 * lap.usage.children_s / lap.pages for lap in laps]),
        peak_mib=middle([lap.usage.own_mib + lap.usage.children_mib for lap in laps]),
        disk_kib=middle(disk),
    )


def measure(
    site: Site, *, pages: int, full: int, rounds: int, peers: Path | None
) -> dict[str, object]:
    """Return the race as JSON values."""
    with serving(site) as web:
        rows = race(Course(site, web, pages, peers), rounds=rounds, full=full)
        served = web.name
    return {
        "site": {
            "pages": site.pages,
            "hosts": site.hosts,
            "bytes_mean": site.bytes_mean,
            "links_mean": site.links_mean,
            "served_by": served,
            "kind": site.kind,
        },
        "rounds": rounds,
        "concurrency": CONCURRENCY,
        "rows": msgspec.to_builtins(rows),
    }


def comparison(rows: Sequence[Row]) -> str:
    """Return the table of docs/performance.md: every crawler, and ratios to `focus`."""
    ours = {name: row for row in rows for name in ("focus", f"focus{WHOLE}") if row.name == name}
    head = ["", "pages", "pages/s", "CPU ms/page", "main", "workers", "peak MiB", "KiB/page"]
    cells = []
    for row in rows:
        reference = ours.get(f"focus{WHOLE}" if row.name.endswith(WHOLE) else "focus")
        ratios: list[str] = ["", ""]
        if row.laps and reference and not row.name.startswith("focus"):
            ratios = [
                f"{row.cpu_ms / reference.cpu_ms:.1f}",
                f"{reference.pages_s / row.pages_s:.1f}",
            ]
        measured = [
            *(f"{row.pages:,}", f"{row.pages_s:.0f}"),
            *(f"{value:.2f}" for value in (row.cpu_ms, row.main_ms, row.workers_ms)),
            *(f"{row.peak_mib:.0f}", f"{row.disk_kib:.1f}"),
        ]
        missing = [f"not measured: {row.trouble}", *[""] * 6]
        cells.append([row.name, *(measured if row.laps else missing), *ratios])
    return table([*head, "CPU, × focus", "pages/s, focus ×"], cells)


def main() -> None:
    """Race and print the table."""
    options = read_options(__doc__)
    if options.peers is not None and not shutil.which(str(options.peers)):
        raise SystemExit(f"--peers {options.peers}: not a program")
    kind = options.kind or "portal"
    site = (
        recorded(options.web, options.full)
        if options.web
        else build(options.site, pages=options.full, kind=kind)
    )
    figures = measure(
        site, pages=options.pages, full=options.full, rounds=options.rounds, peers=options.peers
    )
    write_figures(figures, options.json, quiet=True)
    print(comparison(msgspec.convert(figures["rows"], list[Row])))


if __name__ == "__main__":
    main()
