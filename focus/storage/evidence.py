"""Reads how the priority of a URL adds up, which words spoke for it, and what went before."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from functools import partial

import msgspec

from focus.records import SEED_PRIORITY, UrlState
from focus.score.graph.pagerank import PageRank
from focus.score.matching import Matcher, fold_body, topic_segmenter
from focus.score.strategy import STRATEGIES, Strategy, make_strategy
from focus.score.subtopics import RESUME_PAGES, Subtopics, TitledPage
from focus.storage import url_log
from focus.storage.reader import DatabaseReader
from focus.storage.schema import LAST_ID, id_range
from focus.storage.views import Ahead, Why
from focus.topic.topic import from_builtins, parse_narrower_terms
from focus.urls.normal_form import url_words

_SMALL = 0.0005
_SHOWN = 3  # hosts and URLs of what went before


class _Analysis(msgspec.Struct, frozen=True):
    topic: dict[str, object] = {}


class _Way(msgspec.Struct, frozen=True):
    """A crawl's way of ordering its links, of its configuration."""

    strategy: str = ""
    params: dict[str, float] = {}
    as_published: bool = False
    analysis: _Analysis = _Analysis()


def explained(reader: DatabaseReader, crawl: int, why: Why) -> Why:
    """With `evidence`, `named`, `subtopics` and `ahead`.

    A seed's is as it was; evidence is empty where a strategy does not add up.
    """
    way = msgspec.json.decode(reader.config(crawl), type=_Way)
    if not why.state or why.priority >= SEED_PRIORITY:
        return why
    ahead = reader.run(partial(_ahead, crawl=crawl, why=why))
    why = msgspec.structs.replace(why, named=_named(way, why), ahead=ahead)
    if not why.link_evidence or way.strategy not in STRATEGIES:
        return why
    strategy = make_strategy(way.strategy, way.params, PageRank(), as_published=way.as_published)
    parts = _parts(strategy, why) if len(why.link_evidence) == strategy.width else {}
    found = {name: round(part, 4) for name, part in parts.items() if abs(part) > _SMALL}
    if "subtopic" not in found:
        return msgspec.structs.replace(why, evidence=found)
    told = parse_narrower_terms(way.analysis.topic)
    segmenter = topic_segmenter(way.analysis.topic)
    known = Subtopics(told.narrower)
    for row in reader.titles(crawl, RESUME_PAGES):
        known.add_page(TitledPage.from_title(*row, segmenter))
    named = known.subtopics_in(why.path[-1].anchor)
    spoke_for = {fold_body(word): source for word, source in told.sources.items()}
    sources = {word: spoke_for[word] for word in named if word in spoke_for}
    return msgspec.structs.replace(why, evidence=found, subtopics=named, subtopic_sources=sources)


def _parts(strategy: Strategy, why: Why) -> dict[str, float]:
    """The sum, with what the link's own evidence leaves over and the bonus of a place."""
    parts = strategy.priority_parts(why.link_evidence)
    if not parts:
        return {}
    rest = {strategy.remainder: why.priority - sum(parts.values())} if strategy.remainder else {}
    return {**parts, **rest, "place": why.place}


def _named(way: _Way, why: Why) -> list[str]:
    if not way.analysis.topic:
        return []
    matcher = Matcher(from_builtins(way.analysis.topic))
    anchor = why.path[-1].anchor if why.path else ""
    return list(
        dict.fromkeys([*matcher.link_words(anchor), *matcher.link_words(url_words(why.url))])
    )


def _ahead(db: sqlite3.Connection, *, crawl: int, why: Why) -> Ahead | None:
    """What went before a page that came, or goes before a URL that waits."""
    if why.page is not None and len(why.path) > 1:
        (since,) = db.execute(_PARENT, (*id_range(crawl), why.path[-2].url)).fetchone() or (0,)
        return _summed(db.execute(_BETWEEN, (crawl, since, why.page.nth)).fetchall())
    if why.state == UrlState.WAITING.name.lower():
        db.execute(_PRESENT)
        db.executemany(
            "INSERT INTO present VALUES (?, ?)", url_log.priorities(db, crawl=crawl).items()
        )
        values = (*id_range(crawl), UrlState.WAITING, why.priority + why.place)
        found = db.execute(_BEFORE, values).fetchall()
        db.execute("DROP TABLE temp.present")
        return _summed(found)
    return None


def _summed(rows: Sequence[tuple[str, str, float]]) -> Ahead:
    """Of (URL, host, priority), the most telling first."""
    hosts = Counter(host for _, host, _ in rows).most_common(_SHOWN)
    return Ahead(len(rows), hosts, [(url, priority) for url, _, priority in rows[:_SHOWN]])


_HOST = f"""
JOIN queue ON queue.id = (url.id & ~{LAST_ID}) + url.queue
JOIN host ON host.id = (url.id & ~{LAST_ID}) + queue.host"""
_PARENT = "SELECT nth FROM url_found JOIN page USING (id) WHERE id BETWEEN ? AND ? AND url = ?"
_BETWEEN = f"""
SELECT url.url, host.name, page.priority + page.bonus FROM page
JOIN url_found url USING (id) {_HOST}
WHERE page.crawl = ? AND page.nth > ? AND page.nth < ? ORDER BY page.nth DESC"""
_PRESENT = "CREATE TEMP TABLE present (id INTEGER PRIMARY KEY, priority REAL)"
_BEFORE = f"""
SELECT url.url, host.name, ifnull(present.priority, url.priority) + ifnull(queue.bonus, 0)
AS stands FROM url {_HOST} LEFT JOIN temp.present ON present.id = url.id
WHERE url.id BETWEEN ? AND ? AND state = ? AND stands > ? ORDER BY stands DESC, url.id"""
