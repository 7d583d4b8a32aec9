"""Writes docs/performance.md from the figures of a measurement.

python -m bench.figures [RESULT.json …]     of these, later ones win; else the newest whole one
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.race import WHOLE
from bench.script import table
from bench.wording import say

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "performance.md"
NOTES = ROOT / "bench" / "notes.md"
"""What was missed, why, and what was tried: by hand, put after the targets."""

SITE = 20_000
"""Pages of a whole measurement."""

Told = Mapping[str, Any]

INTRO = """\
# Performance

Made by `python -m bench.figures` from the figures of `make bench`; do not edit.

Everything is on in every figure of `focus`: robots.txt, politeness accounting (delay 0 for the
bench), the durable frontier, pages stored compressed, all limits, the guard, workers that can be
killed, a transaction per batch. `focus` alone is what runs by default: `yield`, `evidence`, with a
limit on pages. CPU is user and system time of
all processes of a crawler, its start included; server and crawler share the machine. Ratios are
within one run. Other programs spoil pages/s and leave CPU nearly as it is.
"""


def _found(rows: Sequence[Told], name: str) -> Told:
    return next((row for row in rows if row["name"] == name and not row["trouble"]), {})


# -- the race -----------------------------------------------------------------------


def race_text(told: Told) -> str:
    """The crawlers side by side."""
    site, rows = told["site"], told["rows"]
    head = [
        "",
        "pages",
        "pages/s",
        "CPU ms/page",
        "main",
        "workers",
        "peak MiB",
        "KiB/page on disk",
    ]
    head += ["CPU, × focus", "pages/s, focus ×"]
    body = []
    for row in rows:
        if row["trouble"]:
            body.append([row["name"], f"not measured: {row['trouble']}", *[""] * 8])
            continue
        whole = row["name"].endswith(WHOLE)
        ours = _found(rows, f"focus{WHOLE}" if whole else "focus")
        ratios = ["", ""]
        if ours and not row["name"].startswith("focus"):
            ratios = [
                f"{row['cpu_ms'] / ours['cpu_ms']:.1f}",
                f"{ours['pages_s'] / row['pages_s']:.1f}",
            ]
        numbers = [f"{row[key]:.2f}" for key in ("cpu_ms", "main_ms", "workers_ms")]
        body.append(
            [
                *(row["name"], f"{row['pages']:,}", f"{row['pages_s']:.0f}", *numbers),
                *(f"{row['peak_mib']:.0f}", f"{row['disk_kib']:.1f}", *ratios),
            ]
        )
    return (
        "## Against other crawlers\n\n"
        f"The generated site: {site['pages']:,} pages on {site['hosts']} hosts, "
        f"{site['bytes_mean'] / 1024:.0f} KiB and {site['links_mean']:.0f} links a page, a fifth "
        f"of the hosts in GBK, half with gzip; served by "
        f"{site['served_by']}. {told['concurrency']} requests at once; medians of "
        f"{told['rounds']} rounds, taken in turn{_once(told)}. The others write a JSON line per "
        "page and keep neither pages nor scores nor their queue.\n\n" + table(head, body) + "\n"
    )


def _once(told: Told) -> str:
    """Which rows are of fewer laps than there were rounds."""
    names = [row["name"] for row in told["rows"] if 0 < row.get("laps", 0) < told["rounds"]]
    return f" (of one lap: {'; '.join(names)})" if names else ""


# -- the targets --------------------------------------------------------------------


def targets(told: Told) -> Iterator[tuple[str, str, str, bool]]:
    """(what, target, measured, whether it is met) for every target that was measured."""
    if race := told.get("race"):
        yield from _race_targets(race["rows"])
    if late := told.get("latency"):
        yield _row(
            f"pages/s of {late['hosts']:,} hosts with {late['latency_s']:g} s of latency, "
            "share of those at once",
            late["share"],
            least=0.70,
        )
    if growth := told.get("growth"):
        yield from _growth_targets(growth)
    if ranks := told.get("ranks"):
        what = f"PageRank at ε = {ranks['epsilon']}, {ranks['pages']:,} pages: ms per page"
        yield _row(what, ranks["ms_per_page"], most=0.25)
        yield _row(
            "PageRank: error within the stated bound (L1)",
            round(ranks["error_l1"], 1),
            most=round(ranks["bound_l1"], 1),
        )
    if commands := told.get("commands"):
        for name in ("help", "status"):
            yield _row(
                f"`focus {name.replace('help', '--help')}`, s", commands["seconds"][name], most=0.25
            )
        export = commands["export"]
        yield _row(f"export of {export['rows']:,} rows, rows/s", export["rows_s"], least=60_000)
        more = export["peak_mib"] - export["peak_mib_of_a_tenth"]
        yield _row("export: MiB more than for a tenth of the rows", round(more, 1), most=5.0)


def _race_targets(rows: Sequence[Told]) -> Iterator[tuple[str, str, str, bool]]:
    whole = _found(rows, f"focus{WHOLE}")
    if whole:
        yield _row("CPU per page, ms", round(whole["cpu_ms"], 2), most=3.0)
        yield _row("CPU per page of the main process, ms", round(whole["main_ms"], 2), most=1.5)
    for name, end, cpu, pace in (
        ("Scrapy, lean spider", WHOLE, 7.0, 8.0),
        ("Scrapy, lean spider", "", None, 5.0),
        ("Crawlee, BeautifulSoup", "", None, 12.0),
    ):
        peer, ours = _found(rows, name + end), _found(rows, f"focus{end}")
        if peer and ours and cpu:
            ratio = round(peer["cpu_ms"] / ours["cpu_ms"], 1)
            yield _row(f"CPU of {name + end}, × focus", ratio, least=cpu)
        if peer and ours:
            ratio = round(ours["pages_s"] / peer["pages_s"], 1)
            yield _row(f"pages/s, focus × {name + end}", ratio, least=pace)


def _growth_targets(growth: Told) -> Iterator[tuple[str, str, str, bool]]:
    crawl, alone, opened = growth["crawl"], growth["frontier"], growth["reopened"]
    million = f"{crawl['urls'] / 1e6:.1f} M URLs"
    yield _row(f"{million} that wait: peak RSS of the frontier, MiB", alone["peak_mib"], most=400)
    yield _row(f"{million}: RSS of the whole crawl, MiB", crawl["rss_mib"], most=400)
    yield _row(f"{million}: bytes on disk per URL", crawl["disk_bytes_per_url"], most=200)
    yield _row("known-check + push in memory, µs", alone["push_us"], most=8)
    yield _row("pop in memory, µs", alone["pop_us"], most=20)
    yield _row(f"{million}: longest pause of the loop, ms", crawl["longest_pause_ms"], most=100)
    (
        first,
        *_,
    ) = crawl["costs"]
    later = [cost for cost in crawl["costs"] if cost["known"] <= 1_000_000][-1]
    what = f"cost per page at {later['known']:,} URLs, × that at {first['known']:,}"
    yield _row(what, round(later["cpu_ms"] / first["cpu_ms"], 2), most=1.15)
    yield _row(f"{million}: first request after a restart, s", opened["first_request_s"], most=8)


def _row(
    what: str, value: float, *, most: float | None = None, least: float | None = None
) -> tuple[str, str, str, bool]:
    if most is not None:
        return what, f"≤ {most:g}", f"{value:,g}", value <= most
    assert least is not None
    return what, f"≥ {least:,g}", f"{value:,g}", value >= least


def targets_text(told: Told) -> str:
    """The table of targets."""
    rows = [(what, want, got, "yes" if met else "**no**") for what, want, got, met in targets(told)]
    return "## Targets\n\n" + table(["what", "target", "measured", "met"], rows) + "\n"


# -- the rest -----------------------------------------------------------------------


def profile_text(told: Told) -> str:
    """Where the time goes."""
    rows = [
        (each["name"], each["where"], f"{each['ms']:.3f}", f"{100 * each['share']:.0f} %")
        for each in told["stages"]
    ]
    busy = ", ".join(
        f"{name} {100 * told[key]:.0f} %"
        for name, key in (
            ("event loop", "loop_busy"),
            ("workers", "workers_busy"),
            ("store's thread", "store_busy"),
        )
    )
    return (
        "## Where the time goes\n\n"
        f"`focus crawl --profile` over {told['pages']:,} pages of the same site; the profile "
        "itself costs a few per cent.\n\n"
        + table(["stage", "where", "CPU ms/page", "share"], rows)
        + f"\nBusy: {busy}.\n\n"
    )


def growth_text(told: Told) -> str:
    """Cost by known URLs, and what they take."""
    crawl = told["crawl"]
    rows = [
        (f"{cost['known']:,}", *(f"{cost[key]:.2f}" for key in ("cpu_ms", "loop_ms")))
        for cost in crawl["costs"]
    ]
    return (
        "## With millions of URLs\n\n"
        "The crawl's own loop and database; web and workers are replaced by pages made on the "
        "spot, whose cost is taken off. 97 links a page, 10 of them new.\n\n"
        + table(["known URLs", "CPU ms/page, loop and store", "loop alone"], rows)
        + f"\nAt {crawl['urls']:,} URLs, {crawl['waiting']:,} of them waiting: "
        f"{crawl['rss_mib']:.0f} MiB, {crawl['disk_bytes_per_url']:.0f} bytes a URL on disk "
        f"(without page texts); longest pause of the loop {crawl['longest_pause_ms']:.0f} ms, "
        f"{crawl['longest_pause_cpu_ms']:.0f} ms of it its own CPU; first request after a "
        f"restart {told['reopened']['first_request_s']:.1f} s, with "
        f"{told['reopened']['peak_mib']:.0f} MiB.\n\n"
    )


def latency_text(told: Told) -> str:
    """Slow hosts against quick ones."""
    rows = [
        (name, *(f"{told[key][each]:,.1f}" for each in ("pages_s", "middle_pages_s", "cpu_ms")))
        for name, key in (("at once", "at_once"), (f"{told['latency_s']:g} s each", "slow"))
    ]
    return (
        f"## {told['hosts']:,} slow hosts\n\n`--concurrency {told['concurrency']}`, one request "
        "per host at once, our own server (Python) on the same machine; `middle` leaves out the "
        "first and last fifth of the pages.\n\n"
        + table(["answers come", "pages/s", "middle", "CPU ms/page"], rows)
        + "\n"
    )


_PARTS = {
    "race": race_text,
    "profile": profile_text,
    "growth": growth_text,
    "latency": latency_text,
}


def machine_text(told: Told) -> str:
    """On what, and when."""
    on = told["machine"]
    text = say(
        "{date}; {cores} cores of {processor}, {memory_gib} GiB, {system}, Python {python}; "
        "load at the start {first_load}.\n\n",
        first_load=on["load"][0],
        **on,
    )
    if on["load"][0] > on["cores"] / 2:
        text += say("The machine was busy with other things: seconds and pages/s say little.\n\n")
    if told.get("pages", SITE) < SITE:
        text += say(
            "A small run (`BENCH_PAGES={pages}`): starting weighs more in it, and the targets "
            "are for {site:,} pages.\n\n",
            pages=told["pages"],
            site=SITE,
        )
    return text


def markdown(told: Told) -> str:
    """All that was measured, as sections."""
    made = [machine_text(told), targets_text(told)]
    if NOTES.exists():
        made.append(NOTES.read_text(encoding="utf-8").strip() + "\n\n")
    made += [make(told[name]) for name, make in _PARTS.items() if name in told]
    return "".join(made)


def chosen(names: Sequence[str]) -> dict[str, Any]:
    """The figures of these files together, or of the newest file that has all parts."""
    if names:
        told: dict[str, Any] = {}
        for name in names:
            told |= json.loads(Path(name).read_text(encoding="utf-8"))
        return told
    for file in sorted(RESULTS.glob("20*.json"), reverse=True):
        told = json.loads(file.read_text(encoding="utf-8"))
        if {"race", "growth", "commands"} <= told.keys():
            return told
    raise SystemExit(f"no whole result in {RESULTS}; make one with `make bench`")


def main() -> None:
    """Write docs/performance.md."""
    PAGE.write_text(INTRO + "\n" + markdown(chosen(sys.argv[1:])).rstrip() + "\n", encoding="utf-8")
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
