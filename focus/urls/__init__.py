"""URLs: their normal form, and everything that can be read from a URL without requesting it.

    normal_form — the URL to request (`normalise`), the duplicate key, host, origin, domain
    patterns — the URL pattern of pages made by one template, and the words in a URL

An href passes `UrlJoiner.join`, which returns the URL to request or None. `url_fingerprint`, the
MD5 of its duplicate key, identifies it in the URL table. Its `url_pattern` chooses its queue, for
strategies that learn hit rates of queues; its `url_words` are scored against the topic.

It must not resolve or request anything. The Public Suffix List is the copy that tldextract
contains.

Most hrefs are plain: one regular expression recognises them, and slicing joins them several times
faster than the WHATWG parser (ada); a property test checks that both agree. The query of a URL on a
GBK page is encoded in GBK.
"""
