"""Words and phrases that a crawl's relevant pages have in their titles more than its others do.

For 数据库 these are MySQL, Redis, 索引: sub-topics, which the topic's word does not name and
which the texts of links do. They are learned from pages that the relevance model took for
relevant, never from pages that only such a word led to: so the topic's own word stops drift.

    Titled   a page, with its title cut into words as the scorer workers cut it
    saw      a page came: its title is counted
    weights  how surely a link's text speaks of a sub-topic, 0…1

What a topic file expects (`Topic.narrower`) weighs before it has brought anything,
as if a few pages had said so; then pages confirm it, or it is dropped.

What is counted are the last `WINDOW` pages, index pages left out: what does not pay fades by
itself, and a crawl that is taken up again knows the same after reading so many titles.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Mapping
from typing import NamedTuple, Self

from focus.score.index_pages import Role, role
from focus.score.matching import fold_body
from focus.score.memo import Memo
from focus.score.statistics.phrases import (
    SURE,
    Phrase,
    Runs,
    frequent_phrases,
    holding,
    in_runs,
    is_bound,
    spelled,
    surprise,
)
from focus.text.tokenisation import Segmenter

FIRST, GROWTH = 5, 20  # words are drawn anew after 5 pages, later after a twentieth more
WINDOW = 20_000  # pages whose titles count
RECALLED = WINDOW + WINDOW // GROWTH  # that a restart reads, to have those of the last draw
TITLE = 80  # characters that name a page; the name of its site comes behind
FEWEST = 3  # relevant pages with the word, brought by as many different pages
MOST = 300  # words, the surest
BELIEF = 4.0  # pages that what a topic file says of a word counts for
LEAST = 0.15  # weight under which an expected word is dropped


class Titled(NamedTuple):
    """A page as it counts here.

    runs   the words of its title, as `runs_of` has them
    hub    id of the page whose link brought it, -1: a seed
    """

    url: str
    title: str
    runs: Runs
    relevant: bool
    hub: int

    @classmethod
    def cut(cls, url: str, title: str, relevant: bool, hub: int, segmenter: Segmenter) -> Self:
        """A page that was stored: its title is cut again."""
        return cls(url, title, runs_of(title, segmenter), relevant, hub)


def runs_of(title: str, segmenter: Segmenter) -> tuple[Phrase, ...]:
    """The words of what of a title names its page (`phrases.in_runs`)."""
    return in_runs(title[:TITLE], segmenter)


_NONE: re.Pattern[str] = re.compile(r"(?!)")
_NOTHING: Mapping[str, float] = {}


class _Counted(NamedTuple):
    words: tuple[str, ...]  # each once
    runs: Runs
    relevant: bool
    hub: int


def next_draw(pages: int) -> int:
    """After how many pages words are drawn next: 5, 10, … 100, 105, …, by a twentieth from then.

    A function of the number of pages alone, so that a restart changes nothing.
    """
    at = FIRST
    while at <= pages:
        at += max(FIRST, min(at, WINDOW) // GROWTH)
    return at


class Subtopics:
    """The sub-topics of one crawl. `pages`: how many it has seen, over all its runs; `weights`:
    of a link's text, that of the surest sub-topic that it names, 0.0 for none.
    """

    def __init__(self, narrower: Mapping[str, float] = _NOTHING) -> None:
        """`narrower`: word -> how much it is expected to weigh, 0…1."""
        self.pages = 0
        self.words: dict[str, float] = {}
        self._window: deque[_Counted | None] = deque()
        self._every, self._good = Counter[str](), Counter[str]()  # pages with a word, relevant ones
        self._next = FIRST
        self._any = _NONE
        self.weights: Memo[float] = Memo(self._weigh, 20_000)
        self._expected = {fold_body(word): weight for word, weight in narrower.items()}
        self._given = _any_of(self._expected)
        self._draw()

    def resume(self, pages: int) -> None:
        """Begin anew, after so many pages of an earlier run that need not be counted."""
        self.pages, self._next = pages, next_draw(pages)
        self._window.clear()
        self._every.clear()
        self._good.clear()
        self._draw()

    def saw(self, page: Titled) -> None:
        """Count a page; draw the words anew if it is time to."""
        counted = self._counted(page)
        self._window.append(counted)
        if counted is not None:
            self._every.update(counted.words)
            if counted.relevant:
                self._good.update(counted.words)
        if len(self._window) > WINDOW and (oldest := self._window.popleft()) is not None:
            _discount(self._every, oldest.words)
            if oldest.relevant:
                _discount(self._good, oldest.words)
        self.pages += 1
        if self.pages >= self._next:
            self._next = next_draw(self.pages)
            self._draw()

    def _counted(self, page: Titled) -> _Counted | None:
        if role(page.url) is not Role.PAGE:
            return None
        words = {word for run in page.runs for word in run}
        words.update(_found(self._given, page.title[:TITLE]))
        return _Counted(tuple(sorted(words)), page.runs, page.relevant, page.hub)

    def _draw(self) -> None:
        """The words and phrases that pages prove, and what is expected and not disproved."""
        counted = [page for page in self._window if page is not None]
        found = _proved(counted, self._every, self._good)
        self.words = {word: weight for _, word, weight in sorted(found)[:MOST]}
        for word, weight in self._still_expected(counted):
            self.words[word] = max(weight, self.words.get(word, 0.0))
        self._any = _any_of(self.words)
        self.weights.clear()

    def _still_expected(self, counted: list[_Counted]) -> list[tuple[str, float]]:
        """What the topic file expects, by what such pages brought: at least `LEAST`.

        (p - b)/(1 - b), b as in `_weight`, p with `BELIEF` pages added of which the share
        b + w·(1 - b) is relevant. Worked: w = 0.6, b = 0.2: after 0 pages p = (0.4 + 2.72)/6
        = 0.52, weight 0.4; after 3 that were not relevant p = 3.12/9, 0.18; after a 4th, 0.14,
        it is dropped.
        """
        if not self._expected:
            return []
        every, good, share = Counter[str](), Counter[str](), _share(counted)
        for page in counted:
            there = self._expected.keys() & page.words
            every.update(there)
            if page.relevant:
                good.update(there)
        weighed = [
            (word, _weight(good[word], every[word], share, prior))
            for word, prior in self._expected.items()
        ]
        return [(word, weight) for word, weight in weighed if weight >= LEAST]

    def _weigh(self, text: str) -> float:
        """The weight of the surest sub-topic that a link's text names, 0.0 for none."""
        if self._any.search(fold_body(text[:TITLE])) is None:
            return 0.0  # as most of them
        return max((self.words[word] for word in self.named(text)), default=0.0)

    def named(self, text: str) -> list[str]:
        """The sub-topics that a text names: ideographs anywhere, others as whole words.

        Of those that begin at one place the longest, which is looked behind for the next.
        """
        return _found(self._any, text[:TITLE])


