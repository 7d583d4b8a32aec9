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

from focus.score.index_pages import Role, address_role
from focus.score.matching import fold_body
from focus.score.memo import Memo
from focus.score.statistics.phrases import (
    MIN_LOG_LIKELIHOOD,
    Phrase,
    Runs,
    find_phrases,
    frequent_phrases,
    is_collocation,
    log_likelihood_ratio,
    spell_phrase,
    split_into_runs,
)
from focus.text.tokenisation import Segmenter

FIRST_UPDATE, UPDATE_RATIO = (
    5,
    20,
)  # words are drawn anew after 5 pages, later after a twentieth more
WINDOW = 20_000  # pages whose titles count
RESUME_PAGES = (
    WINDOW + WINDOW // UPDATE_RATIO
)  # that a restart reads, to have those of the last draw
TITLE_CHARS = 80  # characters that name a page; the name of its site comes behind
MIN_HUBS = 3  # relevant pages with the word, brought by as many different pages
MAX_WORDS = 300  # words, the surest
PRIOR_PAGES = 4.0  # pages that what a topic file says of a word counts for
MIN_EXPECTED_WEIGHT = 0.15  # weight under which an expected word is dropped


class TitledPage(NamedTuple):
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
    def from_title(
        cls, url: str, title: str, relevant: bool, hub: int, segmenter: Segmenter
    ) -> Self:
        """A page that was stored: its title is cut again."""
        return cls(url, title, title_runs(title, segmenter), relevant, hub)


def title_runs(title: str, segmenter: Segmenter) -> tuple[Phrase, ...]:
    """The words of what of a title names its page (`phrases.in_runs`)."""
    return split_into_runs(title[:TITLE_CHARS], segmenter)


_MATCH_NOTHING: re.Pattern[str] = re.compile(r"(?!)")
_NO_TERMS: Mapping[str, float] = {}


class _CountedPage(NamedTuple):
    words: tuple[str, ...]  # each once
    runs: Runs
    relevant: bool
    hub: int


