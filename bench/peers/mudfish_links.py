"""A crawler in Rust that fetches pages and reads their links: a bound for the others.

python mudfish_links.py SEEDS_FILE PORT PAGES CONCURRENCY FOLDER [host]

It starts from the first seed. With `host` it requests other hosts, too, which answer 404.
"""

import json
import sys
from pathlib import Path

import mudfish

seeds, port, pages, concurrency, folder = sys.argv[1:6]
limits = {"depth": 1000, "max_urls": int(pages), "concurrency": int(concurrency)}
hosts = {"same_domain": False, "per_host_concurrency": 8, "allow_private_networks": True}
proxy = {"proxies": (f"http://127.0.0.1:{port}",), "proxy_rotate_after": 1_000_000}
result = mudfish.crawl_dict(Path(seeds).read_text().split()[0], **limits, **hosts, **proxy)
with (Path(folder) / "pages.jsonl").open("w") as lines:
    for page in result["pages"]:
        if page["status_code"] == 200:
            lines.write(json.dumps(page) + "\n")
