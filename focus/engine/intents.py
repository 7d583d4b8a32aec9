"""Intents: records of what a decision asks the crawl to change, one class for each kind of change.

`results.decide` returns intents; `effects.Effects.apply` performs them in order.

    hosts  SetAddress, FinishRequest, ApplyRobots, FetchRobots, FetchRobotsLater, PauseHost,
           CountFailure, ResetFailures, AbandonHost, FetchSitemaps
    URLs   MarkDone, DropUrl, FailUrl, RetryUrl, RequeueUrl, ReturnToQueue
    pages  RememberText, FollowLinks, FollowUrlSource, EnterRedirect, LearnFromResult,
           RecordRevisit, CorrectPage
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from focus.admission.robots_gate import RobotsOutcome
from focus.admission.url_rules import Waste
from focus.engine.templates import PageCorrection
from focus.records import (
    ChangeKind,
    DropReason,
    FailureKind,
    FetchResult,
    Link,
    Page,
    PageRow,
    UrlRow,
    UrlSource,
)
from focus.scheduling.queues import Host
from focus.score.strategy import Parent
from focus.score.subtopics import TitledPage


class _Intent(msgspec.Struct, frozen=True):
    pass


# -- hosts ----------------------------------------------------------------------------


class SetAddress(_Intent, frozen=True):
    """Store the IP address of a host. An empty string means that its name does not resolve."""

    host: Host
    address: str


class FinishRequest(_Intent, frozen=True):
    """Count a finished request and start the host's crawl delay.

    Attributes:
        is_robots: Whether a robots.txt was requested.
        is_settled: Whether the crawl delay has begun already, before the page was scored.
    """

    host: Host
    fetch: FetchResult
    is_robots: bool
    is_settled: bool = False


class RecordSoftware(_Intent, frozen=True):
    """Record in which web application a page was made, "" if it is not known."""

    host: Host
    software: str


class ApplyRobots(_Intent, frozen=True):
    """Apply the outcome of a robots.txt request to its host."""

    host: Host
    outcome: RobotsOutcome


class FetchRobots(_Intent, frozen=True):
    """Fetch the robots.txt of a host. No other request goes to the host until it has arrived."""

    host: Host
    url: str
    start_at: float


class FetchRobotsLater(_Intent, frozen=True):
    """Fetch the robots.txt of a host from `url`, a redirect's target, when the host is due."""

    host: Host
    url: str


class PauseHost(_Intent, frozen=True):
    """Send nothing to the host until `until` (Unix seconds). 0 ends the pause."""

    host: Host
    until: float = 0.0


class CountFailure(_Intent, frozen=True):
    """Add one to the host's consecutive failures."""

    host: Host


class ResetFailures(_Intent, frozen=True):
    """Set the host's consecutive failures to zero."""

    host: Host


class AbandonHost(_Intent, frozen=True):
    """Mark every waiting URL of the host as failed.

    URLs whose addresses are only in the database follow when they are loaded.

    Attributes:
        is_untried: Whether only the host's robots.txt was requested.
    """

    host: Host
    kind: FailureKind
    detail: str
    is_untried: bool = False


class FetchSitemaps(_Intent, frozen=True):
    """Request the sitemaps that the host's robots.txt names, if sitemaps are enabled."""

    host: Host


# -- URLs -----------------------------------------------------------------------------


class Alias(_Intent, frozen=True):
    """A page and the canonical URL that it names, on the same host."""

    url: str
    canonical: str
    key: bytes


class MarkDone(_Intent, frozen=True):
    """Mark a URL as done: its page is stored, now or by an earlier request.

    Attributes:
        alias: The page is stored as that of its canonical URL, which is not requested. None if
            the page names none.
    """

    id: int
    hops: int
    detail: str = ""
    alias: Alias | None = None


class DropUrl(_Intent, frozen=True):
    """Drop a URL: it will not be fetched, or its response is not stored."""

    id: int
    reason: DropReason
    detail: str = ""
    hops: int = 0


class FailUrl(_Intent, frozen=True):
    """Mark a URL as failed permanently."""

    id: int
    kind: FailureKind
    detail: str
    tries: int = 1


