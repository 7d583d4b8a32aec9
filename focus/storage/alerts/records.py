"""Records that the alert store receives and returns."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

LOCAL_USER = 1
"""Id of the user of the command line."""

WAITING, SENT, FAILED = 0, 1, 2
"""States of a row of the outbox, and of a delivery (0 means that it will be retried)."""

MATCH_MARK = "\u2060"
"""Invisible character before and after each matched word of a snippet."""


# -- alerts and their sites -----------------------------------------------------------


class Alert(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Alert as its owner defines it; `focus.alerts.alert` validates it.

    sites       URLs of sites or sections; of a section the links within its site are followed
    words       `+must -not "phrase" a OR b` (see `alerts.query`)
    topic       path of a topic file, or words as for `focus crawl --topic`; empty if the words
                decide alone
    min_relevance  minimum relevance of a match; None means the threshold of the model
    languages   languages of pages such as `zh`, `en`; empty means any
    schedule    see `alerts.schedule`
    channels    `inbox`, `feed`, `mail:a@b.org`, `webhook:https://…`, `sms:+49…`, …
    digest      whether all new pages are one message; False sends one message per page at once
    max_items   maximum number of pages in a digest; the others are in the inbox
    quiet       `22:00-07:00`: time without deliveries; checks continue
    expires_at  Unix seconds after which the alert is not checked
    tags        words of its owner, by which the list of alerts can be filtered
    networks    private networks such as `10.0.0.0/8` that visits by `focus watch run` may reach
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
    tags: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()

    def is_over(self, now: float) -> bool:
        """Return whether the alert has expired."""
        return self.expires_at is not None and self.expires_at < now


class StoredAlert(msgspec.Struct, frozen=True):
    """Alert with its owner and times."""

    id: int
    user: int
    alert: Alert
    paused: bool
    created_at: float
    checked_at: float | None
    next_at: float


class WatchedSite(msgspec.Struct, frozen=True):
    """Watched site; the table `site` explains the fields."""

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
    """Page that is revisited because new pages appear there.

    id             URL id within its crawl
    observed_s     decayed time of observation in seconds
    recent_pages   decayed number of new relevant pages that its links led to
    is_url_source  whether it is a feed or sitemap
    text_digest    `Page.text_digest` of the stored version; 0 if unknown
    """

    id: int
    url: str
    etag: str
    last_modified: str
    observed_s: float
    recent_pages: float
    checked_at: float
    is_url_source: bool
    text_digest: int = 0


class HubState(NamedTuple):
    """State of a revisited page after a visit, and when it is due again."""

    id: int
    observed_s: float
    recent_pages: float
    interval_s: float
    next_at: float


class MatchablePage(msgspec.Struct, frozen=True):
    """Stored page that can match alerts, without its source (see `Pages.load_source`).

    request_number  number of its request in the crawl
    can_be_shown  whether it still exists and has no noindex
    template_blocks  hashes of texts that its site repeats, as uint32 (`engine.templates`)
    judge_answer  relevance that a judge gave it, None if none was asked
    """

    id: int
    request_number: int
    url: str
    title: str
    keywords: str
    description: str
    language: str
    fetched_at: float
    simhash: int
    can_be_shown: bool
    template_blocks: bytes = b""
    judge_answer: float | None = None


class SiteFigures(msgspec.Struct, frozen=True):
    """Figures of the crawl of a site.

    pages    number of stored pages
    blocked  number of URLs that robots.txt forbids
    errors   most frequent kinds of failure with their numbers
    shells   number of pages that seem to need scripts; 0 if pages are rendered
    """

    pages: int = 0
    blocked: int = 0
    errors: dict[str, int] = {}
    shells: int = 0


# -- matches ----------------------------------------------------------------------------


class Match(msgspec.Struct, frozen=True):
    """Page that matches an alert; the table `alert_match` explains the fields.

    id           0 until it is stored
    original_id  match with nearly the same text; None if there is none
    baseline     0: a new page; 1: it existed when the alert was created; 2: it existed, and was
                 sent as an example
    """

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
    original_id: int | None = msgspec.field(default=None, name="duplicate_of")
    baseline: int = 0
    id: int = 0
    read_at: float | None = None
    vote: int | None = None

    @property
    def is_example(self) -> bool:
        """Whether the page existed when the alert was created, and was sent as an example."""
        return self.baseline == 2


class MatchCount(msgspec.Struct, frozen=True):
    """Numbers of matches of an alert.

    news     new matches without near-duplicates
    folded   near-duplicates of other matches
    unread   new matches that were not read
    last_at  time of the last new match
    """

    news: int
    folded: int
    unread: int
    last_at: float | None


class Vote(NamedTuple):
    """Vote of the owner on a match; `zstd` is the compressed source of the page, if stored."""

    url: str
    title: str
    relevance: float
    why: dict[str, Any]
    zstd: bytes | None
    relevant: bool


class InboxFilter(NamedTuple):
    """Selection of matches in an inbox.

    alert     None means all alerts
    existing  whether to include matches that existed when their alert was created
    """

    alert: int | None = None
    since: float = 0.0
    words: str = ""
    unread: bool = False
    existing: bool = False
    page: int = 0


class KnownPage(NamedTuple):
    """Page that matched alerts of a user: their names, best match first, and its values."""

    alerts: list[str]
    published_at: float | None
    relevance: float


class InboxEntry(NamedTuple):
    """Match in the inbox with the name of its alert and the number of its near-duplicates."""

    match: Match
    alert: str
    similar: int


# -- what goes out ------------------------------------------------------------------------


class OutboxRow(NamedTuple):
    """Match that waits to be sent by a channel, with the data that decides whether it may be."""

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


class MessagePart(NamedTuple):
    """Part of a message for one alert: its best matches, and the number of all its matches.

    number   id of the alert
    similar  match -> number of its near-duplicates
    """

    alert: Alert
    number: int
    matches: list[Match]
    total: int
    similar: dict[int, int]


class OutboxLease(NamedTuple):
    """Message that only this process may send now.

    batch  permanent id of the message
    zone   time zone of the recipient, an IANA name
    tries  number of failed attempts
    """

    batch: str
    user: int
    channel: str
    language: str
    zone: str
    tries: int
    parts: list[MessagePart]

    @property
    def page_count(self) -> int:
        """Number of matches, including those that are only in the inbox."""
        return sum(part.total for part in self.parts)


class DeliveryRecord(NamedTuple):
    """Line of the delivery log."""

    at: float
    user: int
    channel: str
    batch: str
    items: int
    state: int
    detail: str


# -- people -----------------------------------------------------------------------------------


class User(NamedTuple):
    """User whose account is not disabled.

    channels  default channels for new alerts: `mail`, `sms`, `feed`, `webhook:URL`
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
    """Account as shown to administrators; `alerts` is the number of its alerts."""

    id: int
    name: str
    admin: bool
    disabled: bool
    seen_at: float | None
    alerts: int


class SearchableCrawl(NamedTuple):
    """Crawl as shown to administrators; `description` is its watched site, or topic and seed."""

    id: int
    started_at: float
    description: str
    is_open: bool


class Token(NamedTuple):
    """Owner and data of a secret; `id` names it in forms and reveals nothing of it."""

    id: str
    user: int | None
    alert: int | None
    data: dict[str, Any]


class AuditLine(NamedTuple):
    """Line of the audit log: who did what, and when."""

    at: float
    actor: str
    act: str
    detail: str
