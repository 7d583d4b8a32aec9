"""Writes the SQL for results: which pages, with which fields, in which order (see `reader`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from focus.errors import ConfigError
from focus.records import UrlState
from focus.storage.schema import ID_BITS, LAST_ID

QUALITY_T = 0.5
"""t of P4 2.7: quality(p) = t·R(p)/max R + (1-t)·relevance(p)."""


class Selection(msgspec.Struct, frozen=True):
    """A choice of results, and their order. Conditions all hold at once.

    crawl          "latest", "all" or an id
    relevant       only pages over their model's threshold
    min_relevance  at least this much
    since          fetched at or after this instant (Unix seconds), see `parse_since`
    host           of this host or its subdomains
    topic          of crawls for the topic of this name
    duplicates     also pages with nearly the text of an earlier one (never `relevant`)
    gone           also pages that were there and are gone by now (404, 410, moved)
    sort           "quality", "relevance", "authority", "hub" (all best first), "fetched"
                   (newest first) or "": in the order of fetching
    """

    crawl: str = "latest"
    relevant: bool = False
    min_relevance: float | None = None
    since: float | None = None
    host: str | None = None
    topic: str | None = None
    sort: str = ""
    limit: int | None = None
    duplicates: bool = True
    gone: bool = False


MADE = ("published", "modified", "author", "site", "text", "markdown")
"""Fields that are made from a page's stored source when they are asked for (`made_fields`)."""

PAGERANK = "ifnull((SELECT pagerank FROM graph_rank g WHERE g.id = p.id), p.pagerank)"
"""Of a page p: as of the crawl's last end, or of when it came, if that was later."""

LARGEST = f"""
SELECT max({PAGERANK}), max(relevance) FROM page p WHERE id BETWEEN ? AND ?"""
"""What `quality_sql` divides by, of a crawl's pages."""


def _iso(instant: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {instant}, 'unixepoch')"


# Name -> type and SQL of every field of a result. p page, x its texts, b its source, u its URL,
# v the URL of its parent, c its crawl, k the last look at it, l what its site says of changes;
# {quality} depends on the crawls selected.
_FIELDS: dict[str, tuple[Any, str]] = {
    "url": (str, "u.url"),
    "final_url": (str, "x.url"),
    "title": (str, "x.title"),
    "description": (str, "x.description"),
    "keywords": (str, "x.keywords"),
    "language": (str, "x.language"),
    "relevance": (float, "p.relevance"),
    "relevant": (bool, "p.relevant"),
    "parts": (dict[str, float], "x.parts"),
    "matched": (dict[str, list[str]], "x.matched"),
    "priority": (float, "p.priority"),
    "pagerank": (float, PAGERANK),
    "authority": (float, "ifnull((SELECT authority FROM graph_rank h WHERE h.id = p.id), 0.0)"),
    "hub": (float, "ifnull((SELECT hub FROM graph_rank h WHERE h.id = p.id), 0.0)"),
    "quality": (float, "{quality}"),
    "depth": (int, "u.depth"),
    "parent": (str, "v.url"),
    "anchor": (str, "u.anchor"),
    "status": (int, "p.status"),
    "fetched_at": (datetime, _iso("p.fetched_at")),
    "strategy": (str, "c.strategy"),
    "topic": (str, "c.topic"),
    "crawl": (int, "p.crawl"),
    "nth": (int, "p.nth"),
    "waiting": (int, "p.waiting"),
    "bytes": (int, "p.raw_bytes"),
    "charset": (str, "x.charset"),
    "content_type": (str, "x.content_type"),
    "duplicate_of": (
        str,
        "(SELECT w.url FROM near_duplicate t JOIN url_found w "
        f"ON w.id = (t.id & ~{LAST_ID}) + t.of WHERE t.id = p.id)",
    ),
    "canonical": (str, "x.canonical"),
    "rendering": (str, "x.rendering"),
    "first_seen": (datetime, _iso("ifnull(k.first_at, p.fetched_at)")),
    "changed_at": (datetime, _iso("ifnull(k.changed_at, l.changed_at)")),
    "checked_at": (datetime, _iso("ifnull(k.checked_at, p.fetched_at)")),
    "tried_at": (datetime, _iso("ifnull(k.tried_at, p.fetched_at)")),
    "trouble": (str, "k.trouble"),
    "gone_at": (datetime, _iso("k.gone_at")),
    **dict.fromkeys(MADE, (str, "NULL")),
}

FIELDS = tuple(name for name in _FIELDS if name not in MADE)
"""Names of the fields of a result, in the order in which they are exported unless asked."""

_ORDERS = {
    "": "p.crawl, p.nth",
    "quality": "{quality} DESC, p.crawl, p.nth",
    "relevance": "p.relevance DESC, p.crawl, p.nth",
    "authority": f"{_FIELDS['authority'][1]} DESC, p.crawl, p.nth",
    "hub": f"{_FIELDS['hub'][1]} DESC, p.crawl, p.nth",
    "fetched": "p.fetched_at DESC, p.crawl, p.nth DESC",
}


