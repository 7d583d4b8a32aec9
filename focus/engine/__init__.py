"""Draws the conclusions from answers: new URLs, priorities, failures, limits, records.

    transports          a task to the web, or to a recorded one, and back as a result
    results             a result becomes a page, a redirect, a sitemap, a failure or a drop
    links               its links become known URLs with evidence and priority
    hit_rates           what queues, hosts and hubs have brought, and the bonus that follows
    sitemaps            which sitemaps and feeds are asked for, and what they list
    failures            another try, a failure, a drop; hosts that are given up
    outages, uplink     whether the network at large is away, so that no host is blamed for it
    relevance_feedback  relevant pages fed back to a model that adapts
    limits              when a crawl ends, and which URLs are held back until then
    outlooks            what the next requests will bring, and whether that is enough
    unit_of_work        everything that is still to be written, taken as one batch

A task goes out by a transport and comes back as a `Result`. `ResultHandler.take_in` decides what
it is. A page's links go to the `LinkHandler`: each target is found in the URL table or entered
there, keeps the largest of each float of evidence, and gets the priority that the strategy makes
of it. The page is counted in the hit rates of its queue, its host and the hub that led to it. A
failure goes to the `FailureHandler`, which consults `scheduling.retries`. Whatever happened is a
row in the `UnitOfWork`, whose batch the store writes in one transaction.

No module here opens a file or a socket (but `transports`), reads a clock or asks for a random
number: the same results in the same order give the same crawl, live, replayed or in a cluster.

What surprised us: nine of ten links to a waiting URL raise its rank by a hair and do nothing else.
Telling a rank only when it passes a power of 1.05 saved two thirds of the time per page at a
million URLs (topic-pagerank on the development web: AUC .251 -> .246).
"""