def next_update(pages: int) -> int:
    """After how many pages words are drawn next: 5, 10, … 100, 105, …, by a twentieth from then.

    A function of the number of pages alone, so that a restart changes nothing.
    """
    update_at = FIRST_UPDATE
    while update_at <= pages:
        update_at += max(FIRST_UPDATE, min(update_at, WINDOW) // UPDATE_RATIO)
    return update_at


class Subtopics:
    """The sub-topics of one crawl. `pages`: how many it has seen, over all its runs; `weights`:
    of a link's text, that of the surest sub-topic that it names, 0.0 for none.
    """

    def __init__(self, narrower: Mapping[str, float] = _NO_TERMS) -> None:
        """`narrower`: word -> how much it is expected to weigh, 0…1."""
        self.page_count = 0
        self.words: dict[str, float] = {}
        self._window: deque[_CountedPage | None] = deque()
        self._page_counts, self._relevant_counts = (
            Counter[str](),
            Counter[str](),
        )  # pages with a word, relevant ones
        self._next_update = FIRST_UPDATE
        self._word_pattern = _MATCH_NOTHING
        self.weights: Memo[float] = Memo(self._link_weight, 20_000)
        self._expected = {fold_body(word): weight for word, weight in narrower.items()}
        self._expected_pattern = _any_pattern(self._expected)
        self._update_words()

    def resume(self, pages: int) -> None:
        """Begin anew, after so many pages of an earlier run that need not be counted."""
        self.page_count, self._next_update = pages, next_update(pages)
        self._window.clear()
        self._page_counts.clear()
        self._relevant_counts.clear()
        self._update_words()

    def add_page(self, page: TitledPage) -> None:
        """Count a page; draw the words anew if it is time to."""
        counted = self._count_words(page)
        self._window.append(counted)
        if counted is not None:
            self._page_counts.update(counted.words)
            if counted.relevant:
                self._relevant_counts.update(counted.words)
        if len(self._window) > WINDOW and (oldest := self._window.popleft()) is not None:
            _subtract_words(self._page_counts, oldest.words)
            if oldest.relevant:
                _subtract_words(self._relevant_counts, oldest.words)
        self.page_count += 1
        if self.page_count >= self._next_update:
            self._next_update = next_update(self.page_count)
            self._update_words()

    def _count_words(self, page: TitledPage) -> _CountedPage | None:
        if address_role(page.url) is not Role.PAGE:
            return None
        words = {word for run in page.runs for word in run}
        words.update(_words_in(self._expected_pattern, page.title[:TITLE_CHARS]))
        return _CountedPage(tuple(sorted(words)), page.runs, page.relevant, page.hub)

    def _update_words(self) -> None:
        """The words and phrases that pages prove, and what is expected and not disproved."""
        counted = [page for page in self._window if page is not None]
        learned = _find_subtopics(counted, self._page_counts, self._relevant_counts)
        self.words = {word: weight for _, word, weight in sorted(learned)[:MAX_WORDS]}
        for word, weight in self._confirmed_expected(counted):
            self.words[word] = max(weight, self.words.get(word, 0.0))
        self._word_pattern = _any_pattern(self.words)
        self.weights.clear()

    def _confirmed_expected(self, counted: list[_CountedPage]) -> list[tuple[str, float]]:
        """What the topic file expects, by what such pages brought: at least `LEAST`.

        (p - b)/(1 - b), b as in `_weight`, p with `BELIEF` pages added of which the share
        b + w·(1 - b) is relevant. Worked: w = 0.6, b = 0.2: after 0 pages p = (0.4 + 2.72)/6
        = 0.52, weight 0.4; after 3 that were not relevant p = 3.12/9, 0.18; after a 4th, 0.14,
        it is dropped.
        """
        if not self._expected:
            return []
        page_counts, relevant_counts, share = (
            Counter[str](),
            Counter[str](),
            _relevant_share(counted),
        )
        for page in counted:
            expected_words = self._expected.keys() & page.words
            page_counts.update(expected_words)
            if page.relevant:
                relevant_counts.update(expected_words)
        weighed = [
            (word, _word_weight(relevant_counts[word], page_counts[word], share, prior))
            for word, prior in self._expected.items()
        ]
        return [(word, weight) for word, weight in weighed if weight >= MIN_EXPECTED_WEIGHT]

    def _link_weight(self, text: str) -> float:
        """The weight of the surest sub-topic that a link's text names, 0.0 for none."""
        if self._word_pattern.search(fold_body(text[:TITLE_CHARS])) is None:
            return 0.0  # as most of them
        return max((self.words[word] for word in self.subtopics_in(text)), default=0.0)

    def subtopics_in(self, text: str) -> list[str]:
        """The sub-topics that a text names: ideographs anywhere, others as whole words.

        Of those that begin at one place the longest, which is looked behind for the next.
        """
        return _words_in(self._word_pattern, text[:TITLE_CHARS])


def _any_pattern(words: Collection[str]) -> re.Pattern[str]:
    """What finds any of these words, of those that begin at one place the longest."""
    longest = sorted(words, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, longest))) if longest else _MATCH_NOTHING


def _words_in(any_word: re.Pattern[str], text: str) -> list[str]:
    folded = fold_body(text)
    matches = any_word.finditer(folded)
    return [match[0] for match in matches if _is_whole_word(folded, match.start(), match.end())]


def _relevant_share(counted: list[_CountedPage]) -> float:
    """The relevant share of all pages, under 1."""
    return min(0.99, sum(page.relevant for page in counted) / max(1, len(counted)))


def _word_weight(relevant: int, pages: int, share: float, prior: float | None = None) -> float:
    """How much likelier than any a page with a word is relevant: (p - b)/(1 - b), at most 1.

    b the relevant share of all pages, p that of those with the word, two pages of share b added
    and, where something is expected of the word, `BELIEF` pages that say so. Worked: 6 of 6,
    b = 0.2: p = 6.4/8 = 0.8, weight 0.75.
    """
    prior_pages = 0.0 if prior is None else PRIOR_PAGES
    prior_relevant = prior_pages * (share + (prior or 0.0) * (1.0 - share))
    rate = (relevant + 2.0 * share + prior_relevant) / (pages + 2.0 + prior_pages)
    return (rate - share) / (1.0 - share)


