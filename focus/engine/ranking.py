"""Ranks waiting URLs: the strategy's priority of their evidence, and what their hubs have brought.

The one object that makes priorities. The frontier asks it before it takes a URL, since numbers
may have fallen meanwhile; links and hit rates ask it when evidence or rates have changed.
"""

from __future__ import annotations

import math

from focus.records import SEED_PRIORITY, Tally
from focus.scheduling.url_table import UrlTable
from focus.score.graph.compact_arrays import Tallies
from focus.score.strategy import Strategy

PATIENCE = 8  # URLs looked at again before one is taken, where a page moves all priorities


class Ranker:
    """The priorities of one crawl.

    strategy   makes them of a URL's evidence and the graph
    hubs       what the links of each page have brought, where the strategy learns
    is_steady, patience   see `frontier.Ranks`
    """

    def __init__(self, strategy: Strategy, url_table: UrlTable) -> None:
        self.strategy = strategy
        self.hubs = Tallies()
        self.is_steady = not (strategy.moves or strategy.learns)
        self.patience = PATIENCE if strategy.moves else math.inf
        self._url_table = url_table

    def priority(self, url_id: int) -> float:
        """The priority of a URL as of now, by its evidence, the graph and its hub."""
        of_evidence = self.strategy.priority(url_id, self._url_table.link_evidence(url_id))
        return self.with_hub(url_id, of_evidence)

    def with_hub(self, url_id: int, of_evidence: float) -> float:
        """A priority by evidence and graph, with what the URL's hub has brought."""
        if not self.strategy.learns:
            return of_evidence
        hub = self.hubs.get(self._url_table.parent[url_id])
        return of_evidence if hub is None else of_evidence + self.strategy.hub_bonus(hub)

    def present_priority(self, url_id: int) -> float:
        """The priority of a waiting URL as of now; seeds keep theirs."""
        stored = self._url_table.priority[url_id]
        return stored if stored >= SEED_PRIORITY else self.priority(url_id)

    def count_hub(self, hub: int, more: Tally) -> Tally:
        """Add to the tally of a page whose links were followed; what that comes to."""
        return self.hubs.add(hub, more)
