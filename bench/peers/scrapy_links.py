"""A Scrapy spider as in its tutorial: a CrawlSpider with a LinkExtractor."""

from typing import Any

import scrapy
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from scrapy_run import URLS, run


class Links(CrawlSpider):
    """Follows every link of every page."""

    name = "links"
    rules = (Rule(LinkExtractor(), callback="read", follow=True),)

    async def start(self) -> Any:
        """Yield the requests of the seeds."""
        for url in URLS:
            yield scrapy.Request(url)

    def read(self, response: Response) -> Any:
        """Yield a line for the page."""
        title = response.xpath("//title/text()").get()
        yield {"url": response.url, "title": title, "anchor": response.meta.get("link_text")}


if __name__ == "__main__":
    run(Links)
