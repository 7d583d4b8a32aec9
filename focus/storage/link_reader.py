"""Reads the links of a crawl's pages back as pairs of URLs."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator

from focus.storage.schema import id_range, row_id

AT_ONCE = 500  # targets that are looked up by one statement


def links_of(db: sqlite3.Connection, crawl: int) -> Iterator[tuple[str, str]]:
    """(URL of a page, URL of a link on it), pages in order of fetching, links in theirs."""
    pages = db.execute(_LINKS, id_range(crawl))
    for source, packed in pages:
        targets = array("I")
        targets.frombytes(packed)
        for start in range(0, len(targets), AT_ONCE):
            some = [row_id(crawl, target) for target in targets[start : start + AT_ONCE]]
            marks = ",".join("?" * len(some))
            urls = dict(db.execute(_URLS.format(marks), some))
            yield from ((source, urls[number]) for number in some if number in urls)


_LINKS = """
    SELECT u.url, l.targets FROM link l
    JOIN url_found u ON u.id = (l.id & ~0xFFFFFFFF) + l.source
    WHERE l.id BETWEEN ? AND ? ORDER BY l.id
"""
_URLS = "SELECT id, url FROM url_found WHERE id IN ({})"
