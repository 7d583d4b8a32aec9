"""Holds the records of a crawl's report, as `report_reader` answers.

They are the JSON of `focus report --json` as well: names are for good.
"""

from __future__ import annotations

from typing import Any

import msgspec

from focus.storage.views import CrawlSummary, Reason

SCHEMA = "focus-report/1"


class CrawlSettings(msgspec.Struct, frozen=True):
    """A crawl's settings; nothing that may hold a password.

    threshold  as set for the crawl or its topic; None: the model's own
    limits     those that are set
    """

    seeds: list[str]
    keywords: list[str]
    strategy: str
    relevance: str
    params: dict[str, float]
    model_params: dict[str, float]
    as_published: bool
    threshold: float | None
    scope: str
    limits: dict[str, Any]
    concurrency: int
    per_host: int
    delay_s: float
    ignore_robots: bool
    agent: str


class Bucket(msgspec.Struct, frozen=True):
    """A stretch of a crawl. `end`: number of its last request; pages and relevant ones in it."""

    end: int
    pages: int
    relevant: int


class Histogram(msgspec.Struct, frozen=True):
    """Counts in bins of equal width from `low` to `high`; what lies beyond is in the end bins."""

    low: float
    high: float
    pages: list[int]
    relevant: list[int]


class Tenth(msgspec.Struct, frozen=True):
    """A tenth of the pages, by priority when taken, lowest first."""

    low: float
    high: float
    pages: int
    relevant: int


class YieldFigures(msgspec.Struct, frozen=True):
    """The yield of the requests to a host, or to its URLs of one pattern (as in `focus status`).

    yielded  relevant pages, soft counts added up
    rate     share per request as `yield` learns it: shrunk to the host's, to the crawl's; None
             after other strategies, which learn none
    """

    host: str
    pattern: str
    fetched: int
    yielded: float
    rate: float | None


class Polite(msgspec.Struct, frozen=True):
    """The pace at which a host was asked.

    requests     that ended; `pages` of them were pages
    smallest_s   rest between an answer's end and the next request, of requests that
                 brought pages; None with fewer than two
    mean_s       mean of these
    asked_s      Crawl-delay of its robots.txt for us; None: none
    robots       status of its robots.txt; None: never asked for, 0: unreachable
    forbidden    URLs dropped for its robots.txt
    """

    host: str
    requests: int
    pages: int
    smallest_s: float | None
    mean_s: float | None
    asked_s: float | None
    robots: int | None
    forbidden: int
    given_up: bool


class Failing(msgspec.Struct, frozen=True):
    """A way to fail: how often, on how many hosts, where for example, and what was said."""

    reason: str
    urls: int
    hosts: int
    example: str
    detail: str


class Level(msgspec.Struct, frozen=True):
    """Pages at a number of steps (of links from a seed, or since the last relevant page)."""

    steps: int
    pages: int
    relevant: int


class Best(msgspec.Struct, frozen=True):
    """A relevant page, by quality (P4 2.7)."""

    url: str
    title: str
    quality: float
    relevance: float
    pagerank: float
    depth: int
    nth: int


class HubFigures(msgspec.Struct, frozen=True):
    """A page whose links were followed: requests for them, relevant pages among them."""

    url: str
    title: str
    relevance: float | None
    followed: int
    relevant: int


class MapNode(msgspec.Struct, frozen=True):
    """A page in the drawing of links. `best`: one of the best, not only near them."""

    id: int
    url: str
    title: str
    depth: int
    relevance: float | None
    relevant: bool
    best: bool


class LinkMap(msgspec.Struct, frozen=True):
    """Pages and the links among them, as pairs of node ids.

    ways  the links by which pages were found (parent, child); `links` all others
    """

    nodes: list[MapNode]
    ways: list[tuple[int, int]]
    links: list[tuple[int, int]]


class Judged(msgspec.Struct, frozen=True):
    """Pages that people labelled (`focus label`): relevant by them, by the model, by both."""

    labelled: int
    relevant: int
    said: int
    both: int


class Round(msgspec.Struct, frozen=True):
    """A tenth of a crawl's pages (P1 5.3): those up to page `pages`."""

    pages: int
    relevant: int
    precision: float
    so_far: float


class Algorithm(msgspec.Struct, frozen=True):
    """A row of P1's tables 5-5 to 5-10.

    average_precision  mean over ten rounds of the precision so far
    efficiency         relevant pages per minute (equation 5-3)
    """

    crawl: int
    strategy: str
    relevance: str
    pages: int
    relevant: int
    minutes: float
    efficiency: float
    average_precision: float


class CrawlFigures(msgspec.Struct, frozen=True):
    """All that a report of one crawl tells.

    seconds      on the crawl's clock, over all its runs
    harvest_last_100, harvest_last_500   share of the last requests that found a relevant page
    window       width of the windows of the harvest curve, in buckets of `course`
    hosts, patterns, hubs, polite, best   the first so many; *_known tells of how many
    smallest_s   smallest rest that any host had, and `smallest_host`
    algorithms   crawls for the same topic in this database
    """

    crawl: CrawlSummary
    settings: CrawlSettings
    requests: int
    robots_requests: int
    bytes: int
    seconds: float
    states: dict[str, int]
    failures: list[Failing]
    drops: list[Reason]
    harvest_last_100: float
    harvest_last_500: float
    course: list[Bucket]
    window: int
    relevance: Histogram
    priority: Histogram
    tenths: list[Tenth]
    hosts_known: int
    patterns_known: int
    hosts: list[YieldFigures]
    patterns: list[YieldFigures]
    polite: list[Polite]
    smallest_s: float | None
    smallest_host: str
    best: list[Best]
    hubs: list[HubFigures]
    depths: list[Level]
    tunnels: list[Level]
    links: LinkMap
    judged: Judged
    rounds: list[Round]
    algorithms: list[Algorithm]
    schema: str = SCHEMA
