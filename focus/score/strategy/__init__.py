"""The link-priority strategies by name: evidence -> priority; one file each, see `STRATEGIES`.

    base             `Strategy`: `evidence` of a page's links, `priority` of a URL
    bfs, dfs, depth_limited, random_order       orders without knowledge of the topic
    pagerank, hits                              importance on the graph, whatever the topic
    best_first, best_link                       the page's relevance; all that a link shows
    fish_search, fish_position, shark_search    relevance handed down a path (P1, P3)
    gene, gene_authority                        the same, fading on off-topic hops (P2, P5)
    url_structure                               likeness of addresses (P3 5.3)
    topic_pagerank                              importance and relevance mixed (P1 eq. 4-2)
    yielding                                    `yield`, the default: best_link and hit rates

For each link of a page `evidence` gives a tuple of floats, or None for a link that is not followed.
A URL keeps the largest of each float that any link gave it; `priority` makes one number of them,
larger = sooner. Where a strategy `learns`, hit rates of queues and hubs come on top; where it
follows the graph, its numbers may move while the URL waits. A new strategy is a file here and a
line below.

A strategy knows no frontier, no host's clock and no text: the scores of a link come with it.

What surprised us: merging by maximum makes "keep the better of old and new" one rule for all, and
two-key orders fit into one float, since the first key of every paper takes few values.
"""

from __future__ import annotations

from collections.abc import Mapping

from focus.errors import ConfigError
from focus.registry import Registry, check_removed
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
        check_removed(f"strategy {name}")
        known = ", ".join(STRATEGIES)
        raise ConfigError(
            "--strategy {name}: no such strategy; known: {known}", name=name, known=known
        ) from None


def make_strategy(
    name: str, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
) -> Strategy:
    """A strategy with its parameters settled, over a link graph."""
    kind = strategy_class(name)
    resolved = resolve_params(kind, params, as_published=as_published)
    graph.reports_rises = kind.follows_graph
    return kind(resolved, graph, as_published=as_published)
