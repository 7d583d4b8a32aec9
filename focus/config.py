"""Settings of a crawl and of its runs, as frozen records with a default for each field.

The command line merges flags, FOCUS_* variables, focus.toml and these defaults, in this order of
precedence, into one `CrawlConfig`; each package receives only its part. Units are in the names.

A field annotated with a `Setting` is an option of `focus crawl`. For example

    delay_s: Annotated[float, Setting(SPEED_SECTION, "Wait TIME between requests.")] = 1.0

declares `--delay TIME` with this help in the section `SPEED_SECTION`, the variable `FOCUS_DELAY`,
`delay` in focus.toml, a row in docs/cli.md and a line of the dry run. The long name is the name of
the field without its unit, the type follows from the type and unit of the field, and the default is
the default of the field. A flag inverts the default of a boolean field. The help lists options by
section, and within a section in the order of the fields.
`commands/options/declared.py` creates the options.

The database stores a `CrawlConfig` as JSON, so a renamed field keeps its old key (`field(name=…)`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

CRAWL_SECTION, SCOPE_SECTION, LIMIT_SECTION = "What to crawl", "Scope", "Limits"
SPEED_SECTION, NETWORK_SECTION, OUTPUT_SECTION = "Speed and size", "Requests", "Output"
SESSION_SECTION, SCRIPT_SECTION = "Log-in", "Scripts"
FILE_ONLY = "Not on the command line"

NOFOLLOW_CHOICES = ("follow", "weigh", "skip")
"""Treatments of links with rel=nofollow, ugc or sponsored."""
MAX_URL_LENGTH = 2083
"""Maximum characters of a URL; longer ones are ignored."""
USER_AGENT = "focus/0.1 (focused crawler; contact not set)"
OCR_CPU_S = 30.0
"""Maximum CPU seconds of the programs that read one scanned document."""
SILENCE_FACTOR = 10.0
"""Seconds without a reply for each CPU second of a limit: a busy machine may give a worker a tenth
of a core."""
RARE_OPTIONS = frozenset(
    """
    archive as-published connect-to cookie credentials eager ignore-robots insecure judge
    judge-questions keep max-bytes max-requests no-browser-sandbox no-site-rules per-host proxy
    relevance render-match since-published threshold until-published workers
    """.split()
)
"""Options that only `--help-all` shows."""


class Setting(msgspec.Struct, frozen=True):
    """Properties of an option that do not follow from name, type and default of its field.

    section    section of the help; `FILE_ONLY` for a setting that has only a key in focus.toml
               and an environment variable
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

    max_pages: Annotated[int | None, Setting(LIMIT_SECTION, "Stop after requesting N pages.")] = (
        None
    )
    max_requests: Annotated[
        int | None,
        Setting(LIMIT_SECTION, "Stop after N requests, including failures and robots.txt."),
    ] = None
    max_time_s: Annotated[
        float | None, Setting(LIMIT_SECTION, "Stop this run after TIME, such as 30m or 2d.")
    ] = None
    max_bytes: Annotated[
        int | None,
        Setting(LIMIT_SECTION, "Stop after receiving SIZE, such as 500M or 2G.", name="max-bytes"),
    ] = None
    target: Annotated[int | None, Setting(LIMIT_SECTION, "Stop after N relevant pages.")] = None
    stop_harvest: Annotated[
        float | None,
        Setting(
            LIMIT_SECTION,
            "Stop when fewer than SHARE of the last 500 requests found a relevant page.",
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
            "Also read the sites' sitemaps and the feeds of relevant pages.",
            name="sitemaps",
        ),
    ] = msgspec.field(default=False, name="listings")
    total_timeout_s: Annotated[
        float, Setting(FILE_ONLY, "Time limit of one request (timeout).", name="timeout")
    ] = 30.0
    connect_timeout_s: Annotated[
        float, Setting(FILE_ONLY, "Time limit for opening a connection (timeout).")
    ] = 10.0
    read_timeout_s: Annotated[
        float, Setting(FILE_ONLY, "Time limit without a received byte (timeout).")
    ] = 15.0
    min_rate_bytes_s: Annotated[
        float,
        Setting(
            FILE_ONLY, "Minimum bytes per second over 20s; 0: no minimum (too-slow).", minimum=0
        ),
    ] = 1000.0
    min_rate_window_s: float = 20.0
    max_body_bytes: Annotated[
        int, Setting(FILE_ONLY, "Maximum size of a page, unpacked (too-large).")
    ] = 10 * 1024 * 1024
    max_raw_bytes: int = 10 * 1024 * 1024  # as received, including framing; see `max_body_bytes`
    max_header_bytes: Annotated[
        int,
        Setting(FILE_ONLY, "Maximum size of the headers (headers-too-large).", name="max-headers"),
    ] = 64 * 1024
    content_types: tuple[str, ...] = ("text/html", "application/xhtml+xml")
    proxy: Annotated[
        str | None,
        Setting(
            NETWORK_SECTION,
            "Send requests through this HTTP proxy; proxy variables are ignored.",
            kind="proxy",
        ),
    ] = None
    connect_to: Annotated[
        str | None,
        Setting(
            NETWORK_SECTION,
            "Make every connection to this address, in plain HTTP.",
            kind="endpoint",
        ),
    ] = None
    allow_net: Annotated[
        tuple[str, ...],
        Setting(
            NETWORK_SECTION,
            "Allow private networks such as 127.0.0.0/8 (repeatable).",
            kind="network",
        ),
    ] = ()
    any_type: bool = False  # accept responses that are no pages, and empty ones
    insecure: Annotated[bool, Setting(NETWORK_SECTION, "Do not verify TLS certificates.")] = False
    concurrency: int = 256  # equals `CrawlConfig.concurrency`


