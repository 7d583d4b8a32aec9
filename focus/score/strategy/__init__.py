"""Link-priority strategies by name: link evidence -> priority. One file each, see `STRATEGIES`.

    base             `Strategy`: `evidence` of a page's links, `priority` of a URL
    bfs, dfs, depth_limited, random_order       orders that ignore the topic
    pagerank, hits                              importance in the link graph, whatever the topic
    best_first, best_link                       relevance of the page; all data about a link
    fish_search, fish_position, shark_search    relevance passed on along a path (P1, P3)
    gene, gene_authority                        the same, decayed on off-topic links (P2, P5)
    url_structure                               similarity of addresses (P3 5.3)
    topic_pagerank                              weighted sum of importance and relevance (P1 eq.
                                                4-2)
    yield_strategy                              `yield`, the default: best_link and hit rates

For each link of a page `evidence` returns a tuple of floats, or None for a link that is not
followed. A URL keeps the maximum of each float over all links to it, and `priority` turns these
into one number; larger is sooner. If a strategy `learns`, bonuses for the hit rates of queues and
hubs are added. If it `follows_graph`, the priority may change while the URL waits. A new strategy
is a file here and a line below.

A strategy must not know the frontier, the clock of a host or any text: the scores of a link are
passed to it.

All published strategies fit the merge by maximum. Orders with two keys fit into one float, because
the first key takes few values in every paper.
"""

from __future__ import annotations

from collections.abc import Mapping

from focus.registry import Registry
from focus.score.graph.pagerank import PageRank
from focus.score.parameters import resolve_params
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
from focus.score.strategy.yield_strategy import Yield

__all__ = ["STRATEGIES", "LinkEvidence", "Parent", "Strategy", "make_strategy", "strategy_class"]

STRATEGIES: Registry[type[Strategy]] = Registry(
    "focus.strategies",
    "strategy",
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


strategy_class = STRATEGIES.find


def make_strategy(
    name: str, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
) -> Strategy:
    """Return a strategy with its parameters resolved, on a link graph."""
    kind = strategy_class(name)
    resolved = resolve_params(kind, params, as_published=as_published)
    graph.reports_rises = kind.follows_graph
    return kind(resolved, graph, as_published=as_published)
