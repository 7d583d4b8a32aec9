"""Measures what a page costs that is held against many alerts.

    python -m bench.matching DATABASE [--pages 500] [--alerts N …]

DATABASE is any database of focus with stored sources, as `focus crawl --archive` of a recorded
web leaves behind; it is copied, not changed. For each number of alerts an alert asks for
three words out of titles of the crawl itself (so that words are as rare or common as people's),
none is new, and the pages are matched in one go. Printed: milliseconds per page, microseconds
per page and alert, hits, and what is done once per page. Then whole runs for 200 people with 20
alerts each over 50 sites, without visits: nothing due, all due, all due with new pages.
"""

import asyncio
import resource
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from datetime import UTC
from functools import partial
from pathlib import Path
from random import Random

from bench.script import read_options
from focus.alerts import matching, outbox_relay, settings
from focus.alerts.page_match import PageView
from focus.alerts.run import run_due
from focus.html.publication_date import published_at
from focus.storage.alerts.pages import LAST
from focus.storage.alerts.records import LOCAL, Alert, WatchedSite
from focus.storage.alerts.store import AlertStore, opened
from focus.text.tokenisation import Segmenter, has_han

HOST = "bench.test"
NOW = 1_000_000.0


def words_of(store: AlertStore, crawl: int) -> list[str]:
    """Words of the titles, as often as they stand there."""
    segmenter = Segmenter()
    titles = store.database.rows("SELECT title FROM page_text WHERE id >> 32 = ?", (crawl,))
    return [
        word
        for (title,) in titles
        for word in segmenter.tokens(title)
        if len(word) >= (2 if has_han(word) else 4) and not word.isdigit()
    ]


def with_alerts(store: AlertStore, crawl: int, number: int, first: int, rng: Random) -> WatchedSite:
    """A site with so many alerts, all begun, whose pages behind `first` are new."""
    words = words_of(store, crawl)
    for at in range(number):
        chosen = " ".join(f'"{word}"' for word in rng.sample(words, 3))
        made = Alert(f"c{at}", (f"https://{HOST}/",), words=chosen, channels=("mail:a@b.test",))
        store.alerts.add(LOCAL, made, now=0.0)
    with store.database.transaction() as db:
        db.execute("UPDATE alert SET checked_at = 0")
        db.execute("UPDATE alert_site SET begun_at = 0")
        db.execute("UPDATE site SET crawl = ?, matched = ?", (crawl, first))
    site = store.sites.named(HOST)
    assert site is not None
    return site


