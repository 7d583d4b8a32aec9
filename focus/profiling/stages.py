"""Names the stages of a profile, and holds their figures."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from focus.i18n import mark

FETCH = "fetch"
HANDOVER = "hand-over"
PARSE = "parse"
SEGMENT = "segment"
RELEVANCE = "relevance"
URLS = "URLs"
PACK = "pack"
GRAPH = "graph"
FRONTIER = "frontier"
STORE = "store"
CRAWL = "crawl"

MEANING = {
    FETCH: mark("sockets, HTTP, unpacking, the event loop"),
    HANDOVER: mark("pages to the workers and back"),
    PARSE: mark("charset and HTML"),
    SEGMENT: mark("texts cut into words, those not remembered"),
    RELEVANCE: mark("the page judged"),
    URLS: mark("links: normal form, known or new, anchors and priorities"),
    PACK: mark("the page compressed, the answer made"),
    GRAPH: mark("PageRank"),
    FRONTIER: mark("queues, politeness, robots.txt"),
    CRAWL: mark("all else that follows from an answer"),
    STORE: mark("the database"),
}
"""Every stage in the order of a page's way, with what counts for it."""

PROFILED = "focus.profiling.worker.ProfiledAnalyst"
"""The analyst of workers that are watched."""

MAIN, WORKERS, THREAD = mark("main"), mark("workers"), mark("store thread")


class Stage(msgspec.Struct, frozen=True):
    """A stage's share of a page's time.

    where   main: the process that decides, its event loop; workers: all of them together;
            store thread: of the main process
    ms      CPU milliseconds per page
    share   of the CPU of all stages, 0…1
    """

    name: str
    where: str
    ms: float
    share: float


class CrawlProfile(msgspec.Struct, frozen=True):
    """A run's time by stage.

    pages     that it is divided by
    seconds   of the run
    start_s   CPU of the main process before: imports, options
    loop_busy, workers_busy, store_busy   shares of the run in which they had work, 0…1;
              what is near 1 limits the crawl, if nothing is, the web does (or the delay)
    """

    pages: int
    seconds: float
    start_s: float
    stages: list[Stage]
    loop_busy: float
    workers_busy: float
    store_busy: float


def stage_rows(spent: Mapping[str, Mapping[str, float]], pages: int) -> list[Stage]:
    """Rows of where -> stage -> CPU seconds, in the order of a page's way."""
    total = sum(sum(stages.values()) for stages in spent.values())
    return [
        Stage(name, where, 1000 * seconds / max(1, pages), seconds / total if total else 0.0)
        for name in MEANING
        for where, stages in spent.items()
        if (seconds := stages.get(name, 0.0))
    ]
