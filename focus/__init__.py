"""A focused web crawler: from these sites, everything about a topic, best first.

    import focus

    for page in focus.crawl("https://sports.sina.com.cn/", topic="足球", max_pages=100):
        print(page.relevance, page.url, page.title)

`focus.crawl` crawls, `focus.open` reads a database, `focus.read_topic` makes a topic (`focus.api`,
docs/api.md). They are imported when first used, as a command that only prints a line needs none
of them. docs/design.md tells the life of a URL and which package holds what.
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
