"""Consequences of a response: new URLs, priorities, retries, limits, and records to store.

    transports — carry a task to the network or to a recorded web, and return its result
    body_memory — memory taken by responses that are read or wait for a scorer process
    view — what decisions read: unfinished requests, seeds, frontier, URL table
    results, failures — decide what follows from a result or a failure, without changing anything
    revisit_records — decide what follows from revisiting a page of an earlier run
    intents — one record for each kind of decided change
    effects — applies intents in their order; the only module that changes the crawl
    links — adds the links of a page to the URL table, with link evidence and priority
    depths — depth of URLs by the shortest way, where --max-depth limits the crawl
    ranking — the current priority of a waiting URL
    hit_rates — relevant pages per request of queues, hosts and hub pages; the resulting bonus
    fallback — links of the most relevant pages, which take turns where a crawl finds little
    templates — texts that a site repeats on its pages, which count for nothing
    sitemaps — which sitemaps and feeds are fetched, and the URLs that they list
    seeding — adds seeds
    outages, connectivity — outages of the local network, for which no host is blamed
    relevance_feedback — relevant pages returned to a model that adapts
    limits — when a crawl ends, and what it may still request
    recent_harvest — how many of the last requests found a relevant page
    unit_of_work — changes collected for the next batch

A task leaves through a transport and returns as a `Result`. `results.decide` reads it and the
`View` and returns a list of intents: follow the links of a page, retry after a failure and count it
against the host, enter the target of a redirect. `Effects.apply` carries them out. The
`LinkHandler` looks up the target of each link in the URL table or adds it, keeps the maximum of
each component of its link evidence, and stores the priority that the `Ranker` computes from it. The
page counts in the hit rates of its queue, its host and the hub page that led to it. Every change
becomes a row in the `UnitOfWork`, whose batch the store writes in one transaction.

No module except `transports` and `body_memory` may use files, sockets, clocks or the event loop,
and none uses global randomness: the same results in the same order produce the same crawl, live,
replayed or in a cluster.

Nine of ten links to a waiting URL change its rank very little. Ranks are therefore reported only
when they pass a power of 1.05, which takes a third of the time per page at a million URLs and costs
0.005 of the AUC (topic-pagerank on the development web: 0.251 to 0.246).
"""
