"""Defines the records that every package shares: URL, task, result, page, link.

Records are frozen `msgspec.Struct`s, cheap to make; `array_like` ones cross the pipe to a worker.
"""

from __future__ import annotations

import math
from enum import IntEnum, IntFlag, StrEnum

import msgspec

SEED_PRIORITY = 1e6
"""Priority of seeds: before any scored link, in the order the user gave them."""
AGAIN_PRIORITY = -1e6
"""Priorities from here down belong to pages that are revisited: behind all links, whose evidence
does not change them. As far below zero as `SEED_PRIORITY` is above it."""


class UrlState(IntEnum):
    """The state of a known URL (P2, P4: the queues of a focused crawler)."""

    WAITING = 0
    FETCHING = 1
    DONE = 2
    FAILED = 3
    DROPPED = 4


class FailureKind(StrEnum):
    """The kind of failure of a fetch or a page. Ends up in the `reason` of a URL."""

    DNS = "dns"  # the name does not resolve
    DNS_TEMPORARY = "dns-temporary"  # the resolver could not answer now
    UNREACHABLE = "unreachable"  # no way to its network, or from ours
    CONNECT = "connect"  # refused
    TLS = "tls"  # handshake or certificate
    TIMEOUT = "timeout"  # connect, read or total time
    TOO_SLOW = "too-slow"  # under the minimum rate
    RESET = "reset"  # broken off in mid-answer, or empty answer
    CLOSED = "closed"  # a kept connection, before any answer: nobody is to blame
    PROTOCOL = "protocol"  # not HTTP, broken chunking or encoding
    HEADERS_TOO_LARGE = "headers-too-large"
    TOO_LARGE = "too-large"  # raw or decoded body over its cap
    HTTP_4XX = "http-4xx"
    HTTP_5XX = "http-5xx"
    RATE_LIMITED = "rate-limited"  # 429, or 503 with Retry-After
    REDIRECT = "redirect"  # no or bad Location, too many hops
    GUARD = "guard"  # the connected address is private or not opened
    NOT_HTML = "not-html"  # by type or by sniffing
    UNREADABLE = "unreadable"  # a document that is encrypted or damaged
    EMPTY = "empty"  # a 2xx answer without a body
    PARSE_TIMEOUT = "parse-timeout"  # the worker needed longer than its limit
    PARSE_CRASH = "parse-crash"  # the worker died on this page
    POISON = "poison"  # worker after worker of a cluster died that had it
    HOST_GIVEN_UP = "host-given-up"  # too many failures in a row on its host


class DropReason(StrEnum):
    """The reason why a URL is not (or no longer) wanted. Ends up in its `reason`."""

    ROBOTS = "robots"
    SCOPE = "scope"  # outside --scope
    DENIED = "denied"  # --allow / --deny
    URL_TOO_LONG = "url-too-long"  # over max-url
    DEPTH = "depth"  # beyond --max-depth or the strategy's own allowance
    PRIORITY = "priority"  # under min-priority, or dropped by the strategy
    FRONTIER_FULL = "frontier-full"
    NOT_HTML = "not-html"
    REDIRECTED = "redirected"  # the target stands in its place
    SOFT_404 = "soft-404"  # it says "not found" with status 200
    NOINDEX = "noindex"  # meta robots or X-Robots-Tag
    LISTING = "listing"  # a sitemap or feed: its links were taken
    TRAP_PATH = "trap-path"  # segments that repeat, or too many of them
    TRAP_QUERY = "trap-query"  # ever new combinations of parameters
    TRAP_CALENDAR = "trap-calendar"  # dates far from now
    TRAP_BUDGET = "trap-budget"  # URLs like it took many requests and brought nothing
    TRAP_HOSTS = "trap-hosts"  # its domain has ever more hosts; only counted


class Rendering(StrEnum):
    """Whether a page needs scripts, and what came of running them. Failed: kept as fetched."""

    NONE = ""  # it is whole as it came
    EMPTY_ROOT = "empty-root"  # a shell: a framework draws into an empty element
    NOSCRIPT = "noscript"  # a shell: its noscript asks for JavaScript
    TEMPLATE = "template"  # a shell: places for values that nobody has filled
    EMPTY_LIST = "empty-list"  # a shell: an element that names itself a list is empty
    NO_TEXT = "no-text"  # a shell: scripts, and next to no text and links
    RENDERED = "rendered"
    TIMEOUT = "render-timeout"  # it could not be read within its time
    CRASH = "render-crash"  # the browser died, or the page in it
    TOO_LARGE = "render-too-large"  # what the scripts made is over the cap of a page
    EMPTY = "render-empty"  # the scripts left less of it than had come

    @property
    def is_shell(self) -> bool:
        """Whether it seems to need scripts that nobody has run."""
        return self in _SHELLS

    @property
    def has_failed(self) -> bool:
        """Whether scripts were to be run, and could not be."""
        return self.startswith("render-")


