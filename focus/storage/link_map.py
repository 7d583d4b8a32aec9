"""Reads the best pages of a crawl, its hub pages, and the links between the best pages."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable

from focus.storage import results
from focus.storage.figures import BestPage, HubFigures, LinkMap, MapNode
from focus.storage.results import MAX_RANK_AND_RELEVANCE, PAGERANK, Selection
from focus.storage.schema import LAST_ID, id_range, row_id

MAX_BEST_PAGES = 50  # rows of the table of best pages
MAX_HUBS = 30
MAX_ROOTS = 12  # best pages in the drawing
MAX_NODES = 40  # nodes in the drawing
_MAX_ANCESTORS = 4  # ancestors of each best page in the drawing


def load_best_pages(db: sqlite3.Connection, crawl: int) -> list[BestPage]:
    """Return the relevant pages with the highest quality (P4 2.7), best first."""
    ids, quality = _best_page_ids(db, crawl, MAX_BEST_PAGES)
    rows = [db.execute(_BEST.format(quality=quality), (number,)).fetchone() for number in ids]
    return [BestPage(*row) for row in rows]


def load_hubs(db: sqlite3.Connection, crawl: int) -> list[HubFigures]:
    """Return the pages whose links led to the most relevant pages, best first."""
    first, hubs = id_range(crawl)[0], []
    for parent, followed, relevant in db.execute(_HUBS, (*id_range(crawl), MAX_HUBS)).fetchall():
        url, title, relevance = db.execute(_HUB, (first + parent,)).fetchone()
        hubs.append(HubFigures(url, title, relevance, followed, relevant))
    return hubs


def build_link_map(db: sqlite3.Connection, crawl: int) -> LinkMap:
    """Return the best pages, their discovery paths, and the pages that they link to.

    At most `MAX_NODES` nodes are chosen: first the best pages, then their ancestors from near to
    far, then relevant pages that the best pages link to, then other pages.
    """
    roots = [number & LAST_ID for number in _best_page_ids(db, crawl, MAX_ROOTS)[0]]
    chosen = dict.fromkeys(roots)
    paths = [_ancestors(db, crawl, number) for number in roots]
    for step in range(_MAX_ANCESTORS):
        for path in paths:
            if step < len(path) and len(chosen) < MAX_NODES:
                chosen[path[step]] = None
    targets = Counter(t for root in roots for t in set(_link_targets(db, crawl, root)))
    for number in _rank_targets(db, crawl, targets):
        if len(chosen) == MAX_NODES:
            break
        chosen[number] = None
    nodes = [_map_node(db, crawl, number, number in roots) for number in chosen]
    return LinkMap(nodes, *_map_edges(db, crawl, chosen))


def _best_page_ids(db: sqlite3.Connection, crawl: int, limit: int) -> tuple[list[int], str]:
    """Return row ids of the best pages, and the SQL of their quality."""
    rank, relevance = db.execute(MAX_RANK_AND_RELEVANCE, id_range(crawl)).fetchone()
    quality = results.quality_sql({crawl: (rank or 0.0, relevance or 0.0)})
    chosen = Selection(relevant=True, sort="quality", limit=limit)
    sql, values = results.select_sql(chosen, [crawl], quality)
    return [number for (number,) in db.execute(sql, values)], quality


def _ancestors(db: sqlite3.Connection, crawl: int, number: int) -> list[int]:
    """Return the ids of ancestors, the nearest first."""
    ancestors: list[int] = []
    while len(ancestors) < _MAX_ANCESTORS:
        (parent,) = db.execute(_PARENT, (row_id(crawl, number),)).fetchone()
        if parent is None or parent in ancestors:
            break
        ancestors.append(parent)
        number = parent
    return ancestors


def _link_targets(db: sqlite3.Connection, crawl: int, number: int) -> array[int]:
    """Return the link targets of a page as URL ids in document order."""
    targets = array("I")
    row = db.execute(_LINKS, (row_id(crawl, number),)).fetchone()
    if row is not None:
        targets.frombytes(row[0])
    return targets


def _rank_targets(db: sqlite3.Connection, crawl: int, targets: Counter[int]) -> list[int]:
    """Return the targets that are pages: relevant ones first, then those with the most links."""
    relevant = {}
    for number in targets:
        row = db.execute(_RELEVANT, (row_id(crawl, number),)).fetchone()
        if row is not None:
            relevant[number] = row[0]
    return sorted(relevant, key=lambda n: (-relevant[n], -targets[n], n))


def _map_node(db: sqlite3.Connection, crawl: int, number: int, is_best: bool) -> MapNode:
    url, title, depth, relevance, relevant = db.execute(_NODE, (row_id(crawl, number),)).fetchone()
    return MapNode(number, url, title, depth, relevance, bool(relevant), is_best)


def _map_edges(
    db: sqlite3.Connection, crawl: int, chosen: Iterable[int]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return discovery links and other links between the nodes."""
    nodes = set(chosen)
    discovery_links = []
    for number in sorted(nodes):
        (parent,) = db.execute(_PARENT, (row_id(crawl, number),)).fetchone()
        if parent in nodes:
            discovery_links.append((parent, number))
    links = {
        (number, target)
        for number in nodes
        for target in _link_targets(db, crawl, number)
        if target in nodes and target != number
    }
    return discovery_links, sorted(links.difference(discovery_links))


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