def seconds(path: Path, pages: int, alerts: int) -> tuple[float, matching.Matched]:
    """How long the matching of the last so many pages took, in a copy of the database."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        shutil.copy(path, copy)
        with opened(copy, now=0.0, language="en", zone="UTC") as store:
            crawl = store.database.rows("SELECT max(crawl) FROM page")[0][0]
            first = store.pages.before_latest(crawl, to=LAST, most=pages)
            matching.Subjects().of(Alert("c", (), words="warm"), trusted=True)  # dictionaries
            site = with_alerts(store, crawl, alerts, first, Random(1))
            began = time.process_time()
            matched = matching.match(store, site, now=time.time())
            return time.process_time() - began, matched


def parts(path: Path, pages: int) -> dict[str, float]:
    """Milliseconds per page of what is done once for all alerts."""
    spent = dict.fromkeys(("unpack", "parse and blocks", "sets", "own text", "date"), 0.0)
    with (
        closing(sqlite3.connect(path)),
        opened(path, now=0.0, language="en", zone="UTC") as store,
    ):
        crawl = store.database.rows("SELECT max(crawl) FROM page")[0][0]
        first = store.pages.before_latest(crawl, to=LAST, most=pages)
        some = store.pages.after(crawl, first, limit=pages)
        for page in some:
            marks = [time.process_time()]
            view = PageView(page, store.pages.source(page.id))
            marks.append(time.process_time())
            _ = view.words_text, view.document.body
            marks.append(time.process_time())
            view.may_hold((frozenset(), frozenset()))
            marks.append(time.process_time())
            _ = view.text, view.simhash
            marks.append(time.process_time())
            published_at(view.html, page.url, fetched_at=page.fetched_at, zone=UTC)
            marks.append(time.process_time())
            for name, start, end in zip(spent, marks, marks[1:], strict=False):
                spent[name] += end - start
    return {name: 1000 * total / len(some) for name, total in spent.items()}


def runs(path: Path) -> list[tuple[str, float, int]]:
    """What a run for 200 people costs: (which, CPU seconds, pages matched)."""
    rng, found = Random(1), []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        shutil.copy(path, copy)
        with opened(copy, now=0.0, language="en", zone="UTC") as store:
            crawl = store.database.rows("SELECT max(crawl) FROM page")[0][0]
            words, first = (
                words_of(store, crawl),
                store.pages.before_latest(crawl, to=LAST, most=10),
            )
            for person in range(2, 202):
                _settle(store, person, words, rng)
            for which, cursor, due in (
                ("nothing due", LAST, False),
                ("4,000 alerts due, nothing new", LAST, True),
                ("4,000 due, 10 new pages on each of 50 sites", first, True),
            ):
                with store.database.transaction() as db:
                    db.execute(
                        "UPDATE alert SET checked_at = 0, next_at = ?", (0 if due else NOW * 2,)
                    )
                    db.execute("UPDATE alert_site SET begun_at = 0")
                    db.execute(
                        "UPDATE site SET crawl = ?, matched = ?, visited_at = ?",
                        (crawl, cursor, NOW),
                    )
                began = time.process_time()
                known = settings.read(store)
                deliver = partial(
                    outbox_relay.deliver_due, store, known, clock=lambda: NOW, rng=rng
                )
                ran = asyncio.run(run_due(store, _nowhere, deliver, clock=lambda: NOW))
                pages = sum(each.pages for each in ran.matched)
                found.append((which, time.process_time() - began, pages))
    return found


def _settle(store: AlertStore, person: int, words: list[str], rng: Random) -> None:
    with store.database.transaction() as db:
        db.execute(
            "INSERT INTO user (id, name, language, zone, quiet, admin, disabled, created_at) "
            "VALUES (?, ?, 'en', 'UTC', '', 0, 0, 0)",
            (person, f"u{person}"),
        )
    made = [
        Alert(
            f"c{at}",
            (f"https://s{rng.randrange(50)}.test/",),
            words=" ".join(f'"{word}"' for word in rng.sample(words, 3)),
            schedule="hourly",
        )
        for at in range(20)
    ]
    store.alerts.take_in(person, made, replace=False, now=0.0)


async def _nowhere(site: WatchedSite) -> None:
    raise AssertionError(f"{site.host} was visited a moment ago")


def main() -> None:
    """Print the tables."""
    given = read_options(__doc__)
    print("| once per page | ms |\n|---|---:|")
    for name, spent in parts(given.database, given.pages).items():
        print(f"| {name} | {spent:.2f} |")
    print("\n| alerts | pages | ms per page | µs per page and alert | hits |")
    print("|---:|---:|---:|---:|---:|")
    for number in given.alerts or [10, 80]:
        took, matched = seconds(given.database, given.pages, number)
        per_page = took / matched.pages
        hits = matched.news + matched.old + matched.folded
        print(
            f"| {number} | {matched.pages} | {1000 * per_page:.2f} | "
            f"{1e6 * per_page / number:.0f} | {hits} |"
        )
    print("\n| run for 200 people × 20 alerts, 50 sites | CPU s | pages |\n|---|---:|---:|")
    for which, spent, pages in runs(given.database):
        print(f"| {which} | {spent:.3f} | {pages} |")
    print(f"\nmost memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
