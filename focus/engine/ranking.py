"""Priorities of waiting URLs: the strategy's priority of the link evidence plus the hub bonus.

`Ranker` is the only source of priorities. The frontier uses it before it takes a URL, because a
priority may have fallen; links and hit rates use it when evidence or rates have changed.
"""

from __future__ import annotations

import math

from focus.records import FALLBACK_PRIORITY, Tally
from focus.scheduling.url_table import UrlTable
from focus.score.graph.compact_arrays import Tallies
from focus.score.strategy import Strategy

MAX_CORRECTIONS = (
    8  # corrected priorities per taken URL, for strategies in which a page changes all
)


class Ranker:
    """Priorities of one crawl.

    strategy   computes a priority from link evidence and graph
    hubs       tally of each hub page, for strategies that learn
    is_steady, patience   see `frontier.Ranker`
    """

    def __init__(self, strategy: Strategy, url_table: UrlTable) -> None:
        self.strategy = strategy
        self.hubs = Tallies()
        self.is_steady = not (strategy.follows_graph or strategy.learns)
        self.patience = MAX_CORRECTIONS if strategy.follows_graph else math.inf
        self._url_table = url_table

    def priority(self, url_id: int) -> float:
        """Return the current priority of a URL from its evidence, the graph and its hub page."""
        evidence_priority = self.strategy.priority(url_id, self._url_table.link_evidence(url_id))
        return self.add_hub_bonus(url_id, evidence_priority)

    def add_hub_bonus(self, url_id: int, evidence_priority: float) -> float:
        """Return a priority with the bonus of the URL's hub page added."""
        if not self.strategy.learns:
            return evidence_priority
        hub = self.hubs.get(self._url_table.parent[url_id])
        return (
            evidence_priority if hub is None else evidence_priority + self.strategy.hub_bonus(hub)
        )

    def present_priority(self, url_id: int) -> float:
        """Return the current priority of a waiting URL; seeds and raised URLs keep theirs."""
        stored = self._url_table.priority[url_id]
        return stored if stored >= FALLBACK_PRIORITY else self.priority(url_id)

    def count_hub(self, hub: int, more: Tally) -> Tally:
        """Add to the tally of a hub page and return the sum."""
        return self.hubs.add(hub, more)
