"""Records that all packages share: URLs, tasks, results, pages, links, and a batch of changes.

Records are frozen `msgspec.Struct`s, which are cheap to create. Those that are `array_like` are
sent to and from scorer workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum, IntFlag, StrEnum

import msgspec

from focus.i18n import mark

SEED_PRIORITY = 1e6
"""Priority of seeds, above that of any link; seeds keep the order in which they are listed."""
FALLBACK_PRIORITY = 1e3
"""Priority of URLs that the fallback order puts next (`engine.fallback`), above that of any link of
a strategy that learns."""
DEFERRED_PRIORITY = -5e4
"""URLs below this priority are deferred, or revisits. They come after all others, and link evidence
does not change their priority."""
REVISIT_PRIORITY = -1e6
"""Highest priority of a revisit. Revisits come after all links."""


FRONTIER_EMPTY = "frontier empty"
FOLLOWING_FORBIDDEN = mark("the pages forbid following their links")
COMPLETE = (FRONTIER_EMPTY, FOLLOWING_FORBIDDEN)
"""Reasons of the end of a crawl that has no URL left."""
JUDGE_PART = "judge:"
"""Beginning of the part of a relevance that a judge answered; the name of the judge follows."""


ReportProgress = Callable[[float, float], None]
"""Called from time to time with the amount of work that is done and the whole amount."""


def ignore_progress(done: float, total: float) -> None:
    """Report nothing (a `ReportProgress`)."""


class UrlState(IntEnum):
    """State of a known URL (P2, P4: the queues of a focused crawler)."""

    WAITING = 0
    FETCHING = 1
    DONE = 2
    FAILED = 3
    DROPPED = 4


class FailureKind(StrEnum):
    """Kind of failure of a fetch or a page, stored as the `reason` of the URL."""

    DNS = "dns"  # the name does not resolve
    DNS_TEMPORARY = "dns-temporary"  # the resolver has no answer at present
    UNREACHABLE = "unreachable"  # no route to the network of the host, or from this machine
    CONNECT = "connect"  # connection refused
    TLS = "tls"  # handshake or certificate
    TIMEOUT = "timeout"  # connect, read or total time
    TOO_SLOW = "too-slow"  # under the minimum rate
    RESET = "reset"  # broken off in the middle of the response, or an empty one
    CLOSED = "closed"  # a reused connection closed before a response: no fault of the host
    PROTOCOL = "protocol"  # not HTTP, broken chunking or encoding
    HEADERS_TOO_LARGE = "headers-too-large"
    TOO_LARGE = "too-large"  # raw or decoded body over its limit
    HTTP_4XX = "http-4xx"
    HTTP_5XX = "http-5xx"
    RATE_LIMITED = "rate-limited"  # 429, or 503 with Retry-After
    REDIRECT = "redirect"  # no or bad Location, too many hops
    GUARD = "guard"  # the connected address is private and not allowed
    NOT_HTML = "not-html"  # by Content-Type or by content
    UNREADABLE = "unreadable"  # an encrypted or damaged document
    EMPTY = "empty"  # a 2xx response without a body
    PARSE_TIMEOUT = "parse-timeout"  # analysis took longer than its limit
    PARSE_CRASH = "parse-crash"  # the worker died on this page
    POISON = "poison"  # every cluster worker that received the page died
    HOST_ABANDONED = "host-given-up"  # the host had too many failures in a row


class DropReason(StrEnum):
    """Reason why a URL will not be fetched, stored as its `reason`."""

    ROBOTS = "robots"
    SCOPE = "scope"  # outside --scope
    DENIED = "denied"  # --allow / --deny
    URL_TOO_LONG = "url-too-long"  # over max-url
    DEPTH = "depth"  # beyond --max-depth or the strategy's own allowance
    FRONTIER_FULL = "frontier-full"
    NOT_HTML = "not-html"
    REDIRECTED = "redirected"  # replaced by the target of the redirect
    SOFT_404 = "soft-404"  # a "not found" page with status 200
    NOINDEX = "noindex"  # meta robots or X-Robots-Tag
    ACTION = "action"  # changes something on the server
    PAGE_VARIANT = "page-variant"  # another form of a page, a form or a tool, by its software
    URL_SOURCE = "listing"  # a sitemap or feed: its URLs were added
    TRAP_PATH = "trap-path"  # repeating path segments, or too many of them
    TRAP_QUERY = "trap-query"  # too many combinations of query parameters
    TRAP_CALENDAR = "trap-calendar"  # dates far from now
    TRAP_BUDGET = "trap-budget"  # many requests for its URL pattern without a relevant page
    URL_RULE = "url-rule"  # the last URLs like it were of no use
    TRAP_HOSTS = "trap-hosts"  # too many hosts in its domain; only counted


class Rendering(StrEnum):
    """Whether a page needs scripts, and the result of running them.

    A page whose rendering failed is used as fetched.
    """

    NONE = ""  # complete as fetched
    EMPTY_ROOT = "empty-root"  # a shell page: an empty element that a framework fills
    NOSCRIPT = "noscript"  # a shell page: its noscript text asks for JavaScript
    TEMPLATE = "template"  # a shell page: unfilled template placeholders
    EMPTY_LIST = "empty-list"  # a shell page: an empty element that is named a list
    NO_TEXT = "no-text"  # a shell page: scripts, and almost no text and links
    RENDERED = "rendered"
    TIMEOUT = "render-timeout"  # the rendered page could not be read in time
    CRASH = "render-crash"  # the browser or its tab crashed
    TOO_LARGE = "render-too-large"  # the rendered page is larger than a page may be
    EMPTY = "render-empty"  # the rendered page has less content than the fetched one

    @property
    def is_shell(self) -> bool:
        """Whether the page seems to need scripts that were not run."""
        return self in _SHELL_SIGNS

    @property
    def is_failure(self) -> bool:
        """Whether rendering was tried and failed."""
        return self.startswith("render-")


_SHELL_SIGNS = frozenset(tuple(Rendering)[1:6])


class ChangeKind(IntFlag):
    """Differences that a revisit can find, as flags. Users see the names."""

    TEXT = 1  # the main text
    TITLE = 2
    LINKS = 4  # links to URLs that are new to the crawl
    GONE = 8  # 404, 410 or a soft 404
    MOVED = 16  # the page redirects
    BACK = 32  # the page had been gone


class Region(IntEnum):
    """Part of a page that contains a link."""

    BODY = 0
    NAV = 1
    HEADER = 2
    FOOTER = 3
    ASIDE = 4


class SourceEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Entry of a sitemap or feed.

    url         as written; absolute in a sitemap
    title       empty if it has none; entries of sitemaps never have one
    changed_at  Unix seconds of its lastmod, updated or pubDate; 0.0 if unknown
    """

    url: str
    title: str = ""
    changed_at: float = 0.0


