"""Watches a web for days of a virtual clock, with kills, outages and exports drawn at random.

    python -m bench.virtual_soak [--hours 24.0] [--kills 20] [--outages 10] [--seed 1]

Every five virtual minutes `focus watch run` does what is due, and in one of twelve a crawl of a
site revisits its pages; a kill ends either before one of its requests, an outage lets all hosts be
unknown for up to an hour. Meanwhile a server shows pages of the same database to a reader: inbox,
search, alerts, deliveries and feed. Every sixth hour the database is exported and its search index
updated. Printed are memory, open files, threads and WAL of the visits and of the server, before and
after the middle. The exit code is 1 if one of them grows by more than 5 % and a little, if the WAL
exceeds 64 MiB, if a page is reported twice, if none is reported, if the server fails to show a
page, or if the database is not sound.
"""

import asyncio
import gc
import http.client
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from random import Random
from statistics import mean
from urllib.parse import quote

from bench.script import read_options, table
from bench.serve_load import NOW, serving
from focus.alerts import settings
from focus.alerts.outbox_relay import deliver_due
from focus.alerts.run import run_due, watch_lock
from focus.alerts.visit import create_visit
from focus.config import AnalysisConfig, CrawlConfig, PolitenessConfig, RunPaths, ScopeConfig
from focus.demo.site import Response
from focus.learn.memory_crawl import PageSource
from focus.serve.request import COOKIE
from focus.serve.tokens import create_token
from focus.session import Watcher, run
from focus.storage.alerts.store import open_store
from focus.storage.search_index import SearchIndex
from focus.topic.topic import from_words, to_builtins
from tests.support.processes import ENDLESS, integrity, present_mib
from tests.support.publishing import BEGIN, PublishingWeb, publishing
from tests.support.simulated import ZONE, Clock, Told, alerts, recorded, virtual

SLACK = {"memory, MiB": 8.0, "files": 4.0, "threads": 2.0}
MAX_WAL_MIB = 64.0
REFRESH_S = 3600.0
REFRESHED = CrawlConfig(
    seeds=("http://www.haixia.example/", "http://blog.laochen.example/"),
    analysis=AnalysisConfig(topic=to_builtins(from_words("电影,足球"))),
    scope=ScopeConfig(deny=ENDLESS),
    workers=1,
    max_offline_s=0.0,
    refresh_s=REFRESH_S,
)


class Killed(BaseException):
    """The end of a process."""


class FaultyWeb:
    """A web with kills at requests and outages at times, drawn at random."""

    def __init__(self, web: PublishingWeb, hours: float, kills: int, outages: int, rng: Random):
        self._web, seconds = web, hours * 3600.0
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


class Reader:
    """A person with an account, who reads pages of the server."""

    def __init__(self, port: int, session: str, feed: str, rng: Random) -> None:
        self._port, self._cookie, self._rng = port, {"Cookie": f"{COOKIE}={session}"}, rng
        self._paths = [
            "/inbox",
            "/inbox?existing=on",
            "/alerts",
            "/deliveries",
            f"/feed/{feed}.atom",
        ]
        self._paths += [f"/search?q={quote(word)}" for word in ("足球", "电影", "健康", "没有的词")]
        self.failed: list[tuple[str, int]] = []

    def read(self) -> None:
        """Request a page drawn at random."""
        path = self._rng.choice(self._paths)
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=600)) as client:
            client.request("GET", path, headers=self._cookie)
            response = client.getresponse()
            if response.status != 200 or not response.read():
                self.failed.append((path, response.status))


def add_account(db: Path, clock: Clock) -> tuple[str, str]:
    """Add a user with alerts; return the secrets of a session and of the feed."""
    with open_store(db, now=clock(), language="zh", zone=ZONE) as store:
        user = store.users.add("u", "x", language="zh", zone=ZONE, admin=True, now=NOW)
        assert user is not None
        for wish in alerts(auto=True):
            store.alerts.add(user, wish.alert, now=clock())
        session, feed = (
            create_token(store, kind, user=user, now=NOW) for kind in ("session", "feed")
        )
    return session, feed


