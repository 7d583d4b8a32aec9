"""Distributions of the pages of a crawl: over its course, relevance, priority and depth.

Everything is computed in SQL or in one pass over rows, so memory does not grow with the crawl.
"""

from __future__ import annotations

import sqlite3
from itertools import islice

from focus.records import SEED_PRIORITY
from focus.storage.figures import (
    CourseBucket,
    Histogram,
    LevelFigures,
    PriorityTenth,
)
from focus.storage.schema import LAST_ID, id_range

BUCKETS = 200  # points of the harvest curve
WINDOW_BUCKETS = 10  # buckets per window: 5 % of the requests
BINS = 25  # bins of a histogram
MAX_LEVELS = 15  # rows of a table of steps; the last one includes all larger numbers
_MAX_STEPS = 255


def harvest_course(db: sqlite3.Connection, crawl: int, requests: int) -> list[CourseBucket]:
    """Return pages and relevant pages of up to 200 equal parts of all `requests`."""
    if not requests:
        return []
    parts = min(BUCKETS, requests)
    counts_by_part = {
        part: counts for part, *counts in db.execute(_COURSE, (parts, requests, crawl))
    }
    return [
        CourseBucket(-(-(part + 1) * requests // parts), *counts_by_part.get(part, (0, 0)))
        for part in range(parts)
    ]


def relevance_histogram(db: sqlite3.Connection, crawl: int) -> Histogram:
    """Return a histogram of the relevance of pages, from 0 to 1 or to the maximum if larger."""
    (largest,) = db.execute(_MAX_RELEVANCE, id_range(crawl)).fetchone()
    return _histogram(db, crawl, "relevance", (0.0, max(1.0, largest or 0.0)))


def priority_distribution(
    db: sqlite3.Connection, crawl: int
) -> tuple[Histogram, list[PriorityTenth]]:
    """Return a histogram of the priorities of dequeued pages without seeds, and their tenths.

    The histogram covers the 1st to the 99th percentile, because some strategies have outliers.
    """
    hundredths = _priority_percentiles(db, crawl)
    if not hundredths:
        return Histogram(0.0, 1.0, [0] * BINS, [0] * BINS), []
    ends = hundredths[0].high, hundredths[-1].low
    if len(hundredths) < 100:
        ends = hundredths[0].low, hundredths[-1].high
    size = max(1, len(hundredths) // 10)
    groups = [hundredths[start : start + size] for start in range(0, len(hundredths), size)]
    return _histogram(db, crawl, "priority", ends), [_merge_tenths(group) for group in groups]


def _priority_percentiles(db: sqlite3.Connection, crawl: int) -> list[PriorityTenth]:
    """Return the pages without seeds in 100 parts of equal size, by priority."""
    values = (*id_range(crawl), SEED_PRIORITY)
    (total,) = db.execute(_BY_PRIORITY.format(what="count(*)"), values).fetchone()
    rows = db.execute(_BY_PRIORITY.format(what="priority, relevant") + " ORDER BY priority", values)
    parts = min(100, total)
    percentiles = []
    for part in range(parts):
        number = (part + 1) * total // parts - part * total // parts
        chunk = list(islice(rows, number))
        percentiles.append(
            PriorityTenth(chunk[0][0], chunk[-1][0], number, sum(hit for _, hit in chunk))
        )
    return percentiles


def _merge_tenths(group: list[PriorityTenth]) -> PriorityTenth:
    pages, relevant = sum(tenth.pages for tenth in group), sum(tenth.relevant for tenth in group)
    return PriorityTenth(group[0].low, group[-1].high, pages, relevant)


def _histogram(
    db: sqlite3.Connection, crawl: int, column: str, ends: tuple[float, float]
) -> Histogram:
    low, high = ends
    if not high > low:
        low, high = low - 0.5, low + 0.5
    pages, relevant = [0] * BINS, [0] * BINS
    values = (BINS - 1, low, BINS / (high - low), *id_range(crawl), SEED_PRIORITY)
    for index, n, hits in db.execute(_HISTOGRAM.format(column=column), values):
        pages[index], relevant[index] = n, hits
    return Histogram(low, high, pages, relevant)


def depth_levels(db: sqlite3.Connection, crawl: int) -> list[LevelFigures]:
    """Return pages by depth (links from a seed); the last row includes all deeper pages."""
    return [LevelFigures(*row) for row in db.execute(_DEPTHS, (MAX_LEVELS - 1, *id_range(crawl)))]


def tunnel_levels(db: sqlite3.Connection, crawl: int, known: int) -> list[LevelFigures]:
    """Return pages by the number of consecutive irrelevant pages before them on their path.

    0 means that the page is a seed or was found on a relevant page. Redirects do not count.
    `known` is the number of URLs of the crawl; each takes a byte of memory.
    """
    after = bytearray(known)  # 1 + steps of the links of a page; 0 if it is no page
    counts: dict[int, list[int]] = {}
    first = id_range(crawl)[0]
    for number, parent, relevant in db.execute(_PARENTS, (crawl,)):
        while parent is not None and not after[parent]:  # a redirect
            (above,) = db.execute(_PARENT, (first + parent,)).fetchone()
            parent = None if above == parent else above
        here = 0 if parent is None else after[parent] - 1
        after[number] = 1 if relevant else min(here + 2, _MAX_STEPS)
        count = counts.setdefault(min(here, MAX_LEVELS - 1), [0, 0])
        count[0] += 1
        count[1] += relevant
    return [LevelFigures(length, *counts[length]) for length in sorted(counts)]


_COURSE = """
SELECT (nth - 1) * ? / ? AS part, count(*), sum(relevant) FROM page WHERE crawl = ?
GROUP BY part"""
_MAX_RELEVANCE = "SELECT max(relevance) FROM page WHERE id BETWEEN ? AND ?"
_BY_PRIORITY = "SELECT {what} FROM page WHERE id BETWEEN ? AND ? AND priority < ?"
_HISTOGRAM = """
SELECT max(0, min(?, CAST(({column} - ?) * ? AS INTEGER))) AS bin, count(*), sum(relevant)
FROM page WHERE id BETWEEN ? AND ? AND {column} < ? GROUP BY bin"""
_DEPTHS = """
SELECT min(depth, ?) AS steps, count(*), sum(relevant) FROM page JOIN url_found USING (id)
WHERE page.id BETWEEN ? AND ? GROUP BY steps"""
_PARENTS = f"""
SELECT page.id & {LAST_ID}, parent, relevant FROM page INDEXED BY page_nth
CROSS JOIN url ON url.id = page.id WHERE crawl = ? ORDER BY nth"""
_PARENT = "SELECT parent FROM url WHERE id = ?"
