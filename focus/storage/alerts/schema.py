"""Describes the tables of alerts, what was found for them, and what goes to whom."""

ALERTS = """
-- People. Number 1 is whoever types commands; others exist with `focus serve` only.
CREATE TABLE user (
    id         INTEGER PRIMARY KEY,   -- from 1
    name       TEXT NOT NULL UNIQUE COLLATE NOCASE,  -- to log in by
    mail       TEXT,                  -- where digests and forgotten passwords go
    phone      TEXT,                  -- for channels that need one
    password   TEXT,                  -- argon2id; NULL: cannot log in
    language   TEXT NOT NULL,         -- of messages and pages: zh, en
    zone       TEXT NOT NULL,         -- IANA name, for schedules and quiet hours
    quiet      TEXT NOT NULL,         -- `22:00-07:00`, where an alert has none of its own
    admin      INTEGER NOT NULL,      -- 1: may change settings and users
    disabled   INTEGER NOT NULL,      -- 1: may not log in
    created_at REAL NOT NULL,         -- when it was made
    seen_at    REAL,                  -- last request; NULL: never
    channels   TEXT NOT NULL DEFAULT '[]'  -- how a new alert tells: JSON list, as `mail`
);

-- A site that is looked at again and again, by one crawl for all alerts on it.
CREATE TABLE site (
    id         INTEGER PRIMARY KEY,   -- from 1
    host       TEXT NOT NULL UNIQUE,  -- host[:port]
    crawl      INTEGER,               -- its crawl; NULL: never visited
    matched    INTEGER NOT NULL,      -- pages with page.nth up to this were held against alerts
    visited_at REAL,                  -- NULL: never
    next_at    REAL NOT NULL,         -- not to be visited before
    pages      INTEGER NOT NULL,      -- seen by the last visit
    trouble    TEXT NOT NULL,         -- why the last visit brought nothing; '': it did
    news_from  INTEGER,               -- first URL of visits that did not come to their end (a
                                      -- budget, a kill): the next goes on; NULL: all is matched
    failing_since REAL,               -- since when no visit brought an answer; NULL: the last did
    failures   INTEGER NOT NULL DEFAULT 0, -- how many visits that were
    free_at    REAL NOT NULL DEFAULT 0     -- politeness: not to be visited before, whoever is due
);

-- A page that is looked at again because news appears there.
CREATE TABLE revisit (
    id         INTEGER PRIMARY KEY,   -- = url.id
    watched_s  REAL NOT NULL,         -- seconds it was watched, discounted, as is
    fresh      REAL NOT NULL,         -- new relevant pages that its links led to
    interval_s REAL NOT NULL,         -- between two visits
    checked_at REAL NOT NULL,         -- last visit
    next_at    REAL NOT NULL          -- not before
);

-- What somebody wants to be told of.
CREATE TABLE alert (
    id         INTEGER PRIMARY KEY,   -- from 1
    user       INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,  -- whose
    name       TEXT NOT NULL,         -- unique to its owner
    definition TEXT NOT NULL,         -- JSON of records.Alert
    paused     INTEGER NOT NULL,      -- 1: not checked
    created_at REAL NOT NULL,         -- when it was made
    checked_at REAL,                  -- NULL: never; the first time marks what exists as seen
    next_at    REAL NOT NULL,         -- of its schedule
    UNIQUE (user, name)
);
CREATE INDEX alert_due ON alert (next_at) WHERE paused = 0;
CREATE TABLE alert_site (
    alert    INTEGER NOT NULL REFERENCES alert ON DELETE CASCADE,  -- for which
    site     INTEGER NOT NULL REFERENCES site,  -- which
    url      TEXT NOT NULL,           -- the section as given
    begun_at REAL,                    -- when what exists there was marked as seen; NULL: not yet
    PRIMARY KEY (alert, url)
) WITHOUT ROWID;
CREATE INDEX alert_of_site ON alert_site (site);

-- A page that matches an alert.
CREATE TABLE alert_match (
    id           INTEGER PRIMARY KEY,  -- from 1
    alert        INTEGER NOT NULL REFERENCES alert ON DELETE CASCADE,  -- for which
    page         INTEGER NOT NULL,    -- = page.id
    url          TEXT NOT NULL,       -- where it is
    title        TEXT NOT NULL,       -- '' if it has none
    language     TEXT NOT NULL,       -- as the page declares; '': it does not
    published_at REAL,                -- as the page itself says; NULL: it does not
    found_at     REAL NOT NULL,       -- when it was first matched
    relevance    REAL NOT NULL,       -- by the alert's judge
    snippet      TEXT NOT NULL,       -- with matched words between U+2060 signs
    why          TEXT NOT NULL,       -- JSON: parts of the relevance, matched words
    simhash      INTEGER NOT NULL,    -- 64 bits, signed; 0: not computed
    duplicate_of INTEGER,             -- the match that it repeats; NULL: none
    baseline     INTEGER NOT NULL,    -- 1: existed when the alert began; 2: and is an example
    read_at      REAL,                -- NULL: not yet
    deleted      INTEGER NOT NULL DEFAULT 0,  -- 1: by its owner
    vote         INTEGER,             -- 1 relevant, 0 not, by its owner
    UNIQUE (alert, url)
);
CREATE INDEX match_of_alert ON alert_match (alert, found_at DESC)
    WHERE deleted = 0 AND duplicate_of IS NULL;
CREATE INDEX match_duplicates ON alert_match (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX match_votes ON alert_match (alert) WHERE vote IS NOT NULL;

-- What has to be delivered: written with the match, once per user, alert, page and channel.
CREATE TABLE outbox (
    id      INTEGER PRIMARY KEY,      -- from 1
    user    INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,  -- whose
    alert   INTEGER NOT NULL REFERENCES alert ON DELETE CASCADE,  -- for which
    alert_match INTEGER NOT NULL REFERENCES alert_match ON DELETE CASCADE,  -- what
    channel TEXT NOT NULL,            -- `mail:a@b.org`
    state   INTEGER NOT NULL,         -- 0 waits, 1 sent, 2 dead
    due_at  REAL NOT NULL,            -- not before
    tries   INTEGER NOT NULL,         -- so far
    batch   TEXT NOT NULL,            -- id of the message that it went out in; '': none yet
    error   TEXT NOT NULL,            -- of the last try
    UNIQUE (user, alert, alert_match, channel)
);
CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 0;
CREATE INDEX outbox_batch ON outbox (batch, user, channel) WHERE state = 0;

-- What became of each message, for people.
CREATE TABLE delivery (
    id      INTEGER PRIMARY KEY,      -- from 1
    at      REAL NOT NULL,            -- when
    user    INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,  -- whose
    channel TEXT NOT NULL,            -- `mail:a@b.org`
    batch   TEXT NOT NULL,            -- id of its message
    items   INTEGER NOT NULL,         -- pages in it
    state   INTEGER NOT NULL,         -- 0 will be tried again, 1 sent, 2 dead
    detail  TEXT NOT NULL             -- for people
);
CREATE INDEX delivery_of_user ON delivery (user, at DESC);

-- Secrets that people carry, by their SHA-256.
CREATE TABLE token (
    hash       BLOB PRIMARY KEY,      -- SHA-256 of the secret
    kind       TEXT NOT NULL,         -- session, reset, invite, feed, totp, …
    user       INTEGER REFERENCES user ON DELETE CASCADE,  -- whose
    alert      INTEGER REFERENCES alert ON DELETE CASCADE,  -- for which
    made_at    REAL NOT NULL,         -- when
    expires_at REAL,                  -- NULL: when it is taken back
    data       TEXT NOT NULL          -- JSON
) WITHOUT ROWID;

CREATE TABLE attempt (                -- log-ins that failed, by account and by address
    who    TEXT PRIMARY KEY,          -- `user:NAME`, `address:IP`
    n      INTEGER NOT NULL,          -- how often in a row
    last   REAL NOT NULL              -- when last
) WITHOUT ROWID;

CREATE TABLE audit (
    id     INTEGER PRIMARY KEY,       -- from 1
    at     REAL NOT NULL,             -- when
    actor  TEXT NOT NULL,             -- who did it
    act    TEXT NOT NULL,             -- what was done
    detail TEXT NOT NULL              -- for people
);

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,           -- smtp, registration, base_url, …
    value TEXT NOT NULL               -- JSON
) WITHOUT ROWID;
"""