class UrlSource(msgspec.Struct, frozen=True):
    """Parsed sitemap or feed.

    kind          "sitemap", "index" or "feed"
    is_truncated  whether entries are missing
    """

    kind: str
    entries: list[SourceEntry] = []
    is_truncated: bool = False


class FetchResult(msgspec.Struct, frozen=True, array_like=True):
    """Result of one request; a failure is a result too, never an exception.

    url          requested URL, without fragment
    status       HTTP status; None if there was no response
    headers      in order, with names in lower case and repeated headers
    body         after content decoding; empty for redirects and failures
    raw_bytes    size of the body as received (without headers)
    fetched_at   Unix seconds at the start of the request
    elapsed_s    seconds until the last byte or the failure
    failure      None if there is a 2xx body or `redirect_to`
    detail       one line for people: "certificate has expired", "404"
    redirect_to  absolute URL of a 3xx response as received (not yet checked)
    retry_after_s  delay that Retry-After asks for, in seconds from `fetched_at`
    address      IP address of the connection; None if there was none
    is_truncated  whether the body is incomplete: cut at its limit (failure TOO_LARGE), or ended
                 early by the server (see `detail`)
    url_source   parsed sitemap or feed, if these are enabled
    is_unchanged  304: the page is the same as when its conditional headers were stored
    status_line  first line of the response as received
    request      head of the request as sent, without cookies and passwords
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
    is_truncated: bool = False
    url_source: UrlSource | None = None
    is_unchanged: bool = False
    status_line: bytes = b""
    request: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the first value of a header; `name` is in lower case."""
        return next((value for key, value in self.headers if key == name), None)


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Link of a page as a scorer worker returns it. Scores are between 0 and 1.

    url          absolute, normalised, without fragment
    key          16-byte MD5 of the duplicate key (`urls.fingerprint`)
    host         host[:port] of `url`, in lower case, without the default port
    anchor       visible text or the alt text of the image; white space folded, shortened
    anchor_score relevance of the anchor text
    url_score    relevance of the words in the decoded path and query
    heading_score  relevance of the nearest heading above
    context_score  relevance of the text around the link; 0 if not computed
    region       `Region` as int
    nofollow     whether every link of the page to this URL has rel=nofollow, ugc or sponsored
    pattern      URL pattern (`url_pattern`); empty if not computed
    target_role  0 a page, 1 an index page, 2 a further page of the linking index page
    cosine_score cosine of anchor text and topic; 0 if not computed
    euclid_score similarity of the vectors of anchor and topic (P3 eq. 5-2); 0 if not computed
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
    target_role: int = 0
    euclid_score: float = 0.0


