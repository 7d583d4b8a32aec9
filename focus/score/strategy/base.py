"""The interface of a strategy: evidence from links -> priority of a URL.

Each link gives its target some evidence, a few floats (`LinkEvidence`). A URL keeps the maximum of
each float over all links to it; its priority is a function of these maxima and, for some
strategies, of the link graph. So the rule "a queued URL keeps the maximum of its old and new
priority, and of its depth allowance" holds for all strategies, and a page passes on to its links
what it received as evidence itself.
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
    """The fetched page whose links receive evidence.

    nth            its number among the fetched pages, from 1
    link_evidence  evidence that it received from the links to it
    index          whether it is an index page (`score.index_pages`)
    named          how much of the topic the title and address of an index page name, 0…1
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
"""Scores of a link that are computed only for strategies that need them."""


class Strategy:
    """A link-priority strategy. Larger priorities are sooner; ties go by order of discovery.

    published_model   relevance model of its paper, "" if the paper has none
    published_rule    the published form has another rule, not only other parameters
    published_topic   how its paper describes a topic: by "keywords", or also by "features"
    width             number of floats of link evidence per URL
    url_patterns      needs one queue per URL pattern, and `Link.pattern`
    contexts, cosines, euclids   needs `Link.context_score`, `Link.cosine_score`,
                      `Link.euclid_score`
    has_independent_evidence   evidence is never None and does not depend on the page's other
                               links
    follows_graph     priorities depend on the graph and are computed again when ranks rise
    learns            `bonus` and `hub_bonus` are used: hit rates change priorities
    remainder         name of the part of a priority that `priority_parts` does not contain, or
                      ""
    fallback_evidence  index of the evidence by which the fallback orders URLs (`engine.fallback`)
    resume_pages      number of last pages that `learn_from_page` needs when a crawl is resumed
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
    fallback_evidence: ClassVar[int] = 0
    resume_pages: ClassVar[int] = 0

    @classmethod
    def extend_analysis(cls, analysis: AnalysisConfig) -> AnalysisConfig:
        """Return the analysis settings with all page and link data that the strategy needs."""
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
        """Maximum number of waiting URLs; beyond it those of lowest priority are dropped."""
        return math.inf

    def seed(self) -> LinkEvidence:
        """Return the link evidence of a seed."""
        return (0.0,) * self.width

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        """Return the evidence that each link gives its target; None if it is not followed."""
        return [()] * len(links)

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        """Return the current priority of a waiting URL with this evidence."""
        return 0.0

    def set_terms(self, terms: Mapping[str, float]) -> None:
        """Set the related terms of the topic (`Topic.terms`), before any other call."""

    def learn_from_page(self, page: TitledPage) -> None:
        """Learn from the title of a stored page."""

    def resume_at(self, pages: int, last_page: int = 0) -> None:
        """Prepare `learn_from_page` to continue after this number of pages of an earlier run.

        Up to `last_page`, the number of pages of that run, nothing is ranked meanwhile.
        """

    def priority_parts(self, link_evidence: LinkEvidence) -> dict[str, float]:
        """Return the summand of a priority for each kind of evidence, by name.

        Returns {} if the priority is not a sum.
        """
        return {}

    def reward(self, page: Page) -> float:
        """Return how much a fetched page counts for hit rates, 0…1."""
        return min(1.0, max(0.0, page.relevance))

    def newcomer_bonus(self, hosts: Tally) -> float:
        """Return the bonus of a host without requests.

        hosts  requests and rewards of the first pages of earlier new hosts
        """
        return 0.0

    @property
    def hit_rate_decay(self) -> float:
        """Factor of the weight of a request in hit rates after each later one to its host, 0…1."""
        return 1.0

    def bonus(self, queue: RecentTally, host: RecentTally) -> float:
        """Return the bonus of all URLs in a queue, from the hit rates of queue and host."""
        return 0.0

    def is_near(self, link_evidence: LinkEvidence) -> bool:
        """Return whether a URL with this evidence is a link of a relevant page."""
        return False

    def names_subtopic(self, link_evidence: LinkEvidence) -> bool:
        """Return whether a link to a URL with this evidence names a sub-topic."""
        return False

    def set_link_rates(self, near: Tally, far: Tally, subtopics: Tally) -> bool:
        """Set the weights of kinds of links: of relevant pages, of others, with a sub-topic.

        Every link is in one of the first two tallies; those in the third are also in one of these.
        Return whether a weight has risen, so that priorities of waiting URLs rise.
        """
        return False

    def prefers_fallback(self, own: RecentTally, fallback: RecentTally) -> bool:
        """Return whether the order of `engine.fallback` has recently brought more than this one."""
        return False

    def hub_bonus(self, hub: Tally) -> float:
        """Return the bonus for waiting URLs of a hub page, from the hit rate of its links."""
        return 0.0
