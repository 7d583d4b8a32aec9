"""Scorer processes: parsing and scoring of pages where no page can block or end the crawl.

    pool — `WorkerPool`: distributes pages to workers, replaces a worker that hangs or dies
    worker — one worker process: start, messages, end
    child — the other side: receives pages, scores them, sends the results
    messages — the messages between both, and their framing
    inline — `InlineScorer`: the same interface in this process, without limits
    __main__ — `python -m focus.workers`, started by the pool

The crawl passes a page to `score` and awaits its `Page`. Waiting pages are sent in batches over the
standard input and output of a worker, in length-prefixed MessagePack:

    parent → worker   Setup                     once: topic and settings
                      Work [job, …]             up to 16 pages
                      Update                    a changed model, for all later pages
    worker → parent   Ready | SetupRefused      the response to Setup
                      Scored [page, …]          results in the order of the jobs; those that are
                                                done every 20 ms, the rest at the end of the batch

A page that computes longer than the limit ends its worker by a timer of the worker itself, which
counts CPU time, so that a busy machine loses no page. A worker that is silent for ten times the
limit is killed. The first unfinished batch is then run again one page at a time, and a page that
breaks a worker a second time fails. Messages of a worker are decoded into the types above or count
as broken: a worker that a hostile page has taken over can return wrong data but no pickles.

It must not know topics or scores: the scorer is given by a dotted name and its settings. Names of
this package are imported on first use, because a worker runs as a module of it and needs no event
loop.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from focus.workers.child import SCORER as SCORER
    from focus.workers.child import Scorer as Scorer
    from focus.workers.inline import InlineScorer as InlineScorer
    from focus.workers.pool import WorkerPool as WorkerPool

_EXPORTS = {"SCORER": "child", "Scorer": "child", "InlineScorer": "inline", "WorkerPool": "pool"}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
