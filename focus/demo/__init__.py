"""Demo: a small generated web, so that one command shows a crawl with no network.

    words            vocabulary and sentence patterns by subject, of subjects.toml
    hosts            which hosts there are and what each is like
    plan             every article of the web with its true labels, from one seed
    writing          the text of an article, drawn anew whenever it is asked for
    pages            the HTML around it: navigation, lists, tags, sidebars, footers
    site             `DemoWeb`: URL in, response out; labels, topics, odd corners
    truth            the same labels as files
    server           the web over real HTTP on loopback

A web holds its plan only (some 500 bytes an article): `generate` draws titles,
dates, tags and links; `DemoWeb.respond` renders a page from them, always the same
bytes for the same seed, size and day. What must stay true: nothing here reads a
clock or global randomness; what a page is about is decided in the plan, never
guessed from its text; an article never changes its text, URL or own links when
later days are added, only lists, tag pages and sidebars do.
"""
