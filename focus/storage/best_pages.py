"""Reads the best pages of a crawl and its hub pages."""

from __future__ import annotations

import sqlite3

from focus.storage import results
from focus.storage.figures import BestPage, HubFigures
from focus.storage.results import MAX_RANK_AND_RELEVANCE, PAGERANK, Selection
from focus.storage.schema import id_range

MAX_BEST_PAGES = 50  # rows of the table of best pages
MAX_HUBS = 30


def load_best_pages(db: sqlite3.Connection, crawl: int) -> list[BestPage]:
    """Return the relevant pages with the highest quality (P4 2.7), best first."""
    rank, relevance = db.execute(MAX_RANK_AND_RELEVANCE, id_range(crawl)).fetchone()
    quality = results.quality_sql({crawl: (rank or 0.0, relevance or 0.0)})
    chosen = Selection(relevant=True, sort="quality", limit=MAX_BEST_PAGES)
    sql, values = results.select_sql(chosen, [crawl], quality)
    ids = db.execute(sql, values).fetchall()
    return [BestPage(*db.execute(_BEST.format(quality=quality), page).fetchone()) for page in ids]


def load_hubs(db: sqlite3.Connection, crawl: int) -> list[HubFigures]:
    """Return the pages whose links led to the most relevant pages, best first."""
    first, hubs = id_range(crawl)[0], []
    for parent, followed, relevant in db.execute(_HUBS, (*id_range(crawl), MAX_HUBS)).fetchall():
        url, title, relevance = db.execute(_HUB, (first + parent,)).fetchone()
        hubs.append(HubFigures(url, title, relevance, followed, relevant))
    return hubs


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
