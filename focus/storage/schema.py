"""SQL of the tables of a focus database.

Every row of a crawl has the row id ``crawl << 32 | id``, where `id` counts from 0 within the crawl
(as in `records`). So each table is clustered by crawl, new rows are appended at its end, and no
second index is needed to find a row by id. Columns that refer to another row of the same crawl
(queue, host, parent) contain the `id` only.
"""

from __future__ import annotations

from focus.storage.alerts.schema import ALERTS

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

_CRAWL_TABLES = """
-- One crawl: a set of seeds, a topic and a strategy.
CREATE TABLE crawl (
    id           INTEGER PRIMARY KEY,  -- from 1
    topic        TEXT NOT NULL,   -- its name; before what may be long, as rows read it
    strategy     TEXT NOT NULL,   -- its name
    started_at   REAL NOT NULL,   -- Unix seconds, like every instant here
    opened_at    REAL NOT NULL,   -- when its last run began, by this machine's clock: the latest
                                  -- crawl has the largest (a recorded web's own time is another)
    finished_at  REAL,            -- NULL: under way, or its process was killed
    reason       TEXT,            -- why it ended; NULL as above
    digest       BLOB NOT NULL,   -- SHA-256 of `identity`: which command continues it
    identity     TEXT NOT NULL,   -- canonical JSON: seeds, topic, strategy, ...
    config       TEXT NOT NULL,   -- JSON of the last run's whole configuration
    report       TEXT             -- JSON summary of its last run; NULL until it ended
);

-- What each batch changes of a crawl; apart, as `identity` may hold 100,000 seeds.
CREATE TABLE progress (
    crawl        INTEGER PRIMARY KEY,  -- = crawl.id
    heartbeat_at REAL NOT NULL,        -- last sign of life of its process
    counters     TEXT NOT NULL         -- JSON object of totals after the last batch
);

-- A host, as politeness must find it again.
CREATE TABLE host (
    id       INTEGER PRIMARY KEY,  -- crawl << 32 | host
    name     TEXT NOT NULL,        -- host[:port]
    next_at  REAL NOT NULL,        -- not to be asked before
    failures INTEGER NOT NULL,     -- in a row, the host's own fault
    given_up INTEGER NOT NULL,     -- 1: too many of them
    robots   BLOB,                 -- MessagePack of HostRow.robots; NULL: never fetched
    address  TEXT NOT NULL,        -- the machine it was last found at; '': not known
    software TEXT NOT NULL         -- web application; '': not known
);

-- What the pages of a host repeat.
CREATE TABLE host_template (
    id     INTEGER PRIMARY KEY,  -- = host.id
    blocks BLOB NOT NULL,        -- hashes of repeated texts as uint32, little-endian
    packed BLOB NOT NULL         -- MessagePack of engine.templates.HostPages
);

-- A queue of the frontier: one host's URLs of one pattern.
CREATE TABLE queue (
    id      INTEGER PRIMARY KEY,   -- crawl << 32 | queue
    host    INTEGER NOT NULL,      -- whose URLs
    pattern   TEXT NOT NULL,         -- '': patterns are not used
    fetched INTEGER NOT NULL,      -- requests spent on it
    yielded REAL NOT NULL,         -- relevant pages; soft counts add up
    bonus   REAL NOT NULL DEFAULT 0,  -- what a strategy that learns adds to its priorities
    -- What the requests of late brought: of each, what is left after `recent_at` requests to
    -- its host.
    recent_fetched REAL NOT NULL DEFAULT 0,     -- as `fetched`
    recent_yielded REAL NOT NULL DEFAULT 0,     -- as `yielded`
    recent_at      INTEGER NOT NULL DEFAULT 0   -- requests to the host by then
);

-- Every known URL as it was found, for people; what the crawl itself needs of it to go on stands in
-- found_log. Millions of rows that are written once: NULL stands for "", as one byte. No index on
-- `key`: a random place in the file per new URL would cost more than everything else here; the
-- crawl knows its keys from memory, and `why` can afford one pass.
CREATE TABLE url_found (
    id       INTEGER PRIMARY KEY,  -- crawl << 32 | id, in order of discovery
    key      BLOB NOT NULL,        -- 16 bytes: MD5 of the duplicate key
    url      TEXT NOT NULL,        -- as requested: a redirect to https may give it another
    queue    INTEGER NOT NULL,     -- of the frontier
    depth    INTEGER NOT NULL,     -- links from a seed
    priority REAL NOT NULL,        -- larger = sooner; what came later is in evidence_log
    parent   INTEGER,              -- URL with the link it was found by; NULL: a seed
    anchor   TEXT                  -- of that link; NULL: none
);
-- The same for a restart, one row a batch, see storage/url_log.py.
CREATE TABLE found_log (
    id     INTEGER PRIMARY KEY,    -- of its first URL; the others follow without a gap
    width  INTEGER NOT NULL,       -- floats of evidence a record has
    packed BLOB NOT NULL           -- records: half of the key (8 bytes), priority (float64), queue
                                   -- (uint32), parent (int32, -1: none), depth (uint16, at most
                                   -- 65535), hops (uint8, at most 255), evidence (float32),
                                   -- little-endian
);
-- What became of URLs that were asked for, or dropped: narrow and apart, as each of them is told
-- in a place of its own. A URL without a row waits for its first try.
CREATE TABLE url_state (
    id       INTEGER PRIMARY KEY,  -- = url_found.id
    state    INTEGER NOT NULL,     -- records.UrlState, but FETCHING
    reason   TEXT,                 -- failed, dropped (or tried again): why
    detail   TEXT,                 -- the same for people; NULL: nothing more to say
    tries    INTEGER NOT NULL,     -- failed so far
    retry_at REAL,                 -- not before; NULL: at any time
    hops     INTEGER NOT NULL,     -- redirects followed to come here
    parent   INTEGER               -- URL with the best link to it; NULL: as it was found
);
-- What is in flight, or was when the process died; tiny.
CREATE TABLE fetching (
    id INTEGER PRIMARY KEY         -- = url_found.id
);

-- Better evidence for URLs that wait, one row a batch: in their own rows it would be written to
-- as many places of the file (storage/url_log.py). The last record of a URL counts.
CREATE TABLE evidence_log (
    id     INTEGER PRIMARY KEY,    -- crawl << 32 | number, in order of writing
    width  INTEGER NOT NULL,       -- floats of evidence a record has
    packed BLOB NOT NULL           -- records: URL (uint32), parent (int32, -1: as before),
                                   -- priority (float64), evidence (float32), little-endian
);
-- Texts of the links by which a page bettered URLs.
CREATE TABLE link_anchor (
    id      INTEGER PRIMARY KEY,   -- = url.id of the page with the links
    anchors TEXT NOT NULL          -- JSON object: URL's id -> text
);

-- How many URLs came to which end: `status` without a pass over all of them.
CREATE TABLE tally (
    crawl  INTEGER NOT NULL,       -- whose URLs
    state  INTEGER NOT NULL,       -- DONE, FAILED, DROPPED
    reason TEXT NOT NULL,          -- '': none
    n      INTEGER NOT NULL,       -- how many
    PRIMARY KEY (crawl, state, reason)
) WITHOUT ROWID;
CREATE TRIGGER url_born_ended AFTER INSERT ON url_state WHEN new.state > 1 BEGIN
    INSERT INTO tally VALUES (new.id >> 32, new.state, ifnull(new.reason, ''), 1)
        ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER url_ended AFTER UPDATE OF state ON url_state WHEN new.state > 1 BEGIN
    INSERT INTO tally VALUES (new.id >> 32, new.state, ifnull(new.reason, ''), 1)
        ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER url_revived AFTER UPDATE OF state ON url_state WHEN old.state > 1 BEGIN
    UPDATE tally SET n = n - 1
        WHERE crawl = old.id >> 32 AND state = old.state AND reason = ifnull(old.reason, '');
END;

-- A page that was fetched and scored: its numbers. Narrow, for sorting and
-- filtering; its texts stand in page_text, its body in body.
CREATE TABLE page (
    id         INTEGER PRIMARY KEY,  -- = url.id
    crawl      INTEGER NOT NULL,     -- = id >> 32, for page_nth
    nth        INTEGER NOT NULL,     -- request that brought it, from 1
    waiting    INTEGER NOT NULL,     -- URLs that waited when it was taken
    status     INTEGER NOT NULL,     -- HTTP
    fetched_at REAL NOT NULL,        -- start of the request
    elapsed_s  REAL NOT NULL,        -- until the last byte
    raw_bytes  INTEGER NOT NULL,     -- of the body, off the socket
    priority   REAL NOT NULL,        -- what it was taken at
    pagerank   REAL NOT NULL,        -- local PageRank when it was taken in; graph_rank: at the end
    relevance  REAL NOT NULL,        -- the model's number
    relevant   INTEGER NOT NULL,     -- 1: a result: over the model's threshold, and no index page
    noindex    INTEGER NOT NULL,     -- 1: asked not to be a result
    simhash    INTEGER NOT NULL,     -- 64 bits, signed; 0: not computed
    links_cut  INTEGER NOT NULL,     -- links beyond the cap per page
    host_nth   INTEGER NOT NULL DEFAULT 0, -- among its host's requests, from 1; 0: not known
    bonus      REAL NOT NULL DEFAULT 0,    -- of its queue when it was taken, beside priority
    digest     INTEGER NOT NULL DEFAULT 0, -- 64 bits of its main text, signed; 0: not computed
    index_page INTEGER NOT NULL DEFAULT 0  -- 1: it lists other pages; 2: and is over the threshold
);
-- The course of a crawl (harvest rate, its last pages) and its pages in order.
CREATE INDEX page_nth ON page (crawl, nth, relevant);

CREATE TABLE page_text (
    id            INTEGER PRIMARY KEY,  -- = page.id
    url           TEXT NOT NULL,        -- where it came from; url.url may change later
    title         TEXT NOT NULL,        -- '' here and below: the page has none
    site          TEXT NOT NULL,        -- name of the site, cut from the title or by metadata
    keywords      TEXT NOT NULL,        -- meta
    description   TEXT NOT NULL,        -- meta
    language      TEXT NOT NULL,        -- as declared
    charset       TEXT NOT NULL,        -- it was decoded by
    canonical     TEXT,                 -- NULL: the page names none
    parts         TEXT NOT NULL,        -- JSON: relevance by part
    matched       TEXT NOT NULL,        -- JSON: topic words by part
    content_type  TEXT NOT NULL,        -- as sent
    etag          TEXT NOT NULL,        -- for conditional requests, as sent
    last_modified TEXT NOT NULL,        -- the same
    rendering     TEXT NOT NULL         -- records.Rendering; '': it needs no scripts
);

-- Decoded text of a page; no row when it was not to be kept.
CREATE TABLE body (
    id   INTEGER PRIMARY KEY,  -- = page.id
    zstd BLOB NOT NULL         -- UTF-8, one zstd frame
);

-- The link graph: one row per page, in order of `nth` (Store.graph).
CREATE TABLE link (
    id      INTEGER PRIMARY KEY,  -- crawl << 32 | nth
    source  INTEGER NOT NULL,     -- URL
    targets BLOB NOT NULL         -- URLs as uint32, little-endian, in document order
);

-- What people said of pages (`focus label`). By topic, as a page may be in several crawls.
CREATE TABLE label (
    topic       TEXT NOT NULL,     -- its name
    url         TEXT NOT NULL,     -- as in page_text
    page        INTEGER NOT NULL,  -- = page.id that was looked at
    relevant    INTEGER NOT NULL,  -- 1: on topic
    labelled_at REAL NOT NULL,     -- the last time, if several
    PRIMARY KEY (topic, url)
) WITHOUT ROWID;

-- When a page last changed, as a sitemap or feed of its site tells.
CREATE TABLE lastmod (
    id         INTEGER PRIMARY KEY,  -- = url.id
    changed_at REAL NOT NULL         -- Unix seconds
);

-- What the links of a page brought that were followed from it.
CREATE TABLE hub (
    id      INTEGER PRIMARY KEY,   -- = url.id of the page with the links
    fetched INTEGER NOT NULL,      -- requests spent on them
    yielded REAL NOT NULL          -- relevance they brought; soft counts add up
);

-- How a page stands in the crawl's graph, as of its last end. Narrow, as all of it is written
-- anew then: in `page` that would be the whole of a wide table.
CREATE TABLE graph_rank (
    id        INTEGER PRIMARY KEY,  -- = page.id
    pagerank  REAL NOT NULL,        -- local PageRank, as page.pagerank
    -- Kleinberg's:
    hub       REAL NOT NULL,        -- 0…1, 1 the largest of the crawl
    authority REAL NOT NULL         -- the same
);

-- Pages with nearly the text of an earlier one: they are not relevant a second time.
CREATE TABLE near_duplicate (
    id INTEGER PRIMARY KEY,        -- = page.id
    of INTEGER NOT NULL            -- the earlier page: a URL of the same crawl
);

-- Pages (and sitemaps, feeds) that were looked at again since they were had (--refresh); what is
-- not here was asked for once, at page.fetched_at.
CREATE TABLE page_check (
    id         INTEGER PRIMARY KEY,  -- = url.id
    first_at   REAL NOT NULL,        -- when it was had first
    checked_at REAL NOT NULL,        -- when it answered last, if only that it is as it was or gone
    tried_at   REAL NOT NULL,        -- when it was asked last
    changed_at REAL,                 -- when its text or title was last found changed; NULL: never
    gone_at    REAL,                 -- since when it is gone (404, 410, moved); NULL: it is there
    watched_s  REAL NOT NULL,        -- seconds it was watched, fading
    news       REAL NOT NULL,        -- changes, and relevant pages it led to, fading
    trouble    TEXT                  -- why the last look brought no answer; NULL: it did
);
-- The history of pages: one row for each look that found something changed.
CREATE TABLE page_change (
    page   INTEGER NOT NULL,         -- = url.id
    at     REAL NOT NULL,            -- when it was asked
    kinds  INTEGER NOT NULL,         -- sum of records.ChangeKind
    links  INTEGER NOT NULL,         -- new ones, to URLs that were not known
    detail TEXT NOT NULL,            -- the title before, where it moved to, or how it is gone
    PRIMARY KEY (page, at)
) WITHOUT ROWID;

-- What the URLs of one kind of a host returned: rules that the crawl has learned.
CREATE TABLE url_rule (
    host   INTEGER NOT NULL,         -- crawl << 32 | host
    kind   TEXT NOT NULL,            -- URL pattern, parameter or namespace (url_rules.url_kinds)
    record BLOB NOT NULL,            -- MessagePack of url_rules.Record
    PRIMARY KEY (host, kind)
) WITHOUT ROWID;

-- What a sitemap or feed was sent with, for the next time it is asked for (pages: page_text).
CREATE TABLE validator (
    id            INTEGER PRIMARY KEY,  -- = url.id
    etag          TEXT NOT NULL,        -- as sent; '': none
    last_modified TEXT NOT NULL         -- the same
);
"""

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

MIGRATIONS: tuple[str, ...] = (f"{_CRAWL_TABLES}{URL_VIEW};{PAGES_VIEW};{ALERTS}",)
"""Migrations: the first creates all tables, each later one updates a file of the version before.
After the first release, new ones are only appended."""

LAST_UNRELEASED_VERSION = 26
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
