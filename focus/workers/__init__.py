"""Parses and scores pages in processes of their own, so that no page can hold up or end the crawl.

    pool         `WorkerPool`: gives pages to workers, replaces one that hangs or dies
    worker       one worker process: started, spoken to, ended
    child        the other end: waits for pages, analyses them, answers
    messages     what the two say to each other, and its framing
    inline       `InlineScorer`: the same interface in this process, without limit or shelter
    __main__     `python -m focus.workers`, started by the pool

The loop gives a page to `score` and awaits its `Page`. Waiting pages travel in batches over a
worker's stdin and stdout, in length-prefixed MessagePack:

    parent → worker   Setup                     once: what to analyse for
                      Work [job, …]             up to 16 pages
                      Update                    a changed model, for all pages after it
    worker → parent   Ready | SetupRefused      the answer to Setup
                      Scored [page, …]          results in the order of the jobs; as many as
                                                are done whenever 20 ms have passed, and the
                                                rest when the batch is through

So a worker that is busy and silent for the limit hangs in one page. It is killed; its first
unfinished batch is run again one page at a time, which clears the innocent, and a page that breaks
a worker a second time has failed. The same goes for a worker that dies. Whatever a worker says is
decoded into the types above or it counts as broken: one that a hostile page has taken over can hand
back wrong data but no pickles.

No module here knows a topic or a score: the analyst is a dotted name and its bytes.

What is offered here is imported when it is first asked for: a worker runs as a module of this
package, and an event loop, which it never has, would be a fifth of what it takes to start.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from focus.workers.child import ANALYST as ANALYST
    from focus.workers.child import Analyst as Analyst
    from focus.workers.inline import InlineScorer as InlineScorer
    from focus.workers.pool import WorkerPool as WorkerPool

_OFFERED = {
    "ANALYST": "child",
    "Analyst": "child",
    "InlineScorer": "inline",
    "WorkerPool": "pool",
}


def __getattr__(name: str) -> Any:
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_OFFERED[name]}"), name)
