"""Learned revisit intervals of pages that lead to new relevant pages.

`scheduling.revisits` has the formula √(gain/λ) with λ = (n + n₀)/(T + T₀). Here n is the number of
new relevant pages first found there, decayed with e^(-t/week) so that every weekday counts;
n₀ = 0.005 and T₀ = 12 h; gain is 1 h, since a request is worth half an hour of one page's delay;
the interval is between 15 minutes and 7 days. A section starts as if half a page had been found
there, another page as if a tenth. Example: 24 pages a day for weeks give √(180/168) = 1 hour, one
page a day 5 hours, none for a week 6.4 days.

Pages that show cheaply whether they changed (feeds, sitemaps, pages with validators) may be
revisited sooner than every 15 minutes if an alert asks for that and the site's delay allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from focus.alerts.schedule import MAX_REVISIT_S, MIN_INTERVAL_S, MIN_REVISIT_S, SLACK_S
from focus.scheduling import revisits
from focus.scheduling.revisits import Observation, extend_observation
from focus.storage.alerts.records import DueHub, HubState
from focus.storage.alerts.store import AlertStore

GAIN_S = 3600.0
DECAY_S = 7 * 86_400.0
PRIOR = Observation(43_200.0, 0.005)
SECTION_PRIOR, OTHER_PRIOR = 0.5, 0.1  # prior number of pages of a section, and of another page
FIRST_REVISIT_S = 3600.0  # until the first revisit of a section
PROVEN_PAGES = 0.25  # decayed number of pages: one within ten days
MIN_CHILDREN = 3  # relevant pages that only one page links to, for it to be revisited
MAX_HUBS = 100  # revisited pages of a site without sections, feeds and sitemaps
MAX_QUICK_REVISITS = 10  # in a visit that comes sooner than `MIN_REVISIT_S`
BUSY_SHARE = 0.5  # share of the time between two such visits that revisits may take


def revisit_interval_s(fresh: float, watched_s: float) -> float:
    """Return the seconds until the next revisit of a page with so much news in a time."""
    watched = Observation(watched_s, fresh)
    return revisits.revisit_interval_s(
        watched, PRIOR, gain=GAIN_S, shortest_s=MIN_REVISIT_S, longest_s=MAX_REVISIT_S
    )


def is_cheap(hub: DueHub) -> bool:
    """Return whether a revisit costs the site little: it is a feed, or has validators."""
    return hub.is_url_source or bool(hub.etag or hub.last_modified)


def may_revisit(hub: DueHub, *, now: float) -> bool:
    """Return whether the last revisit of a page is long enough ago."""
    return is_cheap(hub) or now - hub.checked_at >= MIN_REVISIT_S - SLACK_S


def visit_interval_s(hubs: Iterable[DueHub], *, delay_s: float) -> float:
    """Return the seconds between two visits of a site with these pages and this delay.

    Example: three pages with validators, 1 s: 60 s, the minimum; ten of them, Crawl-delay 10:
    10 * 10 / 0.5 = 200 s; none: 15 minutes, the maximum.
    """
    cheap = min(MAX_QUICK_REVISITS, sum(map(is_cheap, hubs)))
    if not cheap:
        return MIN_REVISIT_S
    return min(MIN_REVISIT_S, max(MIN_INTERVAL_S, cheap * delay_s / BUSY_SHARE))


def choose_hubs(
    links: Mapping[int, Sequence[int]], targets: Iterable[int], *, known_hubs: Iterable[int] = ()
) -> list[int]:
    """Return few pages that link to the targets, in addition to the known hubs.

    The page that links to most uncovered targets is chosen repeatedly, while there are at least
    `MIN_CHILDREN` of them.

    Example: 1 -> a b c d, 2 -> c d e, 3 -> e f g h gives 3 and 1; 2 adds nothing to them.
    """
    uncovered = set(targets).difference(*(links.get(page, ()) for page in known_hubs))
    reachable = {page: uncovered.intersection(targets) for page, targets in links.items()}
    heap = [
        (-len(targets), page) for page, targets in reachable.items() if len(targets) >= MIN_CHILDREN
    ]
    heapify(heap)
    hubs = []
    while heap:
        _, page = heappop(heap)
        remaining = reachable[page] & uncovered
        if len(remaining) < MIN_CHILDREN:
            continue
        if heap and (-len(remaining), page) > heap[0]:
            heappush(heap, (-len(remaining), page))
            continue
        hubs.append(page)
        uncovered -= remaining
    return hubs


def add_sections(store: AlertStore, crawl: int, *, now: float) -> None:
    """Add sections, feeds and sitemaps that are not revisited yet."""
    roots = store.revisits.list_root_ids(crawl)
    hubs = [
        HubState(root, 0.0, SECTION_PRIOR, FIRST_REVISIT_S, now + FIRST_REVISIT_S) for root in roots
    ]
    store.revisits.add(crawl, hubs, now=now)


def record_revisits(
    store: AlertStore,
    crawl: int,
    revisited: Iterable[DueHub],
    new_pages: Mapping[int, int],
    *,
    new_hubs: Sequence[int],
    now: float,
) -> float:
    """Store what a visit led to; return when the first page of the site is due again.

    revisited  Pages that were revisited.
    new_pages  URL id -> number of new relevant pages first found there.
    new_hubs   Pages to revisit from now on.
    """
    wait_s = revisit_interval_s(OTHER_PRIOR, 0.0)
    added = [HubState(url, 0.0, OTHER_PRIOR, wait_s, now + wait_s) for url in new_hubs[:MAX_HUBS]]
    states = [update_hub(hub, new_pages.get(hub.id, 0), now=now) for hub in revisited]
    with store.transaction():
        store.revisits.record_visits(crawl, states, now=now)
        store.revisits.add(crawl, added, now=now)
        next_at = store.revisits.next_due_at(crawl)
    return now + FIRST_REVISIT_S if next_at is None else next_at


def update_hub(hub: DueHub, new_pages: int, *, now: float) -> HubState:
    """Return the state of a page after a revisit that led to so many new relevant pages."""
    before = Observation(hub.observed_s, hub.recent_pages)
    watched_s, fresh = extend_observation(before, now - hub.checked_at, new_pages, decay_s=DECAY_S)
    wait_s = revisit_interval_s(fresh, watched_s)
    return HubState(hub.id, watched_s, fresh, wait_s, now + wait_s)
