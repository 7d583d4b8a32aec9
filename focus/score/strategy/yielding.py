"""Yield: the best link, what index pages say of it, and what this crawl has learned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from focus.records import Link, Page, RecentTally, Region, Tally
from focus.score.graph.pagerank import PageRank
from focus.score.index_pages import Role
from focus.score.strategy.base import LinkEvidence, Parent
from focus.score.strategy.best_link import BestLink
from focus.score.subtopics import RESUME_PAGES, Subtopics, TitledPage

_BEST_LINK_WIDTH = BestLink.width
_PAGE, _INDEX, _CONTINUATION = Role  # asked of its class, a member takes eight times as long
_BODY = int(Region.BODY)
_USUAL_NEWCOMER_RATE = 0.25  # what is expected of a host that links lead to
_MIN_NEWCOMER_BONUS = -4.0
_NEWCOMER_BONUS_STEP = 0.25


def shrunk_rate(tally: Tally | RecentTally, prior: float, k: float) -> float:
    """Hit rate r = (s + k·r₀)/(n + k): the group's own with much evidence, else the prior.

    Worked, k = 4: 3 of 4 relevant, prior 0.1: (3 + 0.4)/8 = 0.425.
    """
    return (tally.rewards + k * prior) / (tally.requests + k)


class Yield(BestLink):
    """best-link's + member·M + subtopic·S + weight·Δ(pattern) + hub·Δ(page) + newcomer·N.

    M         membership, the best over in-links: m of an index page (home, section, tag,
              category, series, archive; `indexpage`) for each link in its body to a page of its
              host. m = how much of the topic its title and address name, or the anchor of a
              link to it, or what was handed on to it: the most of these. A page hands m on to the
              next of its series; and any page to an index page what its anchor says: so one that
              only the breadcrumbs and tags of its articles tell has an m, too.
              Its next pages get m to hand on, and no M of it themselves
    S         how surely the anchor names a sub-topic, a word or phrase that the relevant pages of
              this crawl have in their titles more than the others, or that the topic file expects
              to be one and pages have not disproved (`Subtopics`), 0…1; 0 if it has words
              of the topic itself
    Δ(g)      logit r(g) - logit p₀, learned here
    r(pattern)  hit rate of the URL pattern on its host, shrunk to the host's, that to p₀
    r(page)   hit rate of the links of the page that brought the URL, shrunk to p₀
    p₀        what is expected of a place not tried yet. It is a constant, and a hopeful one:
              against the crawl's own rate a single poor site that fills the crawl would look
              as good as any other, and nothing else would be tried
    N         of a host never tried: min(0, logit((s + ½)/(n + 2)) - logit ¼), where n such
              hosts were tried so far and their first pages brought s. newcomer·N goes by steps
              of ¼ to -4 at most, and one host in ten is tried without it: see `Learning`

    Counts are soft: a page adds its relevance in 0…1, an index page `index` of that (it is
    about the topic, but no article on it), a failure 0. Those of patterns and hosts fade: after
    the next request to its host, one counts `fade` of what it did (0.9: the last ten or so are
    what a host is known by), since places run dry, and dry places may fill.

    home is between what suits a web whose links to other hosts are mostly dead (1.5) and one
    where they work (0).

    Worked, p₀ = 0.5, k = 4: host 40 requests, 8 relevant: (8 + 2)/44 = 0.227; pattern 20, 15:
    (15 + 4·0.227)/24 = 0.663; Δ = 0.68; with weight 0.9: 0.61. A link with an empty anchor on
    the tag page 足球 to its own host: home 1 + member 3·1 = 4; one whose anchor names a
    sub-topic of weight 0.75, elsewhere on its host: 1 + 1.5·0.75 = 2.13. Of 18 hosts tried
    the first pages brought 0.5: logit 0.05 - logit 0.25 = -1.85; with newcomer 1.5: -2.75.
    """

    name = "yield"
    source = "best-link and empirical Bayes"
    summary = "best-link, members of index pages, sub-topics, learned hit rates of places"
    defaults = {
        **BestLink.defaults,
        "home": 1.0,
        "inherit": 0.25,
        "weight": 0.9,
        "hub": 0.5,
        "p0": 0.5,
        "k": 10.0,
        "fade": 0.9,
        "member": 3.0,
        "subtopic": 1.5,
        "index": 0.3,
        "newcomer": 1.5,
    }
    width = _BEST_LINK_WIDTH + 3  # M; the m of an index page as handed on by the page before it; S
    url_patterns = True
    learns = True
    remainder = "hub"
    resume_pages = RESUME_PAGES

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        super().__init__(params, graph, as_published=as_published)
        self.subtopics = Subtopics()

    def set_narrower_terms(self, narrower: Mapping[str, float]) -> None:
        self.subtopics = Subtopics(narrower)

    def learn_from_page(self, page: TitledPage) -> None:
        self.subtopics.add_page(page)

    def resume_at(self, pages: int) -> None:
        self.subtopics.resume(pages)

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence]:
        m, weights = page_membership(parent), self.subtopics.weights
        no_membership = 0.0, 0.0
        return [
            (
                *link_evidence,
                *(
                    link_membership(m, parent.host, link)
                    if m or link.target_role == _INDEX
                    else no_membership
                ),
                0.0 if link.anchor_score else weights[link.anchor],
            )
            for link_evidence, link in zip(super().evidence(parent, links), links, strict=True)
        ]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        p, link_priority = self.params, super().priority(url_id, link_evidence[:_BEST_LINK_WIDTH])
        return (
            link_priority
            + p["member"] * link_evidence[_BEST_LINK_WIDTH]
            + p["subtopic"] * link_evidence[_BEST_LINK_WIDTH + 2]
        )

    def priority_parts(self, link_evidence: LinkEvidence) -> dict[str, float]:
        p, (member, _, subtopic) = self.params, link_evidence[_BEST_LINK_WIDTH:]
        own_parts = {"member": p["member"] * member, "subtopic": p["subtopic"] * subtopic}
        return {**super().priority_parts(link_evidence[:_BEST_LINK_WIDTH]), **own_parts}

    def reward(self, page: Page) -> float:
        return super().reward(page) * (self.params["index"] if page.is_index_page else 1.0)

    @property
    def hit_rate_decay(self) -> float:
        return self.params["fade"]

    def bonus(self, queue: RecentTally, host: RecentTally) -> float:
        k, p0 = self.params["k"], self.params["p0"]
        rate = shrunk_rate(queue, shrunk_rate(host, p0, k), k)
        return self.params["weight"] * (_logit(rate) - _logit(p0))

    def hub_bonus(self, hub: Tally) -> float:
        p0 = self.params["p0"]
        return self.params["hub"] * (_logit(shrunk_rate(hub, p0, self.params["k"])) - _logit(p0))

    def newcomer_bonus(self, hosts: Tally) -> float:
        rate = (hosts.rewards + 0.5) / (hosts.requests + 2.0)
        bonus = self.params["newcomer"] * (_logit(rate) - _logit(_USUAL_NEWCOMER_RATE))
        return min(
            0.0,
            max(_MIN_NEWCOMER_BONUS, _NEWCOMER_BONUS_STEP * round(bonus / _NEWCOMER_BONUS_STEP)),
        )


def page_membership(parent: Parent) -> float:
    """m of a page: how surely what it lists belongs to the topic, 0…1; of no index page 0.

    What looks like no index page is one for pages that link to it as one: as much as these hand on.
    """
    anchor, inherited = parent.link_evidence[0], parent.link_evidence[_BEST_LINK_WIDTH + 1]
    if not parent.index:
        return inherited
    return max(parent.named, anchor, inherited)


def link_membership(page_membership: float, page_host: str, link: Link) -> tuple[float, float]:
    """What a link has of its page's m: its own M, and what it is to hand on.

    To an index page (by its address, by a breadcrumb, as what the page is filed under) what its
    anchor says of the topic, whatever m is.
    """
    if link.host != page_host:
        return 0.0, 0.0
    if link.target_role == _INDEX:
        return 0.0, link.anchor_score
    is_member = link.target_role == _PAGE and link.region == _BODY
    return page_membership * is_member, page_membership * (link.target_role == _CONTINUATION)


def _logit(rate: float) -> float:
    rate = min(max(rate, 1e-6), 1.0 - 1e-6)
    return math.log(rate / (1.0 - rate))
