"""Defines a strategy: evidence from links -> priority of a URL.

Each link that is seen gives its target some evidence, a few floats (`LinkEvidence`). A URL
keeps, of each float, the largest that any link gave; its priority is a function of
these and, where a strategy wants it, of the link graph. So "a queued child keeps the
maximum of its old and new priority, and of its depth allowance" holds for all alike,
and what a page hands down its links is simply its own evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from focus.config import AnalysisConfig
from focus.records import Link, Page, RecentTally, Tally
from focus.score.graph.pagerank import PageRank
from focus.score.subtopics import TitledPage

LinkEvidence = tuple[float, ...]


class Parent(msgspec.Struct, frozen=True):
    """The page just fetched, as far as a strategy may know it.

    nth     its number among the fetched pages, from 1
    link_evidence   what it got from the links to it
    index   it is an index page (`score.indexpage`); named: how much of the topic it names, 0…1
    """

    id: int
    nth: int
    depth: int
    host: str
    pattern: str
    relevance: float
    relevant: bool
    link_evidence: LinkEvidence = ()
    index: bool = False
    named: float = 0.0


OPTIONAL_LINK_SCORES = ("contexts", "cosines", "euclids")
"""Scores of a link that are made only for strategies that want them."""


class Strategy:
    """A link-priority strategy. Larger priority = sooner; ties go by discovery.

    published_model   the relevance model of its paper, "" if the paper has none
    published_rule    as published it follows another rule, not only other numbers
    published_topic   how its paper describes a topic: by "keywords", or by "features", too
    width    floats of evidence kept per URL
    url_patterns   wants one queue per URL pattern, and `Link.pattern` filled
    contexts, cosines, euclids   wants `Link.context_score`, `Link.cosine_score`,
             `Link.euclid_score` filled
    follows_all  evidence is never None, and has nothing to do with the other links of a page
    moves    priorities follow the graph: they are asked for again when ranks rise
    learns   `bonus` and `hub_bonus` are used: hit rates steer
    remainder   what a priority holds beside `parts`, "" for nothing
    recalls  of how many pages, the last ones, `saw` wants to be told at a restart
    """

    name: ClassVar[str]
    source: ClassVar[str]
    summary: ClassVar[str]
    defaults: ClassVar[Mapping[str, float]] = {}
    published: ClassVar[Mapping[str, float | None]] = {}
    published_model: ClassVar[str] = ""
    published_rule: ClassVar[bool] = False
    published_topic: ClassVar[str] = "keywords"
    width: int = 0
    url_patterns: ClassVar[bool] = False
    contexts: ClassVar[bool] = False
    cosines: ClassVar[bool] = False
    euclids: ClassVar[bool] = False
    has_independent_evidence: ClassVar[bool] = False
    follows_graph: ClassVar[bool] = False
    learns: ClassVar[bool] = False
    remainder: ClassVar[str] = ""
    resume_pages: ClassVar[int] = 0

    @classmethod
    def extend_analysis(cls, analysis: AnalysisConfig) -> AnalysisConfig:
        """That analysis, filling all that the strategy wants of a page and its links, too."""
        fields = {
            name: True for name in ("url_patterns", *OPTIONAL_LINK_SCORES) if getattr(cls, name)
        }
        if cls.resume_pages:
            fields["titles"] = True
        return msgspec.structs.replace(analysis, **fields)

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        self.params = params
        self.graph = graph
        self.as_published = as_published

    @property
    def max_waiting(self) -> float:
        """URLs that may wait; of more, those of the lowest priority are dropped."""
        return math.inf

    def seed(self) -> LinkEvidence:
        """The evidence for a seed."""
        return (0.0,) * self.width

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        """The evidence that each link of a page gives its target; None = do not follow."""
        return [()] * len(links)

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        """The priority of a waiting URL with this evidence, now."""
        return 0.0

    def set_narrower_terms(self, narrower: Mapping[str, float]) -> None:
        """Take the topic's narrower terms (`Topic.narrower`); called before anything else."""

    def learn_from_page(self, page: TitledPage) -> None:
        """A page came and is kept: for what a strategy learns of titles."""

    def resume_at(self, pages: int) -> None:
        """`saw` goes on after so many pages of an earlier run."""

    def priority_parts(self, link_evidence: LinkEvidence) -> dict[str, float]:
        """What each kind of evidence adds to a priority, by name; {} where they are not added."""
        return {}

    def reward(self, page: Page) -> float:
        """What a page that came counts for hit rates, 0…1."""
        return min(1.0, max(0.0, page.relevance))

    def newcomer_bonus(self, hosts: Tally) -> float:
        """What is added for a newcomer; `hosts`: those tried so far, by their first pages."""
        return 0.0

    @property
    def hit_rate_decay(self) -> float:
        """The share that a request still counts after the next one to its host, 0…1."""
        return 1.0

    def bonus(self, queue: RecentTally, host: RecentTally) -> float:
        """The bonus of the hit rates of a queue and its host, for every priority in it."""
        return 0.0

    def hub_bonus(self, hub: Tally) -> float:
        """The bonus of the hit rate of a page's links, for its links that still wait."""
        return 0.0
