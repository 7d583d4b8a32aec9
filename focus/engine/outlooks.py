"""Looks ahead while a crawl runs: what the next requests will bring, and whether that is enough.

Every so many requests the best waiting URLs are looked at by what their queues and hosts have
brought; `metrics.forecast` makes an expectation of that. It is kept with the totals, for
`focus status` and the end of the crawl, and ends a crawl with `--stop-harvest`.
"""

from __future__ import annotations

from collections import deque

from focus.engine.hit_rates import HitRates
from focus.engine.view import View
from focus.late import np
from focus.metrics.forecast import LATELY, Outlook, Paying, outlook, rate, waiting_hits
from focus.scheduling.quantiles import RANKS, waiting_sample

AHEAD = 1000  # requests that are forecast for people
ENOUGH = 500  # requests that must pay for a crawl to go on
SHARE = 2000  # a look costs a pass over many URLs: no more often than once in a share of them
SAMPLE = 200_000  # known URLs that are looked at, about: some 10 ms


class Outlooks:
    """Forecasts of one crawl. `least`: relevant share of the next requests that is enough."""

    def __init__(self, view: View, hit_rates: HitRates, *, least: float | None = None) -> None:
        self._url_table = view.url_table
        self._frontier = view.frontier
        self._hit_rates = hit_rates
        self._unit_of_work = view.unit_of_work
        self._least = least
        self._lately: deque[bool] = deque(maxlen=LATELY)
        self._next = LATELY

    def ended(self, *, relevant: bool) -> bool:
        """A request of this run came to its end; whether the crawl should, too."""
        self._lately.append(relevant)
        self._next -= 1
        if self._next > 0:
            return False
        self._next = max(LATELY, len(self._url_table) // SHARE)
        totals = self._unit_of_work.totals
        _, totals.outlook, totals.outlook_low, totals.outlook_high = self.look(AHEAD)
        if self._least is None:
            return False
        return self.look(ENOUGH).expected < self._least * ENOUGH

    def look(self, requests: int) -> Outlook:
        """What so many requests will bring."""
        return outlook(requests, self.waiting(requests), self._rate())

    def _rate(self) -> float:
        return rate(sum(self._lately), len(self._lately))

    def waiting(self, requests: int) -> float:
        """Relevant pages among the best waiting URLs, so many, if all pays as it did."""
        hosts = self._hit_rates.newcomers
        newcomers = min(1.0, (hosts.yielded + 0.5) / (hosts.fetched + 2.0))
        return waiting_hits(self._best(requests), self._rate(), newcomers)

    def _best(self, number: int) -> list[Paying]:
        """The best waiting URLs, by queue; of millions, every so-manieth stands for its like."""
        url_table, queues = self._url_table, self._frontier.queues
        step = max(1, min(len(url_table) // SAMPLE, number // RANKS))
        queue_of, priorities = waiting_sample(url_table, step)
        bonus = np.array([queue.bonus for queue in queues])
        if len(queue_of) > number // step:
            stands = priorities + bonus[queue_of]
            queue_of = queue_of[np.argpartition(-stands, number // step)[: number // step]]
        counts = zip(*np.unique(queue_of, return_counts=True), strict=True)
        return [
            Paying(int(urls) * step, *self._hit_rates.lately(queues[int(queue)]))
            for queue, urls in counts
        ]
