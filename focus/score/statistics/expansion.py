"""Proposals of further keywords from pages that a relevance model scored as relevant.

No label is needed. Relevant pages are compared with irrelevant ones, host by host, and with the
frequency of words in the language. A word is proposed if it is on many relevant pages and on few
other pages of the same site. Words on all pages of a site (its name, its author, its footer) are no
evidence.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from focus.score.statistics.vector import Idf
from focus.text.tokenisation import has_han

MIN_IDF = 4.5  # words with less are everyday words: 可以, 没有, 问题
MIN_SHARE = 0.02  # minimum share of the relevant pages with the word
BASE_RATE = 0.03  # assumed share of pages on topic on the web, for weights
PRIOR_PAGES = 40.0  # weight of the other hosts, as irrelevant pages of a host
PRIOR_OFF_PAGES = 100.0  # assumed number of unseen irrelevant pages
PRIOR_OFF_WITH_WORD = 3.0  # assumed number of these that have the word
PAGE_LENGTH_RATIO = 10.0  # words of a page divided by those of a text of the idf table
TITLE_WEIGHT = 100.0  # pages with the word that a title with it counts for
SINGLE_HOST_FACTOR = 0.5  # factor for a word that only one host supports
BOILERPLATE_SHARE = 0.7  # words on a larger share of a host's pages are boilerplate
MIN_HOST_PAGES = 8  # a host with fewer pages is not checked for boilerplate
MIN_HOST_OFF_PAGES = 5  # a host with fewer irrelevant pages allows no comparison
MIN_SITE_NAME_CHARS = 4  # characters of a word that is a site name if the host contains it
MIN_TITLES = 2  # for a word of a single host without enough other pages
MIN_SURENESS = 0.1  # words with less are rejected
FULL_WEIGHT_SURENESS = 0.3  # words with more have the maximum weight
MAX_WEIGHT = 0.15  # of a proposed word
_MIN_LIFT = 2.0  # lift of a host that supports a word
_SHOWN_HOSTS = 3


class PageWords(msgspec.Struct, frozen=True):
    """The words of a judged page (title and content), and those of its title."""

    host: str
    words: Collection[str]
    title: Collection[str]


class HostCounts(NamedTuple):
    """Pages of one host with a word, and all pages, relevant (`on`) and irrelevant (`off`)."""

    host: str
    on: int
    on_all: int
    off: int
    off_all: int


class Proposal(msgspec.Struct, frozen=True):
    """A word that indicates the topic.

    word, weight  the proposed keyword
    sureness  probability that a page with the word is about the topic, 0…1
    score     the order of proposals
    lift      frequency on relevant pages divided by that on others
    on, off   relevant and irrelevant pages with the word
    titles    relevant pages with the word in their title
    hosts     counts by host, most pages first
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
    """Proposed words, best first; rejected words with reasons; numbers of compared pages."""

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
) -> TopicExpansion:
    """Return the best `limit` words, other than the folded `known` ones, from judged pages."""
    tally = _WordStatistics(on, off, idf)
    known_words = [word for word in known if word]
    min_pages = max(min(3, (len(on) + 1) // 2), math.ceil(MIN_SHARE * len(on)))
    candidates: list[tuple[Proposal, str]] = []
    for word, pages in tally.on.items():
        if pages >= min_pages and not any(
            _overlaps_known(word, known_word) for known_word in known_words
        ):
            proposal = tally.make_proposal(word)
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
    """Return whether a word equals, contains or is contained in a known word (足球赛, 足球)."""
    if has_han(known):
        return known in word or word in known
    return word in known.split()


class _WordStatistics:
    """Page counts by word and host."""

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

    def make_proposal(self, word: str) -> Proposal:
        """Return the proposal of a word with its weight and score.

            q            = share of all irrelevant pages with it, estimated high: at least
                           (off + 3) / (off_all + 100), and 10·e^-idf
            share_on(h)  = on(h) / (on_all(h) + 1)
            share_off(h) = (off(h) + k·q) / (off_all(h) + k), k = 40
            ln lift      = Σ √on(h) · ln(share_on/share_off) / Σ √on(h)
            sureness     = ρ·lift / (ρ·lift + 1 - ρ), ρ = 0.03: Bayes' rule for a page with
                           the word if 3 in 100 pages are on topic; half of it if only
                           one of several hosts supports it
            weight       = 0.15 · min(1, sureness / 0.3)
            score        = sureness · (share of relevant pages + 100 · share of their titles)

        Titles have a large weight because links of other pages quote them. Keyword weights are
        small, because words of the topic also occur on neighbouring topics, where a crawl would
        drift and stay.

        Example, one host, 20 of 39 relevant and 0 of 46 irrelevant pages: q = 3/146 = 0.0205,
        share_off = 0.822/86 = 0.00956, lift = 0.5 / 0.00956 = 52.3, sureness = 1.57 / 2.54 = 0.618,
        weight = 0.15.
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
            weight=max(0.01, round(MAX_WEIGHT * min(1.0, sureness / FULL_WEIGHT_SURENESS), 2)),
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
        """Return the reason why a word is not a keyword, "" if it may be one."""
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
        """Return the objection to a word that only one host supports."""
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
    """Return whether a host is no evidence for a word.

    The host's name contains the word, or nearly all of its few pages have it and there are hardly
    any others to compare with.
    """
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
    """Return whether a word is on nearly all pages of a host; local files have no host."""
    pages = counts.on_all + counts.off_all
    return (
        bool(counts.host)
        and pages >= MIN_HOST_PAGES
        and counts.on + counts.off > BOILERPLATE_SHARE * pages
    )