class SiteTemplate(msgspec.Struct, frozen=True, array_like=True):
    """What the pages of one host repeat, as learned so far (`engine.templates`).

    blocks  hashes (`html.blocks.hash_text`) of repeated texts with a keyword
    affix   repeated end or beginning of titles with its separator: " – 城市生活志"
    """

    blocks: frozenset[int] = frozenset()
    affix: str = ""


NO_TEMPLATE = SiteTemplate()


class Page(msgspec.Struct, frozen=True, array_like=True):
    """Parsed and scored page as a scorer worker returns it.

    relevance    number of the relevance model, in the range of the model
    is_relevant  whether `relevance` is over the threshold of the model
    part_scores  relevance by part of the page: {"title": 0.5, …}
    matched_terms  words of the topic found, by part of the page: {"title": ["足球"], …}
    refresh_url  URL that the page redirects to within seconds, with status 200
    noindex, nofollow, unavailable_after  from its meta robots (`robots_tag.RobotsTag`)
    links        in document order, the first of each key, up to a limit
    omitted_link_count  number of links over the limit
    body_zstd    source of the page in UTF-8, compressed; empty if it is not stored
    failure      set if the page could not be parsed; other fields are then empty
    top_terms    strongest words of a relevant page; empty unless the model adapts to them
    simhash      64-bit fingerprint of the text (`near_duplicates.simhash`) of a relevant page;
                 0 if not computed
    wording_hash  64-bit fingerprint of the text without numbers (`near_duplicates.wording`);
                 0 if not computed
    is_soft_404  whether the page says "not found" with status 200
    original_id  URL id of an earlier page with nearly the same text; the page is then not relevant
    feed_urls    absolute URLs of its RSS and Atom feeds
    is_index_page  whether it lists other pages: a home, section, tag, category or archive page
    index_topic_score  share of the topic that title and URL of an index page name, 0 to 1
    text_digest  64-bit hash of the main text (`near_duplicates.text_digest`)
    text_length  number of characters of the main text
    doubtful_text  start of the main text if a judge is to decide about the page; else empty
    sentences    hashes of some sentences of a page that is no index page (`sentence_sample`)
    title_runs   words of the title (`subtopics.title_runs`); empty unless the strategy uses them
    rendering    whether the page seems to need scripts, or the result of running them
    full_title   title with the name of the site; empty if nothing was cut from `title`
    site         name of the site: what was cut from the title, else as its metadata says
    omitted_route_count  number of links to `#/route` that are not read, as pages are not rendered
    has_endless_list  whether a list was still growing when it was rendered
    keyword_blocks  hashes of its own texts with a keyword, including those of the site's template
    software     web application that made it (`site_rules.detect_software`), "" if unknown
    """

    title: str = ""
    keywords: str = ""
    description: str = ""
    language: str = ""
    charset: str = ""
    canonical: str | None = None
    refresh_url: str | None = None
    noindex: bool = False
    nofollow: bool = False
    unavailable_after: float = math.inf
    relevance: float = 0.0
    is_relevant: bool = False
    part_scores: dict[str, float] = {}
    matched_terms: dict[str, list[str]] = {}
    links: list[Link] = []
    omitted_link_count: int = 0
    simhash: int = 0
    body_zstd: bytes = b""
    failure: FailureKind | None = None
    detail: str = ""
    worker_s: float = 0.0
    top_terms: dict[str, float] = {}
    feed_urls: list[str] = []
    is_soft_404: bool = False
    original_id: int | None = None
    wording_hash: int = 0
    is_index_page: bool = False
    index_topic_score: float = 0.0
    text_digest: int = 0
    title_runs: tuple[tuple[str, ...], ...] = ()
    rendering: Rendering = Rendering.NONE
    full_title: str = ""
    site: str = ""
    keyword_blocks: tuple[int, ...] = ()
    omitted_route_count: int = 0
    has_endless_list: bool = False
    software: str = ""
    text_length: int = 0
    sentences: tuple[int, ...] = ()
    doubtful_text: str = ""

    @property
    def is_result(self) -> bool:
        """Whether the page is a result of the crawl: relevant, and no list of other pages."""
        return self.is_relevant and not self.is_index_page


