"""Reads all figures of a crawl's report in one go.

One read transaction, so that the figures of a crawl under way agree with each other; it
takes seconds, and the WAL is folded after it. Memory stays flat but for a byte per URL.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import msgspec

from focus.config import CrawlConfig
from focus.errors import ConfigError
from focus.http.robots import from_answer
from focus.i18n import decode_message
from focus.records import Tally, UrlState
from focus.score.relevance import relevance_threshold
from focus.score.strategy.yield_strategy import Yield as Learner
from focus.score.strategy.yield_strategy import shrunk_rate
from focus.storage import distributions, link_map
from focus.storage.figures import (
    CrawlFigures,
    CrawlSettings,
    Failing,
    Judged,
    Polite,
    Round,
    YieldFigures,
)
from focus.storage.reader import DatabaseReader
from focus.storage.schema import LAST_ID, id_range, row_id
from focus.storage.views import Reason
from focus.topic.topic import from_builtins

HOSTS = 100
BUSY = 50  # hosts whose politeness is told
OTHERS = 20  # crawls for the same topic

RobotsColumns = dict[str, tuple[bytes, int, float]]
Rest = tuple[int, float | None, float | None]
"""Pages of a host, the smallest rest between them and the mean one."""


def figures(reader: DatabaseReader, crawl: int) -> CrawlFigures:
    """All figures of a crawl; ConfigError when there is none of this id."""

    def read(db: sqlite3.Connection) -> CrawlFigures:
        db.execute("BEGIN")
        try:
            return _figures(reader, db, crawl)
        finally:
            db.execute("ROLLBACK")

    return reader.run(read)


def _figures(reader: DatabaseReader, db: sqlite3.Connection, crawl: int) -> CrawlFigures:
    status = reader.status(crawl)
    config = _config(db, crawl)
    counters = status.counters
    (last,) = db.execute("SELECT max(nth) FROM page WHERE crawl = ?", (crawl,)).fetchone()
    requests = max(int(counters.get("requests", 0)), last or 0)
    priority, tenths = distributions.priorities(db, crawl)
    polite, smallest, smallest_host = _polite(db, crawl, config.agent)
    rounds = distributions.rounds(db, crawl)
    learns = config.strategy == Learner.name
    prior = Learner.defaults | config.params if learns else None
    return CrawlFigures(
        crawl=status.crawl,
        settings=_settings(config),
        requests=requests,
        robots_requests=int(counters.get("robots", 0)),
        bytes=int(counters.get("bytes", 0)),
        seconds=float(counters.get("active_s", 0.0)),
        states=status.states,
        failures=_failures(db, crawl),
        drops=[Reason(*row) for row in db.execute(_DROPS, (crawl,))],
        harvest_last_100=status.harvest_last_100,
        harvest_last_500=status.harvest_last_500,
        course=distributions.course(db, crawl, requests),
        window=distributions.WINDOW,
        relevance=distributions.relevances(db, crawl),
        priority=priority,
        tenths=tenths,
        hosts_known=_count(db, "host", crawl),
        patterns_known=_count(db, "queue", crawl) if learns else 0,
        hosts=_yields(db, crawl, _HOSTS, prior),
        patterns=_yields(db, crawl, _PATTERNS, prior) if learns else [],
        polite=polite,
        smallest_s=smallest,
        smallest_host=smallest_host,
        best=link_map.best(db, crawl),
        hubs=link_map.hubs(db, crawl),
        depths=distributions.depths(db, crawl),
        tunnels=distributions.tunnels(db, crawl, sum(status.states.values())),
        links=link_map.link_map(db, crawl),
        judged=_judged(db, crawl, status.crawl.topic),
        rounds=rounds,
        algorithms=[
            _algorithm(db, *row, rounds=rounds if row[0] == crawl else None)
            for row in db.execute(_SAME_TOPIC, (crawl, crawl, OTHERS)).fetchall()
        ],
    )


def _config(db: sqlite3.Connection, crawl: int) -> CrawlConfig:
    """The configuration of a crawl's last run; of another version's, what can be told."""
    text, identity = db.execute(
        "SELECT config, identity FROM crawl WHERE id = ?", (crawl,)
    ).fetchone()
    try:
        return msgspec.json.decode(text, type=CrawlConfig)
    except msgspec.ValidationError:
        known: dict[str, Any] = msgspec.json.decode(identity)
        return CrawlConfig(seeds=tuple(known.get("seeds", ())), strategy=known.get("strategy", ""))


def _settings(config: CrawlConfig) -> CrawlSettings:
    topic, analysis, polite = config.analysis.topic, config.analysis, config.politeness
    keywords: Any = topic.get("keywords") or []
    limits = msgspec.structs.asdict(config.limits) | {"max_depth": config.scope.max_depth}
    return CrawlSettings(
        seeds=list(config.seeds),
        keywords=[_keyword(each) for each in keywords],
        strategy=config.strategy,
        relevance=analysis.relevance,
        params=config.params,
        model_params=analysis.params,
        as_published=config.as_published,
        threshold=_threshold(config),
        scope=config.scope.scope,
        limits={name: value for name, value in limits.items() if value is not None},
        concurrency=config.concurrency,
        per_host=polite.per_host,
        delay_s=polite.delay_s,
        ignore_robots=polite.ignore_robots,
        agent=config.fetch.user_agent,
    )


def _keyword(word: dict[str, Any]) -> str:
    weight = word.get("weight", 1.0)
    return str(word.get("text", "")) + ("" if weight == 1.0 else f":{weight:g}")


def _threshold(config: CrawlConfig) -> float | None:
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


def _count(db: sqlite3.Connection, table: str, crawl: int) -> int:
    sql = f"SELECT count(*) FROM {table} WHERE id BETWEEN ? AND ?"
    number: int = db.execute(sql, id_range(crawl)).fetchone()[0]
    return number


# -- hosts --------------------------------------------------------------------------


def _yields(
    db: sqlite3.Connection, crawl: int, sql: str, prior: Mapping[str, float] | None
) -> list[YieldFigures]:
    """The best places; after a crawl by `yield` (`prior`: its numbers) each with its rate."""
    found = []
    for name, pattern, n, hits, host_n, host_hits in db.execute(sql, (*id_range(crawl), HOSTS)):
        rate = None
        if prior is not None:
            rate = shrunk_rate(Tally(host_n, host_hits), prior["p0"], prior["k"])
            if pattern is not None:
                rate = shrunk_rate(Tally(n, hits), rate, prior["k"])
        found.append(YieldFigures(name, pattern or "", n, hits, rate))
    return found


def _polite(
    db: sqlite3.Connection, crawl: int, agent: str
) -> tuple[list[Polite], float | None, str]:
    """How the hosts with the most requests were treated; the smallest rest of any host, and its."""
    busy = db.execute(_BUSY, (*id_range(crawl), BUSY)).fetchall()
    rests, smallest, where = _rests(db, crawl, {row[0] & LAST_ID for row in busy})
    chosen = msgspec.json.encode(list(rests)).decode()
    forbidden = dict(db.execute(_FORBIDDEN, (*id_range(crawl), chosen)))
    found = []
    for number, name, requests, given_up, packed in busy:
        pages, least, mean = rests[number & LAST_ID]
        status, asked = _asked(packed, agent)
        found.append(
            Polite(
                host=name,
                requests=requests,
                pages=pages,
                smallest_s=least,
                mean_s=mean,
                asked_s=asked,
                robots=status,
                forbidden=forbidden.get(number & LAST_ID, 0),
                given_up=bool(given_up),
            )
        )
    return found, smallest, where


def _rests(
    db: sqlite3.Connection, crawl: int, hosts: set[int]
) -> tuple[dict[int, Rest], float | None, str]:
    """Pages and rests of these hosts; the smallest rest of all hosts, and whose it is."""
    rests: dict[int, Rest] = dict.fromkeys(hosts, (0, None, None))
    smallest, where = None, -1
    for host, rows in groupby(db.execute(_TIMES, id_range(crawl)), key=itemgetter(0)):
        pages, least, total = 1, math.inf, 0.0
        for (_, _, end), (_, start, _) in pairwise(rows):
            pages, least, total = pages + 1, min(least, start - end), total + start - end
        if pages == 1:
            rest: Rest = (1, None, None)
        else:
            rest = (pages, least, total / (pages - 1))
        if host in hosts:
            rests[host] = rest
        if pages > 1 and (smallest is None or least < smallest):
            smallest, where = least, host
    sql = "SELECT name FROM host WHERE id = ?"
    (name,) = db.execute(sql, (row_id(crawl, where),)).fetchone() if where >= 0 else ("",)
    return rests, smallest, name


def _asked(packed: bytes | None, agent: str) -> tuple[int | None, float | None]:
    """Status of a host's robots.txt, and the delay it asks for."""
    if not packed:
        return None, None
    files = msgspec.msgpack.decode(packed, type=RobotsColumns)
    answers = [(status, from_answer(status, body)) for body, status, _ in files.values()]
    delays = [each.crawl_delay(agent) for _, each in answers]
    asked = max((delay for delay in delays if delay is not None), default=None)
    return max((status for status, _ in answers), default=None), asked


