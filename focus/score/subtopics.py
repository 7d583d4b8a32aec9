"""Words that a crawl's relevant pages have in their titles more than its other pages do.

For 数据库 these are MySQL, Redis, 索引: sub-topics, which the topic's word does not name and
which the texts of links do. They are learned from pages that the relevance model took for
relevant, never from pages that only such a word led to: so the topic's own word stops drift.

    saw      a page came: its title is counted
    weights  how surely a link's text speaks of a sub-topic, 0…1

What is counted are the last `WINDOW` pages, index pages left out: what does not pay fades by
itself, and a crawl that is taken up again knows the same after reading so many titles.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from typing import NamedTuple

from focus.score.index_pages import Role, role
from focus.score.matching import fold_body
from focus.score.memo import Memo
from focus.text.tokenisation import Segmenter

FIRST, GROWTH = 5, 20  # words are drawn anew after 5 pages, later after a twentieth more
WINDOW = 20_000  # pages whose titles count
RECALLED = WINDOW + WINDOW // GROWTH  # that a restart reads, to have those of the last draw
TITLE = 80  # characters; the name of the site comes behind
FEWEST = 3  # relevant pages with the word, brought by as many different pages
SURE = 6.63  # log-likelihood ratio: chi-square's 1 %
MOST = 300  # words, the surest


class Titled(NamedTuple):
    """A page as it counts here; `hub` is the page whose link brought it (id), -1: a seed."""

    url: str
    title: str
    relevant: bool
    hub: int


_NONE: re.Pattern[str] = re.compile(r"(?!)")

_Counted = tuple[tuple[str, ...], bool, int]
"""Words of a title, whether the page is relevant, its hub."""


def next_draw(pages: int) -> int:
    """After how many pages words are drawn next: 5, 10, … 100, 105, …, by a twentieth from then.

    A function of the number of pages alone, so that a restart changes nothing.
    """
    at = FIRST
    while at <= pages:
        at += max(FIRST, min(at, WINDOW) // GROWTH)
    return at


def surprise(on: int, n: int, pages_on: int, pages: int) -> float:
    """Log-likelihood ratio G² (Dunning 1993): on of the n pages with a word are relevant.

    2·Σ observed·ln(observed/expected) over pages with the word; 0 if it speaks against.
    Worked: 6 of 6, of 20 in 100: 2·6·ln(6/1.2) = 19.3.
    """
    expected = n * pages_on / pages
    if on <= expected:
        return 0.0
    off, rest = n - on, n - expected
    return 2.0 * (on * math.log(on / expected) + (off * math.log(off / rest) if off else 0.0))


class Subtopics:
    """The sub-topics of one crawl. `pages`: how many it has seen, over all its runs; `weights`:
    of a link's text, that of the surest sub-topic that it names, 0.0 for none.
    """

    def __init__(self) -> None:
        self.pages = 0
        self.words: dict[str, float] = {}
        self._window: deque[_Counted | None] = deque()
        self._next = FIRST
        self._any = _NONE
        self.weights: Memo[float] = Memo(self._weigh, 20_000)
        self._segmenter = Segmenter()

    def resume(self, pages: int) -> None:
        """Begin anew, after so many pages of an earlier run that need not be counted."""
        self.pages, self._next, self.words, self._any = pages, next_draw(pages), {}, _NONE
        self.weights.clear()
        self._window.clear()

    def saw(self, page: Titled) -> None:
        """Count a page; draw the words anew if it is time to."""
        self._window.append(self._counted(page))
        if len(self._window) > WINDOW:
            self._window.popleft()
        self.pages += 1
        if self.pages >= self._next:
            self._next = next_draw(self.pages)
            self._draw()

    def _counted(self, page: Titled) -> _Counted | None:
        if role(page.url) is not Role.PAGE:
            return None
        words = {word for word in self._segmenter.tokens(page.title[:TITLE]) if _is_word(word)}
        return tuple(sorted(words)), page.relevant, page.hub

    def _draw(self) -> None:
        """The words, each with how much likelier than any a page with it is relevant, 0…1.

        (p - b)/(1 - b), b the relevant share of all pages, p that of those with the word, two
        pages of share b added. Worked: 6 of 6, b = 0.2: p = 6.4/8 = 0.8, weight 0.75.
        """
        counted = [page for page in self._window if page is not None]
        pages, on = len(counted), sum(relevant for _, relevant, _ in counted)
        all_of, good = Counter[str](), Counter[str]()
        hubs: dict[str, set[int]] = {}
        for words, relevant, hub in counted:
            all_of.update(words)
            if relevant:
                good.update(words)
                for word in words:
                    hubs.setdefault(word, set()).add(hub)
        share, found = on / max(1, pages), []
        for word, n in good.items():
            sure = surprise(n, all_of[word], on, pages)
            if len(hubs[word]) >= FEWEST and sure >= SURE:
                rate = (n + 2.0 * share) / (all_of[word] + 2.0)
                found.append((-sure, word, (rate - share) / (1.0 - share)))
        self.words = {word: weight for _, word, weight in sorted(found)[:MOST]}
        longest = sorted(self.words, key=lambda word: (-len(word), word))
        self._any = re.compile("|".join(map(re.escape, longest))) if longest else _NONE
        self.weights.clear()

    def _weigh(self, text: str) -> float:
        """The weight of the surest sub-topic that a link's text names, 0.0 for none."""
        return max((self.words[word] for word in self.named(text)), default=0.0)

    def named(self, text: str) -> list[str]:
        """The sub-topics that a text names: ideographs anywhere, others as whole words.

        Of those that begin at one place the longest, which is looked behind for the next.
        """
        folded = fold_body(text[:TITLE])
        found = self._any.finditer(folded)
        return [each[0] for each in found if _stands_alone(folded, each.start(), each.end())]


def _is_word(word: str) -> bool:
    return len(word) > 1 and not word.isdigit()


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a word in Latin letters or digits is no part of a longer one."""
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    return not (_runs_on(before) and _runs_on(first)) and not (_runs_on(last) and _runs_on(after))


def _runs_on(char: str) -> bool:
    return char.isalnum() and char < "\u2e80"
