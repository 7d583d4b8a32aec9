"""Parts of the frontier: URL table, host queues, politeness, bounded memory.

    url_table — every known URL: fingerprint, state, priority, link evidence, depth, queue
    queues — the queues of a host, its request clock, rankings
    throttling — longer delays for slow hosts; request slots per IP address
    retries — failure kind to wait, number of tries, whether the host is blamed
    url_cache — which waiting URLs are held in memory; the others are in the database
    quantiles — estimated priority quantiles of the waiting URLs
    priority_gate — minimum priority while a limited crawl waits for better URLs
    revisits — how long to wait before a page is revisited

A URL is added to the URL table once, by its fingerprint, and keeps its id for the whole crawl.
While it waits, its id stands in the queue of its host (some strategies use one queue per host and
URL pattern), behind all ids of higher priority. The first URL of a queue decides where the host
ranks among the hosts that are due. A host that was requested leaves this ranking until its crawl
delay is over. After the URL was fetched, failed or dropped, only its row in the URL table remains.

It must not know strategies, pages or sockets: priorities are floats; times and latencies are
arguments. `focus.frontier` combines the parts.

A Python object per URL takes several hundred bytes, so five million URLs would take gigabytes;
columns of numbers take about 46 bytes per URL.
"""
