"""Bounds the best recall curve that any crawl could have had.

No crawl can ask for a page before it has seen a link to it. The best order under
that rule is out of reach (finding the k pages that hold the most targets is a
rooted Steiner problem, NP-hard), so it is fenced in from both sides:

    oracle_curve  no crawl is ever above it   (a relaxation of the rule)
    oracle_order  a crawl that is possible    (greedy, with look-ahead)

On the ten topics of the development web the area of the possible one is 98.7 % of
that of the curve, so a share of the oracle is understated by about 1.3 %.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Graph = Mapping[Key, Collection[Key]]

LOOK_AHEAD = 3
"""Pages to an entrance of new targets that the greedy order weighs; 4 gains nothing."""


def reachable_targets(
    graph: Graph[Key], seeds: Iterable[Key], relevant: Collection[Key]
) -> frozenset[Key]:
    """The targets of a crawl: relevant pages that links lead to, seeds excluded.

    graph  page -> the pages it links to; a redirect is a page with one link. It must
           hold every link that a crawl may follow, else `oracle_curve` is no bound.
    """
    start = list(seeds)
    return frozenset(relevant) & frozenset(_detours(graph, start, ())) - frozenset(start)


def oracle_curve(
    graph: Graph[Key], seeds: Iterable[Key], targets: Collection[Key], budget: int
) -> list[float]:
    """Recall that no crawl exceeds after 1, 2, … `budget` requests.

    Let c(t) be the least number of other pages (seeds among them) on any way from a
    seed to target t. Who holds n targets has spent n requests on them and at least
    max c(t) on other pages, and the best choice are the n targets with the least c:

        R(k) = max { n : n + c_(n) <= k } / |targets|      c_(n): n-th smallest c

    Relaxed is only that the other pages of one way are supposed to serve all ways.
    Targets must be reachable (`reachable_targets`). Worked number: seed -> a -> t1,
    seed -> t2: c = (2, 1), so R = 0, 1/2, 1/2, 1 for k = 1…4.
    """
    wanted = frozenset(targets)
    detours = _detours(graph, seeds, wanted)
    costs = sorted(detours[target] for target in wanted)
    curve, held = [], 0
    for k in range(1, budget + 1):
        while held < len(costs) and held + 1 + costs[held] <= k:
            held += 1
        curve.append(held / len(costs) if costs else 0.0)
    return curve


def oracle_order(
    graph: Graph[Key], seeds: Iterable[Key], targets: Collection[Key], budget: int
) -> list[Key]:
    """A possible order of at most `budget` requests that finds the targets fast.

    Takes every known target at once. With none known, goes the way to the page that
    opens the most unknown targets per request, among those up to `LOOK_AHEAD`
    requests away (or the nearest that opens any). Ties go to the page known first.
    """
    crawl = _Greedy(graph, seeds, targets)
    while len(crawl.order) < budget:
        if crawl.open:
            crawl.fetch(crawl.open.popleft())
            continue
        way = crawl.best_way()
        if not way:
            break
        for page in way:
            crawl.fetch(page)
    return crawl.order[:budget]


def _detours(graph: Graph[Key], seeds: Iterable[Key], targets: Collection[Key]) -> dict[Key, int]:
    """For each reachable page the least number of non-targets on a way to it, its own
    end included (breadth-first with arcs of length 0 and 1)."""
    costs: dict[Key, int] = {seed: int(seed not in targets) for seed in seeds}
    queue = deque(sorted(costs, key=lambda page: costs[page]))
    while queue:
        page = queue.popleft()
        for link in graph.get(page, ()):
            step = int(link not in targets)
            cost = costs[page] + step
            if link not in costs or cost < costs[link]:
                costs[link] = cost
                (queue.append if step else queue.appendleft)(link)
    return costs


class _Greedy(Generic[Key]):
    """A crawl under way: what it has fetched, and what it knows."""

    def __init__(self, graph: Graph[Key], seeds: Iterable[Key], targets: Collection[Key]) -> None:
        self.graph = graph
        self.order: list[Key] = []
        self.open: deque[Key] = deque()  # targets known and not fetched
        self._hidden = set(targets)  # targets not known
        self._waiting: dict[Key, None] = {}  # other pages known and not fetched
        self._known: set[Key] = set()
        self._learn(seeds)

    def fetch(self, page: Key) -> None:
        """Asks for a known page and learns its links."""
        self._waiting.pop(page, None)
        self.order.append(page)
        self._learn(self.graph.get(page, ()))

    def _learn(self, pages: Iterable[Key]) -> None:
        for page in pages:
            if page in self._known:
                continue
            self._known.add(page)
            if page in self._hidden:
                self._hidden.discard(page)
                self.open.append(page)
            else:
                self._waiting[page] = None

    def best_way(self) -> list[Key]:
        """Pages to fetch, one after the other, to open new targets; [] if none opens any."""
        before: dict[Key, Key | None] = dict.fromkeys(self._waiting)
        level, depth = list(self._waiting), 1
        best: Key | None = None
        best_rate = 0.0
        while self._hidden and level and (best is None or depth <= LOOK_AHEAD):
            deeper: list[Key] = []
            for page in level:
                links = self.graph.get(page, ())
                rate = len(self._hidden.intersection(links)) / depth
                if rate > best_rate:
                    best, best_rate = page, rate
                for link in links:
                    new = link not in before and link not in self._known
                    if new and link not in self._hidden:  # a hidden target ends the way
                        before[link] = page
                        deeper.append(link)
            level, depth = deeper, depth + 1
        way: list[Key] = []
        while best is not None:
            way.append(best)
            best = before[best]
        return way[::-1]
