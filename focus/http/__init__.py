"""HTTP as a crawler needs it: the parts that `focus.fetch` is made of, each with its bounds.

    semantics         what status, headers and first bytes mean for a crawl
    response          reads one response as far as it is wanted
    content_encoding  gzip, deflate, brotli, zstd: decoded piece by piece, never beyond a cap
    requests          sends requests over aiohttp's connections, without its session
    connection        counts bytes and time of each exchange below the HTTP parser
    dns               host names to addresses, one thread per look-up
    tls               certificates, and what a server may ask for there
    ssrf_guard        refuses addresses of private networks at the moment of connecting
    sessions          cookies, headers and passwords, each for its hosts alone
    network_errors    an exception of the network -> a failure kind and one line for people
    robots            robots.txt parsed by RFC 9309, in bounded time
    robots_tag        X-Robots-Tag and meta robots: what a page asks of crawlers
    sitemap           sitemaps, indexes and feeds read as they come

A request: `dns` finds addresses, `ssrf_guard` judges each, `connection` and `tls` connect and
count. `response` reads headers and first bytes, asks `semantics` whether the body is wanted, and
has `content_encoding` decode it. Whatever goes wrong ends in `network_errors`; no server can make
a fetch raise.

Nothing here knows a frontier, a topic or a database. `semantics`, `content_encoding`, `robots`,
`sitemap` and `ssrf_guard` are pure: a recorded web (`focus.archive`) meets the same rules.

What surprised us: the cap on the body is the least of the bounds. Chunk extensions, trailers,
endless 1xx answers and TLS tickets carry as many bytes as a server likes past a library that
counts the body only; and a robots.txt of 20 KB can cost a parser seconds.
"""
