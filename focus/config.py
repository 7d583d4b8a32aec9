"""Settings of a crawl and of its runs, as frozen records with a default for each field.

The command line merges flags, FOCUS_* variables, focus.toml and these defaults, in this order of
precedence, into one `CrawlConfig`; each package receives only its part. Units are in the names.

A field annotated with a `Setting` is an option of `focus crawl`. For example

    max_body_bytes: Annotated[int, Setting(SERVER_SECTION, "The largest page taken.")] = 10485760

declares `--max-body SIZE` with this help in the section `SERVER_SECTION`, the variable
`FOCUS_MAX_BODY`, `max-body` in focus.toml, a row in docs/cli.md and a line of the dry run. The long
name is the name of the field without its unit, the type follows from the type and unit of the
field, and the default is the default of the field. A flag inverts the default of a boolean field.
The help lists options by section, and within a section in the order of the fields.
`commands/options/declared.py` creates the options.

The database stores a `CrawlConfig` as JSON, so a renamed field keeps its old key (`field(name=…)`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

CRAWL_SECTION, LIMIT_SECTION, SPEED_SECTION = "What to crawl", "How far", "How fast"
SERVER_SECTION, NETWORK_SECTION, OUTPUT_SECTION = "What a server may do", "How to ask", "Output"
SESSION_SECTION, SCRIPT_SECTION = "As whom to ask", "Pages made by scripts"
FILE_ONLY = "Only in focus.toml"

NOFOLLOW_CHOICES = ("follow", "weigh", "skip")
"""Treatments of links with rel=nofollow, ugc or sponsored."""
MAX_URL_LENGTH = 2083
"""Maximum characters of a URL; longer ones are ignored."""
USER_AGENT = "focus/0.1 (focused crawler; contact not set)"


class Setting(msgspec.Struct, frozen=True):
    """Properties of an option that do not follow from name, type and default of its field.

    section    section of the help; `FILE_ONLY` for a setting of focus.toml and its environment
               variable that is no option of the command line
    help       help text; a word in brackets at its end is the reason that `focus status` shows for
               failures and drops by this limit
    name       long name, if it differs from the name of the field
    kind       how a text is parsed (a key of `KINDS`), if that does not follow from the field
    minimum, maximum  bounds of a number, time or size; with a minimum of 1 a time or size must be
               over 0
    choices    allowed texts
    default_text  shown in place of the default, if that depends on other settings
    """

    section: str
    help: str
    name: str = ""
    kind: str = ""
    minimum: int = 1
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    default_text: str = ""


class LimitConfig(msgspec.Struct, frozen=True):
    """Limits that end a crawl; None means no limit."""

    max_pages: Annotated[int | None, Setting(LIMIT_SECTION, "End after so many pages.")] = None
    max_requests: Annotated[
        int | None,
        Setting(LIMIT_SECTION, "End after so many requests, failures and robots.txt included."),
    ] = None
    max_time_s: Annotated[
        float | None, Setting(LIMIT_SECTION, "End this run after 45s, 30m, 1h30m, 2d and so on.")
    ] = None
    max_bytes: Annotated[
        int | None,
        Setting(
            LIMIT_SECTION, "End after so much was received, e.g. 500M or 2G.", name="max-bytes"
        ),
    ] = None
    target: Annotated[int | None, Setting(LIMIT_SECTION, "End after so many relevant pages.")] = (
        None
    )
    stop_harvest: Annotated[
        float | None,
        Setting(
            LIMIT_SECTION,
            "Stop when fewer than SHARE of the last 500 requests found a relevant page, such as "
            "0.02.",
            kind="share",
        ),
    ] = None


class FetchConfig(msgspec.Struct, frozen=True):
    """Limits and settings of the web fetcher (docs/robustness.md, R2)."""

    user_agent: str = USER_AGENT
    sitemaps: Annotated[
        bool,
        Setting(
            CRAWL_SECTION,
            "Read the sitemaps of the seeds' hosts, and the RSS and Atom feeds that relevant "
            "pages name, as further sources of links.",
            name="sitemaps",
        ),
    ] = msgspec.field(default=False, name="listings")
    total_timeout_s: Annotated[
        float, Setting(SERVER_SECTION, "For one request, whole (timeout).", name="timeout")
    ] = 30.0
    connect_timeout_s: Annotated[
        float, Setting(FILE_ONLY, "Until a connection stands (timeout).")
    ] = 10.0
    read_timeout_s: Annotated[float, Setting(FILE_ONLY, "Without a byte (timeout).")] = 15.0
    min_rate_bytes_s: Annotated[
        float,
        Setting(FILE_ONLY, "Least bytes a second, over 20s; 0: any will do (too-slow).", minimum=0),
    ] = 1000.0
    min_rate_window_s: float = 20.0
    max_body_bytes: Annotated[
        int, Setting(SERVER_SECTION, "The largest page taken, unpacked (too-large).")
    ] = 10 * 1024 * 1024
    max_raw_bytes: int = 10 * 1024 * 1024  # as received, including framing; see `max_body_bytes`
    max_header_bytes: Annotated[
        int,
        Setting(
            FILE_ONLY, "The most bytes of headers taken (headers-too-large).", name="max-headers"
        ),
    ] = 64 * 1024
    content_types: Annotated[
        tuple[str, ...],
        Setting(FILE_ONLY, "Take only these. Repeatable.", name="content-type", kind="media type"),
    ] = ("text/html", "application/xhtml+xml")
    proxy: Annotated[
        str | None,
        Setting(
            NETWORK_SECTION,
            "Ask through this HTTP proxy (none is taken from the environment).",
            kind="proxy",
        ),
    ] = None
    connect_to: Annotated[
        str | None,
        Setting(
            NETWORK_SECTION,
            "Make every connection to here, in plain HTTP; the Host header stays.",
            kind="endpoint",
        ),
    ] = None
    allow_net: Annotated[
        tuple[str, ...],
        Setting(
            NETWORK_SECTION,
            "Open private addresses like 127.0.0.0/8, which are refused. Repeatable.",
            kind="network",
        ),
    ] = ()
    any_type: bool = False  # accept responses that are no pages, and empty ones
    insecure: Annotated[bool, Setting(NETWORK_SECTION, "Do not verify TLS certificates.")] = False
    concurrency: int = 256  # equals `CrawlConfig.concurrency`


class ScopeConfig(msgspec.Struct, frozen=True):
    """Rules for the URLs that the crawl may request."""

    max_depth: Annotated[
        int | None, Setting(LIMIT_SECTION, "Follow so many links from a seed at most.", minimum=0)
    ] = None
    scope: Annotated[
        str,
        Setting(
            LIMIT_SECTION,
            "Stay on the seeds' hosts, on their domains, or go anywhere.",
            choices=("host", "domain", "any"),
        ),
    ] = "any"
    allow: Annotated[
        tuple[str, ...],
        Setting(
            LIMIT_SECTION,
            "Only URLs that this finds something in. Repeatable: any of them.",
            kind="pattern",
        ),
    ] = ()
    deny: Annotated[
        tuple[str, ...],
        Setting(LIMIT_SECTION, "No URL that this finds something in. Repeatable.", kind="pattern"),
    ] = ()
    documents: Annotated[
        bool,
        Setting(
            LIMIT_SECTION,
            "Read PDF, Word, Excel, PowerPoint, EPUB and plain text like pages (extra documents).",
        ),
    ] = False
    max_url: Annotated[
        int,
        Setting(
            FILE_ONLY,
            "Characters of an address; longer ones are dropped (url-too-long).",
            minimum=32,
            maximum=MAX_URL_LENGTH,
        ),
    ] = 2048


class TrapConfig(msgspec.Struct, frozen=True):
    """Rules against traps: endless URL spaces."""

    budget: Annotated[
        int,
        Setting(
            LIMIT_SECTION,
            "Requests for URLs of one pattern that bring next to nothing, ten times that for a "
            "whole host, and for all hosts of a domain; what pays is asked on. Hosts of a domain "
            "beyond 200 have to be earned, by two relevant pages each. 0: no bound (trap-budget).",
            name="trap-budget",
            minimum=0,
        ),
    ] = 2000
    max_segments: Annotated[
        int, Setting(FILE_ONLY, "Parts that the path of a URL may have (trap-path).")
    ] = 20
    max_combinations: Annotated[
        int,
        Setting(
            FILE_ONLY,
            "Different sets of parameters that one path may be asked for with (trap-query).",
        ),
    ] = 50
    is_on: Annotated[
        bool,
        Setting(
            FILE_ONLY,
            "Follow what looks like a trap: repeating paths, calendars, endless parameters.",
            name="ignore-traps",
        ),
    ] = True


class AnalysisConfig(msgspec.Struct, frozen=True):
    """Settings for the scoring of pages; sent to each scorer worker when it starts."""

    topic: dict[str, object] = {}  # topic.Topic as builtins
    relevance: Annotated[
        str,
        Setting(
            CRAWL_SECTION,
            "What makes a page relevant; `focus strategies` lists the models.",
            kind="model",
            default_text="the topic file's, else evidence",
        ),
    ] = "evidence"
    params: dict[str, float] = {}
    trained: bytes = b""  # parameters from `focus train`, in the format of the model
    as_published: bool = False
    agent: str = "focus"  # name by which meta robots tags can address this crawler
    threshold: Annotated[
        float | None,
        Setting(
            CRAWL_SECTION,
            "A page with more relevance than this is relevant.",
            default_text="the topic file's, else the model's",
        ),
    ] = None
    near_duplicates: Annotated[  # compute Page.simhash and Page.is_soft_404
        bool,
        Setting(
            FILE_ONLY,
            'Let nearly the same text be relevant every time, and take pages that say "not '
            'found" for pages.',
            name="count-duplicates",
        ),
    ] = True
    documents: bool = False  # as `ScopeConfig.documents`
    digests: bool = False  # compute Page.text_digest: pages will be revisited
    max_links: Annotated[
        int,
        Setting(
            FILE_ONLY, "Links taken from one page; those after them are only counted.", minimum=0
        ),
    ] = 2000
    url_patterns: bool = False  # compute Link.pattern
    contexts: bool = False  # compute Link.context_score
    cosines: bool = False  # compute Link.cosine_score
    euclids: bool = False  # compute Link.euclid_score
    titles: bool = False  # compute Page.title_runs
    keep: Annotated[
        str,
        Setting(
            OUTPUT_SECTION, "Of which pages to keep the text.", choices=("all", "relevant", "none")
        ),
    ] = "all"
    mask_meta: bool = False  # hide meta keywords and description (comparisons)
    mask_urls: bool = False  # hide the words of URLs (comparisons)


class PolitenessConfig(msgspec.Struct, frozen=True):
    """Limits on the rate of requests to a host."""

    max_crawl_delay_s: float = 30.0  # maximum Crawl-delay of a robots.txt that is honoured
    delay_s: Annotated[
        float,
        Setting(
            SPEED_SECTION,
            "From one request to a host to the next; a longer Crawl-delay in its robots.txt is "
            "honoured up to 30s.",
            minimum=0,
        ),
    ] = 1.0
    per_host: Annotated[int, Setting(SPEED_SECTION, "Requests to one host at once.")] = 1
    per_ip: Annotated[
        int,
        Setting(
            SPEED_SECTION,
            "Requests at once to hosts that share an address, and so many in one --delay, "
            "robots.txt included; 0: as many as there are hosts. With --proxy and --connect-to "
            "it is 0.",
            minimum=0,
        ),
    ] = 8
    max_slowdown_s: Annotated[
        float,
        Setting(
            FILE_ONLY,
            "Rest a host up to so long when it answers slower than it did, or with 429 or 503; "
            "0s: never more than --delay.",
            name="slowdown",
            minimum=0,
        ),
    ] = 60.0
    ignore_robots: Annotated[
        bool, Setting(NETWORK_SECTION, "Do not ask for robots.txt (only on sites of your own).")
    ] = False
    robots_ttl_s: float = 24 * 3600.0


class RenderConfig(msgspec.Struct, frozen=True):
    """Settings for rendering pages in a browser.

    max_tabs      number of pages that are rendered at the same time
    max_memory_bytes  memory of the browser at which it is restarted
    starts_early  whether the browser starts with the crawl, or with its first page
    """

    mode: Annotated[
        str,
        Setting(
            SCRIPT_SECTION,
            "Run the scripts of no page, of those that seem to need it, or of all, in the system's "
            "Chromium.",
            name="render",
            choices=("never", "auto", "always"),
        ),
    ] = "never"
    match: Annotated[
        tuple[str, ...],
        Setting(
            SCRIPT_SECTION,
            "Only of addresses that this finds something in. Repeatable: any of them.",
            name="render-match",
            kind="pattern",
        ),
    ] = ()
    timeout_s: Annotated[
        float,
        Setting(
            SCRIPT_SECTION, "For the scripts of one page (render-timeout).", name="render-timeout"
        ),
    ] = 15.0
    max_tabs: int = msgspec.field(default=2, name="at_once")
    max_memory_bytes: int = 2 * 1024 * 1024 * 1024
    starts_early: bool = msgspec.field(default=True, name="early")
    sandbox: Annotated[
        bool,
        Setting(
            SCRIPT_SECTION, "Run it without its sandbox, as root must.", name="no-browser-sandbox"
        ),
    ] = True


class CrawlConfig(msgspec.Struct, frozen=True):
    """All settings of a crawl."""

    seeds: tuple[str, ...] = ()
    strategy: Annotated[
        str,
        Setting(
            CRAWL_SECTION, "Which link comes next; `focus strategies` lists them.", kind="strategy"
        ),
    ] = "yield"
    params: dict[str, float] = {}
    as_published: Annotated[
        bool,
        Setting(
            CRAWL_SECTION,
            "Strategy, relevance model and topic as in the paper, not as tuned since.",
        ),
    ] = False
    limits: LimitConfig = LimitConfig()
    max_offline_s: Annotated[
        float,
        Setting(
            LIMIT_SECTION,
            "End this run with 8 when no host at all could be reached for so long: nothing "
            "is failed, all waits. 0: at once.",
            minimum=0,
        ),
    ] = 600.0
    refresh_s: Annotated[
        float | None,
        Setting(
            LIMIT_SECTION,
            "Look again at pages of earlier runs that nobody looked at for so long, e.g. 7d: "
            "sooner at what changes often or leads to new pages, later at what never does "
            "(a quarter to four times as long). New links come first; limits count this round.",
        ),
    ] = None
    min_priority: Annotated[
        float | None, Setting(FILE_ONLY, "Drop links that the strategy gives less than this.")
    ] = None
    cookies: Annotated[
        bool,
        Setting(
            SESSION_SECTION,
            "Send back the cookies that sites set, as long as this run lasts (a jar).",
        ),
    ] = False
    fetch: FetchConfig = FetchConfig()
    max_redirects: Annotated[
        int, Setting(FILE_ONLY, "Follow so many in a row (redirect).", minimum=0)
    ] = 10
    scope: ScopeConfig = ScopeConfig()
    nofollow: Annotated[
        str,
        Setting(
            LIMIT_SECTION,
            "Links with rel=nofollow, ugc or sponsored: follow them like any other, weigh them "
            "half, or skip them.",
            choices=NOFOLLOW_CHOICES,
        ),
    ] = "weigh"
    traps: TrapConfig = TrapConfig()
    analysis: AnalysisConfig = AnalysisConfig()
    parse_limit_s: Annotated[
        float, Setting(FILE_ONLY, "Computing for one page (parse-timeout).", name="parse-timeout")
    ] = 2.0
    politeness: PolitenessConfig = PolitenessConfig()
    render: RenderConfig = RenderConfig()
    concurrency: Annotated[int, Setting(SPEED_SECTION, "Requests at once in all.")] = 256
    eager: Annotated[
        bool,
        Setting(
            SPEED_SECTION,
            "Ask every host that is due, however poor its URLs, though --max-pages or "
            "--max-requests will cut the crawl: faster, with far less on topic.",
        ),
    ] = False
    workers: Annotated[
        int | None,
        Setting(SPEED_SECTION, "Processes that read and score pages.", default_text="cores - 1"),
    ] = None
    frontier_memory: int = 50_000  # waiting URLs in memory; the others are in the database
    commit_every_s: float = 1.0
    sitemaps_per_host: int = 50  # maximum requests for sitemaps and feeds of a host
    agent: str = "focus"  # product token to look for in robots.txt and X-Robots-Tag


class RunPaths(msgspec.Struct, frozen=True):
    """Files that a run of a crawl reads and writes, and settings for its start."""

    db: Path
    archive: Annotated[
        Path | None,
        Setting(
            CRAWL_SECTION,
            "Crawl this recorded web (.warc or .arc, plain, .gz or .zst), not the network.",
        ),
    ] = None
    fresh: Annotated[
        bool, Setting(OUTPUT_SECTION, "Begin a new crawl though an earlier one could be continued.")
    ] = False
    wait_s: Annotated[
        float,
        Setting(FILE_ONLY, "Wait so long for a database that another crawl is using.", minimum=0),
    ] = 0.0
    warc: Annotated[
        Path | None, Setting(OUTPUT_SECTION, "Record requests and responses here (WARC 1.1).")
    ] = None
    cookie: Annotated[
        str | None,
        Setting(
            SESSION_SECTION,
            'Send this to the seeds\' hosts: "NAME=VALUE; NAME=VALUE". Other users of this machine '
            "may see it; a file is safer.",
            kind="secret",
        ),
    ] = None
    cookie_file: Annotated[
        Path | None,
        Setting(SESSION_SECTION, "Send the cookies of this cookies.txt (Netscape's form)."),
    ] = None
    credentials: Annotated[
        Path | None,
        Setting(
            SESSION_SECTION,
            "Send headers, cookies and passwords to the hosts that this TOML file names (mode "
            "0600; docs/usage.md).",
        ),
    ] = None
    browser: Annotated[
        Path | None,
        Setting(SCRIPT_SECTION, "The browser's program.", default_text="chromium, as PATH has it"),
    ] = None
    retry_failed: tuple[str, ...] = ()  # failure kinds of earlier runs whose URLs are queued again
