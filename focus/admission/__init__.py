"""Rules that decide whether a URL may be requested, and whether its page counts as new.

    scope — --scope, --allow, --deny and file types
    traps — signs of endless URL spaces in a URL; request budgets per URL pattern and host
    domain_budget — request budgets for the hosts of one registered domain
    site_rules — actions and page variants of common web applications, by `software.toml`
    url_rules — kinds of URLs whose responses were of no use, learned while the crawl runs
    robots_gate — fetches and applies the robots.txt of a host (RFC 9309)
    near_duplicates — pages that repeat an earlier text; "not found" pages with status 200

The rules apply at three moments. When a link is found, `scope`, `site_rules` and `traps`
decide whether its URL is added to the URL table. When the URL is due, `url_rules`, the budgets and
`robots_gate` decide whether it is requested; a refused URL is dropped with a reason, which
`focus why` shows. When the page has been scored, `near_duplicates` decides whether it counts as a
new one.

All rules are pure: `now` and responses are arguments. No module here knows the topic, a strategy or
another rule; `focus.crawler` and `focus.engine` call them.

Budgets grow with the relevant pages that they lead to: a fixed number of URLs per pattern would
stop the archive of a newspaper as well as an endless calendar. A site whose robots.txt cannot be
fetched is not requested; a site that has none is.
"""
