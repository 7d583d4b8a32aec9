"""Holds the records that cross the border of the alert store: what callers give and get."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

LOCAL = 1
"""The user at the command line."""

WAITING, SENT, DEAD = 0, 1, 2
"""States of a row of the outbox, and of a delivery (0: will be tried again)."""

MARK = "\u2060"
"""Stands before and after each matched word of a snippet."""


# -- alerts and their sites -----------------------------------------------------------


class Alert(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An alert as its owner typed it; `focus.alerts.alert` checks it.

    sites       URLs of sites or of their sections; a section is watched, its site's links followed
    words       `+must -not "phrase" a OR b` (see `alerts.query`)
    topic       a topic file's path, or words as `focus crawl --topic` takes; "": the words say all
    min_relevance  less is not told of; None: the judge's own threshold
    languages   of pages, as `zh`, `en`; (): any
    schedule    see `alerts.schedule`
    channels    `inbox`, `feed`, `push`, `mail:a@b.org`, `webhook:https://…`, `sms:+49…`, …
    digest      one message for all that is new; False: one each, at once
    max_items   pages in a digest at most; the rest stays in the inbox
    quiet       `22:00-07:00`: nothing is delivered then, checks go on
    expires_at  Unix seconds; nothing is checked after
    """

    name: str
    sites: tuple[str, ...]
    words: str = ""
    topic: str = ""
    min_relevance: float | None = None
    languages: tuple[str, ...] = ()
    schedule: str = "auto"
    channels: tuple[str, ...] = ("inbox",)
    digest: bool = True
    max_items: int = 20
    quiet: str = ""
    paused: bool = False
    expires_at: float | None = None

    def is_over(self, now: float) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and self.expires_at < now


class StoredAlert(msgspec.Struct, frozen=True):
    """An alert as it is kept."""

    id: int
    user: int
    alert: Alert
    paused: bool
    created_at: float
    checked_at: float | None
    next_at: float


class WatchedSite(msgspec.Struct, frozen=True):
    """A site as it is kept; see the table."""

    id: int
    host: str
    crawl: int | None
    matched: int
    visited_at: float | None
    next_at: float
    pages: int
    trouble: str
    news_from: int | None
    failing_since: float | None = None
    failures: int = 0
    free_at: float = 0.0


class DueHub(NamedTuple):
    """A page to look at again. `id` is the URL's number within its crawl.

    listing  a feed or sitemap
    """

    id: int
    url: str
    etag: str
    last_modified: str
    watched_s: float
    fresh: float
    checked_at: float
    listing: bool


class HubState(NamedTuple):
    """The lessons of looks at such a page, and when it is due again; see the table."""

    id: int
    watched_s: float
    fresh: float
    interval_s: float
    next_at: float


class StoredPage(msgspec.Struct, frozen=True):
    """A page as its crawl stored it, without its source (see `Pages.source`).

    wanted  whether it may be shown at all: not withdrawn since, not asked to be left out
    """

    id: int
    nth: int
    url: str
    title: str
    keywords: str
    description: str
    language: str
    fetched_at: float
    simhash: int
    wanted: bool


class SiteFigures(msgspec.Struct, frozen=True):
    """A site's crawl in figures: pages, URLs that robots.txt forbids, failures.

    shells   pages that seem to need scripts, where none were ever run
    """

    pages: int = 0
    blocked: int = 0
    errors: dict[str, int] = {}
    shells: int = 0


# -- matches ----------------------------------------------------------------------------


class Match(msgspec.Struct, frozen=True):
    """A page that matches an alert; `id` 0 until it is kept. See the table."""

    alert: int
    page: int
    url: str
    title: str
    language: str
    published_at: float | None
    found_at: float
    relevance: float
    snippet: str
    why: dict[str, Any]
    simhash: int = 0
    duplicate_of: int | None = None
    baseline: bool = False
    id: int = 0
    read_at: float | None = None
    vote: int | None = None


class MatchCount(msgspec.Struct, frozen=True):
    """Matches of an alert: told as news, folded under others, and when the last news came."""

    news: int
    folded: int
    unread: int
    last_at: float | None


class Vote(NamedTuple):
    """An owner's vote on a match. `zstd`: the page's source, if it was kept."""

    url: str
    title: str
    relevance: float
    why: dict[str, Any]
    zstd: bytes | None
    relevant: bool


class InboxFilter(NamedTuple):
    """Matches that somebody wants to see. alert None: of all; `existing`: what was no news, too."""

    alert: int | None = None
    since: float = 0.0
    words: str = ""
    unread: bool = False
    existing: bool = False
    page: int = 0


class KnownPage(NamedTuple):
    """A page that alerts of a person's have found: their names, best first; what the best says."""

    alerts: list[str]
    published_at: float | None
    relevance: float


class InboxEntry(NamedTuple):
    """A page in the inbox, and how many near-duplicates are folded under it."""

    match: Match
    alert: str
    similar: int


# -- what goes out ------------------------------------------------------------------------


class OutboxRow(NamedTuple):
    """A page that waits to be told by a channel, with what decides whether it may."""

    id: int
    user: int
    channel: str
    batch: str
    tries: int
    alert: Alert
    quiet: str
    zone: str
    language: str
    admin: bool
    disabled: bool
    deleted: bool


class Part(NamedTuple):
    """An alert's share of a message: its best matches, and how many there are in all.

    similar  match -> number of near-duplicates folded under it
    """

    alert: Alert
    number: int
    matches: list[Match]
    total: int
    similar: dict[int, int]


class OutboxLease(NamedTuple):
    """A message that this process, and no other, shall send now.

    batch  its id for ever
    zone   IANA name of its reader's
    tries  how often it failed before
    """

    batch: str
    user: int
    channel: str
    language: str
    zone: str
    tries: int
    parts: list[Part]

    @property
    def items(self) -> int:
        """How many pages it tells of, those in the inbox only included."""
        return sum(part.total for part in self.parts)


class DeliveryRecord(NamedTuple):
    """A line of the delivery log."""

    at: float
    user: int
    channel: str
    batch: str
    items: int
    state: int
    detail: str


# -- people -----------------------------------------------------------------------------------


class User(NamedTuple):
    """A person whose account is not disabled.

    channels  how a new alert of theirs tells: `mail`, `sms`, `feed`, `webhook:URL`
    """

    id: int
    name: str
    mail: str | None
    phone: str | None
    language: str
    zone: str
    quiet: str
    admin: bool
    seen_at: float | None
    channels: tuple[str, ...]


class Account(NamedTuple):
    """An account as administrators see it; `alerts` is a number."""

    id: int
    name: str
    admin: bool
    disabled: bool
    seen_at: float | None
    alerts: int


class PushSubscription(NamedTuple):
    """A browser's leave to be notified, as it gives it out (W3C Push API).

    endpoint  URL at its push service; whoever has it may try to send there
    keys      its public key and its secret, base64url, a space between them
    """

    endpoint: str
    keys: str


class NotifiedBrowser(NamedTuple):
    """A browser that is notified. taken: the last message that its push service took."""

    id: int
    name: str
    made_at: float
    taken: str
    leave: PushSubscription


class CrawlShown(NamedTuple):
    """A crawl as an administrator sees it; `what`: the site that is watched, or topic and seed."""

    id: int
    started_at: float
    what: str
    is_open: bool


class Token(NamedTuple):
    """The owner of a secret, and what it carries."""

    user: int | None
    alert: int | None
    data: dict[str, Any]


class AuditLine(NamedTuple):
    """An entry of the audit log: who did what, when."""

    at: float
    actor: str
    act: str
    detail: str
