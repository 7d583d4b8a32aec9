"""Watches a web for days of a virtual clock, with kills, outages and exports drawn at random.

    python -m bench.virtual_soak [--hours 24.0] [--kills 20] [--outages 10] [--seed 1]

Every five virtual minutes `focus watch run` does what is due; a kill ends it before one of its
requests, an outage lets all hosts be unknown for up to an hour. Every sixth hour the database is
exported. Printed are memory, open files and threads, before and after the middle. The exit code is
1 if one of them grows by more than 5 % and a little, if a page is reported twice, if none is
reported, or if the database is not sound.
"""

import asyncio
import gc
import math
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from statistics import mean

from bench.script import read_options, table
from focus.alerts import settings
from focus.alerts.outbox_relay import deliver_due
from focus.alerts.run import run_due
from focus.alerts.visit import create_visit
from focus.config import PolitenessConfig
from focus.demo.site import Response
from focus.learn.memory_crawl import PageSource
from focus.storage.alerts.records import LOCAL_USER
from focus.storage.alerts.store import open_store
from tests.support.processes import integrity, present_mib
from tests.support.publishing import BEGIN, PublishingWeb, publishing
from tests.support.simulated import ZONE, Clock, Told, alerts, recorded, virtual

SLACK = {"memory, MiB": 8.0, "files": 4.0, "threads": 2.0}


class Killed(BaseException):
    """The end of a process."""


class FaultyWeb:
    """A web with kills at requests and outages at times, drawn at random."""

    def __init__(self, web: PublishingWeb, hours: float, kills: int, outages: int, rng: Random):
        self._web, self._requests, seconds = web, 0, hours * 3600.0
        begins = [BEGIN + rng.uniform(0.0, seconds) for _ in range(outages)]
        self._outages = [(begin, begin + rng.uniform(60.0, 3600.0)) for begin in begins]
        self.kills = sorted(BEGIN + rng.uniform(0.0, seconds) for _ in range(kills))

    def respond(self, url: str, moment: float) -> Response | None:
        """Return the page, None in an outage; raise `Killed` when a kill is due."""
        if self.kills and moment >= self.kills[0]:
            self.kills.pop(0)
            raise Killed
        is_away = any(begin <= moment < end for begin, end in self._outages)
        return None if is_away else self._web.respond(url, moment)


def watch(web: FaultyWeb, db: Path, hours: float) -> tuple[list[Told], list[list[float]]]:
    """Return the pages that were reported, and samples of the process, in the order of `SLACK`."""
    clock, reported, samples = Clock(BEGIN - 3600.0), list[Told](), []
    opened = partial(open_store, db, language="zh", zone=ZONE)
    with opened(now=clock()) as store:
        for wish in alerts(auto=True):
            store.alerts.add(LOCAL_USER, wish.alert, now=clock())
    for tick in range(round(hours * 12)):
        clock.reach(BEGIN + 300.0 * tick)
        with virtual(clock, web, []), recorded(reported, clock), suppress(Killed):  # noqa: SIM117
            with opened(now=clock()) as store:
                plan = settings.read(store)
                deliver = partial(deliver_due, store, plan, clock=clock, rng=Random(tick))
                visit = create_visit(store, PageSource(politeness=PolitenessConfig()), clock=clock)
                asyncio.run(run_due(store, visit, deliver, clock=clock))
        if tick % 72 == 71:
            export = ["export", "--db", str(db), "-o", str(db.with_suffix(".jsonl"))]
            subprocess.run([sys.executable, "-m", "focus", *export], check=True)
        gc.collect()
        files, threads = (len([*Path("/proc/self", kind).iterdir()]) for kind in ("fd", "task"))
        samples.append([present_mib(), files, threads])
    return reported, samples


def main() -> int:
    """Print the bounds as a table; return 1 if one was broken."""
    options = read_options(__doc__)
    rng = Random(options.seed)
    news = publishing(options.seed, pages=200, days=math.ceil(options.hours / 24), daily=0.3)
    web = FaultyWeb(news, options.hours, options.kills, options.outages, rng)
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "watch.db"
        reported, samples = watch(web, db, options.hours)
        check = integrity(db)
    early, late = samples[len(samples) // 6 : len(samples) // 2], samples[len(samples) // 2 :]
    rows: list[tuple[object, ...]] = []
    for at, (name, slack) in enumerate(SLACK.items()):
        before, after = (mean(sample[at] for sample in part) for part in (early, late))
        rows.append((name, f"{before:.1f} → {after:.1f}", after <= before * 1.05 + slack))
    repeated = len(reported) - len({(item.alert, item.url) for item in reported})
    rows += [
        ("pages reported", len(reported), len(reported) > 0),
        ("reported twice", repeated, not repeated),
    ]
    rows += [("kills", options.kills - len(web.kills), True), ("integrity", check, check == "ok")]
    print(table(["limited", "found", "holds"], rows))
    return 0 if all(row[-1] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
