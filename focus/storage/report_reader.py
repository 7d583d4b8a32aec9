"""Reads all figures of the report of a crawl.

It uses one read transaction, so that the figures of a running crawl are consistent. That takes
seconds, after which the WAL can be merged again.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from focus.config import CrawlConfig
from focus.errors import ConfigError
from focus.i18n import decode_message
from focus.records import UrlState
from focus.score.relevance import relevance_threshold
from focus.storage import best_pages, distributions
from focus.storage.figures import (
    CrawlFigures,
    CrawlSettings,
    FailureFigures,
    LabelFigures,
    YieldFigures,
)
from focus.storage.reader import DatabaseReader
from focus.storage.schema import LAST_ID, id_range
from focus.storage.views import ReasonCount
from focus.topic.topic import from_builtins

MAX_HOSTS = 100


def load_figures(reader: DatabaseReader, crawl: int) -> CrawlFigures:
    """Return all figures of a crawl; ConfigError if it does not exist."""

    def read(db: sqlite3.Connection) -> CrawlFigures:
        db.execute("BEGIN")
        try:
            return _read_figures(reader, db, crawl)
        finally:
            db.execute("ROLLBACK")

    return reader.read(read)


def _read_figures(reader: DatabaseReader, db: sqlite3.Connection, crawl: int) -> CrawlFigures:
    status = reader.status(crawl)
    config = reader.load_config(crawl)
    counters = status.counters
    (last,) = db.execute("SELECT max(nth) FROM page WHERE crawl = ?", (crawl,)).fetchone()
    requests = max(int(counters.get("requests", 0)), last or 0)
    learns = config.strategy == "yield"
    return CrawlFigures(
        crawl=status.crawl,
        settings=_crawl_settings(config),
        requests=requests,
        bytes=int(counters.get("bytes", 0)),
        seconds=float(counters.get("active_s", 0.0)),
        states=status.states,
        failures=_failure_figures(db, crawl),
        drops=[ReasonCount(*row) for row in db.execute(_DROPS, (crawl,))],
        request_uses=status.request_uses,
        term_uses=status.term_uses,
        harvest_all=status.harvest_all,
        harvest_last_100=status.harvest_last_100,
        harvest_last_500=status.harvest_last_500,
        course=distributions.harvest_course(db, crawl, requests),
        window=distributions.WINDOW_BUCKETS,
        relevance=distributions.relevance_histogram(db, crawl),
        hosts_known=_count_rows(db, "host", crawl),
        patterns_known=_count_rows(db, "queue", crawl) if learns else 0,
        hosts=_yield_figures(db, crawl, _HOSTS),
        patterns=_yield_figures(db, crawl, _PATTERNS) if learns else [],
        best=best_pages.load_best_pages(db, crawl),
        hubs=best_pages.load_hubs(db, crawl),
        depths=distributions.depth_levels(db, crawl),
        judged=_label_figures(db, crawl, status.crawl.topic, _crawl_threshold(config)),
    )


def _crawl_settings(config: CrawlConfig) -> CrawlSettings:
    topic, analysis, polite = config.analysis.topic, config.analysis, config.politeness
    keywords: Any = topic.get("keywords") or []
    limits = msgspec.structs.asdict(config.limits) | {
        "max_depth": config.scope.max_depth,
        "since_published": analysis.since_published,
        "until_published": analysis.until_published,
    }
    return CrawlSettings(
        seeds=list(config.seeds),
        keywords=[_keyword_text(keyword) for keyword in keywords],
        strategy=config.strategy,
        relevance=analysis.relevance,
        params=config.params,
        model_params=analysis.params,
        as_published=config.as_published,
        threshold=_crawl_threshold(config),
        scope=config.scope.scope,
        limits={name: value for name, value in limits.items() if value is not None},
        concurrency=config.concurrency,
        per_host=polite.per_host,
        delay_s=polite.delay_s,
        ignore_robots=polite.ignore_robots,
        agent=config.fetch.user_agent,
    )


def _keyword_text(word: dict[str, Any]) -> str:
    weight = word.get("weight", 1.0)
    return str(word.get("text", "")) + ("" if weight == 1.0 else f":{weight:g}")


def _crawl_threshold(config: CrawlConfig) -> float | None:
    """Return the crawl's threshold, or None if its topic or model is unknown here."""
    analysis = config.analysis
    if not analysis.topic:
        return None
    try:
        return relevance_threshold(
            analysis.relevance,
            from_builtins(analysis.topic),
            option=analysis.threshold,
            as_published=analysis.as_published,
        )
    except ConfigError:
        return None


