"""Estimates how often a page brings news, and says how long to wait for the next look at it.

Looking costs a request, not looking costs delay. With news at a rate λ, an interval t costs 1/t
requests and λt/2 of delay per second; where a request is worth g seconds of one piece of news'
delay, their sum is least at

    interval = √(2g/λ), here √(gain/λ)
    λ = (n + n₀)/(T + T₀)

n is the news that was found, T the seconds the page was watched, both fading with e^(-t/kept), so
that what is long ago does not count; n₀ and T₀ stand for what is not known yet. (An interval in
proportion to 1/λ, one piece of news a look, needs as many requests as one interval for all: Cho
and Garcia-Molina, 2003.) `alerts` looks so at the pages that lead to new ones, and `focus crawl
--refresh` at all pages of a crawl.

With an age A given, the interval is A at the mean rate λ₀ of the crawl, so that gain = A²λ₀, and
T₀ is half a piece of news at that rate: n₀ = ½, T₀ = ½/λ₀ (a gamma distribution of rates with
shape ½, which is broad). Worked, A = 1 day and λ₀ = 0.1 a day, so that T₀ = 5 days: a page not
looked at yet waits √(1·0.1·5/0.5) = 1 day, one that had news in its first day √(0.1·6/1.5) = 0.63
days, one without any in 15 days √(0.1·20/0.5) = 2 days.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from focus.records import KeptPage

SOONEST, LATEST = 0.25, 4.0  # of the age given: no page waits less, none longer
KEPT = 16.0  # ages after which news counts a third
SHAPE = 0.5  # n₀: pieces of news that stand for what is not known of a page
HUB_SHAPE = 2.0  # the same of a page whose links have brought relevant ones
HUB = 3.0  # relevance that makes it one
SLACK = 0.125  # of the age: a page is due so much sooner, as nightly runs are not a day apart


class Watched(NamedTuple):
    """Seconds that a page was watched, and the news found meanwhile; both fade."""

    seconds: float = 0.0
    news: float = 0.0


def watched_on(before: Watched, seconds: float, news: float, *, kept_s: float) -> Watched:
    """The same after further seconds, at whose end so much news was found."""
    kept = math.exp(min(0.0, -seconds) / kept_s)
    return Watched(kept * before.seconds + (1 - kept) * kept_s, kept * before.news + news)


def rate_of(watched: Watched, prior: Watched) -> float:
    """λ, pieces of news per second."""
    return (watched.news + prior.news) / (watched.seconds + prior.seconds)


def interval_s(
    watched: Watched, prior: Watched, *, gain: float, shortest_s: float, longest_s: float
) -> float:
    """√(gain/λ) within these bounds."""
    return min(longest_s, max(shortest_s, math.sqrt(gain / rate_of(watched, prior))))


class Refreshing(NamedTuple):
    """The pace of looks at the pages of a crawl: after `age_s` at the mean `rate` of news.

    rate   pieces of news per second and page, over 0
    """

    age_s: float
    rate: float

    @property
    def kept_s(self) -> float:
        """After so long news counts a third."""
        return KEPT * self.age_s

    def prior(self, *, is_hub: bool) -> Watched:
        """What a page stands for that was not looked at yet: a hub for four times the rate."""
        return Watched(SHAPE / self.rate, HUB_SHAPE if is_hub else SHAPE)

    def wait_s(self, watched: Watched, *, is_hub: bool = False) -> float:
        """Seconds between two looks at a page: a quarter to four times the age."""
        return interval_s(
            watched,
            self.prior(is_hub=is_hub),
            gain=self.age_s**2 * self.rate,
            shortest_s=SOONEST * self.age_s,
            longest_s=LATEST * self.age_s,
        )

    def due_at(self, page: KeptPage) -> float:
        """When it is to be looked at again. One that is gone waits longest, one that did not answer
        a quarter of the age at least; one that its sitemap says has changed does not wait.
        """
        watched = Watched(page.watched_s, page.news)
        if page.told_at > page.checked_at:
            due_at = page.checked_at
        elif page.gone_at is not None:
            due_at = page.checked_at + LATEST * self.age_s
        else:
            due_at = page.checked_at + self.wait_s(watched, is_hub=page.is_hub)
        if page.tried_at > page.checked_at:
            due_at = max(due_at, page.tried_at + SOONEST * self.age_s)
        return due_at - SLACK * self.age_s

    def unseen(self, page: KeptPage, now: float) -> float:
        """News to be expected of a page since the last look at it."""
        watched = Watched(page.watched_s, page.news)
        return rate_of(watched, self.prior(is_hub=page.is_hub)) * (now - page.checked_at)

    def due(self, pages: Iterable[KeptPage], now: float) -> list[KeptPage]:
        """Those that are due, the most news to be expected first; of equals the first known."""
        found = [page for page in pages if self.due_at(page) <= now]
        return sorted(found, key=lambda page: (-self.unseen(page, now), page.id))


def refreshing(age_s: float, total: Watched) -> Refreshing:
    """For a crawl whose pages were watched so long in all, and had so much news.

    One age and half a piece of news are added, so that there always is a rate. Worked: nothing
    known, A = 1 day: 0.5 a day; 1,000 days with 99.5 pieces: 100/1,001, about 0.1 a day.
    """
    return Refreshing(age_s, (total.news + SHAPE) / (total.seconds + age_s))
