"""Explains the priority of a URL: its parts, the matched words, and the URLs with precedence."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Sequence
from functools import partial

import msgspec

from focus.config import AnalysisConfig, CrawlConfig
from focus.html.parser import main_text_from_html
from focus.records import FALLBACK_PRIORITY, JUDGE_PART, SEED_PRIORITY, UrlState
from focus.score.graph.pagerank import PageRank
from focus.score.matching import Matcher, fold_body, topic_segmenter
from focus.score.relevance import RELEVANCE, make_model, relevance_threshold
from focus.score.relevance.evidence import Evidence
from focus.score.strategy import STRATEGIES, Strategy, make_strategy
from focus.score.subtopics import RESUME_PAGES, Subtopics, TitledPage
from focus.storage import labels, url_log
from focus.storage.reader import DatabaseReader
from focus.storage.schema import LAST_ID, id_range
from focus.storage.views import PrecedingUrls, Why
from focus.topic.topic import from_builtins
from focus.urls.patterns import url_words

_MIN_PART = 0.0005
_MAX_SHOWN = 3  # hosts and URLs with precedence to show


def explain_priority(reader: DatabaseReader, crawl: int, why: Why) -> Why:
    """Return the explanation with all that the settings of the crawl tell.

    These are `threshold` and `weights`, and for others than seeds `evidence`, `named`, `subtopics`
    and `ahead`. `evidence` is empty if the priority of the strategy is not a sum.
    """
    config = reader.load_config(crawl)
    if why.page is not None:
        has_parts = bool(why.page.parts)
        why = _with_relevance_rule(config.analysis, why)
        if not has_parts and config.analysis.relevance == Evidence.name:
            why = msgspec.structs.replace(why, few_terms=_few_terms(reader, crawl, config, why))
    if not why.state or why.priority >= SEED_PRIORITY:
        return why
    ahead = reader.read(partial(_preceding_urls, crawl=crawl, why=why))
    why = msgspec.structs.replace(why, named=_matched_words(config, why), ahead=ahead)
    if not why.link_evidence or config.strategy not in STRATEGIES:
        return why
    strategy = make_strategy(
        config.strategy, config.params, PageRank(), as_published=config.as_published
    )
    parts = _priority_parts(strategy, why) if len(why.link_evidence) == strategy.width else {}
    named_parts = {name: round(part, 4) for name, part in parts.items() if abs(part) > _MIN_PART}
    if "subtopic" not in named_parts:
        return msgspec.structs.replace(why, evidence=named_parts)
    topic = from_builtins(config.analysis.topic)
    segmenter = topic_segmenter(config.analysis.topic)
    known = Subtopics(topic.terms)
    for row in reader.latest_titles(crawl, RESUME_PAGES):
        known.add_page(TitledPage.from_title(*row, segmenter))
    named = known.subtopics_in(why.path[-1].anchor)
    sources_by_word = {fold_body(word): source for word, source in topic.sources.items()}
    sources = {word: sources_by_word[word] for word in named if word in sources_by_word}
    return msgspec.structs.replace(
        why, evidence=named_parts, subtopics=named, subtopic_sources=sources
    )


def _with_relevance_rule(analysis: AnalysisConfig, why: Why) -> Why:
    """Return the explanation with threshold and weights of the crawl's relevance model."""
    if analysis.relevance not in RELEVANCE or not analysis.topic:
        return why
    topic, is_published = from_builtins(analysis.topic), analysis.as_published
    threshold = relevance_threshold(
        analysis.relevance, topic, option=analysis.threshold, as_published=is_published
    )
    model = make_model(
        analysis.relevance,
        Matcher(topic),
        analysis.params,
        as_published=is_published,
        trained=analysis.trained,
    )
    is_out_of_period = (
        (analysis.since_published, analysis.until_published) != (None, None)
        and why.page is not None
        and why.page.relevance > threshold
        and not (why.page.relevant or why.duplicate_of)
    )
    weights = model.part_weights()
    parts = {} if why.page is None else why.page.parts
    if weights and why.page is not None and parts and not any(map(is_judge_part, parts)):
        total = weights["bias"] + sum(weights[part] * value for part, value in parts.items())
        if abs(1.0 / (1.0 + math.exp(-total)) - why.page.relevance) > 0.01:
            weights = {}  # `focus label` has judged the page again, with weights of its own
    return msgspec.structs.replace(
        why, threshold=threshold, weights=weights, is_out_of_period=is_out_of_period
    )


def is_judge_part(part: str) -> bool:
    """Return whether a part of a relevance is the answer of a judge."""
    return part.startswith(JUDGE_PART)


def _few_terms(reader: DatabaseReader, crawl: int, config: CrawlConfig, why: Why) -> list[str]:
    """Return the related terms in the stored text of a page, none of which counted."""
    row = reader.read(partial(labels.find_page_row, crawl=crawl, url=why.url, key=b""))
    if row is None or not config.analysis.topic:
        return []
    text = main_text_from_html(reader.read(partial(labels.load_page, row=row)).html)
    matcher = Matcher(from_builtins(config.analysis.topic))
    return sorted(matcher.word_counts(fold_body(text)))


def _priority_parts(strategy: Strategy, why: Why) -> dict[str, float]:
    """Return the parts of the priority, including the remainder and the bonus of the queue."""
    parts = strategy.priority_parts(why.link_evidence)
    if not parts:
        return {}
    remainder = "fallback" if why.priority >= FALLBACK_PRIORITY else strategy.remainder
    rest = {remainder: why.priority - sum(parts.values())} if remainder else {}
    return {**parts, **rest, "place": why.place}


def _matched_words(config: CrawlConfig, why: Why) -> list[str]:
    if not config.analysis.topic:
        return []
    matcher = Matcher(from_builtins(config.analysis.topic))
    anchor = why.path[-1].anchor if why.path else ""
    return list(
        dict.fromkeys([*matcher.link_words(anchor), *matcher.link_words(url_words(why.url))])
    )


def _preceding_urls(db: sqlite3.Connection, *, crawl: int, why: Why) -> PrecedingUrls | None:
    """Return the pages fetched before a page, or the waiting URLs before a waiting URL."""
    if why.page is not None and len(why.path) > 1:
        (since,) = db.execute(_PARENT, (*id_range(crawl), why.path[-2].url)).fetchone() or (0,)
        return _summarise_preceding(db.execute(_BETWEEN, (crawl, since, why.page.nth)).fetchall())
    if why.state == UrlState.WAITING.name.lower():
        db.execute(_PRESENT)
        db.executemany(
            "INSERT INTO present VALUES (?, ?)", url_log.load_priorities(db, crawl=crawl).items()
        )
        values = (*id_range(crawl), UrlState.WAITING, why.priority + why.place)
        rows = db.execute(_BEFORE, values).fetchall()
        db.execute("DROP TABLE temp.present")
        return _summarise_preceding(rows)
    return None


def _summarise_preceding(rows: Sequence[tuple[str, str, float]]) -> PrecedingUrls:
    """Summarise rows of (URL, host, priority)."""
    hosts = Counter(host for _, host, _ in rows).most_common(_MAX_SHOWN)
    return PrecedingUrls(
        len(rows), hosts, [(url, priority) for url, _, priority in rows[:_MAX_SHOWN]]
    )


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
