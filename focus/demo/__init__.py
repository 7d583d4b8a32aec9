"""A small generated web, so that one command shows a crawl without a network (`focus demo`).

    words — vocabulary and sentence patterns by subject, from subjects.toml
    hosts — the hosts and their properties, from hosts.toml
    places — URLs, and the index pages that belong to a topic
    plan — all articles with their labels, from one random seed
    writing — the text of an article
    article, hubs — the page of an article; home pages, sections, tags and specials
    frame — the parts around the text: navigation, sidebars, footer
    edge_case_pages — URLs that are no pages: redirects, robots.txt, traps
    site — `DemoWeb`: the response to a URL; the labels of its pages
    server — the web over HTTP on the loopback interface
    run — `focus demo`: crawls the web with three strategies

A web stores only its plan, some 500 bytes per article. `DemoWeb.respond` renders a page from the
plan; the same seed, size and day give the same bytes.

It must not read a clock or global randomness. Labels come from the plan, never from the text. An
article keeps its text, URL and own links when later days are added. No package of the crawler may
know that a web is generated; only tests, benchmarks and `focus.commands` import this package.
"""
