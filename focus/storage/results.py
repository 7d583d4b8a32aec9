"""SQL for results: selection, fields and order of pages (used by `reader`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from focus.errors import ConfigError
from focus.records import UrlState
from focus.storage.schema import ID_BITS, LAST_ID
from focus.urls.normal_form import normalise_host

QUALITY_T = 0.5
"""t of P4 2.7: quality(p) = t·R(p)/max R + (1-t)·relevance(p)."""


class Selection(msgspec.Struct, frozen=True):
    """Selection of results that meet all conditions, and their order.

    crawl          "latest", "all" or an id
    relevant       only pages over the threshold of their model
    min_relevance  minimum relevance
    since          fetched at or after this time (Unix seconds), see `parse_since`
    since_published, until_published
                   pages that say they were published at or after, or before, this time; pages
                   without a date are left out
    host           of this host or its subdomains
    topic          of crawls for the topic of this name
    duplicates     include near-duplicates of earlier pages (never `relevant`)
    lists          include pages that list others (never `relevant`), with `relevant` those over
                   the threshold; None includes them only without `relevant`
    gone           include pages that are gone by now (404, 410, redirect)
    sort           "quality", "relevance", "authority", "hub" (all best first), "fetched",
                   "published" (newest first) or "" for the order of requests
    """

    crawl: str = "latest"
    relevant: bool = False
    min_relevance: float | None = None
    since: float | None = None
    since_published: float | None = None
    until_published: float | None = None
    host: str | None = None
    topic: str | None = None
    sort: str = ""
    limit: int | None = None
    duplicates: bool = True
    lists: bool | None = None
    gone: bool = False


COMPUTED_FIELDS = ("published", "modified", "author", "text", "markdown", "trafilatura_text")
"""Fields that are computed from the stored source of a page (`computed_fields`)."""

PUBLISHED = (
    "published_at((SELECT zstd FROM body WHERE body.id = p.id), "
    "(SELECT url FROM page_text WHERE page_text.id = p.id), p.fetched_at)"
)
"""SQL: publication date of page p in Unix seconds, read from its stored source, or NULL. The
function is `computed_fields.published_at`."""

PAGERANK = "ifnull((SELECT pagerank FROM graph_rank g WHERE g.id = p.id), p.pagerank)"
"""SQL: PageRank of page p at the last end of the crawl, or when it was fetched if that is later."""

MAX_RANK_AND_RELEVANCE = f"""
SELECT max({PAGERANK}), max(relevance) FROM page p WHERE id BETWEEN ? AND ?"""
"""SQL: largest PageRank and relevance of the pages of a crawl, for `quality_sql`."""


def _iso_sql(instant: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {instant}, 'unixepoch')"


# Name -> type and SQL of every field of a result. p is the page, x its texts, b its source, u its
# URL, v the URL of its parent, c its crawl, k its last revisit, l its last change according to its
# site; {quality} depends on the selected crawls.
_FIELDS: dict[str, tuple[Any, str]] = {
    "url": (str, "u.url"),
    "final_url": (str, "x.url"),
    "title": (str, "x.title"),
    "site": (str, "x.site"),
    "description": (str, "x.description"),
    "keywords": (str, "x.keywords"),
    "language": (str, "x.language"),
    "relevance": (float, "p.relevance"),
    "relevant": (bool, "p.relevant"),
    "is_list": (bool, "p.index_page > 0"),
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
    "fetched_at": (datetime, _iso_sql("p.fetched_at")),
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
    "first_seen": (datetime, _iso_sql("ifnull(k.first_at, p.fetched_at)")),
    "changed_at": (datetime, _iso_sql("ifnull(k.changed_at, l.changed_at)")),
    "checked_at": (datetime, _iso_sql("ifnull(k.checked_at, p.fetched_at)")),
    "tried_at": (datetime, _iso_sql("ifnull(k.tried_at, p.fetched_at)")),
    "trouble": (str, "k.trouble"),
    "gone_at": (datetime, _iso_sql("k.gone_at")),
    **dict.fromkeys(COMPUTED_FIELDS, (str, "NULL")),
}

FIELDS = tuple(name for name in _FIELDS if name not in COMPUTED_FIELDS)
"""Names of the fields of a result, in the default order of an export."""

_ORDERS = {
    "": "p.crawl, p.nth",
    "quality": "{quality} DESC, p.crawl, p.nth",
    "relevance": "p.relevance DESC, p.crawl, p.nth",
    "authority": f"{_FIELDS['authority'][1]} DESC, p.crawl, p.nth",
    "hub": f"{_FIELDS['hub'][1]} DESC, p.crawl, p.nth",
    "fetched": "p.fetched_at DESC, p.crawl, p.nth DESC",
    "published": f"{PUBLISHED} DESC, p.crawl, p.nth",
}

SORT_FIELDS = {name: "fetched_at" if name == "fetched" else name for name in _ORDERS if name}
"""Field by whose value each order sorts, largest first."""


def field_types(names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the type of each field, by default of `FIELDS`; ConfigError for an unknown field.

    Values of type datetime are texts in ISO 8601 (UTC), those of type dict are JSON.
    """
    for name in names:
        if name not in _FIELDS:
            known = ", ".join(_FIELDS)
            raise ConfigError(
                "unknown field {name!r}; the fields are: {known}", name=name, known=known
            )
    return {name: _FIELDS[name][0] for name in names or FIELDS}


