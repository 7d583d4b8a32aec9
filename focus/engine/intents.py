"""Defines the intents: what is to be done after a result, one record for each kind of change.

`results.decide` makes them and `effects.Effects.apply` performs them, in their order.

    of a host     Settle, Locate, Obey, Ask, AskLater, Rest, Blame, Clear, GiveUp, ReadSitemaps
    of a URL      Done, Drop, Fail, Retry, Requeue, PutBack
    of a page     Remember, Follow, FollowListing, Enter, Count, Look
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from focus.admission.robots_gate import Turn
from focus.records import (
    ChangeKind,
    DropReason,
    FailureKind,
    FetchResult,
    Link,
    Listing,
    Page,
    PageRow,
    UrlRow,
)
from focus.scheduling.queues import Host
from focus.score.strategy import Parent
from focus.score.subtopics import Titled


class _Intent(msgspec.Struct, frozen=True):
    pass


# -- of a host ------------------------------------------------------------------------


class Locate(_Intent, frozen=True):
    """Its name was looked up; "": it has no address now."""

    host: Host
    address: str


class Settle(_Intent, frozen=True):
    """A request to it has ended: it is counted, and the host rests, unless it does already."""

    host: Host
    fetch: FetchResult
    is_robots: bool
    is_settled: bool = False


class Obey(_Intent, frozen=True):
    """Its robots.txt came, or did not; `turn` says what that means."""

    host: Host
    turn: Turn


class Ask(_Intent, frozen=True):
    """Have a robots.txt fetched; the host does nothing else until it is there."""

    host: Host
    url: str
    start_at: float


class AskLater(_Intent, frozen=True):
    """Have its robots.txt fetched from there when it is the host's turn."""

    host: Host
    url: str


class Rest(_Intent, frozen=True):
    """Put it aside until an instant; 0: that is over."""

    host: Host
    until: float = 0.0


class Blame(_Intent, frozen=True):
    """One failure more in a row is its own."""

    host: Host


class Clear(_Intent, frozen=True):
    """It has answered: earlier failures do not count any more."""

    host: Host


class GiveUp(_Intent, frozen=True):
    """Fail all that waits on it (what the store holds of it follows on refill).

    is_untried  nothing of it but its robots.txt was asked for
    """

    host: Host
    kind: FailureKind
    detail: str
    is_untried: bool = False


class ReadSitemaps(_Intent, frozen=True):
    """Its rules are known: ask for the sitemaps that they name, if they are wanted."""

    host: Host


# -- of a URL -------------------------------------------------------------------------


class Done(_Intent, frozen=True):
    """It has become a page, or is one still."""

    id: int
    hops: int
    detail: str = ""


class Drop(_Intent, frozen=True):
    """It is not wanted any more."""

    id: int
    reason: DropReason
    detail: str = ""
    hops: int = 0


class Fail(_Intent, frozen=True):
    """It has failed for good."""

    id: int
    kind: FailureKind
    detail: str
    tries: int = 1


class Retry(_Intent, frozen=True):
    """It has failed for now, and waits until an instant of its own."""

    id: int
    url: str
    kind: FailureKind
    detail: str
    tries: int
    at: float
    hops: int


class Requeue(_Intent, frozen=True):
    """It waits again in another spelling (https for http, or the reverse)."""

    id: int
    url: str
    hops: int = 0


class PutBack(_Intent, frozen=True):
    """Its request was not made: it waits as before. "" as URL: for the next run."""

    id: int
    url: str = ""
    priority: float = 0.0


# -- of a page ------------------------------------------------------------------------


class Remember(_Intent, frozen=True):
    """Know its text again."""

    id: int
    host: str
    page: Page


class Follow(_Intent, frozen=True):
    """Take in its links and feeds. `links` None: they are not to be followed; `row`: keep it,
    None: it is no result."""

    parent: Parent
    links: list[Link] | None
    feeds: list[str]
    row: PageRow | None


class FollowListing(_Intent, frozen=True):
    """Take in what a sitemap or feed lists. `links`: its entries, scored."""

    parent: Parent
    url: str
    fetch: FetchResult
    listing: Listing
    links: list[Link]
    hops: int


class Enter(_Intent, frozen=True):
    """A redirect's target takes its source's place, with its evidence and priority."""

    row: UrlRow
    source: int


class Count(_Intent, frozen=True):
    """Count a request for what steers: hit rates, traps, sub-topics.

    page      what it brought; None: nothing
    wording   of its text, 0: none that is new; None: whether it repeats others is not known
    titled    a page that is kept, by its title
    """

    id: int
    page: Page | None
    wording: int | None = None
    titled: Titled | None = None


class Look(_Intent, frozen=True):
    """It was looked at again and answered: note what that found.

    at      when it was asked
    kinds   of change; links that are new are counted when they are followed
    detail  as `PageChange.detail`
    follow  its links, and its row if it is to be stored anew; None: nothing came
    tags    ETag and Last-Modified by now
    """

    id: int
    at: float
    kinds: ChangeKind
    hops: int = 0
    detail: str = ""
    follow: Follow | None = None
    tags: tuple[str, str] | None = None


Intent: TypeAlias = (
    Locate | Settle | Obey | Ask | AskLater | Rest | Blame | Clear | GiveUp | ReadSitemaps
    | Done | Drop | Fail | Retry | Requeue | PutBack
    | Remember | Follow | FollowListing | Enter | Count | Look
)  # fmt: skip
