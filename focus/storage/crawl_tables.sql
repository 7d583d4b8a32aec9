-- Tables of crawls. storage/schema.py describes the row ids.

-- One crawl: a set of seeds, a topic and a strategy.
CREATE TABLE crawl (
    id           INTEGER PRIMARY KEY,  -- from 1
    topic        TEXT NOT NULL,   -- name; stands before long columns, which readers of a row then skip
    strategy     TEXT NOT NULL,   -- name
    started_at   REAL NOT NULL,   -- Unix seconds, like all times here
    opened_at    REAL NOT NULL,   -- start of the last run by the clock of this machine; the latest
                                  -- crawl has the largest value (a recorded web has its own time)
    finished_at  REAL,            -- NULL: running, or its process was killed
    reason       TEXT,            -- reason of the end; NULL as above
    digest       BLOB NOT NULL,   -- SHA-256 of `identity`; an equal command continues the crawl
    identity     TEXT NOT NULL,   -- canonical JSON: seeds, topic, strategy, ...
    config       TEXT NOT NULL,   -- JSON of the complete configuration of the last run
    report       TEXT             -- JSON summary of the last run; NULL until it has ended
);

-- Values of a crawl that change with each batch. They have a table of their own because `identity`
-- may contain 100,000 seeds.
CREATE TABLE progress (
    crawl        INTEGER PRIMARY KEY,  -- = crawl.id
    heartbeat_at REAL NOT NULL,        -- last write by its process
    counters     TEXT NOT NULL         -- JSON object of totals after the last batch
);

-- Hosts with the state that politeness needs after a restart.
CREATE TABLE host (
    id       INTEGER PRIMARY KEY,  -- crawl << 32 | host
    name     TEXT NOT NULL,        -- host[:port]
    next_at  REAL NOT NULL,        -- time of the earliest next request
    failures INTEGER NOT NULL,     -- consecutive failures caused by the host
    given_up INTEGER NOT NULL,     -- 1: abandoned after too many failures
    robots   BLOB,                 -- MessagePack of HostRow.robots; NULL: never fetched
    address  TEXT NOT NULL,        -- last known IP address; '': unknown
    software TEXT NOT NULL         -- web application; '': unknown
);

-- Texts that the pages of a host repeat.
CREATE TABLE host_template (
    id     INTEGER PRIMARY KEY,  -- = host.id
    blocks BLOB NOT NULL,        -- hashes of repeated texts as uint32, little-endian
    packed BLOB NOT NULL         -- MessagePack of engine.templates.HostPages
);

-- Queues of the frontier: the URLs of one host with one pattern.
CREATE TABLE queue (
    id      INTEGER PRIMARY KEY,   -- crawl << 32 | queue
    host    INTEGER NOT NULL,      -- host of the URLs
    pattern   TEXT NOT NULL,         -- URL pattern; '': the strategy uses no patterns
    fetched INTEGER NOT NULL,      -- requests for URLs of the queue
    yielded REAL NOT NULL,         -- sum of the rewards of its pages (1 for a relevant page)
    bonus   REAL NOT NULL DEFAULT 0,  -- bonus that a learning strategy adds to the priorities
    -- The same for recent requests: older ones have decayed, as of request `recent_at` of the host.
    recent_fetched REAL NOT NULL DEFAULT 0,     -- like `fetched`
    recent_yielded REAL NOT NULL DEFAULT 0,     -- like `yielded`
    recent_at      INTEGER NOT NULL DEFAULT 0   -- requests to the host at the last update
);

-- All known URLs as discovered, for reports; a restart reads found_log instead. The table has millions
-- of rows that are written once; NULL means "" and takes one byte. `key` has no index: a write to a
-- random page of the file for each new URL would cost more than all other writes. The crawl has the
-- keys in memory, and `why` can read the whole table.
CREATE TABLE url_found (
    id       INTEGER PRIMARY KEY,  -- crawl << 32 | id, in order of discovery
    key      BLOB NOT NULL,        -- 16 bytes: MD5 of the duplicate key
    url      TEXT NOT NULL,        -- as requested; a redirect to https may change it
    queue    INTEGER NOT NULL,     -- queue of the frontier
    depth    INTEGER NOT NULL,     -- number of links from a seed
    priority REAL NOT NULL,        -- larger is earlier; later values are in evidence_log
    parent   INTEGER,              -- URL of the page with the first link to it; NULL: a seed
    anchor   TEXT                  -- text of that link; NULL: none
);
-- The same for a restart, with one row per batch; see storage/url_log.py.
CREATE TABLE found_log (
    id     INTEGER PRIMARY KEY,    -- row id of the first URL; the others follow without gaps
    width  INTEGER NOT NULL,       -- number of evidence values in a record
    packed BLOB NOT NULL           -- records: half of the key (8 bytes), priority (float64), queue
                                   -- (uint32), parent (int32, -1: none), depth (uint16, at most
                                   -- 65535), hops (uint8, at most 255), evidence (float32),
                                   -- little-endian
);
-- States of URLs that were requested or dropped. The rows are short, because each is written at a
-- random place of the file. A URL without a row waits for its first request.
CREATE TABLE url_state (
    id       INTEGER PRIMARY KEY,  -- = url_found.id
    state    INTEGER NOT NULL,     -- records.UrlState except FETCHING
    reason   TEXT,                 -- reason of a failure, drop or retry
    detail   TEXT,                 -- reason in words; NULL: none
    tries    INTEGER NOT NULL,     -- failed requests so far
    retry_at REAL,                 -- earliest time of the next request; NULL: any time
    hops     INTEGER NOT NULL,     -- redirects followed to this URL
    parent   INTEGER               -- URL of the page with the best link; NULL: as in url_found
);
-- URLs that are being fetched, or were when the process died.
CREATE TABLE fetching (
    id INTEGER PRIMARY KEY         -- = url_found.id
);

