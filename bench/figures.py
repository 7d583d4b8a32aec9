"""Writes docs/performance.md, in both languages, from the figures of a measurement.

python -m bench.figures [RESULT.json …]     of these, else of all; of a part, the latest
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.race import WHOLE
from bench.script import table
from bench.wording import language, named, say, write_both

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
NOTES = ROOT / "bench" / "notes.md"
"""What was missed, why, and what was tried: by hand, in English, put after the targets."""

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
            missing = say("not measured: {trouble}", trouble=row["trouble"])
            body.append([named(row["name"]), missing, *[""] * 8])
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
                *(named(row["name"]), f"{row['pages']:,}", f"{row['pages_s']:.0f}", *numbers),
                *(f"{row['peak_mib']:.0f}", f"{row['disk_kib']:.1f}", *ratios),
            ]
        )
    return say(
        "## Against other crawlers\n\n"
        "The generated site: {pages:,} pages on {hosts} hosts, {kib:.0f} KiB and {links_mean:.0f} "
        "links a page, a fifth of the hosts in GBK, half with gzip; served by {served_by}. "
        "{concurrency} requests at once; medians of {rounds} rounds, taken in turn{once}. The "
        "others write a JSON line per page and keep neither pages nor scores nor their queue."
        "\n\n{rows}\n",
        kib=site["bytes_mean"] / 1024,
        once=_once(told),
        concurrency=told["concurrency"],
        rounds=told["rounds"],
        rows=table([say(each) for each in head], body),
        **site,
    )


def _once(told: Told) -> str:
    """Which rows are of fewer laps than there were rounds."""
    names = [row["name"] for row in told["rows"] if 0 < row.get("laps", 0) < told["rounds"]]
    said = say(" (of one lap: {names})", names="; ".join(map(named, names)))
    return said if names else ""


# -- the targets --------------------------------------------------------------------


def targets(told: Told) -> Iterator[tuple[str, str, str, bool]]:
    """(what, target, measured, whether it is met) for every target that was measured."""
    if race := told.get("race"):
        yield from _race_targets(race["rows"])
    if late := told.get("latency"):
        what = "pages/s of {hosts:,} hosts with {latency_s:g} s of latency, share of those at once"
        yield _row(say(what, **late), late["share"], least=0.70)
    if growth := told.get("growth"):
        yield from _growth_targets(growth)
    if ranks := told.get("ranks"):
        what = say("PageRank at ε = {epsilon}, {pages:,} pages: ms per page", **ranks)
        yield _row(what, ranks["ms_per_page"], most=0.25)
        yield _row(
            say("PageRank: error within the stated bound (L1)"),
            round(ranks["error_l1"], 1),
            most=round(ranks["bound_l1"], 1),
        )
    if commands := told.get("commands"):
        for name in ("help", "status"):
            yield _row(
                say("`focus {name}`, s", name=name.replace("help", "--help")),
                commands["seconds"][name],
                most=0.25,
            )
        export = commands["export"]
        what = say("export of {rows:,} rows, rows/s", **export)
        yield _row(what, export["rows_s"], least=60_000)
        more = export["peak_mib"] - export["peak_mib_of_a_tenth"]
        what = say("export: MiB more than for a tenth of the rows")
        yield _row(what, round(more, 1), most=5.0)


def _race_targets(rows: Sequence[Told]) -> Iterator[tuple[str, str, str, bool]]:
    whole = _found(rows, f"focus{WHOLE}")
    if whole:
        yield _row(say("CPU per page, ms"), round(whole["cpu_ms"], 2), most=3.0)
        what = say("CPU per page of the main process, ms")
        yield _row(what, round(whole["main_ms"], 2), most=1.5)
    for name, end, cpu, pace in (
        ("Scrapy, lean spider", WHOLE, 7.0, 8.0),
        ("Scrapy, lean spider", "", None, 5.0),
        ("Crawlee, BeautifulSoup", "", None, 12.0),
    ):
        peer, ours = _found(rows, name + end), _found(rows, f"focus{end}")
        if peer and ours and cpu:
            ratio = round(peer["cpu_ms"] / ours["cpu_ms"], 1)
            what = say("CPU of {name}, × focus", name=named(name + end))
            yield _row(what, ratio, least=cpu)
        if peer and ours:
            ratio = round(ours["pages_s"] / peer["pages_s"], 1)
            what = say("pages/s, focus × {name}", name=named(name + end))
            yield _row(what, ratio, least=pace)


def _growth_targets(growth: Told) -> Iterator[tuple[str, str, str, bool]]:
    crawl, alone, opened = growth["crawl"], growth["frontier"], growth["reopened"]
    upto = [[cost for cost in costs if cost["known"] <= 1_000_000] for costs in _rounds(growth)]
    first, later = upto[0][0], upto[0][-1]

    def row(what: str, value: float, most: float) -> tuple[str, str, str, bool]:
        millions, known, begin = crawl["urls"] / 1e6, later["known"], first["known"]
        return _row(say(what, millions=millions, known=known, begin=begin), value, most=most)

    all_of_them = "{millions:.1f} M URLs"
    waiting = all_of_them + " that wait: peak RSS of the frontier, MiB"
    yield row(waiting, alone["peak_mib"], 400)
    yield row(all_of_them + ": RSS of the whole crawl, MiB", crawl["rss_mib"], 350)
    yield row(all_of_them + ": bytes on disk per URL", crawl["disk_bytes_per_url"], 200)
    yield row("known-check + push in memory, µs", alone["push_us"], 8)
    yield row("pop in memory, µs", alone["pop_us"], 20)
    yield row(all_of_them + ": longest pause of the loop, ms", crawl["longest_pause_ms"], 50)
    ratio = round(median(costs[-1]["cpu_ms"] / costs[0]["cpu_ms"] for costs in upto), 2)
    yield row("cost per page at {known:,} URLs, × that at {begin:,}", ratio, 1.10)
    yield row(all_of_them + ": first request after a restart, s", opened["first_request_s"], 5)


def _rounds(growth: Told) -> list[Sequence[Told]]:
    """What pages cost at each mark, the round that grew to the end last."""
    return [*growth.get("again", ()), growth["crawl"]["costs"]]


def _row(
    what: str, value: float, *, most: float | None = None, least: float | None = None
) -> tuple[str, str, str, bool]:
    if most is not None:
        return what, f"≤ {most:g}", f"{value:,g}", value <= most
    assert least is not None
    return what, f"≥ {least:,g}", f"{value:,g}", value >= least


def targets_text(told: Told) -> str:
    """The table of targets."""
    yes, no = say("yes"), say("**no**")
    rows = [(what, want, got, yes if met else no) for what, want, got, met in targets(told)]
    head = [say(each) for each in ("what", "target", "measured", "met")]
    return say("## Targets\n\n{rows}\n", rows=table(head, rows))


# -- the rest -----------------------------------------------------------------------


def profile_text(told: Told) -> str:
    """Where the time goes."""
    rows = [
        (
            named(each["name"]),
            named(each["where"]),
            f"{each['ms']:.3f}",
            f"{100 * each['share']:.0f} %",
        )
        for each in told["stages"]
    ]
    head = [say(each) for each in ("stage", "where", "CPU ms/page", "share")]
    return say(
        "## Where the time goes\n\n"
        "`focus crawl --profile` over {pages:,} pages of the same site; the profile itself costs a "
        "few per cent.\n\n{rows}\n\n"
        "Busy: event loop {loop:.0f} %, workers {workers:.0f} %, store's thread {store:.0f} %.\n\n",
        pages=told["pages"],
        rows=table(head, rows).rstrip(),
        loop=100 * told["loop_busy"],
        workers=100 * told["workers_busy"],
        store=100 * told["store_busy"],
    )


def growth_text(told: Told) -> str:
    """Cost by known URLs, and what they take."""
    crawl = told["crawl"]
    rounds = _rounds(told)
    rows = []
    for nth, cost in enumerate(crawl["costs"]):
        here = [costs[nth] for costs in rounds if nth < len(costs)]
        cells = (", ".join(f"{each[key]:.2f}" for each in here) for key in ("cpu_ms", "loop_ms"))
        rows.append((f"{cost['known']:,}", *cells))
    head = [say(each) for each in ("known URLs", "CPU ms/page, loop and store", "loop alone")]
    return say(
        "## With millions of URLs\n\n"
        "The crawl's own loop and database; web and workers are replaced by pages made on the "
        "spot, whose cost is taken off. 97 links a page, 10 of them new.\n\n{rows}\n\n"
        "At {urls:,} URLs, {waiting:,} of them waiting: {rss_mib:.0f} MiB, "
        "{disk_bytes_per_url:.0f} bytes a URL on disk (without page texts); longest pause of the "
        "loop {longest_pause_ms:.0f} ms, {longest_pause_cpu_ms:.0f} ms of it its own CPU; first "
        "request after a restart {reopened[first_request_s]:.1f} s, with "
        "{reopened[peak_mib]:.0f} MiB.\n\n",
        rows=table(head, rows).rstrip(),
        reopened=told["reopened"],
        **crawl,
    )


def latency_text(told: Told) -> str:
    """Slow hosts against quick ones."""
    each_s = say("{seconds:g} s each", seconds=told["latency_s"])
    rows = [
        (name, *(f"{told[key][each]:,.1f}" for each in ("pages_s", "middle_pages_s", "cpu_ms")))
        for name, key in ((say("at once"), "at_once"), (each_s, "slow"))
    ]
    head = [say(each) for each in ("answers come", "pages/s", "middle", "CPU ms/page")]
    return say(
        "## {hosts:,} slow hosts\n\n`--concurrency {concurrency}`, one request per host at once, "
        "our own server (Python) on the same machine; `middle` leaves out the first and last fifth "
        "of the pages.\n\n{rows}\n",
        hosts=told["hosts"],
        concurrency=told["concurrency"],
        rows=table(head, rows),
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
    made = told.get("made", {})
    if len(set(made.values())) > 1:
        parts = "; ".join(f"{part} {date}" for part, date in made.items())
        text += say("That is the latest of several runs: {parts}.\n\n", parts=parts)
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
    made.append(say("What follows, up to the other crawlers, was written by hand.\n\n"))
    if language() == "en":
        made.append(NOTES.read_text(encoding="utf-8").strip() + "\n\n")
    made += [make(told[name]) for name, make in _PARTS.items() if name in told]
    return "".join(made)


def text(told: Told) -> str:
    """The page, in the language of the moment."""
    return say(INTRO) + "\n" + markdown(told)


def chosen(names: Sequence[str]) -> dict[str, Any]:
    """The figures of these files together, else of all there are; of a part, the latest."""
    told: dict[str, Any] = {}
    made: dict[str, str] = {}
    for file in [Path(name) for name in names] or sorted(RESULTS.glob("20*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        date = found["machine"]["date"]
        made |= {part: date for part in found if part not in ("pages", "machine")}
        told |= found
    if not made:
        raise SystemExit(f"no result in {RESULTS}; make one with `make bench`")
    return told | {"made": made}


def main() -> None:
    """Write docs/performance.md, and the Chinese one."""
    told = chosen(sys.argv[1:])
    write_both("performance.md", lambda: text(told))


if __name__ == "__main__":
    main()
