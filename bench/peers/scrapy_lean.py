"""A minimal Scrapy spider: links from one XPath, no link extractor, no item pipeline."""

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import Response
from scrapy_run import URLS, run


class Lean(scrapy.Spider):
    """Follows every link of every page."""

    name = "lean"

    async def start(self) -> Any:
        """Yield the requests of the seeds."""
        for url in URLS:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield a line for the page and a request for each link."""
        hrefs = response.xpath("//a/@href").getall()
        title = response.xpath("//title/text()").get()
        yield {"url": response.url, "title": title, "links": hrefs}
        for href in hrefs:
            if not href.startswith(("mailto:", "javascript:", "#")):
                yield scrapy.Request(response.urljoin(href))


if __name__ == "__main__":
    run(Lean)