class RetryUrl(_Intent, frozen=True):
    """Schedule another attempt at the time `at` (Unix seconds)."""

    id: int
    url: str
    kind: FailureKind
    detail: str
    tries: int
    at: float
    hops: int


class RequeueUrl(_Intent, frozen=True):
    """Put a URL back into the frontier under another address, such as https instead of http.

    Attributes:
        source: The address that redirected to `url`. An empty string if none did.
    """

    id: int
    url: str
    hops: int = 0
    source: str = ""


class ReturnToQueue(_Intent, frozen=True):
    """Return a URL to its queue because its request was not sent or reached no host.

    Attributes:
        url: Address of the URL. An empty string leaves it to the next run.
    """

    id: int
    url: str = ""
    priority: float = 0.0


# -- pages ----------------------------------------------------------------------------


class RememberText(_Intent, frozen=True):
    """Remember the page's text fingerprint, to recognise near-duplicates."""

    id: int
    host: str
    page: Page


class FollowLinks(_Intent, frozen=True):
    """Add the page's links and feeds to the frontier, and store the page.

    Attributes:
        links: Scored links. None if they must not be followed (nofollow).
        row: Page to store. None if the page is not stored.
    """

    parent: Parent
    links: list[Link] | None
    feeds: list[str]
    row: PageRow | None


class FollowUrlSource(_Intent, frozen=True):
    """Add the URLs that a sitemap or feed lists to the frontier.

    Attributes:
        links: The entries, scored.
    """

    parent: Parent
    url: str
    fetch: FetchResult
    listing: UrlSource
    links: list[Link]
    hops: int


class EnterRedirect(_Intent, frozen=True):
    """Add the target of a redirect with the evidence and priority of its source.

    Attributes:
        url: URL of the source.
    """

    row: UrlRow
    source: int
    url: str = ""


class UrlResponse(_Intent, frozen=True):
    """Use of the response to a URL.

    Attributes:
        waste: Why it is of no use. None if it is of use.
        page: The page. None if there is none.
        original_id: Earlier page of the host with the same main text. -1 if there is none.
        was_deferred: Whether the URL had been deferred.
    """

    url: str
    waste: Waste | None
    page: Page | None = None
    original_id: int = -1
    was_deferred: bool = False


class LearnFromResult(_Intent, frozen=True):
    """Update hit rates, traps and sub-topics with the result of a request.

    Attributes:
        page: The page. None if the request returned none.
        wording: Fingerprint of its wording. 0 if the text is not new, None if that is unknown.
        titled: Title of a page that is stored.
        response: What the response means for URL rules. None if it means nothing.
    """

    id: int
    page: Page | None
    wording: int | None = None
    titled: TitledPage | None = None
    response: UrlResponse | None = None


class RecordRevisit(_Intent, frozen=True):
    """Record the result of revisiting a page that an earlier run stored.

    Attributes:
        at: When the page was requested (Unix seconds).
        kinds: Changes of the page, without new links, which are counted when they are followed.
        detail: See `PageChange.detail`.
        follow: Its links, and its row if it is stored again. None if no page was returned.
        tags: Its present ETag and Last-Modified.
    """

    id: int
    at: float
    kinds: ChangeKind
    hops: int = 0
    detail: str = ""
    follow: FollowLinks | None = None
    tags: tuple[str, str] | None = None


class CorrectPage(_Intent, frozen=True):
    """Replace the relevance of an earlier page, which a repeated text of its site had raised.

    Attributes:
        page: The page scored again.
    """

    correction: PageCorrection
    page: Page


Intent: TypeAlias = (
    SetAddress | FinishRequest | RecordSoftware | ApplyRobots | FetchRobots | FetchRobotsLater
    | PauseHost | CountFailure | ResetFailures | AbandonHost | FetchSitemaps
    | MarkDone | DropUrl | FailUrl | RetryUrl | RequeueUrl | ReturnToQueue
    | RememberText | FollowLinks | FollowUrlSource | EnterRedirect | LearnFromResult
    | RecordRevisit | CorrectPage
)  # fmt: skip
