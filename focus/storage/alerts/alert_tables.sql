-- Tables of alerts, their matches, and the messages about them.

-- Users. User 1 is the user of the command line; `focus serve` adds others.
CREATE TABLE user (
    id         INTEGER PRIMARY KEY,   -- from 1
    name       TEXT NOT NULL UNIQUE COLLATE NOCASE,  -- login name
    mail       TEXT,                  -- address for digests and password resets
    phone      TEXT,                  -- number for channels that need one
    password   TEXT,                  -- argon2id hash; NULL: cannot log in
    language   TEXT NOT NULL,         -- language of messages and pages: zh, en
    zone       TEXT NOT NULL,         -- IANA time zone of schedules and quiet hours
    quiet      TEXT NOT NULL,         -- quiet hours such as `22:00-07:00`, for alerts that set none
    admin      INTEGER NOT NULL,      -- 1: may change settings and users
    disabled   INTEGER NOT NULL,      -- 1: may not log in
    created_at REAL NOT NULL,         -- time of creation
    seen_at    REAL,                  -- time of the last request; NULL: never
    channels   TEXT NOT NULL DEFAULT '[]'  -- channels of a new alert: JSON list, such as `mail`
);

-- Watched sites; one crawl serves all alerts on a site.
CREATE TABLE site (
    id         INTEGER PRIMARY KEY,   -- from 1
    host       TEXT NOT NULL UNIQUE,  -- host[:port]
    crawl      INTEGER,               -- = crawl.id; NULL: never visited
    matched    INTEGER NOT NULL,      -- pages up to this page.nth have been matched against alerts
    visited_at REAL,                  -- time of the last visit; NULL: never
    next_at    REAL NOT NULL,         -- earliest time of the next visit
    pages      INTEGER NOT NULL,      -- number of pages fetched by the last visit
    trouble    TEXT NOT NULL,         -- failure of the last visit; '': none
    news_from  INTEGER,               -- first new URL of visits that did not finish (budget, kill);
                                      -- the next visit continues there; NULL: all is matched
    failing_since REAL,               -- time since which no visit got an answer; NULL: the last one did
    failures   INTEGER NOT NULL DEFAULT 0, -- number of these visits
    free_at    REAL NOT NULL DEFAULT 0     -- earliest time of a visit for politeness, for any alert
);

-- Pages that are revisited because new pages appear there.
CREATE TABLE revisit (
    id         INTEGER PRIMARY KEY,   -- = url.id
    watched_s  REAL NOT NULL,         -- seconds of observation, decayed
    fresh      REAL NOT NULL,         -- new relevant pages found through its links, decayed
    interval_s REAL NOT NULL,         -- seconds between two revisits
    checked_at REAL NOT NULL,         -- time of the last revisit
    next_at    REAL NOT NULL          -- earliest time of the next revisit
);

-- Alerts of users.
CREATE TABLE alert (
    id         INTEGER PRIMARY KEY,   -- from 1
    user       INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,  -- owner
    name       TEXT NOT NULL,         -- unique among the alerts of the owner
    definition TEXT NOT NULL,         -- JSON of records.Alert
    paused     INTEGER NOT NULL,      -- 1: the alert is not checked
    created_at REAL NOT NULL,         -- time of creation
    checked_at REAL,                  -- last check; NULL: never (the first marks all pages as seen)
    next_at    REAL NOT NULL,         -- time of the next check by its schedule
    UNIQUE (user, name)
);
CREATE INDEX alert_due ON alert (next_at) WHERE paused = 0;
CREATE TABLE alert_site (
    alert    INTEGER NOT NULL REFERENCES alert ON DELETE CASCADE,  -- = alert.id
    site     INTEGER NOT NULL REFERENCES site,  -- = site.id
    url      TEXT NOT NULL,           -- section of the site as entered
    begun_at REAL,                    -- time at which existing pages were marked as seen; NULL: not yet
    PRIMARY KEY (alert, url)
) WITHOUT ROWID;
CREATE INDEX alert_of_site ON alert_site (site);

