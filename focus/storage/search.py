"""Full-text search in stored pages, best results first.

    with SearchIndex(path) as index:
        index.update()
        results = search(index, '欧冠 决赛 -彩票', Selection(crawl="all"))

Results are sorted by BM25 times 1 + `QUALITY_WEIGHT`·quality of the page (P4 2.7,
`results.quality_sql`: 0 to 1). In BM25 the title has the weight `TITLE_WEIGHT`, and words that the
segmenter knows have the additional weight `WORD_WEIGHT`. Near-duplicates, and pages with the same
URL in several crawls, are one result with the number of further pages.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

import msgspec

from focus.admission.near_duplicates import NearDuplicates
from focus.errors import ConfigError
from focus.storage import results
from focus.storage.passages import Passage, best_passage, mark_matches
from focus.storage.results import Selection
from focus.storage.search_index import SearchIndex, source_text
from focus.storage.search_terms import Query, fold_spelling, needle_pattern, parse_query

TITLE_WEIGHT, TEXT_WEIGHT, WORD_WEIGHT = 10.0, 1.0, 2.0
QUALITY_WEIGHT = 0.5
MAX_RANKED = 1_000
"""Maximum number of ranked pages. Of more matches, those with a match in the title and the newest
are ranked: ranking a hundred thousand would take too long."""
MIN_GROUPED = 200
"""Minimum number of best pages that are grouped by near-duplicates; otherwise twice the limit."""

_MASK = (1 << 64) - 1


class SearchHit(msgspec.Struct, frozen=True):
    """Page that matches a query.

    changed_at  time of its last change according to a sitemap or feed; None if unknown
    published_at  when it says it was published, in Unix seconds; None if it does not
    relevance   relevance to the topic of its crawl
    score       number by which results are sorted
    similar     number of further pages with nearly the same text
    missing     words of the query that the page does not contain
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
    missing: tuple[str, ...] = ()
    published_at: float | None = None


class SearchResults(msgspec.Struct, frozen=True):
    """Results of a query.

    pages      number of matching pages, at most `MAX_RANKED`
    complete   False if more than `pages` match
    with_all_words  number of them that contain all words; others follow if these are few
    indexed    number of pages in the index, of all crawls
    hits       results from `offset`, best first
    """

    query: str
    pages: int
    complete: bool
    offset: int
    indexed: int
    hits: list[SearchHit]
    with_all_words: int = 0


def search(
    index: SearchIndex,
    query: str,
    selection: Selection | None = None,
    *,
    allowed_crawls: Collection[int] | None = None,
    limit: int = 10,
    offset: int = 0,
) -> SearchResults:
    """Search the indexed pages of a selection.

    Args:
        index: The index.
        query: Words, "phrases" and -words.
        selection: Conditions on the pages, and their order: the best first, or by "relevance",
            "published" or "fetched". Its limit is ignored. None: all pages.
        allowed_crawls: Search only in these crawls. None: in all.
        limit: Maximum number of results.
        offset: Number of results to skip.

    Raises:
        ConfigError: The query has no words, or the crawl does not exist.
    """
    selection = selection or Selection(crawl="all")
    parsed = parse_query(query, index.segmenter)
    crawls = index.reader.crawl_ids(selection.crawl, selection.topic)
    if allowed_crawls is not None:
        crawls = [crawl for crawl in crawls if crawl in allowed_crawls]
    max_pages = max(MIN_GROUPED, 2 * (offset + limit))
    sql, values = _ranking_sql(index, selection, crawls)
    ranked, pages = _rank_pages(index, sql, parsed.expression, values=values, limit=max_pages)
    with_all_words = min(pages, MAX_RANKED)
    if len(ranked) < offset + limit and len(parsed.words) + bool(parsed.phrases) > 1:
        known = {row[0] for row in ranked}
        others, pages = _rank_pages(
            index, sql, _relaxed_expression(index, parsed), values=values, limit=max_pages
        )
        ranked += [row for row in others if row[0] not in known]
    groups = _group_similar(ranked)
    chosen = groups[offset : offset + limit]
    return SearchResults(
        query=query,
        pages=min(pages, MAX_RANKED),
        complete=pages <= MAX_RANKED,
        offset=offset,
        indexed=_count_indexed(index),
        hits=_load_hits(index, chosen, parsed),
        with_all_words=with_all_words,
    )


def _ranking_sql(
    index: SearchIndex, selection: Selection, crawls: list[int]
) -> tuple[str, list[Any]]:
    """Return the SQL that ranks pages of these crawls, with the values of its conditions."""
    largest = {
        indexed.crawl: (indexed.pagerank, indexed.relevance) for indexed in index.indexed_crawls()
    }
    if selection.sort not in _SCORES:
        known = ", ".join(name for name in _SCORES if name)
        raise ConfigError(
            "unknown order {sort!r}; the orders are: {known}", sort=selection.sort, known=known
        )
    tests, values = results.conditions_sql(selection, crawls, published="d.published")
    score = _SCORES[selection.sort].format(quality=results.quality_sql(largest))
    return _RANKED.format(score=score, tests=" AND ".join(tests)), values


