"""Arguments, settings and start of the Scrapy peers.

python PEER.py SEEDS_FILE PORT PAGES CONCURRENCY FOLDER [host]

With `host` only the hosts of the seeds are requested.
"""

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess

seeds, port, pages, concurrency, folder = sys.argv[1:6]
URLS = Path(seeds).read_text().split()
os.environ["http_proxy"] = f"http://127.0.0.1:{port}"  # robots.txt goes there, too

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


def run(spider: type[scrapy.Spider]) -> None:
    """Run a spider until it ends."""
    if sys.argv[6:]:
        spider.allowed_domains = [urlsplit(url).netloc for url in URLS]
    process = CrawlerProcess(SETTINGS)
    process.crawl(spider)
    process.start()
