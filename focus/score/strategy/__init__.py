"""The link-priority strategies by name (spec sections 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping

from focus.errors import ConfigError
from focus.registry import Registry
from focus.score.graph.pagerank import PageRank
from focus.score.parameters import settle
from focus.score.strategy.base import LinkEvidence, Parent, Strategy
from focus.score.strategy.best_first import BestFirst
from focus.score.strategy.best_link import BestLink
from focus.score.strategy.bfs import BreadthFirst
from focus.score.strategy.depth_limited import DepthLimited
from focus.score.strategy.dfs import DepthFirst
from focus.score.strategy.fish_position import FishPosition
from focus.score.strategy.fish_search import FishSearch
from focus.score.strategy.gene import Gene
from focus.score.strategy.gene_authority import GeneAuthority
from focus.score.strategy.hits import HitsOrder
from focus.score.strategy.pagerank import PageRankOrder
from focus.score.strategy.random_order import RandomOrder
from focus.score.strategy.shark_search import SharkSearch
from focus.score.strategy.topic_pagerank import TopicPageRank
from focus.score.strategy.url_structure import UrlStructure
from focus.score.strategy.yielding import Yield

__all__ = ["STRATEGIES", "LinkEvidence", "Parent", "Strategy", "make_strategy", "strategy_class"]

STRATEGIES: Registry[type[Strategy]] = Registry(
    "focus.strategies",
    {
        s.name: s
        for s in (
            Yield,
            BestLink,
            SharkSearch,
            TopicPageRank,
            UrlStructure,
            Gene,
            GeneAuthority,
            BestFirst,
            FishSearch,
            FishPosition,
            PageRankOrder,
            HitsOrder,
            BreadthFirst,
            DepthLimited,
            DepthFirst,
            RandomOrder,
        )
    },
)


def strategy_class(name: str) -> type[Strategy]:
    """The strategy of that name; ConfigError lists the names for an unknown one."""
    try:
        return STRATEGIES[name]
    except KeyError:
        known = ", ".join(STRATEGIES)
        raise ConfigError(f"--strategy {name}: no such strategy; known: {known}") from None


def make_strategy(
    name: str, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
) -> Strategy:
    """A strategy with its parameters settled, over a link graph."""
    kind = strategy_class(name)
    settled = settle(name, kind.defaults, kind.published, params, as_published=as_published)
    return kind(settled, graph, as_published=as_published)
