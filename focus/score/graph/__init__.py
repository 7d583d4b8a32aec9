"""Ranks of URLs by the links between them: PageRank and HITS on the part of the web crawled so far.

    pagerank         importance of every known URL, by incremental residual push
    shares           P1's own importance, computed once per page (published forms)
    hits             authorities and hubs among the fetched pages, by power iteration
    compact_arrays   small values for a few of very many ids

The crawl adds a page with the ids of its links. The page distributes its rank to them, and they to
theirs, until the remaining amounts are negligible. Each id whose rank passed a power of 1.05 is
reported to the link handler, which asks the strategy for a new priority.

Ids are those of the URL table. No module here knows an address, a page or a topic.

P1 recomputes the ranks of all crawled pages for every page, which is quadratic. With residual push
a page costs about as much as it has links, with a bound on the error, and a quarter of that if 32
pages are pushed together as arrays.
"""
