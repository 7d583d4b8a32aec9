"""Gives every address one spelling, and reads off it whatever can be read without asking for it.

    normal_form   the URL to request (`normalise`), the key by which two URLs are one page (`key`),
                  host, origin and registrable domain
    patterns      the URL pattern of the pages that one template makes, and the words in a URL

An href goes through `Joiner.join`, which gives the URL to request or None. Its `fingerprint`, the
MD5 of its key, is the name under which the URL table knows it. Its `url_pattern` chooses the queue
that it waits in, for strategies that learn which queues pay; its `words` are evidence of the
topic.

Nothing is looked up or downloaded here, and no URL is ever asked for. The Public Suffix List is
the one that tldextract ships.

What surprised us: most hrefs of real pages are plain. One regular expression recognises them, and
slicing joins them, several times as fast as the WHATWG parser (ada); a property test holds that
both ways agree. And a query of a GBK page has to be asked for in GBK.
"""
