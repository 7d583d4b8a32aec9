"""Crawlee's BeautifulSoupCrawler with its own link extraction and requests in memory."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from crawlee import ConcurrencySettings
from crawlee.crawlers import BeautifulSoupCrawler, BeautifulSoupCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import MemoryStorageClient

seeds, port, pages, concurrency, folder = sys.argv[1:6]
URLS = Path(seeds).read_text().split()


class Proxied(ImpitHttpClient):
    """Also requests robots.txt through the proxy, unlike a ProxyConfiguration."""

    def _get_client(self, proxy_url: str | None) -> Any:
        return super()._get_client(f"http://127.0.0.1:{port}")


async def main() -> None:
    """Crawl with requests in memory, which is faster than Crawlee's files."""
    many = int(concurrency)
    crawler = BeautifulSoupCrawler(
        parser="lxml",
        max_requests_per_crawl=int(pages),
        respect_robots_txt_file=True,
        http_client=Proxied(),
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=many, desired_concurrency=many, max_concurrency=many
        ),
        configure_logging=False,
        use_session_pool=False,
        max_request_retries=0,
    )
    with (Path(folder) / "pages.jsonl").open("w", encoding="utf-8") as out:

        @crawler.router.default_handler
        async def read(context: BeautifulSoupCrawlingContext) -> None:
            title = context.soup.title.string if context.soup.title else None
            line = {"url": context.request.url, "title": title}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            await context.enqueue_links(strategy="all")

        await crawler.run(URLS)


if __name__ == "__main__":
    asyncio.run(main())
