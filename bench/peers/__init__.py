"""Other crawlers over the same site: one small script each, in an environment of their own.

    python SCRIPT SEEDS_FILE PORT PAGES CONCURRENCY FOLDER

Each begins at the seeds (one a line), asks every host at that port of loopback (as its HTTP
proxy), honours robots.txt, takes links to other hosts as well, ends at that many pages, and
leaves a JSON line for each page (URL, title, links) in FOLDER/pages.jsonl. None of them scores
or keeps the page itself, or its queue. Scrapy may ask a host eight times at once, as it does by
itself; connecting to each host directly instead of by proxy made it 3 % cheaper. What came in
before a crawler stopped counts as its pages. `requirements.txt` pins their versions.
"""
