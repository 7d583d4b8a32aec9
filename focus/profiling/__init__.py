"""Tells where the time of a crawl goes (`focus crawl --profile`).

    stopwatch   CPU time by stage; a stage that calls another stands still meanwhile
    stages      the names of the stages, and the figures of each: `CrawlProfile`
    crawl       watches the main process: the event loop, and the store's thread
    worker      watches a scorer worker, page by page

While a profile is taken, the functions that stand for stages are wrapped and counted, in the main
process and in every worker; a worker's figures travel home with its pages (`Page.stages`). At the
end everything is divided by the number of pages.

Functions are put back afterwards, so that a crawl without a profile costs nothing: no part of it
knows of this package but `session`.

What surprised us: the network has no function to wrap. Sockets, TLS and HTTP are callbacks of the
event loop, so their time is whatever the other stages leave over.
"""
