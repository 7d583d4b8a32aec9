"""A focused web crawler: it fetches the pages about a topic, the most relevant ones first.

    import focus

    for page in focus.crawl("https://sports.sina.com.cn/", topic="足球", max_pages=100):
        print(page.relevance, page.url, page.title)

`focus.crawl` crawls, `focus.open` reads a database, `focus.read_topic` makes a topic (`focus.api`,
docs/api.md). They are imported on first use, so that commands that need none of them start faster.

Modules and packages, from the surface to the core:

    __main__, cli, api — exit codes; the tree of commands; the Python API
    commands/ — one module per command, with its options and its terminal output
    serve/, report/ — the web application; HTML reports, charts and export
    alerts/, cluster/, evaluate/ — reports of new pages; many machines; comparison of crawls
    learn/, demo/ — how topics are taught; a generated web
    session/ — one run of a crawl: open, resume, revisit, close, report
    crawler, store, rendering/ — the crawl loop; writing a crawl; a browser for script-made pages
    engine/, storage/ — consequences of a response; every SQL statement
    score/ — relevance of pages, priority of links, link graph, statistics
    admission/, html/, archive/, fetch — may a URL be requested; pages; recorded webs; one request
    http/ — the HTTP protocol, robots.txt, sitemaps and feeds
    urls/, documents/, frontier — normal form; PDF and Office; which URL is next, and when
    text/, topic/, scheduling/, workers/, registry — words; topics; queues; processes; plug-ins
    config, records, errors, metrics/ — settings; shared records; errors; measures
    i18n, locale/ — messages, and their Chinese translation

docs/design.md follows a URL through these packages in eight steps. Each imports only from lines
below its own (docs/design.md has the exact levels; import-linter checks them).
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

    globals()[name] = value = getattr(api, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_OFFERED})
