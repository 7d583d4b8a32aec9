"""Measures what `focus serve` costs 200 people with half a million stored pages.

    python -m bench.serve_load FOLDER [--pages 500000] [--requests 400] [--clients 4] [--json FILE]

FOLDER/load.db holds 50 sites of the demo's generated web, each with its crawl: one page in
`COPIES` is generated, the others repeat its text under another address, with another simhash,
date and rank (generating and cutting all of them would take an hour, and the sizes of tables,
posting lists and files come out the same). 200 people have 20 alerts each, on one to three of
the sites, with 100 pages found for each. A database that is there already is taken as it is.

Measured are, by CPU time where it says CPU: a look of the scheduler whether anything is due;
runs with nothing due, with all 4,000 alerts due, and with ten new pages on each site; visits
per run (alerts share them); a real visit to one of the sites, served on loopback; and, over
HTTP from a server process of its own, the time of inbox, search and other pages, by one client
and by several at once, with the server's CPU time per request and its memory.
"""

import asyncio
import http.client
import json
import multiprocessing
import os
import random
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bench.script import read_options
from bench.search import drawn, sampled
from bench.serve_filling import COPIES, DAY_S, NOW, PEOPLE, SITES, fill
from focus.alerts.outbox_relay import Summary
from focus.alerts.run import run_due
from focus.alerts.visit import visit
from focus.config import FetchConfig, PolitenessConfig
from focus.demo.server import serve as serve_demo
from focus.demo.site import generate
from focus.learn.memory_crawl import PageSource
from focus.serve import server, tokens
from focus.serve.app_state import AppState, SendingOptions
from focus.serve.request import COOKIE
from focus.serve.scheduler import SchedulerOptions
from focus.storage import search_file
from focus.storage.alerts.records import WatchedSite
from focus.storage.alerts.store import AlertStore, opened
from focus.storage.search_index import SearchIndex

# -- the scheduler --------------------------------------------------------------------


def scheduler(path: Path) -> dict[str, Any]:
    """What looking and running costs, each in a process of its own."""
    found: dict[str, Any] = {}
    for name in ("look", "nothing due", "all due", "ten new pages a site", "a visit"):
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_measured, args=(path, name, theirs))
        process.start()
        theirs.close()
        found[name] = ours.recv()
        process.join()
    return found


def _measured(path: Path, name: str, answer: Any) -> None:
    """In its process: the CPU time and memory of one of these."""
    try:
        answer.send(_figures(path, name))
    finally:
        answer.close()


def _figures(path: Path, name: str) -> dict[str, Any]:
    if name == "look":
        app_state = AppState(path, clock=lambda: NOW)
        server.is_due(app_state)
        begun = time.process_time()
        for _ in range(50):
            assert not server.is_due(app_state)
        return {"cpu_ms": _ms(time.process_time() - begun, 50)}
    with opened(path, now=NOW, language="en", zone="UTC") as store:
        if name == "a visit":
            return asyncio.run(_visit(store))
        _arrange(store, name)
        visits: list[str] = []

        async def note(site: WatchedSite) -> None:
            visits.append(site.host)

        async def nothing() -> Summary:  # messages are bench/delivery.py's
            return Summary()

        cpu = time.process_time()
        ran = asyncio.run(run_due(store, note, nothing, clock=lambda: NOW))
        cpu = time.process_time() - cpu
        _arrange(store, "")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cpu_s": round(cpu, 3),
        "alerts": ran.alerts,
        "visits": len(visits),
        "pages": sum(each.pages for each in ran.matched),
        "news": ran.news,
        "peak_mb": round(memory),
    }


def _arrange(store: AlertStore, name: str) -> None:
    """Make due what shall be due; "": nothing, and no trace of what a run found."""
    due = name in ("all due", "ten new pages a site")
    with store.database.transaction() as db:
        db.execute("UPDATE alert SET next_at = ?", (0.0 if due else NOW + DAY_S,))
        db.execute("UPDATE site SET visited_at = 0, next_at = ?", (0.0 if due else NOW + DAY_S,))
        if name == "ten new pages a site":
            db.execute("UPDATE site SET matched = matched - 10")
        if not name:
            db.execute("DELETE FROM outbox")