class Task(msgspec.Struct, frozen=True):
    """Request that the crawl hands to its transport.

    id         URL id in this crawl; None for a robots.txt or a look-up
    start_at   earliest time of the request, by the clock of the crawl
    is_lookup  whether only the IP address of the host is looked up (`FetchResult.address`)
    hops       redirects followed to this URL
    depth      links from a seed
    priority   priority when the URL was dequeued
    conditional_headers  headers that request the page only if it has changed
    crawl_delay_s  seconds to wait before a further request to the host for the same URL
    should_report_send  whether the transport reports the moment when the request is sent
    template   template of the host when the request was sent
    software   web application of the host, "" if it has none that is known; None detects it
    """

    id: int | None
    url: str
    host: str
    start_at: float = 0.0
    hops: int = 0
    depth: int = 0
    priority: float = 0.0
    conditional_headers: tuple[tuple[str, str], ...] = ()
    is_lookup: bool = False
    crawl_delay_s: float = 0.0
    should_report_send: bool = False
    template: SiteTemplate = NO_TEMPLATE
    software: str | None = ""


class Result(msgspec.Struct, frozen=True):
    """Finished task: the response and, for HTML, the scored page."""

    task: Task
    fetch: FetchResult
    page: Page | None = None


class QueueRow(msgspec.Struct, frozen=True):
    """Host queue to be stored: URLs of one host and pattern (empty if patterns are not used).

    requests  requests for its URLs
    rewards   relevant pages among the responses (soft counts)
    bonus     addition of a learning strategy to the priorities of the queue
    recent    the fields of `RecentTally`, if the strategy learns
    """

    id: int
    host_id: int
    pattern: str = ""
    requests: int = 0
    rewards: float = 0.0
    bonus: float = 0.0
    recent: tuple[float, float, int] = (0.0, 0.0, 0)  # as `Recent`, if the strategy learns


