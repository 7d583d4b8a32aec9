"""A focused web crawler: from these sites, everything about a topic, best first.

    import focus

    for page in focus.crawl("https://sports.sina.com.cn/", topic="足球", max_pages=100):
        print(page.relevance, page.url, page.title)

`focus.crawl` crawls, `focus.open` reads a database, `focus.read_topic` makes a topic (`focus.api`,
docs/api.md). They are imported when first used, as a command that only prints a line needs none
of them.

    api              what Python is offered; registry knows strategies of other packages
    cli, commands/   the command line: options, and output on a terminal
    session/         one run: open, resume, revisit, close, report
    crawler          the loop: take, fetch, score, rank, record
    frontier         which URL next, and when; scheduling/ holds its parts
    admission/       whether a URL may be asked for at all
    fetch            a URL to an answer; http/ holds its parts
    archive/         recorded webs, in the place of the network
    documents/       PDF, Word and the like, made into pages
    html/ text/ urls/    a page, its words, its addresses
    workers/         processes in which pages are parsed and scored
    rendering/       pages made by scripts, in a browser without a network
    score/           relevance of a page, priority of a link
    engine/          what follows from an answer
    store, storage/  a crawl, written; every SQL statement
    config records errors    settings, and the words everyone shares
    i18n, locale/    messages, and their Chinese
    topic/ learn/    what a crawl is about; topics made and taught by examples
    metrics/ evaluate/ report/    how good a crawl was; strategies compared; pages for people
    alerts/ serve/   new pages told to people; the web application
    cluster/         one crawl on several machines
    demo/            a generated web

docs/design.md tells the life of a URL and the levels in which these packages import each other;
import-linter checks them (pyproject.toml).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from focus.api import CrawledPage as CrawledPage
    from focus.api import Crawling as Crawling
    from focus.api import Database as Database
    from focus.api import FocusError as FocusError
    from focus.api import Topic as Topic
    from focus.api import crawl as crawl
    from focus.api import open as open
    from focus.api import read_topic as read_topic

__version__ = "0.1.0"

_OFFERED = {
    "CrawledPage",
    "Crawling",
    "Database",
    "FocusError",
    "Topic",
    "crawl",
    "open",
    "read_topic",
}


def __getattr__(name: str) -> Any:
    if name not in _OFFERED:
        raise AttributeError(f"module 'focus' has no attribute {name!r}")
    from focus import api

    globals()[name] = found = getattr(api, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_OFFERED})
