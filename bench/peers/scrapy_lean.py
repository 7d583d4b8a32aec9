"""Scrapy at its leanest: the hrefs of a page by one XPath, no link extractor, no item pipeline."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

seeds, port, pages, concurrency, folder = sys.argv[1:6]
URLS = Path(seeds).read_text().split()
os.environ["http_proxy"] = f"http://127.0.0.1:{port}"  # robots.txt goes there, too


class Lean(scrapy.Spider):
    """Follows every link of every page."""

    name = "lean"

    async def start(self) -> Any:
        """The seeds."""
        for url in URLS:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        """A line for the page, a request for each link."""
        hrefs = response.xpath("//a/@href").getall()
        title = response.xpath("//title/text()").get()
        yield {"url": response.url, "title": title, "links": hrefs}
        for href in hrefs:
            if not href.startswith(("mailto:", "javascript:", "#")):
                yield scrapy.Request(response.urljoin(href))


SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": int(concurrency),
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "DOWNLOAD_DELAY": 0,
    "CLOSESPIDER_ITEMCOUNT": int(pages),
    "FEEDS": {str(Path(folder) / "pages.jsonl"): {"format": "jsonlines"}},
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
}

if __name__ == "__main__":
    process = CrawlerProcess(SETTINGS)
    process.crawl(Lean)
    process.start()
