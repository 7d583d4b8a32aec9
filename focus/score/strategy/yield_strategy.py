"""Yield: the strategy best-link with index pages, sub-topics and learned hit rates."""

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
_PAGE, _INDEX, _CONTINUATION = Role  # attribute access on an enum class is eight times slower
_BODY = int(Region.BODY)
_USUAL_NEWCOMER_RATE = 0.25  # usual hit rate of first pages of new hosts
_MIN_PENALTY = -4.0
_PENALTY_STEP = 0.25
_INHERITED = 4  # index of the inherited relevance in the link evidence of best-link
_USUAL_DIFFERENCE = 1.5  # of the logits of the hit rates of near and far links
_NEAR = 0.5  # inherited relevance above which a URL is a link of a relevant page
_OWN_RATE, _FALLBACK_K = 0.3, 5.0  # expected rate of the own order; weight of both expectations
_SUBTOPIC = 0.2  # certainty above which a link counts as one that names a sub-topic


def shrunk_rate(tally: Tally | RecentTally, prior: float, k: float) -> float:
    """Return the hit rate (s + k·r₀)/(n + k): the group's own rate, shrunk to the prior r₀.

    s relevant pages in n requests. Example, k = 4: 3 of 4 relevant, prior 0.1: (3 + 0.4)/8 = 0.425.
    """
    return (tally.rewards + k * prior) / (tally.requests + k)


