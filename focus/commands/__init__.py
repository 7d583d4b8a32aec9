"""The commands of `focus`, one module each: parse options, call one function, print its result.

    crawl, settings, dry_run, running — `focus crawl`: options, settings from them, dry run, run
    llm — the terms that a crawl gets from a language model
    crawl_progress, crawl_live_line — figures of a running crawl; a line that is redrawn
    crawl_log, crawl_summary — logs of a crawl; its summary and the exit code
    demo — `focus demo`
    export, status, why, changes, search — what a database contains
    report, compare, compare_output — HTML reports; comparisons of strategies
    topic, topic_output, example_pages — `focus topic`, and the pages that it learns from
    train, label — classifiers; labels given page by page
    kb, research — knowledge bases; the group of the commands for research
    watch, watch_output, watch_owner — `focus watch`: alerts; owners and channels
    watch_send, watch_inbox, alert_access — visits and delivery; matches; databases of alerts
    serve — the web application
    backup — copy and restore a database that is in use
    cluster — the roles of a crawl on several machines, and their status
    strategies, completion — list of strategies; completion for a shell
    progress_bar — a bar for long work
    options/ — options that commands share, and how their values are read

click parses the command line; flags win over FOCUS_* variables, these over focus.toml, these over
the defaults of `focus.config`. `settings` makes a `CrawlConfig` from the options, `running` runs it
on an event loop and returns the exit code. A mistake becomes a `ConfigError` with one line. While a
crawl runs, `crawl_progress` samples it and calls the live line and the logs, none of which can
change or end it. Output functions take records and return lines; text from the web is made
`printable` first. Results go to standard output, everything else to standard error.

A command must not contain logic of its own: what it does is a function of a package below. It
imports slow packages inside its function: numpy alone takes 0.1 s and 15 MiB.
"""