class ScopeConfig(msgspec.Struct, frozen=True):
    """Rules for the URLs that the crawl may request."""

    max_depth: Annotated[
        int | None, Setting(SCOPE_SECTION, "Follow at most N links from a seed.", minimum=0)
    ] = None
    scope: Annotated[
        str,
        Setting(
            SCOPE_SECTION,
            "Stay on the seeds' hosts, on their domains, or go anywhere.",
            choices=("host", "domain", "any"),
        ),
    ] = "any"
    allow: Annotated[
        tuple[str, ...],
        Setting(
            SCOPE_SECTION,
            "Fetch only URLs that match REGEX, and seeds (repeatable).",
            kind="pattern",
        ),
    ] = ()
    deny: Annotated[
        tuple[str, ...],
        Setting(SCOPE_SECTION, "Do not fetch URLs that match REGEX (repeatable).", kind="pattern"),
    ] = ()
    site_rules: Annotated[
        bool,
        Setting(
            SCOPE_SECTION,
            "Also fetch histories, forms and page variants of wikis, blogs, forums and shops "
            "(page-variant).",
            name="no-site-rules",
        ),
    ] = True
    documents: Annotated[
        bool,
        Setting(SCOPE_SECTION, "Also read PDF, Office, EPUB and text files (extra documents)."),
    ] = False
    ocr: Annotated[
        str,
        Setting(
            SCOPE_SECTION,
            "Read scanned PDF with tesseract in these languages, such as eng+chi_sim.",
            kind="languages",
        ),
    ] = ""
    max_url: Annotated[
        int,
        Setting(
            FILE_ONLY,
            "Maximum length of a URL in characters (url-too-long).",
            minimum=32,
            maximum=MAX_URL_LENGTH,
        ),
    ] = 2048


