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
UNSEEN, UNSEEN_WITH = 100.0, 3.0  # irrelevant pages missed, and those with the word, it is feared
LONGER = 10.0  # times as many words has a page as a text behind the idf table
TITLE_WORTH = 100.0  # a title with the word is worth so many pages with it
ONE_HOST = 0.5  # factor for a word that only one site vouches for
FURNITURE = 0.7  # share of a host's pages from which on a word belongs to the site
FEW_PAGES = 8  # of a host: too few to tell what belongs to it
FEW_OFF = 5  # irrelevant pages of a host: too few to compare with
SITE_NAME = 4  # characters of a word that names the site when it is in the host
FEWEST_TITLES = 2  # for a word of a single site with too few other pages to compare with
LEAST, SURE = 0.1, 0.3  # sureness under which a word is none, from which it weighs most
MAX_WEIGHT = 0.15
_NOTICEABLE = 2.0  # lift of a host that vouches for a word
_SHOWN_HOSTS = 3


class Sighting(msgspec.Struct, frozen=True):
    """A judged page: what words stand on it (title and content), and which in its title."""

    host: str
    words: Collection[str]
    title: Collection[str]


class AtHost(NamedTuple):
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
    hosts: list[AtHost]


class TopicExpansion(msgspec.Struct, frozen=True):
    """Proposed words, best first; those left out and why; pages compared."""

    proposals: list[Proposal]
    left_out: list[tuple[str, str]]
    on: int
    off: int


def expand(
    on: Sequence[Sighting],
    off: Sequence[Sighting],
    known: Iterable[str],
    *,
    idf: Idf,
    limit: int = 12,
    max_weight: float = MAX_WEIGHT,
) -> TopicExpansion:
    """The best `limit` words beside those `known` (folded) from pages on topic and off it."""
    tally = _Tally(on, off, idf)
    held = [word for word in known if word]
    least = max(min(3, (len(on) + 1) // 2), math.ceil(MIN_SHARE * len(on)))
    weighed: list[tuple[Proposal, str]] = []
    for word, pages in tally.on.items():
        if pages >= least and not any(_is_part(word, each) for each in held):
            proposal = tally.weigh(word, max_weight)
            if proposal.sureness >= LEAST:
                weighed.append((proposal, tally.objection(proposal)))
    weighed.sort(key=lambda pair: (-pair[0].score, pair[0].word))
    proposals = [proposal for proposal, objection in weighed if not objection][:limit]
    last = proposals[-1].score if proposals else 0.0
    left_out = [(p.word, objection) for p, objection in weighed if objection and p.score >= last]
    return TopicExpansion(proposals, left_out, len(on), len(off))


def _is_part(word: str, known: str) -> bool:
    """Whether a word is, or is in, or holds a word known already (足球赛, 足球)."""
    if has_han(known):
        return known in word or word in known
    return word in known.split()


class _Tally:
    """Pages by word and host."""

    def __init__(self, on: Sequence[Sighting], off: Sequence[Sighting], idf: Idf) -> None:
        self._idf = idf
        self.on = Counter(word for page in on for word in page.words)
        self._off = Counter(word for page in off for word in page.words)
        self._titles = Counter(word for page in on for word in page.title)
        self._on_at = Counter(page.host for page in on)
        self._off_at = Counter(page.host for page in off)
        self._off_with = Counter((page.host, word) for page in off for word in page.words)
        self._on_with: dict[str, Counter[str]] = defaultdict(Counter)
        for page in on:
            for word in page.words:
                self._on_with[word][page.host] += 1
        self._on_all, self._off_all = len(on), len(off)

    def weigh(self, word: str, max_weight: float) -> Proposal:
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
        usual = min(0.3, LONGER * math.exp(-self._idf(word)))
        feared = (self._off[word] + UNSEEN_WITH) / (self._off_all + UNSEEN)
        elsewhere = max(usual, feared, self._off[word] / max(1, self._off_all))
        hosts = self._hosts(word)
        mass = total = 0.0
        vouching = 0
        for at in hosts:
            lift = _lift(at, elsewhere)
            mass += math.sqrt(at.on)
            total += math.sqrt(at.on) * math.log(lift)
            vouching += at.on > 1 and lift >= _NOTICEABLE and not _is_mute(word, at)
        lift = math.exp(total / mass)
        sureness = BASE_RATE * lift / (BASE_RATE * lift + 1.0 - BASE_RATE)
        if vouching < 2 and len(self._on_at) > 1:
            sureness *= ONE_HOST
        shares = self.on[word] + TITLE_WORTH * self._titles[word]
        return Proposal(
            word=word,
            weight=max(0.01, round(max_weight * min(1.0, sureness / SURE), 2)),
            sureness=sureness,
            score=sureness * shares / self._on_all,
            lift=lift,
            on=self.on[word],
            off=self._off[word],
            titles=self._titles[word],
            hosts=hosts,
        )

    def _hosts(self, word: str) -> list[AtHost]:
        ranked = sorted(self._on_with[word].items(), key=lambda item: (-item[1], item[0]))
        return [
            AtHost(h, n, self._on_at[h], self._off_with[h, word], self._off_at[h])
            for h, n in ranked
        ]

    def objection(self, proposal: Proposal) -> str:
        """Why a word is no keyword after all; "" if it may be one."""
        if self._idf(proposal.word) < MIN_IDF:
            return "an everyday word"
        word, told = proposal.word, [at for at in proposal.hosts if at.on > 1]
        named = [at.host for at in proposal.hosts if _is_name_of(word, at)]
        furnished = [at.host for at in proposal.hosts if _is_furniture(at)]
        free = [at for at in told if not _is_furniture(at) and not _is_mute(word, at)]
        if named and not free:
            return f"the name of {named[0]}"
        if furnished and not any(at.off_all >= FEW_OFF for at in free):
            return f"on nearly every page of {', '.join(furnished[:_SHOWN_HOSTS])}"
        if len(free) < 2 and len(self._on_at) > 1:
            return self._objection_to_one(proposal, free)
        return ""

    def _objection_to_one(self, proposal: Proposal, free: Sequence[AtHost]) -> str:
        """What speaks against a word that only one host vouches for."""
        where = proposal.hosts[0].host
        if not free or (free[0].off_all < FEW_OFF and proposal.titles < FEWEST_TITLES):
            return f"only on {where}, and too few other pages there to compare with"
        if proposal.on < 2 * proposal.titles:
            return f"only in titles of {where}"
        return ""


def _lift(at: AtHost, elsewhere: float) -> float:
    share_off = (at.off + PRIOR_PAGES * elsewhere) / (at.off_all + PRIOR_PAGES)
    return at.on / (at.on_all + 1) / share_off


def _is_mute(word: str, at: AtHost) -> bool:
    """Whether a host says nothing for a word: it bears the name, or nearly all of its few pages
    have the word and hardly any other page is there to compare with."""
    is_small = bool(at.host) and at.on_all + at.off_all < FEW_PAGES and at.off_all < FEW_OFF
    return _is_name_of(word, at) or (is_small and at.on > FURNITURE * at.on_all)


def _is_name_of(word: str, at: AtHost) -> bool:
    return len(word) >= SITE_NAME and word.isascii() and word in at.host


def _is_furniture(at: AtHost) -> bool:
    """Whether a word stands on nearly all pages of a host; files (no host) are no site."""
    pages = at.on_all + at.off_all
    return bool(at.host) and pages >= FEW_PAGES and at.on + at.off > FURNITURE * pages
