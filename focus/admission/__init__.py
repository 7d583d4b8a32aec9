"""Decides whether a URL may be asked for, and whether its page counts.

    scope             --scope, --allow, --deny and file types: is the URL wanted at all
    traps             signs of endless URLs in an address; budgets per URL pattern and host
    domain_budget     the same for the hosts of one registered domain
    robots_gate       waits for a host's robots.txt and applies its rules (RFC 9309)
    near_duplicates   pages that repeat an earlier text, and "not found" pages with status 200

The gates stand at three moments of a URL's life. When a link is found, `scope` and the signs of
`traps` decide whether the URL becomes known. When its turn comes, the budgets, then `robots_gate`
decide whether it is sent; a refused URL is dropped with its reason, so that `focus why` can tell
it. When its answer is there, `near_duplicates` says whether the page is news.

Everything here is a pure rule: `now` and the answers come as arguments, nothing is fetched, and
no gate knows the topic, a strategy or another gate. `focus.crawler` asks them in their order.

What surprised us: budgets must grow with what they bring. A fixed number of URLs per pattern
stops the archive of a newspaper as surely as an endless calendar; requests without a relevant
page tell one from the other. And a site without any answer to robots.txt is not the same as a
site without robots.txt: the first is left alone, the second is open.
"""
