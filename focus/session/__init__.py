"""One run of a crawl: open the database, resume, revisit, crawl, close, report.

    runner          opens or continues a crawl, runs it to its end, stores the report
    resume          restores the state of a crawl from its database
    revisit         schedules the pages of earlier runs that are due for another request
    process_limits  open files, memory and garbage collection of this process

`run` is called with a `CrawlConfig`, the files of the run (`RunPaths`) and a `Watcher`; it returns
a `RunReport`. A `Runtime` supplies the transport and the store: the default one uses the network
and scorer processes of this machine, `cluster.node` supplies one for a shard of a cluster.

It must not import commands, reports or the programs that start runs (`alerts/`, `cluster/`,
`serve/`): they call `run`.
"""

from focus.session.runner import (
    GRACE_S,
    RunReport,
    Runtime,
    SessionStore,
    Watcher,
    identity,
    open_transport,
    run,
)

__all__ = [
    "GRACE_S",
    "RunReport",
    "Runtime",
    "SessionStore",
    "Watcher",
    "identity",
    "open_transport",
    "run",
]
