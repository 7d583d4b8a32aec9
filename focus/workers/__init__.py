"""How do pages get parsed and scored without holding up, or taking down, the crawl?

    WorkerPool     child processes; a page over its wall limit costs a worker, not the crawl
    InlineScorer   the same interface in this process, for comparisons: no limit, no shelter

The loop gives a page to `score` and awaits its `Page`. Waiting pages travel in batches
(pool); a worker (child) is `python -m focus.workers`, spoken to over its stdin and
stdout in length-prefixed MessagePack (messages):

    parent → worker   Setup                     once: what to analyse for
                      Work [job, …]             up to 16 pages
                      Update                    a changed model, for all pages after it
    worker → parent   Ready | Refused           the answer to Setup
                      Scored [page, …]          results in the order of the jobs; as many as
                                                are done whenever 20 ms have passed, and the
                                                rest when the batch is through

So a worker that is busy and silent for the limit hangs in one page. It is killed; its
first unfinished batch is run again one page at a time, which clears the innocent, and a
page that breaks a worker a second time has failed. The same goes for a worker that dies.
Whatever a worker says is decoded into the types above or it counts as broken.
"""

from focus.workers.child import ANALYST, Analyst
from focus.workers.inline import InlineScorer
from focus.workers.pool import WorkerPool

__all__ = ["ANALYST", "Analyst", "InlineScorer", "WorkerPool"]
