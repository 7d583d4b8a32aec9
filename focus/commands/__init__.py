"""The commands of `focus`, one module each: parse options, call one function, print its result.

    crawl, settings, dry_run, running     `focus crawl`: options, settings from them, dry run, run
    crawl_progress, crawl_live_line,      figures of a running crawl; one line that is redrawn;
    crawl_log, crawl_summary              logs; the summary at the end and the exit code
    demo                                  `focus demo`
    export, status, why, changes, search  what a database holds
    report, compare                       HTML reports; comparisons of strategies
    topic, example_pages, train, label    topics made, trained, labelled
    kb                                    knowledge bases
    watch, watch_owner, watch_send,       `focus watch`: alerts, their owner, sending,
    watch_inbox, alert_access             the pages that were found
    serve                                 the web application
    backup                                a database copied while it is used, and put back
    cluster                               the roles of a crawl on several machines
    strategies, completion                lists of strategies; completion for a shell
    NAME_output                           terminal output of the command NAME, where it is long
    prompts, progress_bar                 questions to a person; a bar for long work
    options/                              options that commands share, and how values are read

click parses the command line; flags win over FOCUS_* variables, these over focus.toml, these over
the defaults of `focus.config`. `settings` makes a `CrawlConfig` of it, `running` runs it on an
event loop and returns the exit code. A mistake becomes a `ConfigError` with one line.

There is no logic here: what a command does is a function of a package below. Output functions take
records and return lines. While a crawl runs, `crawl_progress` samples it and calls the live line
and the logs; none of them can change or end it, and neither can a terminal that closes.

Whatever comes from the web is made `printable` before it is shown. Data goes to standard output,
everything else to standard error. A width in characters is no width on a terminal: 足 takes two
cells, an accent none, and a line that is one cell too long scrolls the screen at every redraw.

A command imports the packages that it needs when it runs: numpy alone
takes 0.1 s and 15 MiB.
"""