def columns(names: Sequence[str] = ()) -> dict[str, Any]:
    """The type of each field (`FIELDS` for none); ConfigError for an unknown one.

    A datetime is text in ISO 8601 (UTC), a dict JSON.
    """
    for name in names:
        if name not in _FIELDS:
            known = ", ".join(_FIELDS)
            raise ConfigError(
                "unknown field {name!r}; the fields are: {known}", name=name, known=known
            )
    return {name: _FIELDS[name][0] for name in names or FIELDS}


def parse_since(text: str, *, now: float) -> float:
    """Unix seconds of an ISO date or time (UTC unless it says otherwise), or of "7d" ago."""
    span = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if span:
        return now - float(span[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[span[2]]
    try:
        when = datetime.fromisoformat(text.strip())
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ConfigError(
            "cannot read {text!r} as a date; write 2025-12-31, 2025-12-31T18:00 or 7d (s m h d w)",
            text=text,
        ) from None


def quality_sql(largest: Mapping[int, tuple[float, float]]) -> str:
    """P4 2.7 for pages of these crawls, each with its largest PageRank and relevance.

    quality = t·R/max R + (1-t)·relevance/max(1, max relevance): 0…1, as `position`
    goes beyond 1 while the paper's similarity does not.
    Worked: R 0.02 of at most 0.04, relevance 0.75 of at most 1.5 → ½·½ + ½·½ = 0.5.
    """
    cases = ["WHEN NULL THEN 0.0"]
    for crawl, (rank, relevance) in largest.items():
        by_rank = QUALITY_T / (rank if rank > 1e-300 else 1.0)  # else no page has any
        by_relevance = (1 - QUALITY_T) / max(relevance, 1.0)
        cases.append(f"WHEN {crawl} THEN {by_rank!r} * {PAGERANK} + {by_relevance!r} * p.relevance")
    return f"(CASE p.crawl {' '.join(cases)} END)"


def select_sql(selection: Selection, crawls: Sequence[int], quality: str) -> tuple[str, list[Any]]:
    """Row ids of the results in order, and the values to bind; ConfigError for a bad `sort`."""
    if selection.sort not in _ORDERS:
        known = ", ".join(name for name in _ORDERS if name)
        raise ConfigError(
            "unknown order {sort!r}; the orders are: {known}", sort=selection.sort, known=known
        )
    tests, values = conditions_sql(selection, crawls)
    order = _ORDERS[selection.sort].format(quality=quality)
    values.append(-1 if selection.limit is None else selection.limit)
    return f"{_SELECT} WHERE {' AND '.join(tests)} ORDER BY {order} LIMIT ?", values


def conditions_sql(selection: Selection, crawls: Sequence[int]) -> tuple[list[str], list[Any]]:
    """What holds of every result, of page p and its URL u, and the values to bind."""
    tests = [
        f"p.crawl IN ({', '.join(map(str, crawls))})",
        f"NOT p.noindex AND u.state <> {int(UrlState.DROPPED)}",
    ]
    values: list[Any] = []
    if selection.relevant:
        tests.append("p.relevant")
    if selection.min_relevance is not None:
        tests.append("p.relevance >= ?")
        values.append(selection.min_relevance)
    if not selection.gone:
        tests.append("p.id NOT IN (SELECT id FROM page_check WHERE gone_at NOT NULL)")
    if not selection.duplicates:
        tests.append("p.id NOT IN (SELECT id FROM near_duplicate)")
    if selection.since is not None:
        tests.append("p.fetched_at >= ?")
        values.append(selection.since)
    if selection.host is not None:
        host = selection.host.lower()
        tests.append(_ON_HOST)
        values += [host, len(host) + 1, "." + host]
    return tests, values


def rows_sql(fields: Sequence[str], quality: str) -> str:
    """Row id and fields of the results whose row ids are bound as a JSON array."""
    chosen = ", ".join(_FIELDS[name][1].format(quality=quality) for name in fields)
    if any(name in MADE for name in fields):
        return _ROWS.format(columns=f"{chosen}, b.zstd, x.url, p.fetched_at", source=_SOURCE)
    return _ROWS.format(columns=chosen, source="")


_ON_HOST = f"""
(p.crawl << {ID_BITS}) + u.queue IN (SELECT queue.id FROM queue
    JOIN host ON host.id = (queue.id & ~{LAST_ID}) + queue.host
    WHERE host.name = ? OR substr(host.name, -?) = ?)"""
_SELECT = "SELECT p.id FROM page p JOIN url u ON u.id = p.id"
_SOURCE = "LEFT JOIN body b ON b.id = p.id"
_ROWS = f"""
SELECT p.id, {{columns}} FROM json_each(?) AS wanted
CROSS JOIN page p ON p.id = wanted.value
CROSS JOIN url u ON u.id = p.id
CROSS JOIN crawl c ON c.id = p.crawl
LEFT JOIN page_text x ON x.id = p.id {{source}}
LEFT JOIN page_check k ON k.id = p.id LEFT JOIN lastmod l ON l.id = p.id
LEFT JOIN url_found v ON v.id = (p.id & ~{LAST_ID}) + u.parent"""