def parse_since(text: str, *, now: float) -> float:
    """Return Unix seconds for an ISO date or time (UTC by default), or for a span such as "7d"."""
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
    """Return SQL for the quality (P4 2.7) of pages of these crawls, between 0 and 1.

    quality = t·R/max R + (1-t)·relevance/max(1, max relevance), with t = `QUALITY_T`. The division
    is needed because the model `position` exceeds 1, unlike the similarity in the paper.

    Example: R = 0.02 with maximum 0.04 and relevance 0.75 with maximum 1.5 give ½·½ + ½·½ = 0.5.

    largest   crawl -> its largest PageRank and relevance
    """
    cases = ["WHEN NULL THEN 0.0"]
    for crawl, (rank, relevance) in largest.items():
        by_rank = QUALITY_T / (rank if rank > 1e-300 else 1.0)  # without PageRank all are 0
        by_relevance = (1 - QUALITY_T) / max(relevance, 1.0)
        cases.append(f"WHEN {crawl} THEN {by_rank!r} * {PAGERANK} + {by_relevance!r} * p.relevance")
    return f"(CASE p.crawl {' '.join(cases)} END)"


def select_sql(selection: Selection, crawls: Sequence[int], quality: str) -> tuple[str, list[Any]]:
    """Return SQL for the row ids of the results in order, with its values.

    Raises ConfigError for an unknown `sort`.
    """
    if selection.sort not in _ORDERS:
        known = ", ".join(name for name in _ORDERS if name)
        raise ConfigError(
            "unknown order {sort!r}; the orders are: {known}", sort=selection.sort, known=known
        )
    tests, values = conditions_sql(selection, crawls)
    order = _ORDERS[selection.sort].format(quality=quality)
    values.append(-1 if selection.limit is None else selection.limit)
    return f"{_SELECT} WHERE {' AND '.join(tests)} ORDER BY {order} LIMIT ?", values


def conditions_sql(
    selection: Selection, crawls: Sequence[int], *, published: str = PUBLISHED
) -> tuple[list[str], list[Any]]:
    """Return SQL conditions on page p and its URL u, with their values.

    published  SQL for the publication date
    """
    tests = [
        f"p.crawl IN ({', '.join(map(str, crawls))})",
        f"NOT p.noindex AND u.state <> {int(UrlState.DROPPED)}",
    ]
    values: list[Any] = []
    if selection.relevant:
        tests.append("(p.relevant OR p.index_page = 2)" if selection.lists else "p.relevant")
    elif selection.lists is False:
        tests.append("p.index_page = 0")
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
        host = normalise_host(selection.host)
        tests.append(_ON_HOST)
        values += [host, len(host) + 1, "." + host]
    for limit, sign in ((selection.since_published, ">="), (selection.until_published, "<")):
        if limit is not None:  # last, since reading a page takes two milliseconds
            tests.append(f"{published} {sign} ?")
            values.append(limit)
    return tests, values


def rows_sql(fields: Sequence[str], quality: str) -> str:
    """Return SQL for row id and fields of results; its value is a JSON array of row ids."""
    column_sql = ", ".join(_FIELDS[name][1].format(quality=quality) for name in fields)
    if any(name in COMPUTED_FIELDS for name in fields):
        return _ROWS.format(columns=f"{column_sql}, b.zstd, x.url, p.fetched_at", source=_SOURCE)
    return _ROWS.format(columns=column_sql, source="")


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
