"""Distributions of the pages of a crawl: over its course, relevance and depth.

Everything is computed in SQL, so memory does not grow with the crawl.
"""

from __future__ import annotations

import sqlite3

from focus.storage.figures import CourseBucket, Histogram, LevelFigures
from focus.storage.schema import id_range

BUCKETS = 200  # points of the harvest curve
WINDOW_BUCKETS = 10  # buckets per window: 5 % of the requests
BINS = 25  # bins of a histogram
MAX_LEVELS = 15  # depths; the last one includes all larger ones


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
    high = max(1.0, largest or 0.0)
    pages, relevant = [0] * BINS, [0] * BINS
    for index, n, hits in db.execute(_HISTOGRAM, (BINS - 1, BINS / high, *id_range(crawl))):
        pages[index], relevant[index] = n, hits
    return Histogram(0.0, high, pages, relevant)


def depth_levels(db: sqlite3.Connection, crawl: int) -> list[LevelFigures]:
    """Return pages by depth (links from a seed); the last row includes all deeper pages."""
    return [LevelFigures(*row) for row in db.execute(_DEPTHS, (MAX_LEVELS - 1, *id_range(crawl)))]


_COURSE = """
SELECT (nth - 1) * ? / ? AS part, count(*), sum(relevant) FROM page WHERE crawl = ?
GROUP BY part"""
_MAX_RELEVANCE = "SELECT max(relevance) FROM page WHERE id BETWEEN ? AND ?"
_HISTOGRAM = """
SELECT max(0, min(?, CAST(relevance * ? AS INTEGER))) AS bin, count(*), sum(relevant)
FROM page WHERE id BETWEEN ? AND ? GROUP BY bin"""
_DEPTHS = """
SELECT min(depth, ?) AS steps, count(*), sum(relevant) FROM page JOIN url_found USING (id)
WHERE page.id BETWEEN ? AND ? GROUP BY steps"""