_SHELLS = frozenset(tuple(Rendering)[1:6])


class ChangeKind(IntFlag):
    """The differences that a revisit may find, as flags. Users see the names."""

    TEXT = 1  # its main text
    TITLE = 2
    LINKS = 4  # to URLs that the crawl did not know
    GONE = 8  # 404, 410, or a page that says so
    MOVED = 16  # it redirects
    BACK = 32  # it was gone


class Region(IntEnum):
    """The part of the page that a link stands in."""

    BODY = 0
    NAV = 1
    HEADER = 2
    FOOTER = 3
    ASIDE = 4


class Listed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entry of a sitemap or feed.

    url         as written; absolute in a sitemap
    title       "" when it has none (sitemaps never do)
    changed_at  Unix seconds by its lastmod, updated or pubDate; 0.0: not told
    """

    url: str
    title: str = ""
    changed_at: float = 0.0


class Listing(msgspec.Struct, frozen=True):
    """A sitemap or feed as read. `kind`: sitemap, index or feed; `cut`: not all of it."""

    kind: str
    links: list[Listed] = []
    cut: bool = False


class FetchResult(msgspec.Struct, frozen=True, array_like=True):
    """The result of one request. A failure is a result too, never an exception.

    url          what was requested (no fragment)
    status       HTTP status, None when no answer came
    headers      names in lower case, in order, repeats kept
    body         after content-decoding, b"" for redirects and failures
    raw_bytes    bytes read off the socket for the body (headers not counted)
    fetched_at   Unix seconds at the start of the request
    elapsed_s    until the last byte or the failure
    failure      None when a 2xx body is there or `redirect_to` is set
    detail       one line for people: "certificate has expired", "404"
    redirect_to  absolute URL of a 3xx answer, as sent (not yet checked)
    retry_after_s  what Retry-After asked for, as seconds from `fetched_at`
    address      the connected IP address, None when there was none
    truncated    not all of the body: cut at its cap (with failure TOO_LARGE), or it breaks off
                 by itself (`detail` tells)
    listing      what a sitemap or feed lists, where those are wanted
    unchanged    304: the page is as it was when `Task.conditions` were noted
    status_line  first line of the answer as received
    request      the request's head as sent, without cookies and passwords
    """

    url: str
    fetched_at: float
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    raw_bytes: int = 0
    elapsed_s: float = 0.0
    failure: FailureKind | None = None
    detail: str = ""
    redirect_to: str | None = None
    retry_after_s: float | None = None
    address: str | None = None
    truncated: bool = False
    listing: Listing | None = None
    unchanged: bool = False
    status_line: bytes = b""
    request: bytes = b""

    def header(self, name: str) -> str | None:
        """The first value of a header, by its lower-case name."""
        return next((value for key, value in self.headers if key == name), None)


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One out-link as the scorer worker hands it over: final and compact.

    url          what would be requested: absolute, normal, no fragment
    key          16-byte MD5 of its duplicate key (urls.fingerprint)
    host         host[:port] of `url`, lower case, default port dropped
    anchor       visible text, or the image's alt; white space folded, cut
    anchor_score relevance of the anchor text, 0…1
    url_score    relevance of the words in the decoded path and query, 0…1
    heading_score  relevance of the nearest heading above, 0…1
    context_score  relevance of the text around the link, 0…1, 0 when not asked for
    region       Region as int
    nofollow     rel=nofollow|ugc|sponsored, every time that the page links there
    pattern        class of the path (`url_pattern`), "" when not asked for
    role         of the target: 0 a page, 1 an index page, 2 a further page of this very index
    cosine_score cosine of the anchor text and the topic, 0…1, 0 when not asked for
    euclid_score likeness of the anchor's vector and the topic's by P3 eq. 5-2, likewise
    """

    url: str
    key: bytes
    host: str
    anchor: str = ""
    anchor_score: float = 0.0
    url_score: float = 0.0
    heading_score: float = 0.0
    context_score: float = 0.0
    region: int = 0
    nofollow: bool = False
    pattern: str = ""
    cosine_score: float = 0.0
    role: int = 0
    euclid_score: float = 0.0