def _count_rows(db: sqlite3.Connection, table: str, crawl: int) -> int:
    sql = f"SELECT count(*) FROM {table} WHERE id BETWEEN ? AND ?"
    number: int = db.execute(sql, id_range(crawl)).fetchone()[0]
    return number


# -- hosts --------------------------------------------------------------------------


def _yield_figures(db: sqlite3.Connection, crawl: int, sql: str) -> list[YieldFigures]:
    """Return the hosts or patterns with the highest yield."""
    return [YieldFigures(*row) for row in db.execute(sql, (*id_range(crawl), MAX_HOSTS))]


def _failure_figures(db: sqlite3.Connection, crawl: int) -> list[FailureFigures]:
    """Return the kinds of failure, most frequent first, with their first URL as example."""
    failures = []
    for reason, urls, hosts, first in db.execute(_FAILURES, id_range(crawl)).fetchall():
        url, detail = db.execute("SELECT url, detail FROM url WHERE id = ?", (first,)).fetchone()
        failures.append(FailureFigures(reason, urls, hosts, url, decode_message(detail or "")))
    return failures


def _label_figures(
    db: sqlite3.Connection, crawl: int, topic: str, threshold: float | None
) -> LabelFigures:
    """Compare the model with the labels; takes a pass over the pages if there are labels."""
    has_labels = db.execute("SELECT 1 FROM label WHERE topic = ? LIMIT 1", (topic,)).fetchone()
    if threshold is None or has_labels is None:
        return LabelFigures(0, 0, 0, 0)
    values = (threshold, threshold, topic, *id_range(crawl))
    return LabelFigures(*db.execute(_JUDGED, values).fetchone())


_DROPS = f"""
SELECT reason, n FROM tally WHERE crawl = ? AND state = {int(UrlState.DROPPED)} AND n > 0
ORDER BY n DESC, reason"""
_FAILURES = f"""
SELECT ifnull(reason, '') AS kind, count(*), count(DISTINCT queue.host), min(f.id)
FROM url_state s CROSS JOIN url_found f USING (id)
CROSS JOIN queue ON queue.id = (f.id & ~{LAST_ID}) + f.queue
WHERE s.id BETWEEN ? AND ? AND s.state = {int(UrlState.FAILED)}
GROUP BY kind ORDER BY count(*) DESC, kind"""
_TALLIES = f"""
SELECT host.name, {{pattern}}, sum(fetched) AS n, sum(yielded) AS hits FROM queue
JOIN host ON host.id = (queue.id & ~{LAST_ID}) + queue.host
WHERE queue.id BETWEEN ? AND ? GROUP BY queue.host{{more}} HAVING n > 0
ORDER BY hits DESC, n DESC, host.name{{more}} LIMIT ?"""
_HOSTS = _TALLIES.format(pattern="''", more="")
_PATTERNS = _TALLIES.format(pattern="pattern", more=", pattern")
_JUDGED = """
SELECT count(*), ifnull(sum(label.relevant), 0), ifnull(sum(relevance > ?), 0),
ifnull(sum(label.relevant AND relevance > ?), 0)
FROM page_text CROSS JOIN label ON label.topic = ? AND label.url = page_text.url
CROSS JOIN page ON page.id = page_text.id WHERE page_text.id BETWEEN ? AND ?"""