async def _visit(store: AlertStore) -> dict[str, Any]:
    """A look at a site whose crawl is there, over real HTTP."""
    web = generate(pages=stored_pages(store) // COPIES, hosts=SITES)
    demo = await serve_demo(web)
    fetch = FetchConfig(connect_to=f"127.0.0.1:{demo.port}", allow_net=("127.0.0.0/8",))
    polite = PolitenessConfig(delay_s=0.0, max_crawl_delay_s=0.0)
    host = store.database.rows("SELECT host FROM site ORDER BY host DESC LIMIT 1")[0][0]
    site = store.sites.named(host)
    assert site is not None
    before = os.times()
    report = await visit(store, site, PageSource(None, fetch, polite, "focus"), clock=time.time)
    after = os.times()
    spent = sum(after[:4]) - sum(before[:4])  # the scorer's process as well
    requests = len(demo.log)
    await demo.close()
    known = store.database.rows("SELECT count(*) FROM url WHERE id >> 32 = ?", (site.crawl,))[0][0]
    return {
        "cpu_s": round(spent, 2), "requests": requests, "pages": report.run_pages,
        "urls_known": known,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }  # fmt: skip


def stored_pages(store: AlertStore) -> int:
    """How many there are."""
    return int(store.database.rows("SELECT count(*) FROM page")[0][0])


def _ms(seconds: float, times: int) -> float:
    return round(1000 * seconds / times, 2)


# -- the pages over HTTP --------------------------------------------------------------


@contextmanager
def serving(path: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The server in a process of its own, its scheduler included."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "bench.serve_load", str(path), "--port", str(port)]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            for _ in range(300):
                with socket.socket() as one:
                    if one.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield port, process
        finally:
            process.terminate()
            process.wait(30)


def serve_here(path: Path, port: int) -> None:
    """In that process."""
    app_state = AppState(
        path, clock=lambda: NOW, sending=SendingOptions(), home=f"http://127.0.0.1:{port}"
    )
    server.serve(app_state, SchedulerOptions(str(path)), server.listening("127.0.0.1", port))


def asked_for(path: Path, number: int) -> dict[str, list[str]]:
    """Kind of page -> addresses that people ask for."""
    rng = random.Random(3)
    with SearchIndex(path) as index:
        texts = list(sampled(index, 3_000).values())
        queries = [each.text for each in drawn(index, texts, number, rng)]
    inbox = ["/inbox", "/inbox?unread=on", "/inbox?days=7", "/inbox?existing=on", "/inbox?page=3"]
    inbox += [f"/inbox?words={quote('球队')}", f"/inbox?words={quote('没有的词')}&existing=on"]
    return {
        "inbox": [rng.choice(inbox) for _ in range(number)],
        "search": [f"/search?q={quote(text)}" for text in queries],
        "alerts": ["/alerts"] * (number // 4),
        "deliveries": ["/deliveries"] * (number // 4),
    }


def loaded(port: int, secrets: list[str], places: list[str], clients: int) -> list[float]:
    """Seconds of each request, by so many clients at once, each somebody else each time."""
    taken: list[float] = []
    left = iter(zip(places, (secrets * len(places))[: len(places)], strict=True))
    turn = threading.Lock()

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with turn:
                place, secret = next(left, ("", ""))
            if not place:
                break
            begun = time.perf_counter()
            connection.request("GET", place, headers={"Cookie": f"{COOKIE}={secret}"})
            answer = connection.getresponse()
            body = answer.read()
            taken.append(time.perf_counter() - begun)
            assert answer.status == 200 and b"</html>" in body, (place, answer.status)
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(taken)


def pages_over_http(path: Path, number: int, clients: int) -> dict[str, Any]:
    """Percentiles of each kind of page, the server's CPU time per request, its memory."""
    with opened(path, now=NOW, language="en", zone="UTC") as store:
        people = list(range(2, 2 + PEOPLE))
        secrets = [tokens.make(store, "session", user=person, now=NOW) for person in people]
    wanted = asked_for(path, number)
    found: dict[str, Any] = {}
    with serving(path) as (port, process):
        loaded(port, secrets, ["/inbox", f"/search?q={quote('足球')}"] * 20, 1)  # warm
        for kind, places in wanted.items():
            for at_once in (1, clients):
                before = _cpu(process.pid)
                taken = loaded(port, secrets, places, at_once)
                cpu = _cpu(process.pid) - before
                found[f"{kind}, {at_once} client{'s' * (at_once > 1)}"] = {
                    **{name: _at(taken, share) for name, share in _SHARES.items()},
                    "cpu_ms": _ms(cpu, len(places)),
                }
        found["server"] = _memory(process.pid)
    return found


_SHARES = {"p50_ms": 0.5, "p95_ms": 0.95, "most_ms": 1.0}


def _at(taken: list[float], share: float) -> float:
    return round(1000 * taken[min(len(taken) - 1, int(share * len(taken)))], 1)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Vm")}
    return {"rss_mb": sizes["VmRSS"] // 1024, "peak_mb": sizes["VmHWM"] // 1024}


# -- the table ------------------------------------------------------------------------


def measure(folder: Path, *, pages: int, requests: int, clients: int) -> dict[str, Any]:
    """All of it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "load.db"
    if not path.exists():
        fill(path, pages)
    with opened(path, now=NOW, language="en", zone="UTC") as store:
        counts = {
            table: store.database.rows(f"SELECT count(*) FROM {table}")[0][0]
            for table in ("page", "hit", "alert", "site")
        }
    sizes = {
        "database_mb": path.stat().st_size >> 20,
        "index_mb": search_file.index_path(path).stat().st_size >> 20,
    }
    return {
        "stored": {**counts, **sizes},
        **scheduler(path),
        **pages_over_http(path, requests, clients),
    }


def main() -> None:
    """Print the table."""
    given = read_options(__doc__, port=int)
    if given.port:
        serve_here(given.folder, given.port)
        return
    found = measure(given.folder, pages=given.pages, requests=given.requests, clients=given.clients)
    print("| what | figures |\n|---|---|")
    for name, figures in found.items():
        print(f"| {name} | {', '.join(f'{key} {value}' for key, value in figures.items())} |")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