-- Better link evidence of waiting URLs, with one row per batch, because rows of their own would be
-- written at random places of the file (storage/url_log.py). The last record of a URL counts.
CREATE TABLE evidence_log (
    id     INTEGER PRIMARY KEY,    -- crawl << 32 | number, in order of writing
    width  INTEGER NOT NULL,       -- number of evidence values in a record
    packed BLOB NOT NULL           -- records: URL (uint32), parent (int32, -1: unchanged),
                                   -- priority (float64), evidence (float32), little-endian
);
-- Texts of the links of a page that raised the priority of URLs.
CREATE TABLE link_anchor (
    id      INTEGER PRIMARY KEY,   -- = url.id of the page with the links
    anchors TEXT NOT NULL          -- JSON object: id of the URL -> text
);

-- Numbers of URLs by final state, so that `status` need not read all URLs.
CREATE TABLE tally (
    crawl  INTEGER NOT NULL,       -- = crawl.id
    state  INTEGER NOT NULL,       -- DONE, FAILED, DROPPED
    reason TEXT NOT NULL,          -- '': none
    n      INTEGER NOT NULL,       -- number of URLs
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

-- Numbers of fetched and scored pages, for sorting and filtering; the texts are in page_text, the
-- sources in body.
CREATE TABLE page (
    id         INTEGER PRIMARY KEY,  -- = url.id
    crawl      INTEGER NOT NULL,     -- = id >> 32, for page_nth
    nth        INTEGER NOT NULL,     -- number of its request, from 1
    waiting    INTEGER NOT NULL,     -- waiting URLs when it was dequeued
    status     INTEGER NOT NULL,     -- HTTP status
    fetched_at REAL NOT NULL,        -- start of the request
    elapsed_s  REAL NOT NULL,        -- seconds until the last byte
    raw_bytes  INTEGER NOT NULL,     -- bytes of the body as received
    priority   REAL NOT NULL,        -- priority when it was dequeued
    pagerank   REAL NOT NULL,        -- local PageRank when it was processed; final values: graph_rank
    relevance  REAL NOT NULL,        -- relevance by the model
    relevant   INTEGER NOT NULL,     -- 1: relevance over the threshold, and no index page
    noindex    INTEGER NOT NULL,     -- 1: the page has the robots rule noindex
    simhash    INTEGER NOT NULL,     -- 64 bits, signed; 0: not computed
    links_cut  INTEGER NOT NULL,     -- links over the limit per page
    host_nth   INTEGER NOT NULL DEFAULT 0, -- number among the requests of its host, from 1; 0: unknown
    bonus      REAL NOT NULL DEFAULT 0,    -- bonus of its queue when it was dequeued, not part of priority
    digest     INTEGER NOT NULL DEFAULT 0, -- 64 bits of its main text, signed; 0: not computed
    index_page INTEGER NOT NULL DEFAULT 0  -- 1: an index page; 2: an index page over the threshold
);
-- For harvest rates and for pages in order of request.
CREATE INDEX page_nth ON page (crawl, nth, relevant);

CREATE TABLE page_text (
    id            INTEGER PRIMARY KEY,  -- = page.id
    url           TEXT NOT NULL,        -- URL of the response; url.url may change later
    title         TEXT NOT NULL,        -- '' here and below: none
    site          TEXT NOT NULL,        -- name of the site, from the title or from metadata
    keywords      TEXT NOT NULL,        -- meta element
    description   TEXT NOT NULL,        -- meta element
    language      TEXT NOT NULL,        -- as the page declares it
    charset       TEXT NOT NULL,        -- encoding of the source
    canonical     TEXT,                 -- canonical URL; NULL: none
    parts         TEXT NOT NULL,        -- JSON: relevance by part
    matched       TEXT NOT NULL,        -- JSON: topic words by part
    content_type  TEXT NOT NULL,        -- as received
    etag          TEXT NOT NULL,        -- for conditional requests, as received
    last_modified TEXT NOT NULL,        -- like etag
    rendering     TEXT NOT NULL         -- records.Rendering; '': the page needs no scripts
);

-- Decoded sources of pages, unless --keep excludes them.
CREATE TABLE body (
    id   INTEGER PRIMARY KEY,  -- = page.id
    zstd BLOB NOT NULL         -- UTF-8, one zstd frame
);

-- The link graph, with one row per page, in order of `nth` (Store.iter_graph).
CREATE TABLE link (
    id      INTEGER PRIMARY KEY,  -- crawl << 32 | nth
    source  INTEGER NOT NULL,     -- id of the URL of the page
    targets BLOB NOT NULL         -- ids of the linked URLs, uint32 little-endian, in document order
);

-- Labels of pages by people (`focus label`), by topic, because several crawls may have a page.
CREATE TABLE label (
    topic       TEXT NOT NULL,     -- name of the topic
    url         TEXT NOT NULL,     -- = page_text.url
    page        INTEGER NOT NULL,  -- = page.id of the page that was shown
    relevant    INTEGER NOT NULL,  -- 1: on topic
    labelled_at REAL NOT NULL,     -- time of the last label
    PRIMARY KEY (topic, url)
) WITHOUT ROWID;

-- Times of the last change of pages, by a sitemap or feed of the site.
CREATE TABLE lastmod (
    id         INTEGER PRIMARY KEY,  -- = url.id
    changed_at REAL NOT NULL         -- Unix seconds
);

-- Results of the followed links of pages.
CREATE TABLE hub (
    id      INTEGER PRIMARY KEY,   -- = url.id of the page with the links
    fetched INTEGER NOT NULL,      -- requests for its links
    yielded REAL NOT NULL          -- sum of the rewards of these pages
);

-- Ranks of pages in the link graph at the last end of the crawl. All rows are written again at each
-- end, so they are not in the wide table `page`.
CREATE TABLE graph_rank (
    id        INTEGER PRIMARY KEY,  -- = page.id
    pagerank  REAL NOT NULL,        -- local PageRank, as page.pagerank
    -- HITS (Kleinberg 1999):
    hub       REAL NOT NULL,        -- from 0 to 1, the largest of the crawl
    authority REAL NOT NULL         -- the same scale
);

-- Near-duplicates of earlier pages, which do not count as relevant again.
CREATE TABLE near_duplicate (
    id INTEGER PRIMARY KEY,        -- = page.id
    of INTEGER NOT NULL            -- id of the URL of the earlier page in the same crawl
);

-- Revisited pages, sitemaps and feeds (--refresh). A page without a row was requested once, at
-- page.fetched_at.
CREATE TABLE page_check (
    id         INTEGER PRIMARY KEY,  -- = url.id
    first_at   REAL NOT NULL,        -- time of the first fetch
    checked_at REAL NOT NULL,        -- time of the last answer, including "unchanged" and "gone"
    tried_at   REAL NOT NULL,        -- time of the last request
    changed_at REAL,                 -- time of the last change of text or title seen; NULL: never
    gone_at    REAL,                 -- time since which it is gone (404, 410, moved); NULL: not gone
    watched_s  REAL NOT NULL,        -- seconds of observation, decayed
    news       REAL NOT NULL,        -- changes and new relevant pages found through it, decayed
    trouble    TEXT                  -- failure of the last revisit; NULL: none
);
-- Changes of pages, with one row for each revisit that found one.
CREATE TABLE page_change (
    page   INTEGER NOT NULL,         -- = url.id
    at     REAL NOT NULL,            -- time of the request
    kinds  INTEGER NOT NULL,         -- sum of records.ChangeKind
    links  INTEGER NOT NULL,         -- number of links to URLs that were unknown
    detail TEXT NOT NULL,            -- previous title, new URL, or status
    PRIMARY KEY (page, at)
) WITHOUT ROWID;

-- Learned URL rules: results of the URLs of one kind of a host.
CREATE TABLE url_rule (
    host   INTEGER NOT NULL,         -- crawl << 32 | host
    kind   TEXT NOT NULL,            -- URL pattern, parameter or namespace (url_rules.url_kinds)
    record BLOB NOT NULL,            -- MessagePack of url_rules.Record
    PRIMARY KEY (host, kind)
) WITHOUT ROWID;

-- Validators of sitemaps and feeds for the next conditional request; those of pages are in page_text.
CREATE TABLE validator (
    id            INTEGER PRIMARY KEY,  -- = url.id
    etag          TEXT NOT NULL,        -- as received; '': none
    last_modified TEXT NOT NULL         -- the same
);

-- Answers of judges (--judge), once for each crawl that used them.
CREATE TABLE judge_answer (
    crawl  INTEGER NOT NULL,         -- = crawl.id
    judge  TEXT NOT NULL,            -- name of the judge
    digest BLOB NOT NULL,            -- SHA-256 of topic, URL, title and text
    answer REAL,                     -- probability that the page is about the topic; NULL: unknown
    PRIMARY KEY (judge, digest, crawl)
) WITHOUT ROWID;
