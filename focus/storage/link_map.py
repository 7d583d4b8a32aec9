"""Reads which pages of a crawl are worth the most, which led to them, and how they are linked."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable

from focus.storage import results
from focus.storage.figures import Best, HubFigures, LinkMap, MapNode
from focus.storage.results import LARGEST, PAGERANK, Selection
from focus.storage.schema import LAST_ID, id_range, row_id

BEST = 50  # pages in the table
HUBS = 30
ROOTS = 12  # of the best pages, in the drawing
MOST = 40  # nodes of the drawing
_WAY = 4  # steps of each way there that are drawn


def best(db: sqlite3.Connection, crawl: int) -> list[Best]:
    """The relevant pages of the highest quality, best first (P4 2.7)."""
    ids, quality = _valuable(db, crawl, BEST)
    rows = [db.execute(_BEST.format(quality=quality), (number,)).fetchone() for number in ids]
    return [Best(*row) for row in rows]


def hubs(db: sqlite3.Connection, crawl: int) -> list[HubFigures]:
    """The pages whose links led to the most relevant pages, best first."""
    first, found = id_range(crawl)[0], []
    for parent, followed, relevant in db.execute(_HUBS, (*id_range(crawl), HUBS)).fetchall():
        url, title, relevance = db.execute(_HUB, (first + parent,)).fetchone()
        found.append(HubFigures(url, title, relevance, followed, relevant))
    return found


def link_map(db: sqlite3.Connection, crawl: int) -> LinkMap:
    """The best pages, the ways by which they were found, and pages they link to most.

    At most MOST nodes: first the best, then their ways from near to far, then relevant
    pages that the best link to, then other pages.
    """
    roots = [number & LAST_ID for number in _valuable(db, crawl, ROOTS)[0]]
    chosen = dict.fromkeys(roots)
    ways = [_way(db, crawl, number) for number in roots]
    for step in range(_WAY):
        for way in ways:
            if step < len(way) and len(chosen) < MOST:
                chosen[way[step]] = None
    targets = Counter(t for root in roots for t in set(_targets(db, crawl, root)))
    for number in _worth_showing(db, crawl, targets):
        if len(chosen) == MOST:
            break
        chosen[number] = None
    nodes = [_node(db, crawl, number, number in roots) for number in chosen]
    return LinkMap(nodes, *_edges(db, crawl, chosen))


def _valuable(db: sqlite3.Connection, crawl: int, limit: int) -> tuple[list[int], str]:
    """Row ids of the best pages, and the SQL of their quality."""
    rank, relevance = db.execute(LARGEST, id_range(crawl)).fetchone()
    quality = results.quality_sql({crawl: (rank or 0.0, relevance or 0.0)})
    chosen = Selection(relevant=True, sort="quality", limit=limit)
    sql, values = results.select_sql(chosen, [crawl], quality)
    return [number for (number,) in db.execute(sql, values)], quality


def _way(db: sqlite3.Connection, crawl: int, number: int) -> list[int]:
    """Ancestors, the nearest first."""
    way: list[int] = []
    while len(way) < _WAY:
        (parent,) = db.execute(_PARENT, (row_id(crawl, number),)).fetchone()
        if parent is None or parent in way:
            break
        way.append(parent)
        number = parent
    return way


def _targets(db: sqlite3.Connection, crawl: int, number: int) -> array[int]:
    """Links of a page, as URL ids in document order."""
    found = array("I")
    row = db.execute(_LINKS, (row_id(crawl, number),)).fetchone()
    if row is not None:
        found.frombytes(row[0])
    return found


def _worth_showing(db: sqlite3.Connection, crawl: int, targets: Counter[int]) -> list[int]:
    """Targets that are pages: relevant ones first, then those with the most links."""
    relevant = {}
    for number in targets:
        row = db.execute(_RELEVANT, (row_id(crawl, number),)).fetchone()
        if row is not None:
            relevant[number] = row[0]
    return sorted(relevant, key=lambda n: (-relevant[n], -targets[n], n))


def _node(db: sqlite3.Connection, crawl: int, number: int, is_best: bool) -> MapNode:
    url, title, depth, relevance, relevant = db.execute(_NODE, (row_id(crawl, number),)).fetchone()
    return MapNode(number, url, title, depth, relevance, bool(relevant), is_best)


def _edges(
    db: sqlite3.Connection, crawl: int, chosen: Iterable[int]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Ways and other links among the nodes."""
    nodes = set(chosen)
    ways = []
    for number in sorted(nodes):
        (parent,) = db.execute(_PARENT, (row_id(crawl, number),)).fetchone()
        if parent in nodes:
            ways.append((parent, number))
    links = {
        (number, target)
        for number in nodes
        for target in _targets(db, crawl, number)
        if target in nodes and target != number
    }
    return ways, sorted(links.difference(ways))


_BEST = f"""
SELECT u.url, ifnull(x.title, ''), {{quality}}, p.relevance, {PAGERANK}, u.depth, p.nth
FROM page p JOIN url u USING (id) LEFT JOIN page_text x USING (id) WHERE p.id = ?"""
_HUBS = """
SELECT ifnull(s.parent, f.parent) AS parent, count(*), ifnull(sum(page.relevant), 0) AS hits
FROM url_state s CROSS JOIN url_found f USING (id) LEFT JOIN page USING (id)
WHERE s.id BETWEEN ? AND ? AND s.state IN (2, 3) AND ifnull(s.parent, f.parent) IS NOT NULL
GROUP BY 1 HAVING hits > 0 ORDER BY hits DESC, count(*), 1 LIMIT ?"""
_HUB = """
SELECT url.url, ifnull(title, ''), relevance FROM url
LEFT JOIN page USING (id) LEFT JOIN page_text USING (id) WHERE url.id = ?"""
_PARENT = "SELECT parent FROM url WHERE id = ?"
_LINKS = f"""
SELECT targets FROM page JOIN link ON link.id = (page.id & ~{LAST_ID}) + page.nth
WHERE page.id = ?"""
_RELEVANT = "SELECT relevant FROM page WHERE id = ?"
_NODE = """
SELECT url.url, ifnull(title, ''), depth, relevance, ifnull(relevant, 0) FROM url
LEFT JOIN page USING (id) LEFT JOIN page_text USING (id) WHERE url.id = ?"""
