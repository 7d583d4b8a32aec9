"""Holds all settings of a crawl as frozen records with a default for each field.

The command line merges flags > FOCUS_* variables > focus.toml > these defaults
into one `CrawlConfig`; each package gets only its own part. Units are in the names.
"""

from __future__ import annotations

import msgspec

NOFOLLOW = ("follow", "weigh", "skip")
"""What may become of links with rel=nofollow, ugc or sponsored."""
USER_AGENT = "focus/0.1 (focused crawler; contact not set)"


class FetchConfig(msgspec.Struct, frozen=True):
    """Limits and settings of the web fetcher (docs/robustness.md, R2)."""

    user_agent: str = USER_AGENT
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 15.0
    total_timeout_s: float = 30.0
    max_body_bytes: int = 10 * 1024 * 1024  # after content-decoding
    max_raw_bytes: int = 10 * 1024 * 1024  # off the socket, headers and framing included
    max_header_bytes: int = 64 * 1024
    min_rate_bytes_s: float = 1000.0  # measured over `min_rate_window_s`
    min_rate_window_s: float = 20.0
    content_types: tuple[str, ...] = ("text/html", "application/xhtml+xml")
    listings: bool = False  # the seeds' sitemaps and feeds of relevant pages: ask for, and read
    allow_net: tuple[str, ...] = ()  # CIDRs opened in spite of the guard
    insecure: bool = False  # do not verify TLS certificates
    proxy: str | None = None
    connect_to: str | None = None  # ADDR:PORT; every connection goes there, in plain HTTP
    concurrency: int = 256


class PolitenessConfig(msgspec.Struct, frozen=True):
    """How often one host may be asked."""

    per_host: int = 1  # requests under way at once
    per_ip: int = 8  # the same of hosts that share an address; 0: no limit
    max_slowdown_s: float = 60.0  # the longest rest of a host that has become slow
    delay_s: float = 1.0  # from the end of an answer to the next request
    max_crawl_delay_s: float = 30.0  # cap on robots.txt's own Crawl-delay
    ignore_robots: bool = False
    robots_ttl_s: float = 24 * 3600.0


class ScopeConfig(msgspec.Struct, frozen=True):
    """Which URLs the crawl may ask for at all."""

    scope: str = "any"  # host | domain | any
    allow: tuple[str, ...] = ()  # at least one must match, if any is given
    deny: tuple[str, ...] = ()  # none may match
    max_depth: int | None = None
    max_url: int = 2048  # characters; nothing over 2,083 is known at all


class TrapConfig(msgspec.Struct, frozen=True):
    """The rules for traps: endlessly many URLs that nobody wrote."""

    is_on: bool = True
    max_segments: int = 20  # of a path
    max_combinations: int = 50  # of parameter names that one path may have
    budget: int = 2000  # requests for URLs of one pattern that bring nothing; 0: no bound


class LimitConfig(msgspec.Struct, frozen=True):
    """When the crawl ends; None = no such limit."""

    max_pages: int | None = None
    max_requests: int | None = None
    max_time_s: float | None = None
    max_bytes: int | None = None
    target: int | None = None  # relevant pages


class AnalysisConfig(msgspec.Struct, frozen=True):
    """The analysis of a page in a scorer worker; sent to every worker once."""

    topic: dict[str, object] = {}  # topic.Topic as builtins
    relevance: str = "evidence"
    params: dict[str, float] = {}
    learned: bytes = b""  # what `focus train` made for the model, as that wants it
    as_published: bool = False
    agent: str = "focus"  # whom meta robots tags may speak to, besides everybody
    threshold: float | None = None  # None: the model's own
    max_links: int = 2000
    url_patterns: bool = False  # compute Link.pattern
    contexts: bool = False  # compute Link.context_score
    cosines: bool = False  # compute Link.cosine_score
    euclids: bool = False  # compute Link.euclid_score
    keep: str = "all"  # all | relevant | none: which bodies come back compressed
    mask_meta: bool = False  # hide meta keywords and description (comparisons)
    mask_urls: bool = False  # hide the words of URLs (comparisons)
    compress_level: int = 1
    near_duplicates: bool = True  # compute Page.simhash and Page.lost


class CrawlConfig(msgspec.Struct, frozen=True):
    """One crawl, whole."""

    seeds: tuple[str, ...] = ()
    strategy: str = "yield"
    params: dict[str, float] = {}
    as_published: bool = False
    min_priority: float | None = None
    frontier_memory: int = 100_000  # waiting URLs held in memory; the rest in the store
    commit_every_s: float = 1.0
    max_offline_s: float = 600.0  # our own network may be away so long; 0: end at once
    sitemaps_per_host: int = 50  # requests that may go to `FetchConfig.listings`
    agent: str = "focus"  # product token that robots.txt and X-Robots-Tag are read for
    nofollow: str = "weigh"  # links with rel=nofollow: one of `NOFOLLOW`
    concurrency: int = 256
    eager: bool = False  # ask every host that is due, however poor its URLs, up to a limit
    workers: int | None = None  # None: cores - 1, at least 1
    parse_limit_s: float = 2.0
    max_redirects: int = 10  # followed, one after the other
    fetch: FetchConfig = FetchConfig()
    politeness: PolitenessConfig = PolitenessConfig()
    scope: ScopeConfig = ScopeConfig()
    traps: TrapConfig = TrapConfig()
    limits: LimitConfig = LimitConfig()
    analysis: AnalysisConfig = AnalysisConfig()