def visit(db: Path, clock: Clock, tick: int) -> None:
    """Do what `focus watch run` does."""
    with open_store(db, now=clock(), language="zh", zone=ZONE) as store:
        plan = settings.read(store)
        deliver = partial(deliver_due, store, plan, clock=clock, rng=Random(tick))
        visit = create_visit(store, PageSource(politeness=PolitenessConfig()), clock=clock)
        asyncio.run(run_due(store, visit, deliver, clock=clock))


def refresh(db: Path, revisits: list[int]) -> None:
    """Do what `focus crawl --refresh` does, and add the number of pages that it revisited."""
    report = asyncio.run(run(REFRESHED, RunPaths(db), Watcher(), handle_signals=False))
    revisits.append(report.answered_revisits)


def export(db: Path) -> None:
    """Export the database and update its search index."""
    command = [sys.executable, "-m", "focus", "export", "--db", str(db), "-o", f"{db}.jsonl"]
    subprocess.run(command, check=True)
    with SearchIndex(db) as index:
        index.update()


def sample(db: Path, pid: int) -> list[float]:
    """Return the state of a process in the order of `SLACK`, and the WAL in MiB."""
    files, threads = (len([*Path(f"/proc/{pid}/{kind}").iterdir()]) for kind in ("fd", "task"))
    wal = Path(f"{db}-wal")
    return [present_mib(pid), files, threads, wal.stat().st_size / 2**20 if wal.exists() else 0.0]


def watch(
    web: FaultyWeb, db: Path, hours: float, rng: Random, revisits: list[int]
) -> tuple[list[Told], list[tuple[str, int]], dict[str, list[list[float]]]]:
    """Return the pages that were reported, those that the server failed to show, and samples.

    The numbers of pages that crawls revisited are added to `revisits`.
    """
    clock, reported = Clock(BEGIN - 3600.0), list[Told]()
    samples: dict[str, list[list[float]]] = {"visits": [], "server": []}
    secrets = add_account(db, clock)
    with watch_lock(db), serving(db) as (port, server):
        reader = Reader(port, *secrets, rng)
        for tick in range(round(hours * 12)):
            clock.reach(BEGIN + 300.0 * tick)
            steps = [partial(visit, db, clock, tick)]
            steps += [partial(refresh, db, revisits)] * (rng.random() < 1 / 12)
            for step in steps:
                with virtual(clock, web, []), recorded(reported, clock), suppress(Killed):
                    step()
                reader.read()
            if tick % 72 == 24:  # what is loaded once is there before the first sample counts
                export(db)
            gc.collect()
            samples["visits"].append(sample(db, os.getpid()))
            samples["server"].append(sample(db, server))
    return reported, reader.failed, samples


def compare(name: str, samples: list[list[float]]) -> Iterator[tuple[object, ...]]:
    """Yield a row for each bound of a process: its name, the figures, whether it holds."""
    early, late = samples[len(samples) // 6 : len(samples) // 2], samples[len(samples) // 2 :]
    for at, (kind, slack) in enumerate(SLACK.items()):
        before, after = (mean(sample[at] for sample in part) for part in (early, late))
        holds = after <= before * 1.05 + slack
        yield f"{name}: {kind}", f"{before:.1f} → {after:.1f}", holds
    wal = max(sample[-1] for sample in samples)
    yield f"{name}: WAL, MiB", f"{wal:.1f}", wal <= MAX_WAL_MIB


def main() -> int:
    """Print the bounds as a table; return 1 if one was broken."""
    options = read_options(__doc__)
    rng = Random(options.seed)
    news = publishing(options.seed, pages=200, days=math.ceil(options.hours / 24), daily=0.3)
    revisits = list[int]()
    web = FaultyWeb(news, options.hours, options.kills, options.outages, rng)
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "watch.db"
        reported, failed, samples = watch(web, db, options.hours, rng, revisits)
        check = integrity(db)
    repeated = len(reported) - len({(item.alert, item.url) for item in reported})
    rows: list[tuple[object, ...]] = [
        *(row for name, part in samples.items() for row in compare(name, part)),
        ("pages reported", len(reported), len(reported) > 0),
        ("reported twice", repeated, not repeated),
        ("pages revisited by crawls", sum(revisits), sum(revisits) > 0),
        ("pages that the server failed to show", failed or 0, not failed),
        ("kills", options.kills - len(web.kills), True),
        ("integrity", check, check == "ok"),
    ]
    print(table(["limited", "found", "holds"], rows))
    return 0 if all(row[-1] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