-- Pages that match an alert.
CREATE TABLE alert_match (
    id           INTEGER PRIMARY KEY,  -- from 1
    alert        INTEGER NOT NULL REFERENCES alert ON DELETE CASCADE,  -- = alert.id
    page         INTEGER NOT NULL,    -- = page.id
    url          TEXT NOT NULL,       -- URL of the page
    title        TEXT NOT NULL,       -- '': none
    language     TEXT NOT NULL,       -- as the page declares it; '': not declared
    published_at REAL,                -- publication date of the page; NULL: unknown
    found_at     REAL NOT NULL,       -- time of the first match
    relevance    REAL NOT NULL,       -- relevance by the model of the alert
    snippet      TEXT NOT NULL,       -- passage with matched words between U+2060 characters
    why          TEXT NOT NULL,       -- JSON: parts of the relevance, matched words
    simhash      INTEGER NOT NULL,    -- 64 bits, signed; 0: not computed
    duplicate_of INTEGER,             -- earlier match with the same text; NULL: none
    baseline     INTEGER NOT NULL,    -- 1: existed before the alert; 2: sent as an example of these
    read_at      REAL,                -- time at which it was read; NULL: unread
    deleted      INTEGER NOT NULL DEFAULT 0,  -- 1: deleted by the owner
    vote         INTEGER,             -- vote of the owner: 1 relevant, 0 not relevant; NULL: none
    UNIQUE (alert, url)
);
CREATE INDEX match_of_alert ON alert_match (alert, found_at DESC)
    WHERE deleted = 0 AND duplicate_of IS NULL;
CREATE INDEX match_duplicates ON alert_match (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX match_votes ON alert_match (alert) WHERE vote IS NOT NULL;

-- Messages to deliver, written in one transaction with the match, once per user, alert, page and channel.
CREATE TABLE outbox (
    id      INTEGER PRIMARY KEY,      -- from 1
    user    INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,  -- owner
    alert   INTEGER NOT NULL REFERENCES alert ON DELETE CASCADE,  -- = alert.id
    alert_match INTEGER NOT NULL REFERENCES alert_match ON DELETE CASCADE,  -- the match
    channel TEXT NOT NULL,            -- channel and address, such as `mail:a@b.org`
    state   INTEGER NOT NULL,         -- 0 waiting, 1 sent, 2 failed
    due_at  REAL NOT NULL,            -- earliest time of delivery
    tries   INTEGER NOT NULL,         -- attempts so far
    batch   TEXT NOT NULL,            -- id of the message that contains it; '': none yet
    error   TEXT NOT NULL,            -- error of the last attempt
    UNIQUE (user, alert, alert_match, channel)
);
CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 0;
CREATE INDEX outbox_batch ON outbox (batch, user, channel) WHERE state = 0;

-- Log of deliveries.
CREATE TABLE delivery (
    id      INTEGER PRIMARY KEY,      -- from 1
    at      REAL NOT NULL,            -- time of the attempt
    user    INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,  -- recipient
    channel TEXT NOT NULL,            -- channel and address, such as `mail:a@b.org`
    batch   TEXT NOT NULL,            -- id of the message
    items   INTEGER NOT NULL,         -- number of pages in the message
    state   INTEGER NOT NULL,         -- 0 will be retried, 1 sent, 2 failed
    detail  TEXT NOT NULL             -- result in words
);
CREATE INDEX delivery_of_user ON delivery (user, at DESC);

-- Secrets of users, such as sessions and links; only their hashes are stored.
CREATE TABLE token (
    hash       BLOB PRIMARY KEY,      -- SHA-256 of the secret
    kind       TEXT NOT NULL,         -- session, reset, invite, feed, totp, …
    user       INTEGER REFERENCES user ON DELETE CASCADE,  -- owner
    alert      INTEGER REFERENCES alert ON DELETE CASCADE,  -- alert of a link; NULL: none
    made_at    REAL NOT NULL,         -- time of creation
    expires_at REAL,                  -- NULL: valid until it is revoked
    data       TEXT NOT NULL          -- JSON
) WITHOUT ROWID;

-- Failed log-ins by account and by address.
CREATE TABLE attempt (
    who    TEXT PRIMARY KEY,          -- `user:NAME`, `address:IP`
    n      INTEGER NOT NULL,          -- consecutive failures
    last   REAL NOT NULL              -- time of the last one
) WITHOUT ROWID;

-- Audit log of `focus serve`.
CREATE TABLE audit (
    id     INTEGER PRIMARY KEY,       -- from 1
    at     REAL NOT NULL,             -- time
    actor  TEXT NOT NULL,             -- user or process
    act    TEXT NOT NULL,             -- kind of action
    detail TEXT NOT NULL              -- details in words
);

-- Settings of the installation.
CREATE TABLE setting (
    name  TEXT PRIMARY KEY,           -- smtp, registration, base_url, …
    value TEXT NOT NULL               -- JSON
) WITHOUT ROWID;
