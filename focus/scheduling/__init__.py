"""The parts that the frontier is made of.

    url_table    every known URL: fingerprint, state, priority, evidence, depth, queue
    queues       a host's queues, its politeness clock, the order among hosts
    throttling   longer rests for hosts that become slow; slots per IP address
    retries      failure kind -> wait, number of tries, whether the host is to blame
    url_memory   which waiting URLs memory holds; the others are in the store
    quantiles    priorities of the waiting URLs at some ranks, from a sample
    holding_back poor URLs wait while a limited crawl has better to come
    revisits     how long to wait until a page is looked at again, by the news it brought

A URL enters the URL table once, by its fingerprint, and gets an id that it keeps for the whole
crawl. While it waits its id stands in the queue of its host (for some strategies in one queue
per host and URL pattern), behind all ids of higher priority. A queue's head makes the host's
rank among the hosts that may be asked now. A host that was asked leaves that ranking until its
politeness delay is over. When the URL has been fetched, failed or dropped, only its row in the
URL table is left.

Nothing here knows a strategy, a page or a socket: priorities come as floats, instants and
latencies as arguments. `focus.frontier` puts the parts together.

What surprised us: memory decides the design. A Python object for each URL costs several hundred
bytes, five million of them some gigabytes; columns of numbers cost 46 bytes a URL. And a limited
crawl needs to know what its n-th best URL is worth, for which a sample of 20,000 URLs in 4 ms
serves as well as a sort of all.
"""
