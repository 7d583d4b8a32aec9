"""Yield: the best link, and what this crawl has learned about where pages pay."""

from __future__ import annotations

import math

from focus.records import Tally
from focus.score.strategy.best_link import BestLink


def shrunk_rate(tally: Tally, prior: float, k: float) -> float:
    """Hit rate r = (s + k·r₀)/(n + k): the group's own with much evidence, else the prior.

    Worked, k = 4: 3 of 4 relevant, prior 0.1: (3 + 0.4)/8 = 0.425.
    """
    return (tally.yielded + k * prior) / (tally.fetched + k)


class Yield(BestLink):
    """priority = best-link's + weight·(logit r(shape) - logit r(crawl)).

    r(shape) is the hit rate of the URL shape on its host, shrunk to the host's, that
    to the whole crawl's (empirical Bayes; science note 3.1). Soft counts: a page adds
    its relevance in 0…1, a failure 0.

    Worked: a shape at 0.425 in a crawl at 0.1, weight 0.9: 0.9·(-0.30 + 2.20) = 1.71.
    """

    name = "yield"
    source = "best-link and empirical Bayes"
    summary = "best-link plus learned hit rates of hosts and URL shapes"
    defaults = {**BestLink.defaults, "weight": 0.9, "k": 4.0, "p0": 0.2, "k0": 1e9, "hub": 0.0, "kh": 2.0}
    shapes = True
    learns = True

    def hub_bonus(self, hub: Tally) -> float:
        p0 = self.params["p0"]
        return self.params["hub"] * (_logit(shrunk_rate(hub, p0, self.params["kh"])) - _logit(p0))

    def bonus(self, queue: Tally, host: Tally, crawl: Tally) -> float:
        k = self.params["k"]
        p0, k0 = self.params["p0"], self.params["k0"]
        overall = (crawl.yielded + k0 * p0) / (crawl.fetched + k0)
        rate = shrunk_rate(queue, shrunk_rate(host, overall, k), k)
        return self.params["weight"] * (_logit(rate) - _logit(p0))


def _logit(rate: float) -> float:
    rate = min(max(rate, 1e-6), 1.0 - 1e-6)
    return math.log(rate / (1.0 - rate))