class Page(msgspec.Struct, frozen=True, array_like=True):
    """A parsed and scored page, as it comes back from a worker.

    relevance    the model's number (its range is the model's own)
    relevant     relevance over the model's threshold
    parts        how the relevance came about, by part: {"title": 0.5, …}
    matched      topic words found, by part: {"title": ["足球"], …}
    refresh      URL that it sends on to within seconds, though with status 200
    noindex, nofollow, unavailable_after  by its meta robots (`robots_tag.RobotsTag`)
    links        in document order, first occurrence of each key, capped
    links_cut    how many links the cap left out
    body_zstd    the decoded text of the page (UTF-8), compressed; b"" if not kept
    failure      set when the page could not be parsed; the rest is then empty
    terms        a relevant page's strongest words, {} unless the model adapts to them
    simhash      64 bits of a relevant page's text (`near_duplicates.simhash`), 0: not computed
    wording      64 bits of its text without numbers (`near_duplicates.wording`), 0: not asked for
    lost         it says "not found", though with status 200
    duplicate_of  URL id of an earlier page with nearly its text: it is then not relevant at all
    feeds        addresses of its RSS and Atom feeds, absolute
    index        it lists others: a home, section, tag, category or archive page (`indexpage`)
    named        how much of the topic the title and address of an index page name, 0…1
    digest       64 bits of its main text (`near_duplicates.text_digest`), 0: not asked for
    title_runs   words of its title (`subtopics.runs_of`), () where nobody learns of them
    rendering    whether it seems to need scripts, or what came of running them
    """

    title: str = ""
    keywords: str = ""
    description: str = ""
    language: str = ""
    charset: str = ""
    canonical: str | None = None
    refresh: str | None = None
    noindex: bool = False
    nofollow: bool = False
    unavailable_after: float = math.inf
    relevance: float = 0.0
    relevant: bool = False
    parts: dict[str, float] = {}
    matched: dict[str, list[str]] = {}
    links: list[Link] = []
    links_cut: int = 0
    simhash: int = 0
    body_zstd: bytes = b""
    failure: FailureKind | None = None
    detail: str = ""
    worker_s: float = 0.0
    terms: dict[str, float] = {}
    feeds: list[str] = []
    lost: bool = False
    duplicate_of: int | None = None
    wording: int = 0
    index: bool = False
    named: float = 0.0
    digest: int = 0
    title_runs: tuple[tuple[str, ...], ...] = ()
    rendering: Rendering = Rendering.NONE


class Task(msgspec.Struct, frozen=True):
    """One request that the frontier lets go: the unit that a transport carries.

    id         URL id in this crawl; None for a robots.txt, or a look-up
    start_at   not before this instant (clock of the crawl)
    lookup     no request, only where the URL's host is (`FetchResult.address`)
    hops       redirects followed to come here
    depth      links from a seed
    priority   what it was taken at
    conditions  headers that ask for an answer only if the page has changed
    wording    whether `Page.wording` will be asked for
    tell       whether the crawl is to be told when the request goes out
    """

    id: int | None
    url: str
    host: str
    start_at: float = 0.0
    hops: int = 0
    depth: int = 0
    priority: float = 0.0
    conditions: tuple[tuple[str, str], ...] = ()
    lookup: bool = False
    wording: bool = True
    rest_s: float = 0.0  # to wait before anything more is asked of the host for it
    tell: bool = False


class Result(msgspec.Struct, frozen=True):
    """A task that came back: what was fetched and, if HTML, what was found."""

    task: Task
    fetch: FetchResult
    page: Page | None = None


class QueueRow(msgspec.Struct, frozen=True):
    """A frontier queue: one host's URLs of one pattern ("" if patterns are unused)."""

    id: int
    host: int
    pattern: str = ""
    fetched: int = 0  # requests spent on it
    yielded: float = 0.0  # relevant pages among them (soft counts add up)
    bonus: float = 0.0  # what a strategy that learns adds to its priorities
    recent: tuple[float, float, int] = (0.0, 0.0, 0)  # as `Recent`, if the strategy learns


class HostRow(msgspec.Struct, frozen=True):
    """A host as the frontier must find it again after a restart.

    next_at         not to be asked before this instant (Unix seconds)
    failures        failures in a row that the host is to blame for
    given_up        too many: its URLs are failed as they come up
    robots          scheme -> robots.txt as fetched: (body, status, expires_at);
                    status 0 = unreachable
    address         the machine that it was last found at, "" as long as that is not known
    """

    id: int
    name: str
    next_at: float = 0.0
    failures: int = 0
    given_up: bool = False
    robots: dict[str, tuple[bytes, int, float]] = {}
    address: str = ""


class UrlRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A URL that became known.

    id        dense, from 0, in order of discovery; ties in priority go by it
    priority  larger = sooner
    link_evidence  the evidence for it, in the strategy's own meaning and width
    parent    id of the page with the best evidence for it; None for seeds
    anchor    anchor text of that evidence
    """

    id: int
    key: bytes
    url: str
    queue: int
    depth: int
    priority: float
    link_evidence: tuple[float, ...] = ()
    parent: int | None = None
    anchor: str = ""
    state: UrlState = UrlState.WAITING
    reason: str = ""
    hops: int = 0
    detail: str = ""


class Change(msgspec.Struct, frozen=True, gc=False):
    """Better evidence for a waiting URL: new priority (and where it came from)."""

    id: int
    priority: float
    link_evidence: tuple[float, ...]
    parent: int | None  # None: as before
    anchor: str


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A URL changed its state: fetched, failed, dropped, or waiting again.

    url      new URL of the row (http answered with https…), None: as before
    tries    failed tries so far
    retry_at not before this instant, for a URL that waits again
    parent   page of the best link to it, None: as before
    """

    id: int
    state: UrlState
    reason: str = ""
    detail: str = ""
    tries: int = 0
    retry_at: float = 0.0
    hops: int = 0
    url: str | None = None
    parent: int | None = None


