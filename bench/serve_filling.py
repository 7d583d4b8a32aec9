"""Fills the database of `bench.serve_load`: sites, crawls, an index, people, alerts and matches."""

import asyncio
import random
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.search import page_row
from focus.demo.site import DemoWeb, generate
from focus.http import zstd
from focus.records import Batch, HostRow, Outcome, QueueRow, UrlRow, UrlState
from focus.storage import search_file
from focus.storage.alerts.records import MARK, Alert
from focus.storage.alerts.store import AlertStore, opened
from focus.storage.search_index import SearchIndex, page_text
from focus.storage.search_terms import pairs_that_are_words, plain, spelt
from focus.store import Store
from focus.urls.normal_form import fingerprint

SITES, PEOPLE, EACH, FOUND = 50, 200, 20, 100
COPIES = 25
DAY_S = 86_400.0
NOW = 1_795_251_600.0
SUBJECTS = "足球 欧冠 英超 球队 篮球 股市 房价 手机 芯片 电影 票房 旅游 酒店 健康 医生 美食".split()


def fill(path: Path, pages: int) -> None:
    """About so many pages, the index of them, people, alerts and what was found."""
    web = generate(pages=pages // COPIES, hosts=SITES)
    _say("storing", path)
    asyncio.run(_store(path, web))
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute("PRAGMA synchronous = OFF")
        for crawl, number in db.execute("SELECT crawl, max(nth) FROM page GROUP BY 1").fetchall():
            _repeat(db, crawl, number)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    _say("indexing", path)
    _index(path)
    _say("settling", path)
    with opened(path, now=NOW, language="en", zone="UTC") as store:
        _settle(store, web)


def _say(what: str, path: Path) -> None:
    print(f"{what} {path} …", file=sys.stderr)


async def _store(path: Path, web: DemoWeb) -> None:
    """A crawl for each site, as the visits of `focus watch` make them."""
    rng, packer = random.Random(1), zstd.ZstdCompressor(level=1)
    places: dict[str, list[str]] = {host: [] for host in web.hosts}
    for url in web.urls():
        places[url.split("/")[2]].append(url)
    async with Store.open(path, now=0.0, pid=1) as store:
        for host, urls in places.items():
            identity = {"topic": host, "strategy": "watch"}
            crawl = (await store.begin_crawl(identity, "{}", fresh=True, now=1.0)).id
            batch = Batch(
                hosts=[HostRow(0, host)],
                queues=[QueueRow(0, 0, "")],
                urls=[UrlRow(n, fingerprint(url), url, 0, 1, 0.0) for n, url in enumerate(urls)],
                pages=[page_row(web, url, n, rng, packer) for n, url in enumerate(urls)],
                outcomes=[Outcome(n, UrlState.DONE) for n in range(len(urls))],
                now=1.0,
            )
            await store.write(crawl, batch)
            await store.finish(crawl, reason="empty", report_json="{}", now=2.0)


def _repeat(db: sqlite3.Connection, crawl: int, number: int) -> None:
    """All pages of a crawl under further addresses."""
    first, last = crawl << 32, crawl << 32 | number - 1
    other = {
        "key": "randomblob(16)",
        "simhash": "random()",
        "fetched_at": "abs(random()) % 86400000 + 1.0",
        "pagerank": "(abs(random()) % 1000) / 1000.0",
        "url": "url || '?copy={copy}'",
        "id": "id + {shift}",
        "nth": "nth + {shift}",
    }
    db.execute("BEGIN")
    for copy in range(1, COPIES):
        for table in ("url", "page", "page_text", "body"):
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            chosen = ", ".join(other.get(name, name) for name in names)
            chosen = chosen.format(copy=copy, shift=copy * number)
            db.execute(
                f"INSERT INTO {table} ({', '.join(names)}) SELECT {chosen} FROM {table} "
                "WHERE id BETWEEN ? AND ?",
                (first, last),
            )
    db.execute("COMMIT")


def _index(path: Path) -> None:
    """The search index of all, cutting each text once."""
    with SearchIndex(path) as index:
        index._follow_crawls()
        index.db.execute("PRAGMA synchronous = OFF")
        texts = list(_spelt(index))
        for copy in range(COPIES):
            with search_file.transaction(index.db):
                for page, number, *columns in texts:
                    values = (page + copy * number,)
                    row = index.db.execute("INSERT INTO doc (page) VALUES (?)", values).lastrowid
                    index.db.execute(
                        "INSERT INTO text_index (rowid, title, text, words) VALUES (?, ?, ?, ?)",
                        (row, *columns),
                    )
        index.db.execute(
            "UPDATE crawl_seen SET nth = (SELECT max(nth) FROM web.page p WHERE p.crawl = "
            "crawl_seen.crawl)"
        )
        index.update()
        index.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _spelt(index: SearchIndex) -> Iterator[tuple[Any, ...]]:
    rows = index.reader.run(lambda db: db.execute(_FIRST, (COPIES,)).fetchall())
    for page, number, title, description, packed in rows:
        text, head = plain(page_text(packed, description)), plain(title)
        words = pairs_that_are_words(f"{head}\n{text}", index.segmenter)
        yield page, number, " ".join(spelt(head)), " ".join(spelt(text)), " ".join(words)


_FIRST = """
SELECT p.id, size.n, x.title, x.description, b.zstd FROM
    (SELECT crawl, count(*) / ? AS n FROM page GROUP BY crawl) AS size
    JOIN page p ON p.crawl = size.crawl AND p.nth <= size.n
    JOIN page_text x ON x.id = p.id LEFT JOIN body b ON b.id = p.id ORDER BY p.id"""


def _settle(store: AlertStore, web: DemoWeb) -> None:
    """People, their alerts, and what was found for them."""
    rng = random.Random(2)
    for person in range(2, 2 + PEOPLE):
        with store.database.transaction() as db:
            db.execute(
                "INSERT INTO user (id, name, password, language, zone, quiet, admin, disabled, "
                "created_at) VALUES (?, ?, 'x', ?, 'Asia/Shanghai', '', 0, 0, 0)",
                (person, f"u{person}", rng.choice(("zh", "en"))),
            )
        store.alerts.take_in(person, _alerts(web, rng), replace=False, now=NOW)
    with store.database.transaction() as db:
        db.execute(
            "UPDATE site SET visited_at = ?, next_at = ?, crawl = (SELECT id FROM crawl "
            "WHERE topic = host), matched = (SELECT max(nth) FROM page p JOIN crawl c "
            "ON c.id = p.crawl WHERE c.topic = host)",
            (NOW, NOW + DAY_S),
        )
        db.execute("UPDATE alert SET checked_at = ?, next_at = ?", (NOW - 3600, NOW + DAY_S))
        db.execute("UPDATE alert_site SET begun_at = ?", (NOW - 30 * DAY_S,))
    store.search.open(store.search.crawls(most=1000))  # searches go through all
    for alert, crawl in store.database.rows(
        "SELECT alert, max(crawl) FROM alert_site JOIN site ON site.id = site GROUP BY 1"
    ):
        _find(store, alert, crawl, rng)
    with store.database.transaction() as db:
        db.execute(
            "UPDATE alert_match SET duplicate_of = id - 1 WHERE id % 10 = 0 AND NOT baseline"
        )
        db.execute("ANALYZE")


def _alerts(web: DemoWeb, rng: random.Random) -> list[Alert]:
    return [
        Alert(
            f"c{at}",
            tuple(f"http://{host}/" for host in rng.sample(web.hosts, rng.choice((1, 1, 2, 3)))),
            words=" ".join(rng.sample(SUBJECTS, 3)),
            schedule=rng.choice(("auto", "hourly", "daily 07:30")),
            channels=("inbox", f"mail:u{at}@a.test"),
        )
        for at in range(EACH)
    ]


def _find(store: AlertStore, alert: int, crawl: int, rng: random.Random) -> None:
    first = crawl << 32
    most = store.pages.latest_nth(crawl)
    pages = [(first | n,) for n in rng.sample(range(most), min(FOUND, most))]
    snippet = (
        f"主教练赛后表示，{MARK}球队{MARK}在客场吃了亏。替补登场的前锋制造点球，并亲自主罚命中。"
        * 2
    )
    why = '{"parts":{"title":1.0,"text":0.8},"words":{"title":["球队"],"text":["球队","足球"]}}'
    with store.database.transaction() as db:
        db.executemany(
            "INSERT OR IGNORE INTO alert_match (alert, page, url, title, language, published_at, "
            "found_at, relevance, snippet, why, simhash, baseline, read_at) "
            "SELECT ?, id, url, title, 'zh', ?, ?, ?, ?, ?, random(), ?, ? FROM page_text "
            "WHERE id = ?",
            [
                (
                    alert, NOW - at * DAY_S / 2, NOW - at * DAY_S / 2, rng.random(), snippet,
                    why, rng.random() < 0.3, NOW if rng.random() < 0.5 else None, page,
                )
                for at, (page,) in enumerate(pages)
            ],
        )  # fmt: skip
