"""Proposes further keywords of a topic from pages that a relevance model held relevant.

No label is needed: pages held relevant are compared with those held irrelevant, host by
host, and with how common each word is in the language. A word proves itself by standing
on many relevant pages and few others of the same site: what all pages of a site have in
common (its name, its author, its footer) proves nothing.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from focus.score.statistics.vector import Idf
from focus.text.tokenisation import has_han

MIN_IDF = 4.5  # less is an everyday word: 可以, 没有, 问题
MIN_SHARE = 0.02  # of the relevant pages have the word
BASE_RATE = 0.03  # of pages on the web at large that are on topic, for weights
PRIOR_PAGES = 40.0  # irrelevant pages of a host that the other hosts' count for
PRIOR_OFF_PAGES, PRIOR_OFF_WITH_WORD = (
    100.0,
    3.0,
)  # irrelevant pages missed, and those with the word, it is feared
PAGE_LENGTH_RATIO = 10.0  # times as many words has a page as a text behind the idf table
TITLE_WEIGHT = 100.0  # a title with the word is worth so many pages with it
SINGLE_HOST_FACTOR = 0.5  # factor for a word that only one site vouches for
BOILERPLATE_SHARE = 0.7  # share of a host's pages from which on a word belongs to the site
MIN_HOST_PAGES = 8  # of a host: too few to tell what belongs to it
MIN_HOST_OFF_PAGES = 5  # irrelevant pages of a host: too few to compare with
MIN_SITE_NAME_CHARS = 4  # characters of a word that names the site when it is in the host
MIN_TITLES = 2  # for a word of a single site with too few other pages to compare with
MIN_SURENESS, FULL_WEIGHT_SURENESS = (
    0.1,
    0.3,
)  # sureness under which a word is none, from which it weighs most
MAX_WEIGHT = 0.15
_MIN_LIFT = 2.0  # lift of a host that vouches for a word
_SHOWN_HOSTS = 3


class PageWords(msgspec.Struct, frozen=True):
    """A judged page: what words stand on it (title and content), and which in its title."""

    host: str
    words: Collection[str]
    title: Collection[str]


class HostCounts(NamedTuple):
    """A word at one host: pages with it, of all relevant and of all irrelevant ones there."""

    host: str
    on: int
    on_all: int
    off: int
    off_all: int


class Proposal(msgspec.Struct, frozen=True):
    """A word that speaks of the topic.

    sureness how likely a page with it is about the topic, 0…1; weight: as a keyword's
    score    by which it is ranked
    lift     how many times as often it stands on relevant pages as on others
    on, off  relevant and irrelevant pages with it; `titles` of relevant ones with it
    hosts    where it stands, most pages first
    """

    word: str
    weight: float
    sureness: float
    score: float
    lift: float
    on: int
    off: int
    titles: int
    hosts: list[HostCounts]


class TopicExpansion(msgspec.Struct, frozen=True):
    """Proposed words, best first; those left out and why; pages compared."""

    proposals: list[Proposal]
    left_out: list[tuple[str, str]]
    on: int
    off: int


def propose_keywords(
    on: Sequence[PageWords],
    off: Sequence[PageWords],
    known: Iterable[str],
    *,
    idf: Idf,
    limit: int = 12,
    max_weight: float = MAX_WEIGHT,
) -> TopicExpansion:
    """The best `limit` words beside those `known` (folded) from pages on topic and off it."""
    tally = _WordStatistics(on, off, idf)
    known_words = [word for word in known if word]
    min_pages = max(min(3, (len(on) + 1) // 2), math.ceil(MIN_SHARE * len(on)))
    candidates: list[tuple[Proposal, str]] = []
    for word, pages in tally.on.items():
        if pages >= min_pages and not any(
            _overlaps_known(word, known_word) for known_word in known_words
        ):
            proposal = tally.make_proposal(word, max_weight)
            if proposal.sureness >= MIN_SURENESS:
                candidates.append((proposal, tally.find_objection(proposal)))
    candidates.sort(key=lambda pair: (-pair[0].score, pair[0].word))
    proposals = [proposal for proposal, objection in candidates if not objection][:limit]
    min_score = proposals[-1].score if proposals else 0.0
    left_out = [
        (p.word, objection) for p, objection in candidates if objection and p.score >= min_score
    ]
    return TopicExpansion(proposals, left_out, len(on), len(off))


def _overlaps_known(word: str, known: str) -> bool:
    """Whether a word is, or is in, or holds a word known already (足球赛, 足球)."""
    if has_han(known):
        return known in word or word in known
    return word in known.split()


class _WordStatistics:
    """Pages by word and host."""

    def __init__(self, on: Sequence[PageWords], off: Sequence[PageWords], idf: Idf) -> None:
        self._idf = idf
        self.on = Counter(word for page in on for word in page.words)
        self._off = Counter(word for page in off for word in page.words)
        self._titles = Counter(word for page in on for word in page.title)
        self._on_by_host = Counter(page.host for page in on)
        self._off_by_host = Counter(page.host for page in off)
        self._off_by_host_and_word = Counter(
            (page.host, word) for page in off for word in page.words
        )
        self._on_by_word: dict[str, Counter[str]] = defaultdict(Counter)
        for page in on:
            for word in page.words:
                self._on_by_word[word][page.host] += 1
        self._on_all, self._off_all = len(on), len(off)

    def make_proposal(self, word: str, max_weight: float) -> Proposal:
        """How much a word speaks for the topic.

            q            = share of all irrelevant pages with it, taken high: at least
                           (off + 3) / (off_all + 100), and 10·e^-idf
            share_on(h)  = on(h) / (on_all(h) + 1)
            share_off(h) = (off(h) + k·q) / (off_all(h) + k), k = 40
            ln lift      = Σ √on(h) · ln(share_on/share_off) / Σ √on(h)
            sureness     = ρ·lift / (ρ·lift + 1 - ρ), ρ = 0.03: Bayes' rule for a page with
                           the word where 3 in 100 pages are on topic; half that if only
                           one of several hosts vouches for it
            weight       = max_weight · min(1, sureness / 0.3)
            score        = sureness · (share of relevant pages + 100 · share of their titles)

        Titles count for so much because other pages' links quote them. Weights are small:
        a word that goes with the topic goes with its neighbours, too, and a crawl that takes
        these for the topic never leaves them. Worked, one host, 20 of 39 relevant and 0 of
        46 irrelevant pages: q = 3/146 = 0.0205, share_off = 0.822/86 = 0.00956, lift = 0.5 /
        0.00956 = 52.3, sureness = 1.57 / 2.54 = 0.618, weight = max_weight.
        """
        language_share = min(0.3, PAGE_LENGTH_RATIO * math.exp(-self._idf(word)))
        smoothed_share = (self._off[word] + PRIOR_OFF_WITH_WORD) / (self._off_all + PRIOR_OFF_PAGES)
        off_share = max(language_share, smoothed_share, self._off[word] / max(1, self._off_all))
        hosts = self._host_counts(word)
        weight_sum = weighted_log_lift = 0.0
        supporting_hosts = 0
        for counts in hosts:
            lift = _lift(counts, off_share)
            weight_sum += math.sqrt(counts.on)
            weighted_log_lift += math.sqrt(counts.on) * math.log(lift)
            supporting_hosts += (
                counts.on > 1 and lift >= _MIN_LIFT and not _is_uninformative(word, counts)
            )
        lift = math.exp(weighted_log_lift / weight_sum)
        sureness = BASE_RATE * lift / (BASE_RATE * lift + 1.0 - BASE_RATE)
        if supporting_hosts < 2 and len(self._on_by_host) > 1:
            sureness *= SINGLE_HOST_FACTOR
        shares = self.on[word] + TITLE_WEIGHT * self._titles[word]
        return Proposal(
            word=word,
            weight=max(0.01, round(max_weight * min(1.0, sureness / FULL_WEIGHT_SURENESS), 2)),
            sureness=sureness,
            score=sureness * shares / self._on_all,
            lift=lift,
            on=self.on[word],
            off=self._off[word],
            titles=self._titles[word],
            hosts=hosts,
        )

    def _host_counts(self, word: str) -> list[HostCounts]:
        ranked = sorted(self._on_by_word[word].items(), key=lambda item: (-item[1], item[0]))
        return [
            HostCounts(
                h, n, self._on_by_host[h], self._off_by_host_and_word[h, word], self._off_by_host[h]
            )
            for h, n in ranked
        ]

    def find_objection(self, proposal: Proposal) -> str:
        """Why a word is no keyword after all; "" if it may be one."""
        if self._idf(proposal.word) < MIN_IDF:
            return "an everyday word"
        word, repeated = proposal.word, [counts for counts in proposal.hosts if counts.on > 1]
        site_names = [counts.host for counts in proposal.hosts if _is_site_name(word, counts)]
        boilerplate_hosts = [counts.host for counts in proposal.hosts if _is_boilerplate(counts)]
        informative = [
            counts
            for counts in repeated
            if not _is_boilerplate(counts) and not _is_uninformative(word, counts)
        ]
        if site_names and not informative:
            return f"the name of {site_names[0]}"
        if boilerplate_hosts and not any(
            counts.off_all >= MIN_HOST_OFF_PAGES for counts in informative
        ):
            return f"on nearly every page of {', '.join(boilerplate_hosts[:_SHOWN_HOSTS])}"
        if len(informative) < 2 and len(self._on_by_host) > 1:
            return self._find_single_host_objection(proposal, informative)
        return ""

    def _find_single_host_objection(
        self, proposal: Proposal, informative: Sequence[HostCounts]
    ) -> str:
        """What speaks against a word that only one host vouches for."""
        where = proposal.hosts[0].host
        if not informative or (
            informative[0].off_all < MIN_HOST_OFF_PAGES and proposal.titles < MIN_TITLES
        ):
            return f"only on {where}, and too few other pages there to compare with"
        if proposal.on < 2 * proposal.titles:
            return f"only in titles of {where}"
        return ""


def _lift(counts: HostCounts, off_share: float) -> float:
    share_off = (counts.off + PRIOR_PAGES * off_share) / (counts.off_all + PRIOR_PAGES)
    return counts.on / (counts.on_all + 1) / share_off


def _is_uninformative(word: str, counts: HostCounts) -> bool:
    """Whether a host says nothing for a word: it bears the name, or nearly all of its few pages
    have the word and hardly any other page is there to compare with."""
    is_small = (
        bool(counts.host)
        and counts.on_all + counts.off_all < MIN_HOST_PAGES
        and counts.off_all < MIN_HOST_OFF_PAGES
    )
    return _is_site_name(word, counts) or (
        is_small and counts.on > BOILERPLATE_SHARE * counts.on_all
    )


def _is_site_name(word: str, counts: HostCounts) -> bool:
    return len(word) >= MIN_SITE_NAME_CHARS and word.isascii() and word in counts.host


def _is_boilerplate(counts: HostCounts) -> bool:
    """Whether a word stands on nearly all pages of a host; files (no host) are no site."""
    pages = counts.on_all + counts.off_all
    return (
        bool(counts.host)
        and pages >= MIN_HOST_PAGES
        and counts.on + counts.off > BOILERPLATE_SHARE * pages
    )
