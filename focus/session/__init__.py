"""One run of a crawl: open the database, resume, revisit, crawl, close, report.

    runner — opens or continues a crawl and runs it to its end
    resume — restores the state of a crawl from its database
    revisit — schedules the pages of earlier runs that are due for another request
    runtime — transport, scorer processes and store of a crawl on this machine
    judging — questions to a judge about doubtful pages
    process_limits — open files, memory and garbage collection of this process
    priority — low priority beside `focus serve` on the same database
    signals — stops a crawl in good order at Ctrl-C and SIGTERM
    watcher — the interface that receives the events of a run
    report — the report of a run
    close — stores the report and the graph scores of all pages

`run` takes a `CrawlConfig`, the files of the run (`RunPaths`) and a `Watcher`, and returns a
`RunReport`. A `Runtime` supplies transport and store: the default one uses the network and scorer
processes of this machine, `cluster.runtime` supplies one for the frontier of a cluster.

It must not import commands, reports or the packages that start runs (`alerts/`, `cluster/`,
`serve/`); these call `run`.
"""

from focus.session.report import RunReport
from focus.session.runner import crawl_identity, run
from focus.session.runtime import Runtime, open_transport
from focus.session.signals import GRACE_S
from focus.session.watcher import Watcher

__all__ = ["GRACE_S", "RunReport", "Runtime", "Watcher", "crawl_identity", "open_transport", "run"]
