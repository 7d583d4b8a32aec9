"""Measures `focus serve` with many readers and half a million stored pages, beside a crawl.

    python -m bench.serve_load FOLDER [--pages 500000] [--json FILE]
                                      [--readers 200] [--pause 10] [--seconds 60] [--rounds 3]

FOLDER/load.db holds 50 sites of the demo's generated web, with one crawl each. One page in
`COPIES` is generated; the others repeat its text under another address, with another simhash, date
and rank. Each of 200 users has 20 alerts on one to three of the sites, with up to 100 matches per
alert. Indexing 500,000 pages takes about a quarter of an hour; an existing database is reused.

Each of `--readers` people opens a page every `--pause` seconds, in turns alone and while
`focus crawl` fetches `bench.site` from this machine into the same database, with its default delay
of 1 s for each of 200 hosts. The site has enough pages for the crawl to last longer than the turn.

With 25,000 pages, the first run takes about 4 minutes of CPU time to write database and site. Each
of the 2 * rounds turns takes `--seconds` and 5 to 30 s more, at most 6 minutes more on a busy
machine. A request without an answer counts with its time limit of 60 s.
"""

import asyncio
import http.client
import multiprocessing
import os
import random
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from bench.resources import cpu_s
from bench.script import read_options, write_figures
from bench.serving import serving as serve_site
from bench.site import SEEDS, TOPIC, build, host_name
from focus.demo.site import DemoWeb, generate
from focus.http import zstd
from focus.records import Batch, HostRow, Outcome, Page, PageRow, QueueRow, UrlRow, UrlState
from focus.serve import server, tokens
from focus.serve.app_state import AppState
from focus.serve.request import COOKIE
from focus.serve.scheduler import SchedulerOptions, SendingOptions
from focus.storage.alerts.records import MATCH_MARK, Alert, Match
from focus.storage.alerts.store import AlertStore, open_store
from focus.storage.search_file import index_path
from focus.storage.search_index import SearchIndex
from focus.store import Store
from focus.urls.normal_form import url_fingerprint

SITES, USERS, ALERTS_PER_USER, MATCHES_PER_ALERT = 50, 200, 20, 100
COPIES = 25
BATCH = 500
WARM_PAGES = 200  # of the crawl before the readers begin
HOSTS, SPARE_S = 200, 40.0  # of the site; a host has a page for each second of a turn, and more
START_S, STOP_S, REQUEST_S = 120.0, 30.0, 60.0  # time limits
DAY_S = 86_400.0
NOW = 1_795_251_600.0
SUBJECTS = "足球 欧冠 英超 球队 篮球 股市 房价 手机 芯片 电影 票房 旅游 酒店 健康 医生 美食".split()
SNIPPET = (
    f"主教练赛后表示，{MATCH_MARK}球队{MATCH_MARK}在客场吃了亏。"
    "替补登场的前锋制造点球，并亲自主罚命中。"
)
_TITLE = re.compile(r"<title>(.*?)</title>")
_CHARSET = re.compile(r"charset=([\w-]+)")

# -- the database -----------------------------------------------------------------------


