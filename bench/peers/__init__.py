"""Other crawlers on the same site: one script each, run in an environment of their own.

    python SCRIPT SEEDS_FILE PORT PAGES CONCURRENCY FOLDER

Each starts from the seeds (one per line), reaches every host through an HTTP proxy on the given
loopback port, obeys robots.txt, follows links to other hosts, stops after PAGES pages, and writes
one JSON line per page (URL, title, links) to FOLDER/pages.jsonl. None of them scores or
stores pages or stores its queue. Scrapy makes up to eight requests to a host at once, its
default; without the proxy it takes 3 % less CPU. `requirements.txt` pins the versions.
"""