class PageRow(msgspec.Struct, frozen=True):
    """A page to be stored.

    nth       number of the request that brought it, counting every request from 1
    waiting   URLs that waited when it was taken, itself among them
    host_nth  number of the request among those to its host that came to an end, from 1; 0: unknown
    bonus     of its host and URL pattern when it was taken, beside its priority
    targets   URL ids of its links, in document order
    """

    id: int
    url: str
    nth: int
    waiting: int
    status: int
    fetched_at: float
    elapsed_s: float
    raw_bytes: int
    priority: float
    pagerank: float
    page: Page
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    targets: tuple[int, ...] = ()
    host_nth: int = 0
    bonus: float = 0.0


class KeptPage(msgspec.Struct):
    """A page, sitemap or feed of an earlier run, kept while it is revisited.

    id, url     as it is known
    digest      as `Page.digest`, of what is stored; 0: not known
    priority    what it was taken at first
    first_at    when it was had first
    checked_at  when it answered last; `tried_at`: when it was asked last
    changed_at  when it was last found changed, None: never
    gone_at     since when it is gone, None: it is there
    told_at     when it last changed by a sitemap or feed, 0.0: not told
    watched_s, news  what is known of its news (`revisits.Watched`)
    """

    id: int
    url: str
    digest: int
    title: str
    priority: float
    first_at: float
    checked_at: float
    tried_at: float
    changed_at: float | None = None
    gone_at: float | None = None
    told_at: float = 0.0
    watched_s: float = 0.0
    news: float = 0.0
    etag: str = ""
    last_modified: str = ""
    is_listing: bool = False
    is_hub: bool = False


class PageCheck(msgspec.Struct, frozen=True):
    """The state of a page after a revisit, as `KeptPage`. `trouble`: why it did not answer."""

    id: int
    first_at: float
    checked_at: float
    tried_at: float
    changed_at: float | None
    gone_at: float | None
    watched_s: float
    news: float
    trouble: str = ""


class PageChange(msgspec.Struct, frozen=True):
    """The entry that a revisit adds to the history of a page.

    links   that the crawl did not know
    detail  the title before, where it moved to, or how it is gone
    """

    id: int
    at: float
    kinds: int
    links: int = 0
    detail: str = ""


class Batch(msgspec.Struct):
    """Everything that follows from a few pages: one transaction of the store."""

    queues: list[QueueRow] = []  # new or changed
    hosts: list[HostRow] = []  # new or changed
    urls: list[UrlRow] = []  # new
    changes: list[Change] = []
    fetching: list[int] = []  # WAITING -> FETCHING
    outcomes: list[Outcome] = []
    pages: list[PageRow] = []
    links: list[tuple[int, int, tuple[int, ...]]] = []  # nth, source, targets of what is no page
    hubs: list[tuple[int, int, float]] = []  # URL id, requests for its links, what they brought
    validators: list[tuple[int, str, str]] = []  # URL id, ETag, Last-Modified of what is no page
    lastmods: list[tuple[int, float]] = []  # URL id, Unix seconds by a sitemap or feed
    reread: list[int] = []  # those of `pages` that replace what was stored of them
    tags: list[tuple[int, str, str]] = []  # URL id, ETag, Last-Modified of a page that is as it was
    checks: list[PageCheck] = []
    page_changes: list[PageChange] = []
    news: list[int] = []  # pages looked at again, once for each relevant page that they led to
    counters: dict[str, float] = {}  # totals of the crawl after this batch
    now: float = 0.0


class Recent(msgspec.Struct):
    """A tally that forgets: each request counts `fade` of what it did, with every later one.

    at    requests to the host when it was brought up to date; those since are to be faded
    """

    fetched: float = 0.0
    yielded: float = 0.0
    at: int = 0

    def faded(self, at: int, fade: float) -> Recent:
        """The same after further requests to the host."""
        share = fade ** (at - self.at)
        return Recent(self.fetched * share, self.yielded * share, at)


class Tally(msgspec.Struct):
    """Requests spent and relevant pages got for them (soft counts)."""

    fetched: int = 0
    yielded: float = 0.0

    def add(self, reward: float) -> None:
        """Count one request and what it brought, 0…1."""
        self.fetched += 1
        self.yielded += reward
