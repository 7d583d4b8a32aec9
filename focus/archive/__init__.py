"""Recorded webs on the disk: WARC files read, indexed, replayed and written.

    warc       records and HTTP answers out of a WARC file, whole or damaged
    arc        the heads of records in ARC files, the format before WARC
    pack       the same turned for random access: any answer of a million at once
    replay     `Archive`: answers by URL, in the shape that the live fetcher has
    recorder   `Recorder`: a crawl's requests and answers, appended to a WARC/1.1 file

`focus crawl --warc` records every exchange. `--archive` crawls such a file in the network's place:
on its first use `warc` reads it once, `pack` writes what it finds into the cache folder, and
`replay` then answers each URL of the crawl from there by the HTTP rules of the live web
(`focus.http.semantics`), under a virtual clock.

Nothing here knows a topic, a frontier or a page's text. No WARC library: none that we know bounds
memory on hostile records or reads on past damage, and one of them stays an independent judge of
what `recorder` writes.

What surprised us: a pack with each answer in a zstd frame of its own is a third of the plain file
and as fast to read, 0.03 ms a page, and none of it counts as memory of the process.
"""
