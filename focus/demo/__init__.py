"""A small generated web, so that one command shows a crawl without a network (`focus demo`).

    words            vocabulary and sentence patterns by subject, of subjects.toml
    hosts            the hosts and the character of each
    places           addresses, and the lists that belong to a topic
    plan             every article of the web with its true labels, from one seed
    writing          the text of an article, drawn anew whenever it is asked for
    article, hubs    an article's page; fronts, lists, tags and specials
    frame            the parts around the text: navigation, sidebars, footer
    odd              addresses that are no pages: redirects, robots.txt, traps
    site             `DemoWeb`: URL in, response out; labels, topics
    days             the same while it goes on publishing
    truth            the labels as files
    server           the web over real HTTP on loopback
    run              `focus demo`: two strategies crawl it

A web holds its plan only (some 500 bytes an article): `generate` draws titles, dates, tags and
links; `DemoWeb.respond` renders a page from them, always the same bytes for the same seed, size and
day.

What must stay true: nothing here reads a clock or global randomness; what a page is about is
decided in the plan, never guessed from its text; an article never changes its text, URL or own
links when later days are added, only lists, tag pages and sidebars do. No other package may know
that a web is generated but tests and benchmarks.
"""