class HostRow(msgspec.Struct, frozen=True):
    """State of a host to be stored.

    next_at         earliest time of the next request (Unix seconds)
    failures        consecutive failures caused by the host
    is_abandoned    whether there were too many; its URLs fail when they become due
    robots          scheme -> robots.txt as (body, status, expires_at); status 0 if unreachable
    address         last known IP address; empty if unknown
    software        web application (`site_rules`); empty if unknown
    """

    id: int
    name: str
    next_at: float = 0.0
    failures: int = 0
    is_abandoned: bool = False
    robots: dict[str, tuple[bytes, int, float]] = {}
    address: str = ""
    software: str = ""


class UrlRuleRow(msgspec.Struct, frozen=True):
    """What the URLs of one kind returned, to be stored.

    kind    URL pattern, parameter or namespace of the URLs (`url_rules.url_kinds`)
    record  `url_rules.Record` as MessagePack
    """

    host_id: int
    kind: str
    record: bytes


class UrlRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """New URL to be stored.

    id        number from 0 in order of discovery; breaks ties between equal priorities
    priority  larger is sooner
    link_evidence  numbers about the links to the URL, as the strategy defines them
    parent_id  id of the page with the best link to it; None for seeds
    anchor    anchor text of that link
    """

    id: int
    key: bytes
    url: str
    queue_id: int
    depth: int
    priority: float
    link_evidence: tuple[float, ...] = ()
    parent_id: int | None = None
    anchor: str = ""
    state: UrlState = UrlState.WAITING
    reason: str = ""
    hops: int = 0
    detail: str = ""


class PriorityChange(msgspec.Struct, frozen=True, gc=False):
    """New priority and link evidence of a waiting URL.

    parent_id  page with the new best link; None leaves parent and anchor as they are
    """

    id: int
    priority: float
    link_evidence: tuple[float, ...]
    parent_id: int | None
    anchor: str


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """New state of a URL: fetched, failed, dropped, or waiting again.

    url      new URL of the row, such as https instead of http; None leaves it as it is
    tries    failed attempts so far
    retry_at earliest time of the next attempt if the URL waits again
    parent_id  page with the best link to it; None leaves it as it is
    """

    id: int
    state: UrlState
    reason: str = ""
    detail: str = ""
    tries: int = 0
    retry_at: float = 0.0
    hops: int = 0
    url: str | None = None
    parent_id: int | None = None


class PageRow(msgspec.Struct, frozen=True):
    """Page to be stored.

    request_number  number of its request among all requests of the crawl, from 1
    waiting_count  number of waiting URLs when it was dequeued, including its own
    host_request_number  number of its request among the finished ones to its host, from 1;
              0 if unknown
    bonus     bonus of its host queue when it was dequeued; not included in `priority`
    target_ids  URL ids of its links, in document order
    """

    id: int
    url: str
    request_number: int
    waiting_count: int
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
    target_ids: tuple[int, ...] = ()
    host_request_number: int = 0
    bonus: float = 0.0


class StoredPage(msgspec.Struct):
    """Page, sitemap or feed that an earlier run stored, and that is revisited.

    text_digest  `Page.text_digest` of the stored version; 0 if unknown
    priority    priority of its first request
    first_fetched_at  time of its first response
    checked_at  time of its last response
    tried_at    time of its last request
    changed_at  time when a revisit last found a change; None if none did
    gone_at     time since which it is gone; None if it is there
    source_changed_at  time of its last change according to a sitemap or feed; 0.0 if unknown
    observed_s, changes  decayed time of observation and number of changes
                (`revisits.Observation`)
    is_url_source  whether it is a sitemap or feed
    is_hub      whether its links led to relevant pages
    """

    id: int
    url: str
    text_digest: int
    title: str
    priority: float
    first_fetched_at: float
    checked_at: float
    tried_at: float
    changed_at: float | None = None
    gone_at: float | None = None
    source_changed_at: float = 0.0
    observed_s: float = 0.0
    changes: float = 0.0
    etag: str = ""
    last_modified: str = ""
    is_url_source: bool = False
    is_hub: bool = False


