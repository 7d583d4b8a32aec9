"""The commands of `focus`, one module each: options in, one library call, lines out.

    crawl, running, settings, preview     `focus crawl`: options, the run, the order, the dry run
    topic, train, label, kb               topics made, trained, labelled; knowledge bases
    judge                                 a sample of what crawls fetched, judged by people
    compare, report, search, changes      comparisons, reports, stored pages, their history
    watch, watch_owner, watch_send,       `focus watch`: alerts, their owner, sending,
    watch_inbox, alert_access             the pages that were found
    serve                                 the web application
    backup                                a database copied while it is used, and put back
    cluster                               the roles of a crawl on several machines
    compare_output, topic_output,         terminal output of these commands
    watch_output, cluster_output,
    search_output
    status_output                         output of `focus status`, `why`, `changes`, `demo`
    prompts, progress_bar                 questions to a person; a bar for long work
    options/                              options that commands share, and how values are read

click parses what was typed; flags win over FOCUS_* variables, these over focus.toml, these over
the defaults of `focus.config`. `settings` makes a `CrawlConfig` of it, `running` runs it on an
event loop and gives the exit code. A mistake becomes a `ConfigError` with one line.

There is no logic here: what a command does is a function of a package below. An output module takes
records and returns lines. `focus.cli` imports a command when it is typed, since numpy alone costs
0.09 s and 15 MiB.
"""