class TrapConfig(msgspec.Struct, frozen=True):
    """Rules against traps: endless URL spaces."""

    budget: Annotated[
        int,
        Setting(
            FILE_ONLY,
            "Send at most N requests to a URL pattern that finds almost nothing; 0: no limit "
            "(trap-budget).",
            name="trap-budget",
            minimum=0,
        ),
    ] = 2000
    max_segments: int = 20  # segments in the path of a URL
    max_combinations: int = 50  # parameter sets for one path
    is_on: Annotated[
        bool,
        Setting(
            FILE_ONLY,
            "Follow links that look like traps: repeated paths, calendars, endless parameters.",
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
            "Model that decides which pages are relevant; see `focus strategies`.",
            kind="model",
            default_text="the topic file's, else evidence",
        ),
    ] = "evidence"
    params: dict[str, float] = {}
    trained: bytes = b""  # parameters from `focus research train`, in the format of the model
    as_published: bool = False
    agent: str = "focus"  # name by which meta robots tags can address this crawler
    threshold: Annotated[
        float | None,
        Setting(
            CRAWL_SECTION,
            "Count pages above this relevance as relevant.",
            kind="relevance",
            default_text="the topic file's, else the model's",
        ),
    ] = None
    judge: Annotated[
        str,
        Setting(CRAWL_SECTION, "Ask this judge about doubtful pages: llm, or that of a package."),
    ] = ""
    judge_questions: Annotated[
        int, Setting(CRAWL_SECTION, "Ask the judge at most N questions in a crawl.")
    ] = 200
    since_published: Annotated[
        float | None,
        Setting(
            CRAWL_SECTION,
            "Count only pages with a publication date from then on: 2026-01-31 or 7d (ago).",
            kind="instant",
        ),
    ] = None
    until_published: Annotated[
        float | None,
        Setting(
            CRAWL_SECTION,
            "Count only pages with a publication date up to then, including that day.",
            kind="instant-end",
        ),
    ] = None
    documents: bool = False  # as `ScopeConfig.documents`
    ocr: str = ""  # as `ScopeConfig.ocr`
    hash_routes: bool = False  # read links to #/route: pages are rendered
    max_links: Annotated[
        int, Setting(FILE_ONLY, "Maximum number of links that are read from a page.", minimum=0)
    ] = 2000
    url_patterns: bool = False  # compute Link.pattern
    contexts: bool = False  # compute Link.context_score
    cosines: bool = False  # compute Link.cosine_score
    euclids: bool = False  # compute Link.euclid_score
    titles: bool = False  # compute Page.title_runs
    keep: Annotated[
        str,
        Setting(OUTPUT_SECTION, "Pages whose text is stored.", choices=("all", "relevant", "none")),
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
            "Wait TIME between requests to one host; robots.txt may ask for up to 30s.",
            minimum=0,
        ),
    ] = 1.0
    per_host: Annotated[
        int, Setting(SPEED_SECTION, "Send at most N requests to one host at the same time.")
    ] = 1
    per_ip: Annotated[
        int,
        Setting(
            FILE_ONLY,
            "Send at most N requests to one IP address at the same time and in one --delay; 0: no "
            "limit.",
            minimum=0,
        ),
    ] = 8
    max_slowdown_s: Annotated[
        float,
        Setting(
            FILE_ONLY,
            "Maximum pause of a host that answers slowly or with 429 or 503; 0s: only --delay.",
            name="slowdown",
            minimum=0,
        ),
    ] = 60.0
    ignore_robots: Annotated[
        bool, Setting(NETWORK_SECTION, "Do not fetch robots.txt (only for your own sites).")
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
            "Run the scripts of no page, of pages that need it, or of all, in Chromium.",
            name="render",
            choices=("never", "auto", "always"),
        ),
    ] = "never"
    match: Annotated[
        tuple[str, ...],
        Setting(
            SCRIPT_SECTION,
            "Render only URLs that match REGEX (repeatable).",
            name="render-match",
            kind="pattern",
        ),
    ] = ()
    timeout_s: Annotated[
        float,
        Setting(
            FILE_ONLY,
            "Time limit for the scripts of one page (render-timeout).",
            name="render-timeout",
        ),
    ] = 15.0
    max_tabs: int = msgspec.field(default=2, name="at_once")
    max_memory_bytes: int = 2 * 1024 * 1024 * 1024
    starts_early: bool = msgspec.field(default=True, name="early")
    sandbox: Annotated[
        bool,
        Setting(
            SCRIPT_SECTION,
            "Run the browser without its sandbox; needed as root.",
            name="no-browser-sandbox",
        ),
    ] = True


