"""Reads the links of the pages of a crawl as pairs of URLs."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator

from focus.storage.schema import id_range, row_id

TARGETS_PER_QUERY = 500  # link targets per SQL statement


def iter_links(db: sqlite3.Connection, crawl: int) -> Iterator[tuple[str, str]]:
    """Yield (URL of a page, URL of a link target), in order of request and of the document."""
    pages = db.execute(_LINKS, id_range(crawl))
    for source, packed in pages:
        targets = array("I")
        targets.frombytes(packed)
        for start in range(0, len(targets), TARGETS_PER_QUERY):
            row_ids = [
                row_id(crawl, target) for target in targets[start : start + TARGETS_PER_QUERY]
            ]
            placeholders = ",".join("?" * len(row_ids))
            urls = dict(db.execute(_URLS.format(placeholders), row_ids))
            yield from ((source, urls[number]) for number in row_ids if number in urls)


_LINKS = """
    SELECT u.url, l.targets FROM link l
    JOIN url_found u ON u.id = (l.id & ~0xFFFFFFFF) + l.source
    WHERE l.id BETWEEN ? AND ? ORDER BY l.id
"""
_URLS = "SELECT id, url FROM url_found WHERE id IN ({})"