def fill(path: Path, pages: int) -> None:
    """Create a database with about `pages` pages, its search index, users, alerts and matches."""
    web = generate(pages=pages // COPIES, hosts=SITES)
    asyncio.run(_store_crawls(path, web))
    with SearchIndex(path) as index:
        index.update()
    with open_store(path, now=NOW, language="en", zone="UTC") as store:
        _add_users(store, web)


async def _store_crawls(path: Path, web: DemoWeb) -> None:
    """Store one finished crawl per site, like the visits of `focus watch`."""
    rng, compressor = random.Random(1), zstd.ZstdCompressor(level=1)
    urls_by_host: dict[str, list[str]] = {host: [] for host in web.hosts}
    for url in web.urls():
        urls_by_host[url.split("/")[2]].append(url)
    async with Store.open(path, now=0.0, pid=1) as store:
        for host, addresses in urls_by_host.items():
            identity = {"topic": host, "strategy": "watch"}
            crawl = (await store.begin_crawl(identity, "{}", fresh=True, now=1.0)).id
            await store.write(crawl, Batch(hosts=[HostRow(0, host)], queues=[QueueRow(0, 0)]))
            sources = [(url, *_render_page(web, url, compressor)) for url in addresses]
            rows = [
                _page_row(number, copy, *source, rng)
                for number, (copy, source) in enumerate(
                    (copy, source) for copy in range(COPIES) for source in sources
                )
            ]
            for start in range(0, len(rows), BATCH):
                part = rows[start : start + BATCH]
                urls = [
                    UrlRow(row.id, url_fingerprint(row.url), row.url, 0, 1, 0.0) for row in part
                ]
                done = [Outcome(row.id, UrlState.DONE) for row in part]
                await store.write(crawl, Batch(urls=urls, pages=part, outcomes=done, now=1.0))
            await store.finish_crawl(crawl, reason="empty", report_json="{}", now=2.0)


def _render_page(web: DemoWeb, url: str, compressor: zstd.ZstdCompressor) -> tuple[str, bytes]:
    """Return the title of a generated page and its compressed source."""
    response = web.respond(url)
    assert response is not None
    content_type = dict(response.headers).get("content-type", "")
    charset = _CHARSET.search(content_type + response.body[:600].decode("latin-1"))
    text = response.body.decode(charset[1] if charset else "utf-8", "replace")
    title = _TITLE.search(text)
    return title[1] if title else "", zstd.compress_frame(compressor, text.encode())


def _page_row(
    number: int, copy: int, url: str, title: str, source: bytes, rng: random.Random
) -> PageRow:
    """Return a stored page with random relevance, rank, simhash and date."""
    page = Page(
        title=title,
        relevance=rng.random(),
        is_relevant=rng.random() < 0.3,
        simhash=rng.getrandbits(64),
        body_zstd=source,
    )
    return PageRow(
        id=number,
        url=f"{url}?copy={copy}" if copy else url,
        request_number=number + 1,
        waiting_count=0,
        status=200,
        fetched_at=1.0 + rng.randrange(1000) * DAY_S,
        elapsed_s=0.1,
        raw_bytes=30_000,
        priority=0.0,
        pagerank=rng.random() ** 4,
        page=page,
    )


def _add_users(store: AlertStore, web: DemoWeb) -> None:
    """Add users, their alerts, and matches of these."""
    rng = random.Random(2)
    for number in range(USERS):
        user = store.users.add(
            f"u{number}", "x", language="en", zone="Asia/Shanghai", admin=False, now=NOW
        )
        assert user is not None
        store.alerts.add_all(user, _alerts(web, rng), replace=False, now=NOW)
    with store.database.transaction() as db:
        db.execute(
            "UPDATE site SET visited_at = ?, next_at = ?, crawl = (SELECT id FROM crawl "
            "WHERE topic = host), matched = (SELECT max(nth) FROM page p JOIN crawl c "
            "ON c.id = p.crawl WHERE c.topic = host)",
            (NOW, NOW + DAY_S),
        )
        db.execute("UPDATE alert SET checked_at = ?, next_at = ?", (NOW - 3600, NOW + DAY_S))
        db.execute("UPDATE alert_site SET begun_at = ?", (NOW - 30 * DAY_S,))
    store.search.set_open_crawls(
        store.search.list_crawls(limit=1000)
    )  # every user may search all crawls
    for alert, crawl in store.database.fetch_rows(
        "SELECT alert, max(crawl) FROM alert_site JOIN site ON site.id = site GROUP BY 1"
    ):
        _add_matches(store, alert, crawl, rng)
    store.database.execute("ANALYZE")


def _alerts(web: DemoWeb, rng: random.Random) -> list[Alert]:
    return [
        Alert(
            f"alert {number}",
            tuple(f"http://{host}/" for host in rng.sample(web.hosts, rng.choice((1, 1, 2, 3)))),
            words=" ".join(rng.sample(SUBJECTS, 3)),
            schedule=rng.choice(("auto", "hourly", "daily 07:30")),
            channels=("inbox", f"mail:u{number}@a.test"),
        )
        for number in range(ALERTS_PER_USER)
    ]


def _add_matches(store: AlertStore, alert: int, crawl: int, rng: random.Random) -> None:
    last = store.pages.latest_request(crawl)
    chosen = rng.sample(range(last), min(MATCHES_PER_ALERT, last))
    pages = store.database.fetch_rows(
        f"SELECT id, url, title FROM page_text WHERE id IN ({', '.join('?' * len(chosen))})",
        [crawl << 32 | number for number in chosen],
    )
    why = {"parts": {"title": 1.0, "text": 0.8}, "words": {"title": ["球队"], "text": ["足球"]}}
    with store.database.transaction():
        for nth, (page, url, title) in enumerate(pages):
            at = NOW - nth * DAY_S / 2
            store.matches.add(
                Match(
                    *(alert, page, url, title, "zh", at, at, rng.random(), SNIPPET, why),
                    simhash=rng.getrandbits(64),
                    baseline=rng.random() < 0.3,
                    read_at=NOW if rng.random() < 0.5 else None,
                )
            )


# -- the server -------------------------------------------------------------------------


def _serve(path: Path, port: int) -> None:
    home = f"http://127.0.0.1:{port}"
    app_state = AppState(path, clock=lambda: NOW, sending=SendingOptions(), local_url=home)
    server.serve(app_state, SchedulerOptions(path), server.open_socket("127.0.0.1", port))


@contextmanager
def serving(path: Path) -> Iterator[tuple[int, int]]:
    """Run the server in a process of its own; yields its port and process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(path, port))
    process.start()
    try:
        end = time.monotonic() + START_S
        while not _is_open(port):
            if time.monotonic() > end:
                raise SystemExit(f"the server did not start within {START_S:.0f} s")
            time.sleep(0.1)
        assert process.pid is not None
        yield port, process.pid
    finally:
        process.terminate()
        process.join(STOP_S)
        process.kill()


def _is_open(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def paths_by_kind(path: Path, number: int) -> dict[str, list[str]]:
    """Return the paths to request by kind of page. Queries are words of random page titles."""
    rng = random.Random(3)
    with SearchIndex(path) as index:
        titles = index.reader.read(
            lambda db: db.execute("SELECT DISTINCT title FROM page_text LIMIT 5000").fetchall()
        )
        words = [word for (title,) in titles for word in index.segmenter.tokens(title)]
    queries = [word for word in words if len(word) > 1 and word.isalpha()]
    inbox = ["/inbox", "/inbox?unread=on", "/inbox?days=7", "/inbox?existing=on", "/inbox?page=3"]
    inbox += [f"/inbox?words={quote('球队')}", f"/inbox?words={quote('没有的词')}&existing=on"]
    return {
        "inbox": rng.choices(inbox, k=number),
        "search": [f"/search?q={quote(word)}" for word in rng.choices(queries, k=number)],
        "alerts": ["/alerts"] * (number // 4),
        "deliveries": ["/deliveries"] * (number // 4),
    }


def _timed_page(connection: http.client.HTTPConnection, path: str, secret: str) -> float:
    """Request a page and return the seconds until it was there."""
    began = time.perf_counter()
    connection.request("GET", path, headers={"Cookie": f"{COOKIE}={secret}"})
    response = connection.getresponse()
    body = response.read()
    elapsed = time.perf_counter() - began
    assert response.status == 200 and b"</html>" in body, (path, response.status)
    return elapsed


def _log_in_all(path: Path) -> list[str]:
    """Return the secret of a new session for each user."""
    with open_store(path, now=NOW, language="en", zone="UTC") as store:
        users = [user for (user,) in store.database.fetch_rows("SELECT id FROM user WHERE id > 1")]
        return [tokens.create_token(store, "session", user=user, now=NOW) for user in users]


# -- readers beside a crawl -------------------------------------------------------------


def readers_beside_crawl(folder: Path, options: Any) -> dict[str, dict[str, Any]]:
    """Return response times of many readers without and with a crawl in the same database."""
    path = folder / "load.db"
    secrets, paths = _log_in_all(path), list(paths_by_kind(path, 400).values())
    samples: dict[str, list[_Sample]] = {"readers": [], "readers and a crawl": []}
    pages = max(20_000, int(HOSTS * (options.seconds + SPARE_S)))
    with serve_site(build(folder / "site", pages=pages, hosts=HOSTS, seed=1)) as web:
        for case in [*samples] * options.rounds:
            with serving(path) as (port, pid), _crawling(path, web.port, case) as count:
                with closing(http.client.HTTPConnection("127.0.0.1", port, REQUEST_S)) as client:
                    for _ in range(20):  # warm up
                        _timed_page(client, "/inbox", secrets[0])
                before = cpu_s(pid)
                times = _read(port, secrets, paths, options)
                cpu = (cpu_s(pid) - before) / options.seconds
                samples[case].append(_Sample(times, cpu, count(), os.getloadavg()[0]))
    alone, beside = figures = [_figures(rounds) for rounds in samples.values()]
    ratio = {key: round(beside[key] / alone[key], 2) for key in ("p50_ms", "p99_ms")}
    return {**dict(zip(samples, figures, strict=True)), "ratio": ratio}


class _Sample(NamedTuple):
    """One round: response times, cores that the server used, pages crawled, load of the machine."""

    times: list[float]
    server_cpu: float
    crawled: int
    load: float


def _figures(rounds: list[_Sample]) -> dict[str, Any]:
    times = sorted(time_s for sample in rounds for time_s in sample.times)
    return {
        "p50_ms": round(1000 * times[len(times) // 2], 1),
        "p99_ms": round(1000 * times[int(0.99 * len(times))], 1),
        "requests": len(times),
        "server_cpu": [round(sample.server_cpu, 2) for sample in rounds],
        "crawled": [sample.crawled for sample in rounds],
        "load": [round(sample.load, 1) for sample in rounds],
    }


@contextmanager
def _crawling(path: Path, port: int, case: str) -> Iterator[Callable[[], int]]:
    """Crawl the site into a database; yields a function that counts the pages so far."""

    def count_pages() -> int:
        with closing(sqlite3.connect(path)) as db:
            return int(db.execute("SELECT count(*) FROM page").fetchone()[0]) - stored

    stored = 0
    stored = count_pages()
    if case == "readers":
        yield count_pages
        return
    seeds = [part for n in range(SEEDS) for part in ("--seed", f"http://{host_name(n)}/")]
    where = ["--connect-to", f"127.0.0.1:{port}", "--allow-net", "127.0.0.0/8", "--db", str(path)]
    command = [sys.executable, "-m", "focus", "crawl", *seeds, "--topic", TOPIC, "--fresh", *where]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as crawl:
        killer = threading.Timer(STOP_S, crawl.kill)
        try:
            end = time.monotonic() + START_S
            while count_pages() < WARM_PAGES and time.monotonic() < end:
                assert crawl.poll() is None, "the crawl ended"
                time.sleep(0.5)
            yield count_pages
            assert crawl.poll() is None, "the crawl ended before the readers"
        finally:
            crawl.terminate()
            killer.start()
    killer.cancel()


def _read(port: int, secrets: list[str], paths: list[list[str]], options: Any) -> list[float]:
    """Let each reader open pages for a while; return the response times."""
    times: list[float] = []
    end = time.monotonic() + options.seconds

    def read(number: int) -> None:
        rng = random.Random(number)
        # The server limits the connections of an address.
        source = (f"127.0.0.{2 + number // 50}", 0)
        time.sleep(rng.uniform(0, options.pause))
        while time.monotonic() < end:
            client = http.client.HTTPConnection("127.0.0.1", port, REQUEST_S, source_address=source)
            with closing(client):
                secret = secrets[number % len(secrets)]
                try:
                    times.append(_timed_page(client, rng.choice(rng.choice(paths)), secret))
                except TimeoutError:
                    times.append(REQUEST_S)
            rest = end - time.monotonic()
            time.sleep(max(0.0, min(rest, rng.expovariate(1 / options.pause))))

    threads = [threading.Thread(target=read, args=(n,)) for n in range(options.readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main() -> None:
    """Print the figures as a table."""
    options = read_options(__doc__)
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "load.db"
    if not path.exists():
        fill(path, options.pages)
    with open_store(path, now=NOW, language="en", zone="UTC") as store:
        stored: dict[str, Any] = {
            name: store.database.fetch_rows(f"SELECT count(*) FROM {name}")[0][0]
            for name in ("page", "alert_match", "alert", "site")
        }
    stored |= {"mib": path.stat().st_size >> 20, "index_mib": index_path(path).stat().st_size >> 20}
    figures = {"stored": stored, **readers_beside_crawl(options.folder, options)}
    print("| case | figures |\n|---|---|")
    for name, row in figures.items():
        print(f"| {name} | {', '.join(f'{key} {value}' for key, value in row.items())} |")
    write_figures(figures, options.json, quiet=True)


if __name__ == "__main__":
    main()