class CrawlConfig(msgspec.Struct, frozen=True):
    """All settings of a crawl."""

    seeds: tuple[str, ...] = ()
    strategy: Annotated[
        str, Setting(CRAWL_SECTION, "Order of the links; see `focus strategies`.", kind="strategy")
    ] = "yield"
    params: dict[str, float] = {}
    terms: Annotated[
        str,
        Setting(
            CRAWL_SECTION,
            "Related terms of the topic: library, none, or a file with one per line.",
            kind="terms",
        ),
    ] = "library"
    as_published: Annotated[
        bool, Setting(CRAWL_SECTION, "Use strategy, model and topic as published in the papers.")
    ] = False
    limits: LimitConfig = LimitConfig()
    max_offline_s: Annotated[
        float,
        Setting(
            FILE_ONLY,
            "End with exit code 8 after TIME without any reachable host; 0: at once.",
            minimum=0,
        ),
    ] = 600.0
    refresh_s: Annotated[
        float | None,
        Setting(LIMIT_SECTION, "Also revisit pages that were last checked TIME ago, such as 7d."),
    ] = None
    cookies: Annotated[
        bool,
        Setting(
            FILE_ONLY, "Send back the cookies that sites set during this run.", name="cookie-jar"
        ),
    ] = False
    fetch: FetchConfig = FetchConfig()
    max_redirects: Annotated[
        int, Setting(FILE_ONLY, "Maximum number of consecutive redirects (redirect).", minimum=0)
    ] = 10
    scope: ScopeConfig = ScopeConfig()
    nofollow: Annotated[
        str,
        Setting(
            FILE_ONLY,
            "Follow nofollow links like others, give them half weight, or skip them.",
            choices=NOFOLLOW_CHOICES,
        ),
    ] = "weigh"
    traps: TrapConfig = TrapConfig()
    analysis: AnalysisConfig = AnalysisConfig()
    parse_limit_s: Annotated[
        float,
        Setting(
            FILE_ONLY, "Time limit for parsing one page (parse-timeout).", name="parse-timeout"
        ),
    ] = 2.0
    politeness: PolitenessConfig = PolitenessConfig()
    render: RenderConfig = RenderConfig()
    concurrency: Annotated[
        int, Setting(SPEED_SECTION, "Send at most N requests at the same time.")
    ] = 256
    eager: Annotated[
        bool,
        Setting(SPEED_SECTION, "Do not hold back poor URLs: faster, with fewer relevant pages."),
    ] = False
    workers: Annotated[
        int | None,
        Setting(
            SPEED_SECTION,
            "Number of processes that parse and score pages.",
            default_text="cores - 1",
        ),
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
            "Crawl this recorded web (.warc, .warc.gz or .warc.zst) instead of the network.",
        ),
    ] = None
    fresh: Annotated[
        bool,
        Setting(OUTPUT_SECTION, "Start a new crawl even if an earlier one could be continued."),
    ] = False
    wait_s: Annotated[
        float,
        Setting(FILE_ONLY, "Wait TIME for a database that another crawl is using.", minimum=0),
    ] = 0.0
    warc: Annotated[
        Path | None, Setting(OUTPUT_SECTION, "Record requests and responses in this WARC file.")
    ] = None
    cookie: Annotated[
        str | None,
        Setting(
            SESSION_SECTION,
            'Send "NAME=VALUE; ..." to the seeds\' hosts; other users of this machine may see it.',
            kind="secret",
        ),
    ] = None
    cookie_file: Annotated[
        Path | None, Setting(SESSION_SECTION, "Send the cookies of this cookies.txt file.")
    ] = None
    credentials: Annotated[
        Path | None,
        Setting(
            SESSION_SECTION, "Send headers, cookies and passwords to the hosts in this TOML file."
        ),
    ] = None
    browser: Annotated[
        Path | None,
        Setting(FILE_ONLY, "Path of the browser.", default_text="chromium, as PATH has it"),
    ] = None
    retry_failed: tuple[str, ...] = ()  # failure kinds of earlier runs whose URLs are queued again
