"""Forecasts how many relevant pages the next requests of a crawl will bring.

Two things are known: how often the queues and hosts of the best waiting URLs have paid lately,
and how often the crawl as a whole has. Neither is a forecast by itself. A queue that has paid
runs dry, and what is found next waits nowhere yet; so both are weighed by what crawls have
shown. The numbers below were fitted to these crawls; docs/usage.md states how often the interval
holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

LATELY = 100
"""Requests that say how the crawl does at present; with fewer there is no forecast."""

K = 8.0
"""Requests that the prior of a queue or host counts for."""

CONSTANT, WAITING, RECENT, HORIZON = 0.7, 0.406, 0.3, 0.225
SIZE = 1.95
"""Of the negative binomial around the expectation: its variance is m + m²/SIZE."""

LEVEL = 0.8


class Paying(NamedTuple):
    """A queue among the best that wait: URLs of it there, and what it and its host have brought.

    A host with `host_fetched` 0 was never tried.
    """

    urls: int
    fetched: float
    yielded: float
    host_fetched: float
    host_yielded: float


class Outlook(NamedTuple):
    """So many relevant pages in the next `requests`: the mean, and an 80 % interval."""

    requests: int
    expected: float
    low: int
    high: int


def rate(relevant: float, requests: float) -> float:
    """(relevant + ½)/(requests + 1). Worked: 9 of 99: 0.095."""
    return (relevant + 0.5) / (requests + 1.0)


def waiting_hits(best: Iterable[Paying], lately: float, newcomers: float) -> float:
    """Relevant pages among these waiting URLs, if all pays as it did.

    Σ urls·(s + k·h)/(n + k) over queues, h = (S + k·p)/(N + k) of the host, p the crawl's rate
    lately, for hosts never tried that of newcomers. Worked, k = 8, p 0.1: 10 URLs of a queue
    with 4 of 8, its host 6 of 12: h = 6.8/20 = 0.34, (4 + 2.72)/16 = 0.42: 4.2.
    """
    total = 0.0
    for each in best:
        prior = lately if each.host_fetched else newcomers
        host = (each.host_yielded + K * prior) / (each.host_fetched + K)
        total += each.urls * (each.yielded + K * host) / (each.fetched + K)
    return total


def outlook(requests: int, waiting: float, lately: float) -> Outlook:
    """The forecast from `waiting_hits` of the best `requests` URLs and the rate lately.

    m = e^0.7·(W + ½)^0.406·(L + ½)^0.3·(n/500)^0.225, L = n·lately, never more than n. The
    interval is the middle 80 % of the negative binomial of mean m and size 1.95. Worked,
    n = 500, W = 60, L = 40: 2.014·5.287·3.036 = 32.3; variance 32.3 + 32.3²/1.95 = 568.
    """
    log = (
        CONSTANT
        + WAITING * math.log(waiting + 0.5)
        + RECENT * math.log(requests * lately + 0.5)
        + HORIZON * math.log(requests / 500.0)
    )
    expected = min(float(requests), math.exp(log))
    low, high = interval(expected, requests)
    return Outlook(requests, expected, low, high)


def interval(mean: float, most: int, level: float = LEVEL) -> tuple[int, int]:
    """The middle `level` of a negative binomial of this mean and `SIZE`, 0 to `most`.

    P(0) = (r/(r + m))^r, P(k + 1) = P(k)·(k + r)/(k + 1)·m/(r + m). Worked, m = 4, r = 1.95:
    P(0) = 0.114, so that 0 is the lower end; the upper is 9.
    """
    tail = (1.0 - level) / 2.0
    share = mean / (SIZE + mean)
    mass = (1.0 - share) ** SIZE
    below, low = 0.0, None
    for count in range(most + 1):
        below += mass
        if low is None and below >= tail:
            low = count
        if below >= 1.0 - tail:
            return low or 0, count
        mass *= (count + SIZE) / (count + 1) * share
    return low or 0, most
