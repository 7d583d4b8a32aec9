"""Recorded webs on disk: reading, indexing, replaying and writing WARC files.

    warc — records and HTTP responses of a WARC file, up to its damage if there is any
    pack — an indexed copy of an archive for random access
    replay — `Archive`: responses by URL, in the form that `focus.fetch` returns
    recorder — `Recorder`: appends the requests and responses of a crawl to a WARC/1.1 file

`focus crawl --warc` records every exchange. `--archive` crawls such a file instead of the network:
on first use `warc` reads the file and `pack` writes an indexed copy to the cache folder; `replay`
answers each request from the copy by the rules of the live web (`focus.http.semantics`), under a
virtual clock.

It must not import the frontier, scores or HTML parsing.

No WARC library is used: the packing is undone by `gzip` and `zstd`, and what remains is short. The
library warcio reads as fast, but a head of 1 GB costs it over 100 s (here
0.6 s, 35 MB), and of plain files with a few wrong bytes it returned 77 % of the records, not 90 %.
In the pack every response is a zstd frame of its own, which takes a third of the
plain file and 0.03 ms per page to read.
"""
