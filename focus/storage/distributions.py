"""Sums up how the pages of a crawl spread over its course, its numbers and its steps.

Everything is summed up in SQL or in one pass over rows that are not kept, so that memory
stays flat whatever the size of the crawl.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import islice

from focus.metrics.measures import mean_cumulative_precision, relevant_per_minute
from focus.records import SEED_PRIORITY
from focus.storage.figures import Algorithm, Bucket, Histogram, Level, Round, Tenth
from focus.storage.schema import LAST_ID, id_range

BUCKETS = 200  # points of the harvest curve
WINDOW = 10  # of these, 5 % of the requests
BINS = 25  # of a histogram
ROUNDS = 10  # P1 5.3
LEVELS = 15  # rows of a table of steps: the last one counts all beyond
_MOST_STEPS = 255


def course(db: sqlite3.Connection, crawl: int, requests: int) -> list[Bucket]:
    """Pages and relevant ones by stretches of the crawl, up to `requests` requests."""
    if not requests:
        return []
    parts = min(BUCKETS, requests)
    found = {part: counts for part, *counts in db.execute(_COURSE, (parts, requests, crawl))}
    return [
        Bucket(-(-(part + 1) * requests // parts), *found.get(part, (0, 0)))
        for part in range(parts)
    ]


def relevances(db: sqlite3.Connection, crawl: int) -> Histogram:
    """Relevance of the pages, from 0 to 1 or to the largest there is."""
    (most,) = db.execute(_MOST, id_range(crawl)).fetchone()
    return _histogram(db, crawl, "relevance", (0.0, max(1.0, most or 0.0)))


def priorities(db: sqlite3.Connection, crawl: int) -> tuple[Histogram, list[Tenth]]:
    """Priorities that pages were taken at, seeds left out: a histogram, and by tenths.

    The histogram goes from the 1st to the 99th percentile; some strategies have outliers.
    """
    hundredths = _hundredths(db, crawl)
    if not hundredths:
        return Histogram(0.0, 1.0, [0] * BINS, [0] * BINS), []
    ends = hundredths[0].high, hundredths[-1].low
    if len(hundredths) < 100:
        ends = hundredths[0].low, hundredths[-1].high
    size = max(1, len(hundredths) // 10)
    groups = [hundredths[at : at + size] for at in range(0, len(hundredths), size)]
    return _histogram(db, crawl, "priority", ends), [_joined(group) for group in groups]


def _hundredths(db: sqlite3.Connection, crawl: int) -> list[Tenth]:
    """The pages by priority in 100 parts of equal size, seeds left out."""
    values = (*id_range(crawl), SEED_PRIORITY)
    (total,) = db.execute(_TAKEN.format(what="count(*)"), values).fetchone()
    rows = db.execute(_TAKEN.format(what="priority, relevant") + " ORDER BY priority", values)
    parts = min(100, total)
    found = []
    for part in range(parts):
        number = (part + 1) * total // parts - part * total // parts
        some = list(islice(rows, number))
        found.append(Tenth(some[0][0], some[-1][0], number, sum(hit for _, hit in some)))
    return found


def _joined(group: list[Tenth]) -> Tenth:
    pages, relevant = sum(each.pages for each in group), sum(each.relevant for each in group)
    return Tenth(group[0].low, group[-1].high, pages, relevant)


def _histogram(
    db: sqlite3.Connection, crawl: int, column: str, ends: tuple[float, float]
) -> Histogram:
    low, high = ends
    if not high > low:
        low, high = low - 0.5, low + 0.5
    pages, relevant = [0] * BINS, [0] * BINS
    values = (BINS - 1, low, BINS / (high - low), *id_range(crawl), SEED_PRIORITY)
    for at, n, hits in db.execute(_HISTOGRAM.format(column=column), values):
        pages[at], relevant[at] = n, hits
    return Histogram(low, high, pages, relevant)


def depths(db: sqlite3.Connection, crawl: int) -> list[Level]:
    """Pages by links from a seed; the last row has all that are deeper."""
    return [Level(*row) for row in db.execute(_DEPTHS, (LEVELS - 1, *id_range(crawl)))]


def tunnels(db: sqlite3.Connection, crawl: int, known: int) -> list[Level]:
    """Pages by how many irrelevant ones in a row were crossed just before, on their way.

    0: found on a relevant page (or a seed). A redirect is no page and counts as nothing.
    `known`: URLs of the crawl; a byte of memory each.
    """
    after = bytearray(known)  # 1 + the steps that a link of the page comes after; 0: no page yet
    counts: dict[int, list[int]] = {}
    first = id_range(crawl)[0]
    for number, parent, relevant in db.execute(_WAYS, (crawl,)):
        while parent is not None and not after[parent]:  # a redirect
            (above,) = db.execute(_ABOVE, (first + parent,)).fetchone()
            parent = None if above == parent else above
        here = 0 if parent is None else after[parent] - 1
        after[number] = 1 if relevant else min(here + 2, _MOST_STEPS)
        count = counts.setdefault(min(here, LEVELS - 1), [0, 0])
        count[0] += 1
        count[1] += relevant
    return [Level(length, *counts[length]) for length in sorted(counts)]


def rounds(db: sqlite3.Connection, crawl: int) -> list[Round]:
    """Ten rounds of a crawl's pages: precision of each and up to its end (P1 5.3)."""
    (pages,) = db.execute("SELECT count(*) FROM page WHERE crawl = ?", (crawl,)).fetchone()
    size = max(1, -(-pages // ROUNDS))
    found, seen, hits = [], 0, 0
    for n, relevant in db.execute(_ROUNDS, (size, crawl)):
        seen, hits = seen + n, hits + relevant
        found.append(Round(seen, hits, relevant / n, hits / seen))
    return found


def algorithm(
    crawl: int, *, names: tuple[str, str], seconds: float, rounds: Iterable[Round]
) -> Algorithm:
    """The row of a crawl in P1's tables; `names`: strategy, relevance model."""
    done = list(rounds)
    pages, relevant = (done[-1].pages, done[-1].relevant) if done else (0, 0)
    return Algorithm(
        crawl,
        *names,
        pages=pages,
        relevant=relevant,
        minutes=seconds / 60,
        efficiency=relevant_per_minute(relevant, seconds),
        average_precision=mean_cumulative_precision([each.so_far for each in done]),
    )


_COURSE = """
SELECT (nth - 1) * ? / ? AS part, count(*), sum(relevant) FROM page WHERE crawl = ?
GROUP BY part"""
_MOST = "SELECT max(relevance) FROM page WHERE id BETWEEN ? AND ?"
_TAKEN = "SELECT {what} FROM page WHERE id BETWEEN ? AND ? AND priority < ?"
_HISTOGRAM = """
SELECT max(0, min(?, CAST(({column} - ?) * ? AS INTEGER))) AS bin, count(*), sum(relevant)
FROM page WHERE id BETWEEN ? AND ? AND {column} < ? GROUP BY bin"""
_DEPTHS = """
SELECT min(depth, ?) AS steps, count(*), sum(relevant) FROM page JOIN url_found USING (id)
WHERE page.id BETWEEN ? AND ? GROUP BY steps"""
_WAYS = f"""
SELECT page.id & {LAST_ID}, parent, relevant FROM page INDEXED BY page_nth
CROSS JOIN url ON url.id = page.id WHERE crawl = ? ORDER BY nth"""
_ABOVE = "SELECT parent FROM url WHERE id = ?"
_ROUNDS = """
SELECT count(*), sum(relevant) FROM (
    SELECT relevant, (row_number() OVER (ORDER BY nth) - 1) / ? AS round
    FROM page WHERE crawl = ?)
GROUP BY round ORDER BY round"""
