"""Scrapy as its tutorial has it: a CrawlSpider whose LinkExtractor finds links and their texts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

seeds, port, pages, concurrency, folder = sys.argv[1:6]
URLS = Path(seeds).read_text().split()
os.environ["http_proxy"] = f"http://127.0.0.1:{port}"  # robots.txt goes there, too


class Links(CrawlSpider):
    """Follows every link of every page."""

    name = "links"
    rules = (Rule(LinkExtractor(), callback="read", follow=True),)

    async def start(self) -> Any:
        """The seeds."""
        for url in URLS:
            yield scrapy.Request(url)

    def read(self, response: Response) -> Any:
        """A line for the page."""
        title = response.xpath("//title/text()").get()
        yield {"url": response.url, "title": title, "anchor": response.meta.get("link_text")}


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
    process.crawl(Links)
    process.start()