def _rank_pages(
    index: SearchIndex, sql: str, expression: str, *, values: list[Any], limit: int
) -> tuple[list[Any], int]:
    """Return (page, score, simhash, duplicate key) of the best pages, and the number of matches."""
    with index.index_errors():
        rows = index.db.execute(sql, (expression, *values, MAX_RANKED + 1, limit)).fetchall()
        pages = rows[0][-1] if rows else 0
        if pages > MAX_RANKED:  # the newest are ranked; add those with a match in the title
            titles = f"{{title}} : ({expression})"
            rows += index.db.execute(sql, (titles, *values, MAX_RANKED, limit)).fetchall()
    best = {row[0]: row[:4] for row in rows}
    return sorted(best.values(), key=lambda row: (-row[1], row[0]))[:limit], pages


def _group_similar(rows: list[Any]) -> list[list[Any]]:
    """Return [page, score, number of similar pages] with each text and each URL once."""
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


def _relaxed_expression(index: SearchIndex, query: Query) -> str:
    """Return an expression for pages with some of the words.

    If more than `MAX_RANKED` pages have one, only those with one of the rarest words count.
    """
    words = query.words.values()
    if query.phrases:
        return query.require(" OR ".join((*words, *query.phrases)))
    with index.index_errors():
        numbers = {word: index.db.execute(_COUNT, (word,)).fetchone()[0] for word in words}
    some = " OR ".join(words)
    if sum(numbers.values()) > MAX_RANKED:
        rarest = sorted((number, word) for word, number in numbers.items() if number)
        total = list(accumulate(number for number, _ in rarest))
        chosen = max(1, sum(number <= MAX_RANKED for number in total))
        some = f"({some}) AND ({' OR '.join(word for _, word in rarest[:chosen])})"
    return query.require(some)


def _load_hits(index: SearchIndex, groups: list[list[Any]], query: Query) -> list[SearchHit]:
    pattern = needle_pattern(query.needles)
    numbers = msgspec.json.encode([page for page, _, _ in groups]).decode()
    rows = index.reader.read(lambda db: db.execute(_DETAILS, (numbers,)).fetchall())
    details = {row[0]: row[1:] for row in rows}
    with index.index_errors():
        published = dict(index.db.execute(_PUBLISHED, (numbers,)).fetchall())
    return [
        msgspec.structs.replace(
            _search_hit(details[page], pattern, query, score, similar),
            published_at=published.get(page),
        )
        for page, score, similar in groups
        if page in details  # otherwise its crawl was deleted meanwhile
    ]


def _search_hit(
    row: Sequence[Any], pattern: re.Pattern[str], query: Query, score: float, similar: int
) -> SearchHit:
    url, title, description, packed, fetched_at, changed_at, relevance, relevant, topic, crawl = row
    text = source_text(packed, description)
    folded = fold_spelling(f"{title}\n{text}")
    text = text.removeprefix(title).lstrip() or text  # the title is shown separately
    return SearchHit(
        url=url,
        host=urlsplit(url).netloc,
        title=mark_matches(title, pattern),
        snippet=best_passage(text, pattern),
        fetched_at=fetched_at,
        changed_at=changed_at,
        relevance=relevance,
        relevant=bool(relevant),
        score=score,
        topic=topic,
        crawl=crawl,
        similar=similar,
        missing=tuple(w for w in query.words if not needle_pattern([w]).search(folded)),
    )


def _count_indexed(index: SearchIndex) -> int:
    with index.index_errors():
        row = index.db.execute(_INDEXED).fetchone()
    return int(row[0])


_SCORES = {
    "": f"-bm25(text_index, {TITLE_WEIGHT}, {TEXT_WEIGHT}, {WORD_WEIGHT})"
    f" * (1.0 + {QUALITY_WEIGHT} * min(1.0, {{quality}}))",
    "relevance": "p.relevance",
    "published": "ifnull(d.published, 0.0)",
    "fetched": "p.fetched_at",
}
"""SQL for the numbers by which pages are sorted, the largest first, by order."""
_RANKED = """
SELECT best.page, best.score, best.simhash, f.key, best.pages FROM (
    SELECT page, score, simhash, count(*) OVER () AS pages FROM (
        SELECT p.id AS page, p.simhash, {score} AS score
        FROM text_index CROSS JOIN doc d ON d.id = text_index.rowid
        CROSS JOIN web.page p ON p.id = d.page CROSS JOIN web.url u ON u.id = p.id
        WHERE text_index MATCH ? AND {tests} ORDER BY text_index.rowid DESC LIMIT ?
    ) ORDER BY score DESC, page LIMIT ?
) AS best JOIN web.url_found f ON f.id = best.page ORDER BY best.score DESC, best.page"""
_DETAILS = """
SELECT p.id, x.url, x.title, x.description, b.zstd, p.fetched_at, m.changed_at, p.relevance,
    p.relevant, c.topic, c.id
FROM json_each(?) AS wanted CROSS JOIN page p ON p.id = wanted.value
CROSS JOIN page_text x ON x.id = p.id CROSS JOIN crawl c ON c.id = p.crawl
LEFT JOIN body b ON b.id = p.id LEFT JOIN lastmod m ON m.id = p.id"""
_PUBLISHED = """
SELECT page, published FROM json_each(?) AS wanted JOIN doc ON doc.page = wanted.value"""
_COUNT = "SELECT count(*) FROM text_index WHERE text_index MATCH ?"
# Documents are numbered from 1 without gaps; index entries without a page have the lowest numbers.
_INDEXED = """
SELECT ifnull(max(id), 0) - (SELECT count(*) FROM doc WHERE page IS NULL) FROM doc"""
