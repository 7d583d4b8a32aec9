"""Draws the conclusions from answers: new URLs, priorities, failures, limits, records.

    transports          a task to the web, or to a recorded one, and back as a result
    bodies              what answers take of memory while they are read and wait for a worker
    view                what decisions look at: requests that are not over, seeds, all the rest
    results, failures,  what follows from a result or a failure, decided without changing anything;
    refreshes           of a page of an earlier run, too
    intents             one record for each kind of change that may follow
    effects             does what was decided, in its order: the one place that changes the crawl
    links               a page's links become known URLs with evidence and priority
    partition           whose hosts are whose, and who gets the links to those of others
    ranking             the priority of a waiting URL as of now
    hit_rates           what queues, hosts and hubs have brought, and the bonus that follows
    sitemaps            which sitemaps and feeds are asked for, and what they list
    sowing              seeds, and what other crawls forward
    outages,            outages of the local network, for which no host is blamed
    connectivity
    relevance_feedback  relevant pages fed back to a model that adapts
    limits              when a crawl ends, and what it may still ask for
    recent_harvest      how many of the last requests found a relevant page
    unit_of_work        everything that is still to be written, taken as one batch

A task goes out by a transport and comes back as a `Result`. `results.decide` looks at it and at
the `View` and says what follows, as a list of intents: a page is followed and done, a failure is
tried again and its host blamed, a redirect's target takes its place. `Effects.apply` does that. A
page's links go to the `LinkHandler`: each target is found in the URL table or entered there, keeps
the largest of each float of evidence, and gets the priority that the `Ranker` makes of it. The
page is counted in the hit rates of its queue, its host and the hub that led to it. Whatever
happened is a row in the `UnitOfWork`, whose batch the store writes in one transaction.

What is known of a request beyond the URL table (how often it has failed, how the URL ended when
it was asked for last) is one `Request`, from when it is sent to when its URL has come to an end.

No module here opens a file or a socket (but `transports`), reads a clock or asks for a random
number: the same results in the same order give the same crawl, live, replayed or in a cluster.

What surprised us: nine of ten links to a waiting URL raise its rank by a hair and do nothing else.
Telling a rank only when it passes a power of 1.05 saved two thirds of the time per page at a
million URLs (topic-pagerank on the development web: AUC .251 -> .246).
"""
