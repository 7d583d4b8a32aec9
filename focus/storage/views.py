"""Records that `reader` returns: crawls, their status, and the explanation of a URL."""

from __future__ import annotations

from typing import Any

import msgspec

from focus.i18n import mark
from focus.records import Rendering
from focus.storage.request_uses import RequestUses
from focus.storage.term_uses import TermUses


class CrawlSummary(msgspec.Struct, frozen=True):
    """Summary of a crawl.

    finished_at  None while it runs, and after its process was killed
    reason       why it ended; empty while it runs, and after its process was killed
    relevant     number of pages over the threshold of the model, of all stored `pages`
    running      whether a process is running it
    """

    id: int
    topic: str
    strategy: str
    started_at: float
    heartbeat_at: float
    finished_at: float | None
    reason: str
    pages: int
    relevant: int
    running: bool

    @property
    def state(self) -> str:
        """Why the crawl ended, `running` or `killed`; a code that `reason_label` explains."""
        return self.reason or (mark("running") if self.running else mark("killed"))

    @property
    def harvest_rate(self) -> float:
        """Precision of the crawl: relevant / stored pages; 0 without pages."""
        return self.relevant / self.pages if self.pages else 0.0


class HostYield(msgspec.Struct, frozen=True):
    """Requests to a host and the relevant pages among them (sum of soft counts)."""

    name: str
    fetched: int
    yielded: float


class ReasonCount(msgspec.Struct, frozen=True):
    """Number of URLs that failed or were dropped for a reason."""

    reason: str
    urls: int


class CrawlStatus(msgspec.Struct, frozen=True):
    """Status of a crawl.

    states    URLs by state: waiting, fetching, done, failed, dropped
    harvest_rate   share of relevant pages among all pages
    harvest_all, harvest_last_100, harvest_last_500   share of the requests, revisits left out, that
              found a relevant page
    hosts     best yield first
    failures, drops   most frequent first
    limits    as configured
    counters, report  as the crawl stored them
    duplicates  number of near-duplicates, which do not count as relevant
    gone        number of pages that a revisit found gone
    due         number of pages that `--refresh` with the age of the last run would revisit now;
                None if the last run had no `--refresh`
    request_uses  what the requests returned
    term_uses   related terms that decided
    """

    crawl: CrawlSummary
    states: dict[str, int]
    harvest_rate: float
    harvest_all: float
    harvest_last_100: float
    harvest_last_500: float
    hosts: list[HostYield]
    failures: list[ReasonCount]
    drops: list[ReasonCount]
    limits: dict[str, Any]
    counters: dict[str, float]
    report: Any = None
    duplicates: int = 0
    gone: int = 0
    due: int | None = None
    request_uses: RequestUses = RequestUses()
    term_uses: TermUses = TermUses()


class RecordedChange(msgspec.Struct, frozen=True):
    """Change of a page that a revisit found.

    at      Unix seconds
    kinds   text, title, links, gone, moved, back
    links   number of links to URLs that were new to the crawl
    detail  previous title, target of the redirect, or the status that says it is gone
    """

    url: str
    at: float
    kinds: list[str]
    links: int = 0
    detail: str = ""


class PathStep(msgspec.Struct, frozen=True):
    """URL on the discovery path from a seed, with the link that led to it.

    anchor     text of that link; empty for a seed
    depth      number of links on this path from the seed
    relevance  relevance of the page; None if it was not stored
    """

    url: str
    anchor: str
    depth: int
    relevance: float | None


class WhyPage(msgspec.Struct, frozen=True):
    """Relevance of a stored page, and the circumstances of its request.

    nth         number of its request among all requests of the crawl, from 1
    waiting     number of waiting URLs when it was dequeued
    priority    priority when it was dequeued
    parts       relevance by part of the page
    matched     words of the topic by part of the page
    bonus       bonus of its host queue; not included in `priority`
    rendering   whether it seems to need scripts, or the result of running them
    is_list     whether it lists other pages; then it is no result, however relevant
    """

    nth: int
    waiting: int
    priority: float
    status: int
    fetched_at: float
    relevance: float
    relevant: bool
    noindex: bool
    pagerank: float
    title: str
    parts: dict[str, float]
    matched: dict[str, list[str]]
    bonus: float = 0.0
    rendering: Rendering = Rendering.NONE
    is_list: bool = False


class PrecedingUrls(msgspec.Struct, frozen=True):
    """URLs with precedence over a URL.

    Those of a fetched page are the requests since that of its parent; those of a waiting URL have a
    higher priority.

    number  how many there are
    hosts   hosts with most of them, with their numbers
    urls    first waiting or last fetched URLs, with their priorities (including the bonus)
    """

    number: int
    hosts: list[tuple[str, int]]
    urls: list[tuple[str, float]]


class Why(msgspec.Struct, frozen=True):
    """Explanation of the state of a URL. An empty `state` means that it is unknown.

    reason, detail  reason of a failure or a drop
    depth           links from a seed on the shortest path; `path` has the best parents instead
    path            steps from a seed to this URL, including both
    nearest         for an unknown URL: known URLs of its host with a similar beginning
    duplicate_of    URL of an earlier page with nearly the same text; empty if there is none
    link_evidence   numbers about the links to it, as the strategy defines them
    place           bonus of its host queue, now or when it was dequeued
    evidence        parts of its priority by name, if the priority of the strategy is a sum: those
                    of its links, `hub` for the linking page, `place` for its host and URL pattern
    named           keywords and features of the topic in the anchor text or the URL
    ahead           URLs with precedence; None for seeds and dropped URLs
    subtopics       words in the anchor text that are sub-topics by now
    subtopic_sources  sources of those that the topic file expected
    is_out_of_period  whether its publication date keeps it from being a result
    threshold       relevance above which a page of the crawl is relevant; None if unknown
    weights         weight of each part of the relevance, and the bias; empty if it is no such sum
    few_terms       related terms on a page that has no keyword and too few different terms
    """

    url: str
    state: str = ""
    reason: str = ""
    detail: str = ""
    depth: int = 0
    priority: float = 0.0
    tries: int = 0
    path: list[PathStep] = []
    page: WhyPage | None = None
    nearest: list[str] = []
    duplicate_of: str = ""
    link_evidence: tuple[float, ...] = ()
    place: float = 0.0
    evidence: dict[str, float] = {}
    subtopics: list[str] = []
    subtopic_sources: dict[str, str] = {}
    named: list[str] = []
    ahead: PrecedingUrls | None = None
    is_out_of_period: bool = False
    threshold: float | None = None
    weights: dict[str, float] = {}
    few_terms: list[str] = []
