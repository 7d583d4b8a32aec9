"""Drawn webs: pages as letters, so that a test reads as the figure of a paper.

    web = {"A": page("B C", relevance=0.9), "C": page(link("F", anchor=1.0), relevance=0.1)}
    order("gene", web)                                  # "ABCF"

The engine's own frontier and discovery, one request at a time; nothing is fetched.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from focus.admission.scope import Scope
from focus.config import PolitenessConfig, ScopeConfig
from focus.engine.links import LinkHandler
from focus.engine.ranking import Ranker
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.records import SEED_PRIORITY, Link, Outcome, UrlRow, UrlState
from focus.scheduling.url_table import UrlTable
from focus.score.graph.pagerank import PageRank
from focus.score.strategy import Parent, make_strategy

THRESHOLD = 0.5


class Drawn(msgspec.Struct, frozen=True):
    """A page: what it links to, in order, and how relevant it is."""

    links: list[Link] = []
    relevance: float = 0.0


def link(
    name: str, anchor: float = 0.0, *, host: str = "h", pattern: str = "", **more: float
) -> Link:
    """A link to a page; `anchor` is the relevance and the cosine of its anchor."""
    url = f"http://{host}/{name}"
    scores = {"anchor_score": anchor, "cosine_score": anchor, "euclid_score": anchor, **more}
    return Link(url=url, key=fingerprint(url), host=host, pattern=pattern, **scores)  # type: ignore[arg-type]


def fingerprint(url: str) -> bytes:
    return hashlib.md5(url.encode()).digest()


def page(*links: str | Link, relevance: float = 0.0) -> Drawn:
    """A page; "B C" stands for two plain links."""
    page_links: list[Link] = []
    for item in links:
        page_links += [item] if isinstance(item, Link) else [link(name) for name in item.split()]
    return Drawn(page_links, relevance)


def order(
    name: str,
    web: Mapping[str, Drawn],
    *,
    seeds: Sequence[str] = ("A",),
    limit: int = 1000,
    as_published: bool = False,
    **params: float,
) -> str:
    """The pages in the order that a strategy takes them, as one word."""
    return "".join(Walk(name, web, seeds, as_published, params).run(limit))


class Walk:
    """A crawl of a drawn web."""

    def __init__(
        self,
        name: str,
        web: Mapping[str, Drawn],
        seeds: Sequence[str],
        as_published: bool,
        params: Mapping[str, float],
    ) -> None:
        self.web = web
        self.strategy = make_strategy(name, params, PageRank(), as_published=as_published)
        self.url_table = UrlTable(self.strategy.width)
        ranker = Ranker(self.strategy, self.url_table)
        self.frontier = Frontier(self.url_table, PolitenessConfig(), ranker, strict=True)
        self.unit_of_work = UnitOfWork(self.url_table, self.frontier, keep=False)
        self.link_handler = LinkHandler(
            ranker,
            url_table=self.url_table,
            frontier=self.frontier,
            unit_of_work=self.unit_of_work,
            scope=Scope(ScopeConfig()),
        )
        for seed in seeds:
            url = link(seed).url
            row = UrlRow(-1, fingerprint(url), url, queue_id=-1, depth=0, priority=0.0)
            seed_id = self.link_handler.add_url(row)
            self.link_handler.raise_to(seed_id, self.strategy.seed(), SEED_PRIORITY, None)

    def run(self, limit: int) -> list[str]:
        names: list[str] = []
        while len(names) < limit and (candidate := self.frontier.next_candidate(0.0)) is not None:
            name = candidate.url.rpartition("/")[2]
            names.append(name)
            page_drawing = self.web.get(name, Drawn())
            url_table: dict[str, Any] = {
                "id": candidate.id,
                "nth": len(names),
                "depth": self.url_table.depth[candidate.id],
                "host": candidate.host.name,
                "pattern": self.frontier.queues[self.url_table.queue[candidate.id]].pattern,
                "link_evidence": self.url_table.link_evidence(candidate.id),
            }
            relevant = page_drawing.relevance > THRESHOLD
            parent = Parent(relevance=page_drawing.relevance, relevant=relevant, **url_table)
            self.link_handler.add_links(parent, page_drawing.links)
            self.unit_of_work.set_outcome(Outcome(candidate.id, UrlState.DONE))
        return names
