"""Holds the records that readers of a crawl get, as `reader` answers."""

from __future__ import annotations

from typing import Any

import msgspec

from focus.records import Rendering


class CrawlSummary(msgspec.Struct, frozen=True):
    """One crawl in a line.

    finished_at  None while it runs, and after its process was killed
    reason       why it ended; "" as above
    relevant     pages over the model's threshold, out of `pages` stored
    running      a process is at it this moment
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
    def harvest_rate(self) -> float:
        """Precision of the crawl: relevant / stored pages; 0 before the first."""
        return self.relevant / self.pages if self.pages else 0.0


class HostYield(msgspec.Struct, frozen=True):
    """A host's yield for the requests spent on it (soft counts add up)."""

    name: str
    fetched: int
    yielded: float


class Reason(msgspec.Struct, frozen=True):
    """The number of URLs that ended for a reason."""

    reason: str
    urls: int


class Status(msgspec.Struct, frozen=True):
    """The state of a crawl.

    states    URLs by state: waiting, fetching, done, failed, dropped
    harvest_rate   share of relevant pages among all pages
    harvest_last_100, harvest_last_500   share of the last requests that found a relevant page
    hosts     best yield first
    failures, drops   most frequent first
    limits    as configured; counters and report as the crawl wrote them
    duplicates  pages with nearly the text of an earlier one, not relevant a second time
    gone        pages that were looked at again and are there no more
    due         pages that `--refresh` would look at again now, with the age of the last run; None:
                that had none
    """

    crawl: CrawlSummary
    states: dict[str, int]
    harvest_rate: float
    harvest_last_100: float
    harvest_last_500: float
    hosts: list[HostYield]
    failures: list[Reason]
    drops: list[Reason]
    limits: dict[str, Any]
    counters: dict[str, float]
    report: Any = None
    duplicates: int = 0
    gone: int = 0
    due: int | None = None


class SeenChange(msgspec.Struct, frozen=True):
    """A change that a look at a page has found.

    at      Unix seconds
    kinds   text, title, links, gone, moved, back
    links   new ones, to URLs that the crawl did not know
    detail  the title before, where it moved to, or the status that says it is gone
    """

    url: str
    at: float
    kinds: list[str]
    links: int = 0
    detail: str = ""


class Step(msgspec.Struct, frozen=True):
    """A URL on the way from a seed, with the link that led to it.

    anchor     text of that link; "" for a seed
    depth      links on this way from the seed
    relevance  of the page there; None when it was not stored
    """

    url: str
    anchor: str
    depth: int
    relevance: float | None


class WhyPage(msgspec.Struct, frozen=True):
    """A stored page's judgement and the moment when it was taken.

    nth         number of the request that brought it, counting every request from 1
    waiting     URLs that waited when it was taken, at `priority`
    parts       relevance by part of the page; `matched` the topic's words there
    bonus       of its host and URL pattern, beside `priority`
    rendering   whether it seems to need scripts, or what came of running them
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


class Ahead(msgspec.Struct, frozen=True):
    """The URLs before a URL: requests since its parent's, or those waiting with more priority.

    hosts   those that had most of them, with how many
    urls    the first of them that wait, or the last that were taken, with their priorities,
            the bonus of their places included where they wait
    """

    number: int
    hosts: list[tuple[str, int]]
    urls: list[tuple[str, float]]


class Why(msgspec.Struct, frozen=True):
    """The explanation of where a URL is. `state` "" means: never seen, see `nearest`.

    reason, detail  of a failure or a drop
    depth           links from a seed by the shortest way; `path` goes by the best parents
    path            from a seed to this URL, both included
    duplicate_of    the URL of an earlier page with nearly the same text; "" for none
    link_evidence   evidence as the strategy keeps it
    place           the bonus of its place, now or when it was taken
    evidence        what its priority is the sum of, by name, where the strategy adds up: of its
                    links, `hub` for the page that brought it, `place` for its host and shape
    named           keywords and features of the topic in the text of the link or its address
    ahead           what went before it, None for a seed and what was dropped
    subtopics       words in the text of the link to it that are sub-topics by now
    subtopic_sources  of those that the topic file expected, where it has them from
    """

    url: str
    state: str = ""
    reason: str = ""
    detail: str = ""
    depth: int = 0
    priority: float = 0.0
    tries: int = 0
    path: list[Step] = []
    page: WhyPage | None = None
    nearest: list[str] = []
    duplicate_of: str = ""
    link_evidence: tuple[float, ...] = ()
    place: float = 0.0
    evidence: dict[str, float] = {}
    subtopics: list[str] = []
    subtopic_sources: dict[str, str] = {}
    named: list[str] = []
    ahead: Ahead | None = None
