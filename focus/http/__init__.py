"""The HTTP protocol with limits for a crawler: the parts of `focus.fetch`.

    semantics — what status, headers and first bytes mean for a crawl
    requests — sends requests over the connections of aiohttp, without its session
    response — reads a response as far as it is needed
    response_head, chunk_framing — repair malformed headers and chunks as browsers do
    content_encoding, zstd — decode gzip, deflate, brotli and zstd piece by piece, up to a cap
    connection — limits bytes and time of each exchange below the HTTP parser
    dns — resolves host names, one thread per lookup
    tls — trusted certificates and allowed protocols
    ssrf_guard — refuses private addresses at the moment of connecting
    sessions — cookies, headers and passwords, each for its own hosts
    network_errors — maps an exception to a failure kind and one line of text
    robots — parses robots.txt by RFC 9309, in bounded time
    robots_tag — X-Robots-Tag and meta robots
    sitemap — reads sitemaps, sitemap indexes, RSS and Atom feeds

`dns` resolves the host, `ssrf_guard` checks each address, `connection` and `tls` connect,
`requests` sends. `response` reads headers and first bytes, asks `semantics` whether the body is
needed, and has `content_encoding` decode it. Every failure ends in `network_errors`; no server can
make a fetch raise.

It must not know frontier, topic or database. `semantics`, `content_encoding`, `robots`, `sitemap`
and `ssrf_guard` are pure, so that a recorded web (`focus.archive`) follows the same rules.

A cap on the body is not enough: chunk extensions, trailers, endless 1xx responses and TLS tickets
can carry any number of bytes past a library that counts only the body.
"""