class RevisitState(msgspec.Struct, frozen=True):
    """State of a page after a revisit, with the fields of `StoredPage`.

    failure  why there was no response; empty if there was one
    """

    id: int
    first_fetched_at: float
    checked_at: float
    tried_at: float
    changed_at: float | None
    gone_at: float | None
    observed_s: float
    changes: float
    failure: str = ""


class PageChange(msgspec.Struct, frozen=True):
    """Entry of the change history of a page, written by a revisit.

    kinds      `ChangeKind` flags
    new_links  number of links to URLs that were new to the crawl
    detail     previous title, target of the redirect, or the response that says it is gone
    """

    id: int
    at: float
    kinds: int
    new_links: int = 0
    detail: str = ""


class NewRelevance(msgspec.Struct, frozen=True):
    """New relevance of a stored page, with the fields of `Page`."""

    id: int
    relevance: float
    is_relevant: bool
    part_scores: dict[str, float]
    matched_terms: dict[str, list[str]]


class NewTitle(msgspec.Struct, frozen=True):
    """Title of a stored page without the name of its site, and that name."""

    id: int
    title: str
    site: str


class Batch(msgspec.Struct):
    """Changes that follow from a few results; the store writes them in one transaction.

    queues, hosts  new or changed ones
    urls           new ones
    depths         URL id -> its depth by a shorter way
    fetching_ids   URLs whose request was started
    other_links    (request number, URL id, target ids) of responses that are not stored as pages
    hub_tallies    (URL id, requests for its links, their rewards)
    source_validators  (URL id, ETag, Last-Modified) of sitemaps and feeds
    lastmods       (URL id, Unix seconds of the last change according to a sitemap or feed)
    replaced_page_ids  those of `pages` that replace a stored version
    page_validators  (URL id, ETag, Last-Modified) of unchanged pages
    discovery_page_ids  revisited pages, once for each relevant page that they led to
    new_relevances, new_titles  of pages that are stored already
    templates      host id -> repeated texts and state of `engine.templates`
    counters       totals of the crawl after this batch
    """

    queues: list[QueueRow] = []
    hosts: list[HostRow] = []
    urls: list[UrlRow] = []
    priority_changes: list[PriorityChange] = []
    depths: dict[int, int] = {}
    fetching_ids: list[int] = []
    outcomes: list[Outcome] = []
    pages: list[PageRow] = []
    other_links: list[tuple[int, int, tuple[int, ...]]] = []
    hub_tallies: list[tuple[int, int, float]] = []
    source_validators: list[tuple[int, str, str]] = []
    lastmods: list[tuple[int, float]] = []
    replaced_page_ids: list[int] = []
    page_validators: list[tuple[int, str, str]] = []
    revisit_states: list[RevisitState] = []
    page_changes: list[PageChange] = []
    discovery_page_ids: list[int] = []
    new_relevances: list[NewRelevance] = []
    new_titles: list[NewTitle] = []
    templates: dict[int, tuple[list[int], bytes]] = {}
    url_rules: list[UrlRuleRow] = []
    counters: dict[str, float] = {}
    now: float = 0.0


class RecentTally(msgspec.Struct):
    """Tally with exponential decay: every later request to the host lowers the weight of a request.

    updated_at_request  number of requests to the host at the last update
    """

    requests: float = 0.0
    rewards: float = 0.0
    updated_at_request: int = 0

    def decayed(self, request_count: int, decay: float) -> RecentTally:
        """Return the tally after `request_count` requests of the host.

        Each request multiplies it by `decay`.
        """
        share = decay ** (request_count - self.updated_at_request)
        return RecentTally(self.requests * share, self.rewards * share, request_count)


class Tally(msgspec.Struct):
    """Requests, and the rewards of their pages: soft counts of relevant pages, 0 to 1 each."""

    requests: int = 0
    rewards: float = 0.0

    def add(self, reward: float) -> None:
        """Count one request and the reward of its page, 0 to 1."""
        self.requests += 1
        self.rewards += reward
