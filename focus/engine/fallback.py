"""Another order for a crawl that finds little: the links of the most relevant pages.

A strategy that learns may stay where nothing is found. Then requests alternate between its own
order and that of best-first, in favour of the one that has recently brought more.
"""

from __future__ import annotations

from focus.engine.ranking import Ranker
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.records import DEFERRED_PRIORITY, FALLBACK_PRIORITY, RecentTally, UrlState
from focus.scheduling.url_table import UrlTable

FADE = 0.95  # factor of the weight of a request after each later one: about the last 20 count
_URLS_PER_TURN = 16_384  # known URLs for each one that a turn raises, as a turn passes over all
_MAX_WAITING_TURNS = 8
_MAX_USELESS = 40  # its requests since any order has brought something; then it ends


class Fallback:
    """Raises waiting URLs to `FALLBACK_PRIORITY` while that order brings more than the own one.

    Each request lowers the weight of all earlier ones in both orders, so that an order that is not
    in use comes back to its expected rate and is tried again (`Strategy.prefers_fallback`). Where
    neither finds anything, as at the end of a site, it ends after 40 requests. All
    counts are kept over restarts, and what is raised depends on them and the URL table alone.
    """

    def __init__(
        self, ranker: Ranker, url_table: UrlTable, frontier: Frontier, unit_of_work: UnitOfWork
    ) -> None:
        self._strategy = ranker.strategy
        self._url_table = url_table
        self._frontier = frontier
        self._unit_of_work = unit_of_work

    def count_result(self, url_id: int, reward: float) -> None:
        """Count a finished request for a link, and raise URLs if the fallback brings more."""
        totals = self._unit_of_work.totals
        totals.own *= FADE
        totals.own_yielded *= FADE
        totals.fallback *= FADE
        totals.fallback_yielded *= FADE
        if self._url_table.priority[url_id] == FALLBACK_PRIORITY:
            totals.fallback += 1.0
            totals.fallback_yielded += reward
            totals.useless_fallbacks += 1
        else:
            totals.own += 1.0
            totals.own_yielded += reward
        if reward > 0.5:  # a relevant page that is no list
            totals.useless_fallbacks = 0
        own = RecentTally(totals.own, totals.own_yielded)
        fallback = RecentTally(totals.fallback, totals.fallback_yielded)
        urls = 1 + len(self._url_table) // _URLS_PER_TURN
        is_over = totals.useless_fallbacks >= _MAX_USELESS
        is_turn = totals.requests % urls == 0 and not is_over
        if is_turn and self._strategy.prefers_fallback(own, fallback):
            self._raise_best(urls)

    def _raise_best(self, count: int) -> None:
        """Raise waiting links of the pages that are most relevant now, the oldest first."""
        import numpy as np

        table = self._url_table
        inherited = table.evidence_column(self._strategy.fallback_evidence).round(2)
        priority = np.frombuffer(table.priority)
        waits = np.frombuffer(table.state, np.uint8) == UrlState.WAITING
        raised = np.count_nonzero(waits & (priority == FALLBACK_PRIORITY))
        waits &= (priority > DEFERRED_PRIORITY) & (priority < FALLBACK_PRIORITY)
        ids = np.flatnonzero(waits & (inherited > 0.5))
        best = ids[inherited[ids] == inherited[ids].max(initial=0.0)]
        chosen = best[: max(0, min(count, _MAX_WAITING_TURNS * count - raised))].tolist()
        del priority, waits  # while numpy uses a column, it cannot grow
        for url_id in chosen:
            self._frontier.set_priority(url_id, FALLBACK_PRIORITY)
            self._unit_of_work.update_priority(url_id)
