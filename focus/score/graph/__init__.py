"""Ranks URLs by the links between them: PageRank and HITS on what was crawled so far.

    pagerank         importance of every known URL, by incremental residual push
    shares           P1's own importance, summed up once for each page (the published forms)
    hits             authorities and hubs among the fetched pages, by power iteration
    compact_arrays   small values for a few of very many ids

The loop adds a page with the ids of its links; the page injects its own share and pushes it on
until nothing worth mentioning is left. Whoever's rank has passed the next power of 1.05 is told to
the link handler, which asks the strategy for a new priority.

Ids are those of the URL table. Nothing here knows an address, a page or a topic.

What surprised us: P1 walks all crawled pages anew for every page, which is quadratic. By residual
push a page costs about as much as it has links, with a stated bound on the error; and pushed for 32
pages at once, as arrays, a quarter of that.
"""