def _any_of(words: Collection[str]) -> re.Pattern[str]:
    """What finds any of these words, of those that begin at one place the longest."""
    longest = sorted(words, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, longest))) if longest else _NONE


def _found(any_word: re.Pattern[str], text: str) -> list[str]:
    folded = fold_body(text)
    found = any_word.finditer(folded)
    return [each[0] for each in found if _stands_alone(folded, each.start(), each.end())]


def _share(counted: list[_Counted]) -> float:
    """The relevant share of all pages, under 1."""
    return min(0.99, sum(page.relevant for page in counted) / max(1, len(counted)))


def _weight(good: int, every: int, share: float, prior: float | None = None) -> float:
    """How much likelier than any a page with a word is relevant: (p - b)/(1 - b), at most 1.

    b the relevant share of all pages, p that of those with the word, two pages of share b added
    and, where something is expected of the word, `BELIEF` pages that say so. Worked: 6 of 6,
    b = 0.2: p = 6.4/8 = 0.8, weight 0.75.
    """
    belief = 0.0 if prior is None else BELIEF
    believed = belief * (share + (prior or 0.0) * (1.0 - share))
    rate = (good + 2.0 * share + believed) / (every + 2.0 + belief)
    return (rate - share) / (1.0 - share)


def _proved(
    counted: list[_Counted], every: Mapping[str, int], good: Mapping[str, int]
) -> list[tuple[float, str, float]]:
    """(-how surely, word or phrase, weight) of what stands on relevant pages more than on others.

    every, good  in how many of the pages a word is, and in how many relevant ones. A phrase has
    its place only where it weighs more than each of its words.
    """
    pages, on, share = len(counted), sum(page.relevant for page in counted), _share(counted)
    common = {word for word, n in good.items() if n >= FEWEST}
    phrases = _phrases(counted, every, common)
    there = dict[str, list[_Counted]]()
    for phrase, holding_it in phrases.items():
        there.setdefault(spelled(phrase), []).extend(holding_it)
    found = dict[str, tuple[float, str, float]]()
    for word in common.union(there):
        of_phrase = there.get(word, ())
        n = good.get(word, 0) + sum(page.relevant for page in of_phrase)
        if n >= FEWEST and len(word) > 1 and not word.isdigit():
            whole = every.get(word, 0) + len(of_phrase)
            if (sure := surprise(n, whole, on, pages)) >= SURE:
                found[word] = -sure, word, _weight(n, whole, share)
    for word in found.keys() - _brought(counted, there, found.keys()):
        del found[word]
    for phrase in phrases:
        of_all = found.get(spelled(phrase))
        if of_all and any(part in found and found[part][2] >= of_all[2] for part in phrase):
            del found[of_all[1]]
    return list(found.values())


def _brought(
    counted: list[_Counted], there: Mapping[str, list[_Counted]], words: Collection[str]
) -> set[str]:
    """Those of the words and phrases whose relevant pages `FEWEST` different pages brought."""
    hubs: dict[str, set[int]] = {word: set() for word in words}
    for page in counted:
        if page.relevant:
            for word in hubs.keys() & page.words:
                hubs[word].add(page.hub)
    for word in hubs.keys() & there:
        hubs[word].update(page.hub for page in there[word] if page.relevant)
    return {word for word, brought in hubs.items() if len(brought) >= FEWEST}


def _discount(counts: Counter[str], words: tuple[str, ...]) -> None:
    """One page with these words less."""
    for word in words:
        counts[word] -= 1
        if not counts[word]:
            del counts[word]


def _phrases(
    counted: list[_Counted], every: Mapping[str, int], common: set[str]
) -> dict[Phrase, list[_Counted]]:
    """The phrases of relevant pages, each with all pages that have it."""
    there = dict[Phrase, list[_Counted]]()
    wanted = frequent_phrases((page.runs for page in counted if page.relevant), common, FEWEST)
    firsts = {phrase[0] for phrase in wanted}
    for page in counted:
        if not firsts.isdisjoint(page.words):
            for phrase in holding(page.runs, wanted, firsts):
                there.setdefault(phrase, []).append(page)
    return {
        phrase: pages
        for phrase, pages in there.items()
        if is_bound(phrase, len(pages), every, len(counted))
    }


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a word in Latin letters or digits is no part of a longer one."""
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    return not (_runs_on(before) and _runs_on(first)) and not (_runs_on(last) and _runs_on(after))


def _runs_on(char: str) -> bool:
    return char.isalnum() and char < "\u2e80"