def _failures(db: sqlite3.Connection, crawl: int) -> list[Failing]:
    """Kinds of failure, the most frequent first, each with its first URL as an example."""
    found = []
    for reason, urls, hosts, first in db.execute(_FAILURES, id_range(crawl)).fetchall():
        url, detail = db.execute("SELECT url, detail FROM url WHERE id = ?", (first,)).fetchone()
        found.append(Failing(reason, urls, hosts, url, decode_message(detail or "")))
    return found


def _judged(db: sqlite3.Connection, crawl: int, topic: str) -> Judged:
    """The model against people's labels; costs a pass over the pages if there are any."""
    if db.execute("SELECT 1 FROM label WHERE topic = ? LIMIT 1", (topic,)).fetchone() is None:
        return Judged(0, 0, 0, 0)
    return Judged(*db.execute(_JUDGED, (topic, *id_range(crawl))).fetchone())


def _algorithm(
    db: sqlite3.Connection, crawl: int, strategy: str, model: str, seconds: float,
    *, rounds: list[Round] | None,
) -> Any:  # fmt: skip
    return distributions.algorithm(
        crawl,
        names=(strategy, model),
        seconds=seconds or 0.0,
        rounds=distributions.rounds(db, crawl) if rounds is None else rounds,
    )


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
SELECT host.name AS name, {{pattern}} AS pattern, queue.host AS host, sum(fetched) AS n,
sum(yielded) AS hits FROM queue
JOIN host ON host.id = (queue.id & ~{LAST_ID}) + queue.host
WHERE queue.id BETWEEN ? AND ? GROUP BY queue.host{{more}} HAVING n > 0"""
_HOSTS = f"""
SELECT name, NULL, n, hits, n, hits FROM ({_TALLIES.format(pattern="NULL", more="")})
ORDER BY hits DESC, n DESC, name LIMIT ?"""
_PATTERNS = f"""
SELECT name, pattern, n, hits, sum(n) OVER whole, sum(hits) OVER whole
FROM ({_TALLIES.format(pattern="pattern", more=", pattern")}) WINDOW whole AS (PARTITION BY host)
ORDER BY hits DESC, n DESC, name, pattern LIMIT ?"""
_BUSY = f"""
SELECT host.id, name, sum(fetched) AS n, given_up, robots FROM queue
JOIN host ON host.id = (queue.id & ~{LAST_ID}) + queue.host
WHERE queue.id BETWEEN ? AND ? GROUP BY host.id HAVING n > 0 ORDER BY n DESC, name LIMIT ?"""
_TIMES = f"""
SELECT queue.host AS host, fetched_at, fetched_at + elapsed_s
FROM page JOIN url_found f USING (id) JOIN queue ON queue.id = (page.id & ~{LAST_ID}) + f.queue
WHERE page.id BETWEEN ? AND ? ORDER BY host, fetched_at"""
_FORBIDDEN = f"""
SELECT queue.host, count(*) FROM url_state s CROSS JOIN url_found f USING (id)
CROSS JOIN queue ON queue.id = (f.id & ~{LAST_ID}) + f.queue
WHERE s.id BETWEEN ? AND ? AND s.state = {int(UrlState.DROPPED)} AND s.reason = 'robots'
AND queue.host IN (SELECT value FROM json_each(?)) GROUP BY queue.host"""
_JUDGED = """
SELECT count(*), ifnull(sum(label.relevant), 0), ifnull(sum(page.relevant), 0),
ifnull(sum(label.relevant AND page.relevant), 0)
FROM page_text CROSS JOIN label ON label.topic = ? AND label.url = page_text.url
CROSS JOIN page ON page.id = page_text.id WHERE page_text.id BETWEEN ? AND ?"""
_SAME_TOPIC = """
SELECT id, strategy, ifnull(json_extract(config, '$.analysis.relevance'), ''),
json_extract(counters, '$.active_s')
FROM crawl JOIN progress ON progress.crawl = crawl.id
WHERE topic = (SELECT topic FROM crawl WHERE id = ?)
ORDER BY id = ? DESC, id DESC LIMIT ?"""
