"""Yield: the best link, and what this crawl has learned about where pages pay."""

from __future__ import annotations

import math

from focus.records import Recent, Tally
from focus.score.strategy.best_link import BestLink


def shrunk_rate(tally: Tally | Recent, prior: float, k: float) -> float:
    """Hit rate r = (s + k·r₀)/(n + k): the group's own with much evidence, else the prior.

    Worked, k = 4: 3 of 4 relevant, prior 0.1: (3 + 0.4)/8 = 0.425.
    """
    return (tally.yielded + k * prior) / (tally.fetched + k)


class Yield(BestLink):
    """priority = best-link's + weight·Δ(pattern) + hub·Δ(page), Δ(g) = logit r(g) - logit p₀.

    r(pattern)  hit rate of the URL pattern on its host, shrunk to the host's, that to p₀
    r(page)   hit rate of the links of the page that brought the URL, shrunk to p₀
    p₀        what is expected of a place not tried yet. It is a constant, and a hopeful one:
              against the crawl's own rate a single poor site that fills the crawl would look
              as good as any other, and nothing else would be tried

    Counts are soft: a page adds its relevance in 0…1, a failure 0. Those of patterns and hosts
    fade: after the next request to its host, one counts `fade` of what it did (0.9: the last
    ten or so are what a host is known by), since places run dry, and dry places may fill.

    home is between what suits a web whose links to other hosts are mostly dead (1.5) and one
    where they work (0); bench/held_out.py has both.

    Worked, p₀ = 0.5, k = 4: host 40 requests, 8 relevant: (8 + 2)/44 = 0.227; pattern 20, 15:
    (15 + 4·0.227)/24 = 0.663; Δ = 0.68; with weight 0.9: 0.61.
    """

    name = "yield"
    source = "best-link and empirical Bayes"
    summary = "best-link plus learned hit rates of hosts, URL patterns and hubs"
    defaults = {
        **BestLink.defaults,
        "home": 1.0,
        "inherit": 0.5,
        "weight": 0.9,
        "hub": 0.5,
        "p0": 0.5,
        "k": 10.0,
        "fade": 0.9,
    }
    url_patterns = True
    learns = True

    @property
    def fade(self) -> float:
        return self.params["fade"]

    def bonus(self, queue: Recent, host: Recent) -> float:
        k, p0 = self.params["k"], self.params["p0"]
        rate = shrunk_rate(queue, shrunk_rate(host, p0, k), k)
        return self.params["weight"] * (_logit(rate) - _logit(p0))

    def hub_bonus(self, hub: Tally) -> float:
        p0 = self.params["p0"]
        return self.params["hub"] * (_logit(shrunk_rate(hub, p0, self.params["k"])) - _logit(p0))


def _logit(rate: float) -> float:
    rate = min(max(rate, 1e-6), 1.0 - 1e-6)
    return math.log(rate / (1.0 - rate))
