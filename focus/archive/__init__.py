"""Recorded webs on disk: reading, indexing, replaying and writing WARC files.

    warc — records and HTTP responses of a WARC file, also of a damaged one
    arc — record headers of ARC files, the predecessor of WARC
    pack — an indexed copy of an archive for random access
    replay — `Archive`: responses by URL, in the form that `focus.fetch` returns
    recorder — `Recorder`: appends the requests and responses of a crawl to a WARC/1.1 file

`focus crawl --warc` records every exchange. `--archive` crawls such a file instead of the network:
on first use `warc` reads the file and `pack` writes an indexed copy to the cache folder; `replay`
answers each request from the copy by the rules of the live web (`focus.http.semantics`), under a
virtual clock.

It must not import the frontier, scores or HTML parsing.

No WARC library is used: the known ones do not bound memory on hostile records and do not continue
after damage. In the pack every response is a zstd frame of its own, which takes a third of the
plain file and 0.03 ms per page to read.
"""
