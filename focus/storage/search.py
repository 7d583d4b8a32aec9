"""Finds the stored pages that say what somebody looks for, the best first.

    with SearchIndex(path) as index:
        index.update()
        results = search(index, '欧冠 决赛 -彩票', Selection(crawl="all"))

The order is that of text match times quality: BM25, in which a word in the title counts
`TITLE` times and one that the segmenter knows as a word `WORD` more, times
1 + `QUALITY`·quality of the page (P4 2.7, `results.quality_sql`: 0…1). Pages with nearly the
same text, and one URL in several crawls, are one result that says how many more there are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from focus.admission.near_duplicates import NearDuplicates
from focus.storage import results
from focus.storage.passages import Passage, marked, passage
from focus.storage.results import Selection
from focus.storage.search_index import SearchIndex, page_text
from focus.storage.search_terms import matcher, read

TITLE, TEXT, WORD = 10.0, 1.0, 2.0
QUALITY = 0.5
MOST = 1_000
"""Pages that are ranked. Of more, these are those whose titles match and the newest: weighing
a hundred thousand takes longer than a reader waits."""
FOLDED = 200
"""Best pages at least that are looked at for nearly the same text; twice those asked for."""

_MASK = (1 << 64) - 1


class SearchHit(msgspec.Struct, frozen=True):
    """A page that was found.

    changed_at  when it last changed, as its site's sitemap or feed says; None: not said
    relevance   to the topic of its crawl; `score` is the order's own number
    similar     further pages with nearly its text
    """

    url: str
    host: str
    title: Passage
    snippet: Passage
    fetched_at: float
    changed_at: float | None
    relevance: float
    relevant: bool
    score: float
    topic: str
    crawl: int
    similar: int


class Results(msgspec.Struct, frozen=True):
    """The results of a query.

    pages      that match (of more than `MOST`: that number)
    complete   false: there are more than `pages`
    indexed    pages that can be found at all, in all crawls
    hits       best first, from `offset`
    """

    query: str
    pages: int
    complete: bool
    offset: int
    indexed: int
    hits: list[SearchHit]


def search(
    index: SearchIndex,
    query: str,
    selection: Selection | None = None,
    *,
    among: Collection[int] | None = None,
    limit: int = 10,
    offset: int = 0,
) -> Results:
    """The pages of a selection that match a query, of what the index has by now.

    ConfigError for a query that asks for nothing or a crawl that is not there. Order and
    limit of the selection do not count. `among`: of these crawls only.
    """
    selection = selection or Selection(crawl="all")
    asked = read(query, index.segmenter)
    crawls = index.reader.ids(selection.crawl, selection.topic)
    if among is not None:
        crawls = [each for each in crawls if each in among]
    shown = max(FOLDED, 2 * (offset + limit))
    sql, values = _ranking(index, selection, crawls)
    found, pages = _ranked(index, sql, asked.expression, values=values, shown=shown)
    groups = _folded(found)
    chosen = groups[offset : offset + limit]
    return Results(
        query=query,
        pages=min(pages, MOST),
        complete=pages <= MOST,
        offset=offset,
        indexed=_indexed(index),
        hits=_hits(index, chosen, asked.needles),
    )


def _ranking(index: SearchIndex, selection: Selection, crawls: list[int]) -> tuple[str, list[Any]]:
    """The statement that ranks pages of these crawls, and the values of its conditions."""
    largest = {each.crawl: (each.pagerank, each.relevance) for each in index.seen()}
    tests, values = results.conditions_sql(selection, crawls)
    quality = results.quality_sql(largest)
    return _RANKED.format(quality=quality, tests=" AND ".join(tests)), values


def _ranked(
    index: SearchIndex, sql: str, expression: str, *, values: list[Any], shown: int
) -> tuple[list[Any], int]:
    """(page, score, simhash, key of its URL) of the best, and how many pages match."""
    with index.explaining():
        rows = index.db.execute(sql, (expression, *values, MOST + 1, shown)).fetchall()
        pages = rows[0][-1] if rows else 0
        if pages > MOST:  # the newest are there; now those that say it in their titles
            titles = f"{{title}} : ({expression})"
            rows += index.db.execute(sql, (titles, *values, MOST, shown)).fetchall()
    best = {row[0]: row[:4] for row in rows}
    return sorted(best.values(), key=lambda row: (-row[1], row[0]))[:shown], pages


def _folded(rows: list[Any]) -> list[list[Any]]:
    """[page, score, further pages like it], each text and each URL once."""
    known, urls = NearDuplicates(), dict[bytes, int]()
    groups: list[list[Any]] = []
    for page, score, simhash, key in rows:
        same = urls.get(key)
        if same is None and simhash:
            same = known.find(simhash & _MASK)
        if same is None:
            same = len(groups)
            groups.append([page, score, 0])
            known.add(same, simhash & _MASK)
        else:
            groups[same][2] += 1
        urls.setdefault(key, same)
    return groups


def _hits(index: SearchIndex, groups: list[list[Any]], needles: tuple[str, ...]) -> list[SearchHit]:
    pattern = matcher(needles)
    numbers = msgspec.json.encode([page for page, _, _ in groups]).decode()
    rows = index.reader.run(lambda db: db.execute(_DETAILS, (numbers,)).fetchall())
    details = {row[0]: row[1:] for row in rows}
    return [
        _hit(details[page], pattern, score, similar)
        for page, score, similar in groups
        if page in details  # else its crawl was deleted a moment ago
    ]


def _hit(row: Sequence[Any], pattern: re.Pattern[str], score: float, similar: int) -> SearchHit:
    url, title, description, packed, fetched_at, changed_at, relevance, relevant, topic, crawl = row
    text = page_text(packed, description)
    text = text.removeprefix(title).lstrip() or text  # the title stands above it
    return SearchHit(
        url=url,
        host=urlsplit(url).netloc,
        title=marked(title, pattern),
        snippet=passage(text, pattern),
        fetched_at=fetched_at,
        changed_at=changed_at,
        relevance=relevance,
        relevant=bool(relevant),
        score=score,
        topic=topic,
        crawl=crawl,
        similar=similar,
    )


def _indexed(index: SearchIndex) -> int:
    with index.explaining():
        row = index.db.execute(_INDEXED).fetchone()
    return int(row[0])


_RANKED = f"""
SELECT best.page, best.score, best.simhash, f.key, best.pages FROM (
    SELECT page, score, simhash, count(*) OVER () AS pages FROM (
        SELECT p.id AS page, p.simhash,
            -bm25(text_index, {TITLE}, {TEXT}, {WORD})
            * (1.0 + {QUALITY} * min(1.0, {{quality}})) AS score
        FROM text_index CROSS JOIN doc d ON d.id = text_index.rowid
        CROSS JOIN web.page p ON p.id = d.page CROSS JOIN web.url u ON u.id = p.id
        WHERE text_index MATCH ? AND {{tests}} ORDER BY text_index.rowid DESC LIMIT ?
    ) ORDER BY score DESC, page LIMIT ?
) AS best JOIN web.url_found f ON f.id = best.page ORDER BY best.score DESC, best.page"""
_DETAILS = """
SELECT p.id, x.url, x.title, x.description, b.zstd, p.fetched_at, m.changed_at, p.relevance,
    p.relevant, c.topic, c.id
FROM json_each(?) AS wanted CROSS JOIN page p ON p.id = wanted.value
CROSS JOIN page_text x ON x.id = p.id CROSS JOIN crawl c ON c.id = p.crawl
LEFT JOIN body b ON b.id = p.id LEFT JOIN lastmod m ON m.id = p.id"""
# Documents are numbered from 1 without gaps; those of no page come first in the index.
_INDEXED = """
SELECT ifnull(max(id), 0) - (SELECT count(*) FROM doc WHERE page IS NULL) FROM doc"""