def _find_subtopics(
    counted: list[_CountedPage], page_counts: Mapping[str, int], relevant_counts: Mapping[str, int]
) -> list[tuple[float, str, float]]:
    """(-how surely, word or phrase, weight) of what stands on relevant pages more than on others.

    every, good  in how many of the pages a word is, and in how many relevant ones. A phrase has
    its place only where it weighs more than each of its words.
    """
    pages, relevant_pages, share = (
        len(counted),
        sum(page.relevant for page in counted),
        _relevant_share(counted),
    )
    common = {
        word
        for word, relevant_with_word in relevant_counts.items()
        if relevant_with_word >= MIN_HUBS
    }
    phrases = _phrase_pages(counted, page_counts, common)
    pages_by_phrase = dict[str, list[_CountedPage]]()
    for phrase, pages_with_phrase in phrases.items():
        pages_by_phrase.setdefault(spell_phrase(phrase), []).extend(pages_with_phrase)
    scored = dict[str, tuple[float, str, float]]()
    for word in common.union(pages_by_phrase):
        phrase_pages = pages_by_phrase.get(word, ())
        relevant_with_word = relevant_counts.get(word, 0) + sum(
            page.relevant for page in phrase_pages
        )
        if relevant_with_word >= MIN_HUBS and len(word) > 1 and not word.isdigit():
            pages_with_word = page_counts.get(word, 0) + len(phrase_pages)
            if (
                likelihood := log_likelihood_ratio(
                    relevant_with_word, pages_with_word, relevant_pages, pages
                )
            ) >= MIN_LOG_LIKELIHOOD:
                scored[word] = (
                    -likelihood,
                    word,
                    _word_weight(relevant_with_word, pages_with_word, share),
                )
    for word in scored.keys() - _words_from_several_hubs(counted, pages_by_phrase, scored.keys()):
        del scored[word]
    for phrase in phrases:
        scored_phrase = scored.get(spell_phrase(phrase))
        if scored_phrase and any(
            part in scored and scored[part][2] >= scored_phrase[2] for part in phrase
        ):
            del scored[scored_phrase[1]]
    return list(scored.values())


def _words_from_several_hubs(
    counted: list[_CountedPage],
    pages_by_phrase: Mapping[str, list[_CountedPage]],
    words: Collection[str],
) -> set[str]:
    """Those of the words and phrases whose relevant pages `FEWEST` different pages brought."""
    hubs: dict[str, set[int]] = {word: set() for word in words}
    for page in counted:
        if page.relevant:
            for word in hubs.keys() & page.words:
                hubs[word].add(page.hub)
    for word in hubs.keys() & pages_by_phrase:
        hubs[word].update(page.hub for page in pages_by_phrase[word] if page.relevant)
    return {word for word, hub_ids in hubs.items() if len(hub_ids) >= MIN_HUBS}


def _subtract_words(counts: Counter[str], words: tuple[str, ...]) -> None:
    """One page with these words less."""
    for word in words:
        counts[word] -= 1
        if not counts[word]:
            del counts[word]


def _phrase_pages(
    counted: list[_CountedPage], page_counts: Mapping[str, int], common: set[str]
) -> dict[Phrase, list[_CountedPage]]:
    """The phrases of relevant pages, each with all pages that have it."""
    pages_by_phrase = dict[Phrase, list[_CountedPage]]()
    frequent = frequent_phrases((page.runs for page in counted if page.relevant), common, MIN_HUBS)
    firsts = {phrase[0] for phrase in frequent}
    for page in counted:
        if not firsts.isdisjoint(page.words):
            for phrase in find_phrases(page.runs, frequent, firsts):
                pages_by_phrase.setdefault(phrase, []).append(page)
    return {
        phrase: pages
        for phrase, pages in pages_by_phrase.items()
        if is_collocation(phrase, len(pages), page_counts, len(counted))
    }


def _is_whole_word(text: str, start: int, end: int) -> bool:
    """Whether a word in Latin letters or digits is no part of a longer one."""
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    return not (_is_alphabetic(before) and _is_alphabetic(first)) and not (
        _is_alphabetic(last) and _is_alphabetic(after)
    )


def _is_alphabetic(char: str) -> bool:
    return char.isalnum() and char < "\u2e80"
