"""Settings of a crawl and of its runs, as frozen records with a default for each field.

The command line merges flags, FOCUS_* variables, focus.toml and these defaults, in this order of
precedence, into one `CrawlConfig`; each package gets only its own part. Units are in the names.

A field annotated with a `Setting` is an option of `focus crawl`. For example

    max_body_bytes: Annotated[int, Setting(SERVER, "The largest page taken.")] = 10485760

declares `--max-body SIZE` with this help in the section `SERVER`, the variable `FOCUS_MAX_BODY`,
`max-body` in focus.toml, a row in docs/cli.md and a line of the dry run. The long name is the
field's name without its unit, the type follows from the field's type and unit, the default is the
field's default. A flag inverts the default of a boolean field. The help lists options by section,
and within a section in the order of the fields. `commands/options/declared.py` makes the options.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

WHAT, FAR, FAST = "What to crawl", "How far", "How fast"
SERVER, NETWORK, OUTPUT = "What a server may do", "How to ask", "Output"
SESSION, SCRIPTS = "As whom to ask", "Pages made by scripts"
FILE = "Only in focus.toml"

NOFOLLOW = ("follow", "weigh", "skip")
"""What may become of links with rel=nofollow, ugc or sponsored."""
MAX_URL = 2083
"""Characters of the longest URL that is known at all."""
USER_AGENT = "focus/0.1 (focused crawler; contact not set)"


class Setting(msgspec.Struct, frozen=True):
    """The part of an option that its field lacks, over name, type and default.

    section    of the help; `FILE` for a setting that is no option of the command line, only of
               focus.toml and its variable
    help       what it means; a word in brackets at its end is what `focus status` calls a failure
               or drop by this limit
    name       the long name, where it is not the field's
    kind       how texts are read (a key of `KINDS`), where the field does not say it
    low, high  bounds of a number, time or size; a time or size of low 1 must be over 0
    choices    the only texts that will do
    shown      in place of the default, where that depends on others
    """

    section: str
    help: str
    name: str = ""
    kind: str = ""
    low: int = 1
    high: int | None = None
    choices: tuple[str, ...] = ()
    shown: str = ""


class LimitConfig(msgspec.Struct, frozen=True):
    """The limits that end a crawl; None = no such limit."""

    max_pages: Annotated[int | None, Setting(FAR, "End after so many pages.")] = None
    max_requests: Annotated[
        int | None, Setting(FAR, "End after so many requests, failures and robots.txt included.")
    ] = None
    max_time_s: Annotated[
        float | None, Setting(FAR, "End this run after 45s, 30m, 1h30m, 2d and so on.")
    ] = None
    max_bytes: Annotated[
        int | None,
        Setting(FAR, "End after so much was received, e.g. 500M or 2G.", name="max-bytes"),
    ] = None
    target: Annotated[int | None, Setting(FAR, "End after so many relevant pages.")] = None
    stop_harvest: Annotated[
        float | None,
        Setting(
            FAR,
            "Stop when fewer than SHARE of the last 500 requests found a relevant page, such as "
            "0.02.",
            kind="share",
        ),
    ] = None


class FetchConfig(msgspec.Struct, frozen=True):
    """Limits and settings of the web fetcher (docs/robustness.md, R2)."""

    user_agent: str = USER_AGENT
    listings: Annotated[
        bool,
        Setting(
            WHAT,
            "Read the sitemaps of the seeds' hosts, and the RSS and Atom feeds that relevant "
            "pages name, as further sources of links.",
            name="sitemaps",
        ),
    ] = False
    total_timeout_s: Annotated[
        float, Setting(SERVER, "For one request, whole (timeout).", name="timeout")
    ] = 30.0
    connect_timeout_s: Annotated[float, Setting(FILE, "Until a connection stands (timeout).")] = (
        10.0
    )
    read_timeout_s: Annotated[float, Setting(FILE, "Without a byte (timeout).")] = 15.0
    min_rate_bytes_s: Annotated[
        float, Setting(FILE, "Least bytes a second, over 20s; 0: any will do (too-slow).", low=0)
    ] = 1000.0
    min_rate_window_s: float = 20.0
    max_body_bytes: Annotated[
        int, Setting(SERVER, "The largest page taken, unpacked (too-large).")
    ] = 10 * 1024 * 1024
    max_raw_bytes: int = 10 * 1024 * 1024  # off the socket, framing included; as `max_body_bytes`
    max_header_bytes: Annotated[
        int,
        Setting(FILE, "The most bytes of headers taken (headers-too-large).", name="max-headers"),
    ] = 64 * 1024
    content_types: Annotated[
        tuple[str, ...],
        Setting(FILE, "Take only these. Repeatable.", name="content-type", kind="media type"),
    ] = ("text/html", "application/xhtml+xml")
    proxy: Annotated[
        str | None,
        Setting(
            NETWORK,
            "Ask through this HTTP proxy (none is taken from the environment).",
            kind="proxy",
        ),
    ] = None
    connect_to: Annotated[
        str | None,
        Setting(
            NETWORK,
            "Make every connection to here, in plain HTTP; the Host header stays.",
            kind="endpoint",
        ),
    ] = None
    allow_net: Annotated[
        tuple[str, ...],
        Setting(
            NETWORK,
            "Open private addresses like 127.0.0.0/8, which are refused. Repeatable.",
            kind="network",
        ),
    ] = ()
    any_type: bool = False  # take what is no page, too, and what is empty
    insecure: Annotated[bool, Setting(NETWORK, "Do not verify TLS certificates.")] = False
    concurrency: int = 256  # as `CrawlConfig.concurrency`


class ScopeConfig(msgspec.Struct, frozen=True):
    """The URLs that the crawl may ask for at all."""

    max_depth: Annotated[
        int | None, Setting(FAR, "Follow so many links from a seed at most.", low=0)
    ] = None
    scope: Annotated[
        str,
        Setting(
            FAR,
            "Stay on the seeds' hosts, on their domains, or go anywhere.",
            choices=("host", "domain", "any"),
        ),
    ] = "any"
    allow: Annotated[
        tuple[str, ...],
        Setting(
            FAR, "Only URLs that this finds something in. Repeatable: any of them.", kind="pattern"
        ),
    ] = ()
    deny: Annotated[
        tuple[str, ...],
        Setting(FAR, "No URL that this finds something in. Repeatable.", kind="pattern"),
    ] = ()
    documents: Annotated[
        bool,
        Setting(
            FAR,
            "Read PDF, Word, Excel, PowerPoint, EPUB and plain text like pages (extra documents).",
        ),
    ] = False
    max_url: Annotated[
        int,
        Setting(
            FILE,
            "Characters of an address; longer ones are dropped (url-too-long).",
            low=32,
            high=MAX_URL,
        ),
    ] = 2048


class TrapConfig(msgspec.Struct, frozen=True):
    """The rules for traps: endlessly many URLs that nobody wrote."""

    budget: Annotated[
        int,
        Setting(
            FAR,
            "Requests for URLs of one pattern that bring next to nothing, ten times that for a "
            "whole host, and for all hosts of a domain; what pays is asked on. Hosts of a domain "
            "beyond 200 have to be earned, by two relevant pages each. 0: no bound (trap-budget).",
            name="trap-budget",
            low=0,
        ),
    ] = 2000
    max_segments: Annotated[
        int, Setting(FILE, "Parts that the path of a URL may have (trap-path).")
    ] = 20
    max_combinations: Annotated[
        int,
        Setting(
            FILE, "Different sets of parameters that one path may be asked for with (trap-query)."
        ),
    ] = 50
    is_on: Annotated[
        bool,
        Setting(
            FILE,
            "Follow what looks like a trap: repeating paths, calendars, endless parameters.",
            name="ignore-traps",
        ),
    ] = True


class AnalysisConfig(msgspec.Struct, frozen=True):
    """The analysis of a page in a scorer worker; sent to every worker once."""

    topic: dict[str, object] = {}  # topic.Topic as builtins
    relevance: Annotated[
        str,
        Setting(
            WHAT,
            "What makes a page relevant; `focus strategies` lists the models.",
            kind="model",
            shown="the topic file's, else evidence",
        ),
    ] = "evidence"
    params: dict[str, float] = {}
    trained: bytes = b""  # what `focus train` made for the model, as that wants it
    as_published: bool = False
    agent: str = "focus"  # whom meta robots tags may speak to, besides everybody
    threshold: Annotated[
        float | None,
        Setting(
            WHAT,
            "A page with more relevance than this is relevant.",
            shown="the topic file's, else the model's",
        ),
    ] = None
    near_duplicates: Annotated[  # compute Page.simhash and Page.is_soft_404
        bool,
        Setting(
            FILE,
            'Let nearly the same text be relevant every time, and take pages that say "not '
            'found" for pages.',
            name="count-duplicates",
        ),
    ] = True
    documents: bool = False  # as `ScopeConfig.documents`
    digests: bool = False  # compute Page.text_digest: pages will be revisited
    max_links: Annotated[
        int, Setting(FILE, "Links taken from one page; those after them are only counted.", low=0)
    ] = 2000
    url_patterns: bool = False  # compute Link.pattern
    contexts: bool = False  # compute Link.context_score
    cosines: bool = False  # compute Link.cosine_score
    euclids: bool = False  # compute Link.euclid_score
    titles: bool = False  # compute Page.title_runs
    keep: Annotated[
        str,
        Setting(OUTPUT, "Of which pages to keep the text.", choices=("all", "relevant", "none")),
    ] = "all"
    mask_meta: bool = False  # hide meta keywords and description (comparisons)
    mask_urls: bool = False  # hide the words of URLs (comparisons)


class PolitenessConfig(msgspec.Struct, frozen=True):
    """The pace at which one host may be asked."""

    max_crawl_delay_s: float = 30.0  # cap on robots.txt's own Crawl-delay
    delay_s: Annotated[
        float,
        Setting(
            FAST,
            "From one request to a host to the next; a longer Crawl-delay in its robots.txt is "
            "honoured up to 30s.",
            low=0,
        ),
    ] = 1.0
    per_host: Annotated[int, Setting(FAST, "Requests to one host at once.")] = 1
    per_ip: Annotated[
        int,
        Setting(
            FAST,
            "Requests at once to hosts that share an address, and so many in one --delay, "
            "robots.txt included; 0: as many as there are hosts. With --proxy and --connect-to "
            "it is 0.",
            low=0,
        ),
    ] = 8
    max_slowdown_s: Annotated[
        float,
        Setting(
            FILE,
            "Rest a host up to so long when it answers slower than it did, or with 429 or 503; "
            "0s: never more than --delay.",
            name="slowdown",
            low=0,
        ),
    ] = 60.0
    ignore_robots: Annotated[
        bool, Setting(NETWORK, "Do not ask for robots.txt (only on sites of your own).")
    ] = False
    robots_ttl_s: float = 24 * 3600.0


class RenderConfig(msgspec.Struct, frozen=True):
    """Rendering: which pages have their scripts run, in which browser, for how long."""

    mode: Annotated[
        str,
        Setting(
            SCRIPTS,
            "Run the scripts of no page, of those that seem to need it, or of all, in the system's "
            "Chromium.",
            name="render",
            choices=("never", "auto", "always"),
        ),
    ] = "never"
    match: Annotated[
        tuple[str, ...],
        Setting(
            SCRIPTS,
            "Only of addresses that this finds something in. Repeatable: any of them.",
            name="render-match",
            kind="pattern",
        ),
    ] = ()
    timeout_s: Annotated[
        float,
        Setting(SCRIPTS, "For the scripts of one page (render-timeout).", name="render-timeout"),
    ] = 15.0
    at_once: int = 2  # pages in the browser
    max_memory_bytes: int = 2 * 1024 * 1024 * 1024  # of the browser; then it is begun anew
    early: bool = True  # the browser is started with the crawl; False: with its first page
    sandbox: Annotated[
        bool,
        Setting(SCRIPTS, "Run it without its sandbox, as root must.", name="no-browser-sandbox"),
    ] = True


class CrawlConfig(msgspec.Struct, frozen=True):
    """One crawl, whole."""

    seeds: tuple[str, ...] = ()
    strategy: Annotated[
        str, Setting(WHAT, "Which link comes next; `focus strategies` lists them.", kind="strategy")
    ] = "yield"
    params: dict[str, float] = {}
    as_published: Annotated[
        bool,
        Setting(WHAT, "Strategy, relevance model and topic as in the paper, not as tuned since."),
    ] = False
    limits: LimitConfig = LimitConfig()
    max_offline_s: Annotated[
        float,
        Setting(
            FAR,
            "End this run with 8 when no host at all could be reached for so long: nothing "
            "is failed, all waits. 0: at once.",
            low=0,
        ),
    ] = 600.0
    refresh_s: Annotated[
        float | None,
        Setting(
            FAR,
            "Look again at pages of earlier runs that nobody looked at for so long, e.g. 7d: "
            "sooner at what changes often or leads to new pages, later at what never does "
            "(a quarter to four times as long). New links come first; limits count this round.",
        ),
    ] = None
    min_priority: Annotated[
        float | None, Setting(FILE, "Drop links that the strategy gives less than this.")
    ] = None
    cookies: Annotated[
        bool,
        Setting(
            SESSION, "Send back the cookies that sites set, as long as this run lasts (a jar)."
        ),
    ] = False
    fetch: FetchConfig = FetchConfig()
    max_redirects: Annotated[int, Setting(FILE, "Follow so many in a row (redirect).", low=0)] = 10
    scope: ScopeConfig = ScopeConfig()
    nofollow: Annotated[
        str,
        Setting(
            FAR,
            "Links with rel=nofollow, ugc or sponsored: follow them like any other, weigh them "
            "half, or skip them.",
            choices=NOFOLLOW,
        ),
    ] = "weigh"
    traps: TrapConfig = TrapConfig()
    analysis: AnalysisConfig = AnalysisConfig()
    parse_limit_s: Annotated[
        float, Setting(FILE, "Computing for one page (parse-timeout).", name="parse-timeout")
    ] = 2.0
    politeness: PolitenessConfig = PolitenessConfig()
    render: RenderConfig = RenderConfig()
    concurrency: Annotated[int, Setting(FAST, "Requests at once in all.")] = 256
    eager: Annotated[
        bool,
        Setting(
            FAST,
            "Ask every host that is due, however poor its URLs, though --max-pages or "
            "--max-requests will cut the crawl: faster, with far less on topic.",
        ),
    ] = False
    workers: Annotated[
        int | None, Setting(FAST, "Processes that read and score pages.", shown="cores - 1")
    ] = None
    frontier_memory: int = 50_000  # waiting URLs held in memory; the rest in the store
    commit_every_s: float = 1.0
    sitemaps_per_host: int = 50  # requests that may go to `FetchConfig.listings`
    agent: str = "focus"  # product token that robots.txt and X-Robots-Tag are read for


class RunPaths(msgspec.Struct, frozen=True):
    """Files that one run of a crawl reads and writes, and how it begins."""

    db: Path
    archive: Annotated[
        Path | None,
        Setting(
            WHAT, "Crawl this recorded web (.warc or .arc, plain, .gz or .zst), not the network."
        ),
    ] = None
    fresh: Annotated[
        bool, Setting(OUTPUT, "Begin a new crawl though an earlier one could be continued.")
    ] = False
    wait_s: Annotated[
        float, Setting(FILE, "Wait so long for a database that another crawl is using.", low=0)
    ] = 0.0
    warc: Annotated[
        Path | None, Setting(OUTPUT, "Record requests and responses here (WARC 1.1).")
    ] = None
    cookie: Annotated[
        str | None,
        Setting(
            SESSION,
            'Send this to the seeds\' hosts: "NAME=VALUE; NAME=VALUE". Other users of this machine '
            "may see it; a file is safer.",
            kind="secret",
        ),
    ] = None
    cookie_file: Annotated[
        Path | None, Setting(SESSION, "Send the cookies of this cookies.txt (Netscape's form).")
    ] = None
    credentials: Annotated[
        Path | None,
        Setting(
            SESSION,
            "Send headers, cookies and passwords to the hosts that this TOML file names (mode "
            "0600; docs/usage.md).",
        ),
    ] = None
    browser: Annotated[
        Path | None, Setting(SCRIPTS, "The browser's program.", shown="chromium, as PATH has it")
    ] = None
    retry_failed: tuple[str, ...] = ()  # kinds of failures of earlier runs that wait again
