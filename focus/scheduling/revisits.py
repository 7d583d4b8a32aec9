"""Revisit intervals: estimates how often a page changes and how long to wait before a revisit.

A revisit costs a request; a late revisit costs delay. With λ changes per second, an interval t
costs 1/t requests and λt/2 of delay per second. If a request is worth g seconds of delay of one
change, the sum is smallest at

    interval = √(2g/λ), here √(gain/λ)
    λ = (n + n₀)/(T + T₀)

where n is the number of observed changes and T the seconds of observation, both decaying with
e^(-t/decay) so that old observations lose weight; n₀ and T₀ are the prior. (An interval
proportional to 1/λ needs as many requests as one interval for all pages: Cho and Garcia-Molina,
2003.) `alerts` uses this for hub pages, `focus crawl --refresh` for all pages of a crawl.

For a given age A the interval is A at the mean rate λ₀ of the crawl, so gain = A²λ₀, and the prior
is half a change at that rate: n₀ = ½, T₀ = ½/λ₀ (a broad gamma distribution with shape ½).

Example: A = 1 day, λ₀ = 0.1 per day, so T₀ = 5 days. A page that was never revisited waits
√(1·0.1·5/0.5) = 1 day; one that changed on its first day √(0.1·6/1.5) = 0.63 days; one without a
change in 15 days √(0.1·20/0.5) = 2 days.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from focus.records import StoredPage

MIN_WAIT_RATIO, MAX_WAIT_RATIO = 0.25, 4.0  # times the age: bounds of every wait
DECAY_RATIO = 16.0  # times the age: after that long an observed change counts 1/e
PRIOR_CHANGES = 0.5  # n₀: changes assumed of a page before the first revisit
PRIOR_HUB_CHANGES = 2.0  # n₀ of a page whose links led to relevant pages
HUB_RELEVANCE = 3.0  # sum of relevance found through its links that makes a page a hub page
EARLY_RATIO = 0.125  # times the age: nightly runs are not exactly a day apart


class Observation(NamedTuple):
    """Seconds of observation of a page, and the changes observed; both decay."""

    seconds: float = 0.0
    changes: float = 0.0


def extend_observation(
    before: Observation, seconds: float, changes: float, *, decay_s: float
) -> Observation:
    """Return the observation after further `seconds`, at whose end `changes` were found."""
    decay = math.exp(min(0.0, -seconds) / decay_s)
    return Observation(
        decay * before.seconds + (1 - decay) * decay_s, decay * before.changes + changes
    )


def change_rate(observation: Observation, prior: Observation) -> float:
    """Return λ, the estimated changes per second."""
    return (observation.changes + prior.changes) / (observation.seconds + prior.seconds)


def revisit_interval_s(
    observation: Observation,
    prior: Observation,
    *,
    gain: float,
    shortest_s: float,
    longest_s: float,
) -> float:
    """Return √(gain/λ) in seconds, within the bounds."""
    return min(longest_s, max(shortest_s, math.sqrt(gain / change_rate(observation, prior))))


class RevisitPolicy(NamedTuple):
    """Revisit intervals of a crawl: `age_s` for a page that changes at the mean rate.

    rate   mean changes per second and page, over 0
    """

    age_s: float
    rate: float

    def prior(self, *, is_hub: bool) -> Observation:
        """Return the prior of a page; a hub page is assumed to change four times as often."""
        return Observation(
            PRIOR_CHANGES / self.rate, PRIOR_HUB_CHANGES if is_hub else PRIOR_CHANGES
        )

    def wait_s(self, observation: Observation, *, is_hub: bool = False) -> float:
        """Return the seconds between two visits of a page: a quarter to four times the age."""
        return revisit_interval_s(
            observation,
            self.prior(is_hub=is_hub),
            gain=self.age_s**2 * self.rate,
            shortest_s=MIN_WAIT_RATIO * self.age_s,
            longest_s=MAX_WAIT_RATIO * self.age_s,
        )

    def due_at(self, page: StoredPage) -> float:
        """Return the time at which a page is due (Unix seconds).

        A page that is gone waits longest, one that did not answer at least a quarter of the age; a
        page that changed according to its sitemap is due at once.
        """
        watched = Observation(page.observed_s, page.changes)
        if page.source_changed_at > page.checked_at:
            due_at = page.checked_at
        elif page.gone_at is not None:
            due_at = page.checked_at + MAX_WAIT_RATIO * self.age_s
        else:
            due_at = page.checked_at + self.wait_s(watched, is_hub=page.is_hub)
        if page.tried_at > page.checked_at:
            due_at = max(due_at, page.tried_at + MIN_WAIT_RATIO * self.age_s)
        return due_at - EARLY_RATIO * self.age_s

    def expected_changes(self, page: StoredPage, now: float) -> float:
        """Return the number of changes expected since the last visit of a page."""
        watched = Observation(page.observed_s, page.changes)
        elapsed_s = max(0.0, now - page.checked_at)
        return change_rate(watched, self.prior(is_hub=page.is_hub)) * elapsed_s

    def due(self, pages: Iterable[StoredPage], now: float) -> list[StoredPage]:
        """Return the pages that are due, those with the most expected changes first.

        A page that was checked later than now, by a clock that was ahead, is due at once.
        """
        due_pages = [page for page in pages if self.due_at(page) <= now or page.checked_at > now]
        return sorted(due_pages, key=lambda page: (-self.expected_changes(page, now), page.id))


def make_revisit_policy(age_s: float, total: Observation) -> RevisitPolicy:
    """Return the policy for a crawl with this total observation of all its pages.

    One age and half a change are added, so that the rate is never 0.

    Example: without observations and A = 1 day the rate is 0.5 per day; after 1,000 days with 99.5
    changes it is 100/1,001, about 0.1 per day.
    """
    return RevisitPolicy(age_s, (total.changes + PRIOR_CHANGES) / (total.seconds + age_s))
