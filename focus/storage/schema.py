"""SQL of the tables of a focus database.

Every row of a crawl has the row id ``crawl << 32 | id``, where `id` counts from 0 within the crawl
(as in `records`). So each table is clustered by crawl, new rows are appended at its end, and no
second index is needed to find a row by id. Columns that refer to another row of the same crawl
(queue, host, parent) contain the `id` only.
"""

from __future__ import annotations

from pathlib import Path

APPLICATION_ID = 0x666F6375
"""`PRAGMA application_id` of focus databases ("focu"); other files are refused unchanged."""

ID_BITS = 32
LAST_ID = (1 << ID_BITS) - 1

ANCHOR_SQL = f"""
(SELECT nullif(json_extract(anchors, '$."' || ({{url}} & {LAST_ID}) || '"'), '')
FROM link_anchor WHERE link_anchor.id = ({{url}} & ~{LAST_ID}) + {{parent}})"""
"""SQL: text of the best link to a URL (row id) from a page (id); NULL if unknown."""

TEMPLATE_SQL = f"""
ifnull((SELECT t.blocks FROM queue q JOIN host_template t ON t.id = (q.id & ~{LAST_ID}) + q.host
WHERE q.id = ({{page}} & ~{LAST_ID}) + {{queue}}), x'')"""
"""SQL: hashes of the texts that the host of a page repeats, as uint32; by row id and queue id."""

OVER_THRESHOLD_SQL = "(page.relevant OR page.index_page = 2)"
"""SQL: whether the model's number for a page is over its threshold; a list is no result even so."""

_STATE_COLUMN = "(SELECT {} FROM url_state s WHERE s.id = f.id)"
URL_VIEW = f"""CREATE VIEW url AS
SELECT f.id AS id, coalesce(nullif({_STATE_COLUMN.format("state")}, 0),
    (SELECT 1 FROM fetching g WHERE g.id = f.id), 0) AS state,
    f.key AS key, f.url AS url, f.queue AS queue, f.depth AS depth, f.priority AS priority,
    ifnull({_STATE_COLUMN.format("parent")}, f.parent) AS parent,
    CASE WHEN ifnull({_STATE_COLUMN.format("parent")}, f.parent) IS f.parent THEN f.anchor ELSE
    {ANCHOR_SQL.format(url="f.id", parent=_STATE_COLUMN.format("parent"))} END AS anchor,
    ifnull({_STATE_COLUMN.format("tries")}, 0) AS tries, {_STATE_COLUMN.format("reason")} AS reason,
    {_STATE_COLUMN.format("detail")} AS detail
FROM url_found f"""
"""View of all known URLs with their present state. It selects from one table only, so that SQLite
never materialises it for a join."""

PAGES_VIEW = f"""CREATE VIEW pages AS
SELECT p.id AS id, p.crawl AS crawl, c.topic AS topic, c.strategy AS strategy,
    u.url AS url, x.url AS final_url, x.canonical AS canonical, p.status AS status,
    x.title AS title, x.site AS site, x.description AS description, x.keywords AS keywords,
    x.language AS language, p.relevance AS relevance, p.relevant AS relevant,
    u.depth AS depth, v.url AS parent, u.anchor AS anchor, p.nth AS nth,
    p.priority AS priority, ifnull(g.pagerank, p.pagerank) AS pagerank,
    strftime('%Y-%m-%dT%H:%M:%SZ', p.fetched_at, 'unixepoch') AS fetched_at,
    strftime('%Y-%m-%dT%H:%M:%SZ', ifnull(k.changed_at, l.changed_at), 'unixepoch') AS changed_at,
    x.content_type AS content_type, p.raw_bytes AS bytes,
    x.parts AS parts, x.matched AS matched,
    strftime('%Y-%m-%dT%H:%M:%SZ', ifnull(k.first_at, p.fetched_at), 'unixepoch') AS first_seen,
    strftime('%Y-%m-%dT%H:%M:%SZ', ifnull(k.checked_at, p.fetched_at), 'unixepoch') AS checked_at,
    strftime('%Y-%m-%dT%H:%M:%SZ', k.gone_at, 'unixepoch') AS gone_at,
    x.rendering AS rendering
FROM page p JOIN crawl c ON c.id = p.crawl JOIN url u ON u.id = p.id
JOIN page_text x ON x.id = p.id LEFT JOIN url_found v ON v.id = (p.id & ~{LAST_ID}) + u.parent
LEFT JOIN lastmod l ON l.id = p.id LEFT JOIN page_check k ON k.id = p.id
LEFT JOIN graph_rank g ON g.id = p.id
WHERE NOT p.noindex AND u.state <> 4"""
"""View for other programs; its columns keep their names and meaning."""

_CRAWL_TABLES, _ALERT_TABLES = (
    (Path(__file__).parent / name).read_text(encoding="utf-8")
    for name in ("crawl_tables.sql", "alerts/alert_tables.sql")
)

MIGRATIONS: tuple[str, ...] = (f"{_CRAWL_TABLES}{URL_VIEW};{PAGES_VIEW};{_ALERT_TABLES}",)
"""Migrations: the first creates all tables, each later one updates a file of the version before.
After the first release, new ones are only appended."""

LAST_UNRELEASED_VERSION = 27
"""Last version before the first release. Until the release, a change of the tables increases this
number, so that older files are refused by their version and not because of a missing column."""

VERSION = LAST_UNRELEASED_VERSION + len(MIGRATIONS)
"""`PRAGMA user_version` of a file with all tables; a new file has 0."""


def row_id(crawl: int, number: int) -> int:
    """Return the row id of number `number` in a crawl: ``crawl << 32 | number``."""
    return crawl << ID_BITS | number


def id_range(crawl: int) -> tuple[int, int]:
    """Return the first and last possible row id of a crawl."""
    return crawl << ID_BITS, crawl << ID_BITS | LAST_ID