class Yield(BestLink):
    """best-link's + member·M + subtopic·W·S + weight·Δ(pattern) + hub·Δ(page) + newcomer·N + far·F.

    M         membership, maximal over in-links: m of an index page (`score.index_pages`) for each
              link in its body to a page of its host. m is the maximum of: how much of the topic its
              title and address name, the score of anchors of links to it, and the m that another
              page passed on to it. A page passes m on to the next page of its series; and any page
              passes the score of an anchor on to the index page it links to, so that an index page
              that only breadcrumbs and tags of articles name has an m, too. Continuation pages
              receive m to pass on, but no M
    S         certainty that the anchor names a sub-topic, 0…1 (`Subtopics`): a word or phrase that
              is more frequent in titles of this crawl's relevant pages than in others, or that the
              topic file expects to be one and that pages have not disproved. 0 if it has a topic
              word
    W         1 + logit r(sub) - logit r(rest), between 0 and 1, in steps of ¼, for a topic with
              related terms; otherwise 1. r(sub) and r(rest) are the hit rates of links with S above
              0.2 and of all others in this crawl, shrunk to p₀. Words of titles that lead elsewhere
              in this crawl lose their weight. Without related terms few pages are recognised, and
              the hit rates say little
    Δ(g)      logit r(g) - logit p₀
    r(pattern)  hit rate of the URL pattern on its host, shrunk to that of the host, which is shrunk
                to p₀
    r(page)   hit rate of the links of the page that led to the URL, shrunk to p₀
    p₀        expected hit rate of an untried place. It is a high constant: compared with the
              crawl's own rate, a single poor site that fills the crawl would look as good as any
              other, and nothing else would be tried
    N         for a host without requests: min(0, logit((s + ½)/(n + 2)) - logit ¼), if n such hosts
              were tried so far and their first pages had the rewards s. newcomer·N is rounded to
              steps of ¼, at least -4, and not used for one host in ten (`engine.hit_rates`)
    F         for a link whose I is at most ½, so that no page that leads to it is relevant: min(0,
              logit r(far) - logit r(near) + 1.5). r(far) and r(near) are the hit rates of these and
              of all other links in this crawl, shrunk to p₀. Where little but the links of relevant
              pages leads to relevant pages, the order comes close to that of best-first. far·F is
              rounded as newcomer·N. A difference of 1.5 is usual; a penalty for less than that
              costs up to 0.03 of the oracle on topics that need none

    While the recent requests by these priorities bring less than those to links of the most
    relevant pages, the oldest first, the latter are requested (`engine.fallback`). Both rates are
    shrunk with k = 5, to 0.3 and to `fallback`, so that this begins where less than one request in
    six is of use, and ends after 40 useless ones. It is not used for a topic without related terms;
    0 turns it off.

    Rewards are fractions: a page counts its relevance in 0…1, an index page `index` of that (it is
    about the topic, but not an article on it), a failure 0. Requests of patterns and hosts decay:
    after each later request to its host a request counts `fade` of its former weight (with 0.9
    about the last ten count), because places run dry and fill again.

    home is a compromise between the best values for a web whose links to other hosts are mostly
    dead (1.5) and for one whose links work (0).

    Examples, p₀ = 0.5, k = 4: host 40 requests, 8 relevant: (8 + 2)/44 = 0.227; pattern 20, 15: (15
    + 4·0.227)/24 = 0.663; Δ = 0.68; with weight 0.9: 0.61. A link with an empty anchor on the tag
    page 足球 to its own host: home 1 + member 3·1 = 4; one whose anchor names a sub-topic of weight
    0.75, elsewhere on its host: 1 + 1.5·0.75 = 2.13. 18 new hosts whose first pages had rewards of
    0.5: logit 0.05 - logit 0.25 = -1.85; with newcomer 1.5: -2.75. With k = 10, 20 near requests
    with rewards of 10 and 90 far ones without any: F = logit 0.05 - logit 0.5 + 1.5 = -1.44; with
    far 0.5: -0.75.
    """

    name = "yield"
    source = "best-link and empirical Bayes"
    summary = "best-link, index pages, sub-topics, and hit rates of hosts and URL patterns"
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
        "far": 0.5,
        "fallback": 0.2,
    }
    width = _BEST_LINK_WIDTH + 3  # M; m that was passed on to the page; S
    url_patterns = True
    learns = True
    remainder = "hub"
    fallback_evidence = _INHERITED
    resume_pages = RESUME_PAGES

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        super().__init__(params, graph, as_published=as_published)
        self.subtopics = Subtopics()
        self._far_penalty = 0.0
        self._has_terms = False
        self._subtopic_weight = 1.0

    def set_terms(self, terms: Mapping[str, float]) -> None:
        self.subtopics = Subtopics(terms)
        self._has_terms = bool(terms)

    def learn_from_page(self, page: TitledPage) -> None:
        self.subtopics.add_page(page)

    def resume_at(self, pages: int, last_page: int = 0) -> None:
        self.subtopics.resume(pages, last_page)

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
        if not self.is_near(link_evidence):
            link_priority += self._far_penalty
        return (
            link_priority
            + p["member"] * link_evidence[_BEST_LINK_WIDTH]
            + p["subtopic"] * self._subtopic_weight * link_evidence[_BEST_LINK_WIDTH + 2]
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
        return _penalty(self.params["newcomer"] * (_logit(rate) - _logit(_USUAL_NEWCOMER_RATE)))

    def is_near(self, link_evidence: LinkEvidence) -> bool:
        return link_evidence[_INHERITED] > _NEAR

    def names_subtopic(self, link_evidence: LinkEvidence) -> bool:
        return link_evidence[_BEST_LINK_WIDTH + 2] > _SUBTOPIC

    def set_link_rates(self, near: Tally, far: Tally, subtopics: Tally) -> bool:
        far_before, weight_before = self._far_penalty, self._subtopic_weight
        rest = Tally(
            near.requests + far.requests - subtopics.requests,
            near.rewards + far.rewards - subtopics.rewards,
        )
        difference = self._shrunk_logit(far) - self._shrunk_logit(near)
        self._far_penalty = _penalty(self.params["far"] * (difference + _USUAL_DIFFERENCE))
        if self._has_terms:
            difference = self._shrunk_logit(subtopics) - self._shrunk_logit(rest)
            self._subtopic_weight = max(0.0, 1.0 + _penalty(difference))
        return self._far_penalty > far_before or self._subtopic_weight > weight_before

    def _shrunk_logit(self, tally: Tally) -> float:
        return _logit(shrunk_rate(tally, self.params["p0"], self.params["k"]))

    def prefers_fallback(self, own: RecentTally, fallback: RecentTally) -> bool:
        rate = shrunk_rate(fallback, self.params["fallback"], _FALLBACK_K)
        return self._has_terms and rate > shrunk_rate(own, _OWN_RATE, _FALLBACK_K)


def page_membership(parent: Parent) -> float:
    """Return m of a page: how certainly its links belong to the topic, 0…1.

    For a page that is not an index page this is the m that was passed on to it.
    """
    anchor, inherited = parent.link_evidence[0], parent.link_evidence[_BEST_LINK_WIDTH + 1]
    if not parent.index:
        return inherited
    return max(parent.named, anchor, inherited)


def link_membership(page_membership: float, page_host: str, link: Link) -> tuple[float, float]:
    """Return M of a link, and the m that it passes on, for m of its page.

    A link to an index page (by its address, by a breadcrumb, or as the category of the page) passes
    on the topic score of its anchor, whatever m is.
    """
    if link.host != page_host:
        return 0.0, 0.0
    if link.target_role == _INDEX:
        return 0.0, link.anchor_score
    is_member = link.target_role == _PAGE and link.region == _BODY
    return page_membership * is_member, page_membership * (link.target_role == _CONTINUATION)


def _penalty(value: float) -> float:
    """Return a penalty between -4 and 0, in steps so that priorities seldom change."""
    return min(0.0, max(_MIN_PENALTY, _PENALTY_STEP * round(value / _PENALTY_STEP)))


def _logit(rate: float) -> float:
    rate = min(max(rate, 1e-6), 1.0 - 1e-6)
    return math.log(rate / (1.0 - rate))
