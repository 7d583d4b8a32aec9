"""Records of the report of a crawl, as `report_reader` returns them.

They are also the JSON of `focus report --json`, so their keys do not change.
"""

from __future__ import annotations

from typing import Any

import msgspec

from focus.storage.request_uses import RequestUses
from focus.storage.term_uses import TermUses
from focus.storage.views import CrawlSummary, ReasonCount

SCHEMA = "focus-report/3"


class CrawlSettings(msgspec.Struct, frozen=True):
    """Settings of a crawl without any that could contain a password.

    threshold  as set for the crawl or its topic; None means that of the model
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


class CourseBucket(msgspec.Struct, frozen=True):
    """Part of the requests of a crawl: number of the last one, pages, and relevant pages."""

    end: int
    pages: int
    relevant: int


class Histogram(msgspec.Struct, frozen=True):
    """Counts in bins of equal width from `low` to `high`; outliers are in the first or last bin."""

    low: float
    high: float
    pages: list[int]
    relevant: list[int]


class YieldFigures(msgspec.Struct, frozen=True):
    """Yield of the requests to a host, or to its URLs of one pattern (as in `focus status`).

    yielded  relevant pages as the sum of soft counts
    """

    host: str
    pattern: str
    fetched: int
    yielded: float


class FailureFigures(msgspec.Struct, frozen=True):
    """Kind of failure with numbers of URLs and hosts, and one example."""

    reason: str
    urls: int
    hosts: int
    example: str
    detail: str


class LevelFigures(msgspec.Struct, frozen=True):
    """Pages at a number of links from a seed."""

    steps: int
    pages: int
    relevant: int


class BestPage(msgspec.Struct, frozen=True):
    """Relevant page with its quality (P4 2.7)."""

    url: str
    title: str
    quality: float
    relevance: float
    pagerank: float
    depth: int
    nth: int


class HubFigures(msgspec.Struct, frozen=True):
    """Page whose links were followed: number of requests, and of relevant pages among them."""

    url: str
    title: str
    relevance: float | None
    followed: int
    relevant: int


class LabelFigures(msgspec.Struct, frozen=True):
    """Number of labelled pages (`focus label`): relevant by label, by the model, and by both."""

    labelled: int
    relevant: int
    relevant_by_model: int = msgspec.field(name="said")
    both: int


class CrawlFigures(msgspec.Struct, frozen=True):
    """All figures of the report of one crawl.

    seconds      duration of all its runs, by the clock of the crawl
    harvest_all, harvest_last_100, harvest_last_500   as in `views.CrawlStatus`
    window       width of the windows of the harvest curve, in buckets of `course`
    hosts, patterns, hubs, best   the first N entries; `*_known` is the number of all
    """

    crawl: CrawlSummary
    settings: CrawlSettings
    requests: int
    bytes: int
    seconds: float
    states: dict[str, int]
    failures: list[FailureFigures]
    drops: list[ReasonCount]
    request_uses: RequestUses
    term_uses: TermUses
    harvest_all: float
    harvest_last_100: float
    harvest_last_500: float
    course: list[CourseBucket]
    window: int
    relevance: Histogram
    hosts_known: int
    patterns_known: int
    hosts: list[YieldFigures]
    patterns: list[YieldFigures]
    best: list[BestPage]
    hubs: list[HubFigures]
    depths: list[LevelFigures]
    judged: LabelFigures
    schema: str = SCHEMA
