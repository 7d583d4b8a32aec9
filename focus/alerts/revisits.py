"""Learns which pages are looked at again, and when: those whose links lead to new relevant pages.

`scheduling.revisits` has the formula, √(gain/λ) with λ = (n + n₀)/(T + T₀). Here n are the new
relevant pages that were first found there, fading with e^(-t/week), so that every day of the week
counts; n₀ = 0.005 and T₀ = 12 h; gain is 1 h, as a request is worth half an hour of one page's
delay; and the interval is between 15 minutes and 7 days. A section begins as if half a page had
been found there, another page as if a tenth. Worked: 24 pages a day for weeks: √(180/168) = 1 hour;
one a day: 5 hours; none for a week: 6.4 days.

What says cheaply whether it has changed (a feed or sitemap, a page with validators) may be looked
at sooner than every 15 minutes, where an alert asks for that and the site's delay leaves room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from focus.alerts.schedule import FLOOR_S, LONGEST_S, SHORTEST_S, SLACK_S
from focus.scheduling import revisits
from focus.scheduling.revisits import Observation, extend_observation
from focus.storage.alerts.records import DueHub, HubState
from focus.storage.alerts.store import AlertStore

GAIN_S = 3600.0
KEPT_S = 7 * 86_400.0
PRIOR = Observation(43_200.0, 0.005)
SECTION, OTHER = 0.5, 0.1  # pages that a section begins with, and another page
BEGIN_S = 3600.0  # until the second look at a section
PROVEN = 0.25  # pages, as they fade: one within ten days
CHILDREN = 3  # relevant pages that only this page leads to, for it to be looked at again
MOST = 100  # such pages of a site, sections and listings apart
LOOKS = 10  # at most in a visit that comes sooner than `SHORTEST_S`
BUSY = 0.5  # of the time between two such visits, that the looks may take at the host's delay


def interval_s(fresh: float, watched_s: float) -> float:
    """Seconds until the next look at a page that brought so much in that time."""
    watched = Observation(watched_s, fresh)
    return revisits.revisit_interval_s(
        watched, PRIOR, gain=GAIN_S, shortest_s=SHORTEST_S, longest_s=LONGEST_S
    )


def is_quick(hub: DueHub) -> bool:
    """Whether a look costs its site next to nothing when nothing is new, or it is made for it."""
    return hub.listing or bool(hub.etag or hub.last_modified)


def may_look(hub: DueHub, *, now: float) -> bool:
    """Whether the last look at a page is long enough ago."""
    return is_quick(hub) or now - hub.checked_at >= SHORTEST_S - SLACK_S


def rest_s(hubs: Iterable[DueHub], *, delay_s: float) -> float:
    """Seconds between two visits of a site with these pages and this delay between requests.

    Worked: three pages with validators, 1 s: 60 s, the least there is; ten of them, Crawl-delay
    10: 10 · 10 / 0.5 = 200 s; none: 15 minutes, which is the most.
    """
    looks = min(LOOKS, sum(map(is_quick, hubs)))
    if not looks:
        return SHORTEST_S
    return min(SHORTEST_S, max(FLOOR_S, looks * delay_s / BUSY))


def cover(
    links: Mapping[int, Sequence[int]], wanted: Iterable[int], *, chosen: Iterable[int] = ()
) -> list[int]:
    """Few pages that lead to the wanted ones, beside those chosen already: again and again the
    one that leads to most of what no other does, while that is `CHILDREN` at least.

    Worked: 1 → a b c d, 2 → c d e, 3 → e f g h: 3 and 1 (1 leads to four, and so does 3; 2 adds
    nothing to them).
    """
    left = set(wanted).difference(*(links.get(each, ()) for each in chosen))
    leads = {page: left.intersection(targets) for page, targets in links.items()}
    heap = [(-len(targets), page) for page, targets in leads.items() if len(targets) >= CHILDREN]
    heapify(heap)
    best = []
    while heap:
        _, page = heappop(heap)
        fewer = leads[page] & left
        if len(fewer) < CHILDREN:
            continue
        if heap and (-len(fewer), page) > heap[0]:
            heappush(heap, (-len(fewer), page))
            continue
        best.append(page)
        left -= fewer
    return best


def begin(store: AlertStore, crawl: int, *, now: float) -> None:
    """Have sections, feeds and sitemaps looked at again that are not yet."""
    roots = store.revisits.roots(crawl)
    hubs = [HubState(root, 0.0, SECTION, BEGIN_S, now + BEGIN_S) for root in roots]
    store.revisits.add(crawl, hubs, now=now)


def learn(
    store: AlertStore,
    crawl: int,
    seen: Iterable[DueHub],
    found: Mapping[int, int],
    *,
    more: Sequence[int],
    now: float,
) -> float:
    """Note what a visit brought; when the first page of the site is due again.

    seen   the pages that were asked for again
    found  URL -> new relevant pages that were first found there
    more   pages to look at again from now on
    """
    wait_s = interval_s(OTHER, 0.0)
    others = [HubState(url, 0.0, OTHER, wait_s, now + wait_s) for url in more[:MOST]]
    states = [learned(hub, found.get(hub.id, 0), now=now) for hub in seen]
    with store.transaction():
        store.revisits.looked_at(crawl, states, now=now)
        store.revisits.add(crawl, others, now=now)
        next_at = store.revisits.next_at(crawl)
    return now + BEGIN_S if next_at is None else next_at


def learned(hub: DueHub, found: int, *, now: float) -> HubState:
    """What is known of a page after a look that brought so many new relevant pages."""
    before = Observation(hub.watched_s, hub.fresh)
    watched_s, fresh = extend_observation(before, now - hub.checked_at, found, decay_s=KEPT_S)
    wait_s = interval_s(fresh, watched_s)
    return HubState(hub.id, watched_s, fresh, wait_s, now + wait_s)
