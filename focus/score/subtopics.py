"""Sub-topics: words and phrases that are more frequent in titles of relevant pages than of others.

For 数据库 these are MySQL, Redis or 索引, which do not contain the topic word but occur in link
texts. They are learned from pages that the relevance model scored as relevant. The topic's own
keywords therefore prevent drift.

    TitledPage            a page with its title as words, split in a scorer process
    Subtopics.add_page    counts the title of a page
    Subtopics.weights     link text -> certainty that it names a sub-topic, 0…1

Related terms of the topic (`Topic.terms`) have a weight from the beginning, as if a few
pages had confirmed it. Later pages confirm a term, or it is dropped.

Only the last `WINDOW` pages count, without index pages. Words that stop being useful fade, and a
resumed crawl has the same words after reading that number of titles.
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

FIRST_UPDATE, UPDATE_RATIO = 5, 20  # words are updated after 5 pages, then after each twentieth
WINDOW = 20_000  # number of pages whose titles count
RESUME_PAGES = (
    WINDOW + WINDOW // UPDATE_RATIO
)  # titles that a resumed crawl reads, to have those of the last update
TITLE_CHARS = 80  # characters that name a page; the name of the site follows them
MIN_HUBS = 3  # minimum number of relevant pages with a word, and of hubs that led to them
MAX_WORDS = 300  # the most certain words are kept
PRIOR_PAGES = 4.0  # number of pages that an expected weight of the topic file counts for
MIN_EXPECTED_WEIGHT = 0.15  # an expected word with less weight is dropped


class TitledPage(NamedTuple):
    """A page with the words of its title.

    runs   words of its title, from `title_runs`
    hub    id of the page whose link led to it, -1 for a seed
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
        """Return a stored page; its title is split into words again."""
        return cls(url, title, title_runs(title, segmenter), relevant, hub)


def title_runs(title: str, segmenter: Segmenter) -> tuple[Phrase, ...]:
    """Return the words of the part of a title that names the page (`phrases.split_into_runs`)."""
    return split_into_runs(title[:TITLE_CHARS], segmenter)


_MATCH_NOTHING: re.Pattern[str] = re.compile(r"(?!)")
_NO_TERMS: Mapping[str, float] = {}


class _CountedPage(NamedTuple):
    words: tuple[str, ...]  # distinct
    runs: Runs
    relevant: bool
    hub: int


def adjacent_updates(pages: int) -> tuple[int, int]:
    """Return after how many pages the words were updated last (0: never) and are updated next.

    Updates follow after 5, 10, … 100, 105, … pages, later after each further twentieth. It depends
    on the number of pages only, so that a resumed crawl behaves like an uninterrupted one.
    """
    last, update_at = 0, FIRST_UPDATE
    while update_at <= pages:
        last = update_at
        update_at += max(FIRST_UPDATE, min(update_at, WINDOW) // UPDATE_RATIO)
    return last, update_at


class Subtopics:
    """The sub-topics of one crawl.

        page_count   pages added so far, in all runs of the crawl
        words        sub-topic -> weight
        weights      link text -> weight of its best sub-topic, 0.0 for none

    Args:
        terms: Related term of the topic -> its expected weight, 0…1.
    """

    def __init__(self, terms: Mapping[str, float] = _NO_TERMS) -> None:
        self.page_count = 0
        self.words: dict[str, float] = {}
        self._window: deque[_CountedPage | None] = deque()
        self._page_counts = Counter[str]()  # by word
        self._relevant_counts = Counter[str]()  # relevant pages by word
        self._next_update = FIRST_UPDATE
        self._word_pattern = _MATCH_NOTHING
        self.weights: Memo[float] = Memo(self._link_weight, 20_000)
        self._expected = {fold_body(word): weight for word, weight in terms.items()}
        self._expected_pattern = _any_pattern(self._expected)
        self._update_words()

    def resume(self, pages: int, last_page: int = 0) -> None:
        """Reset, after this number of pages of an earlier run that no longer count.

        Before `last_page`, the number of pages of that run, only its last update is repeated.
        """
        self.page_count = pages
        self._next_update = max(adjacent_updates(pages)[1], adjacent_updates(last_page)[0])
        self._window.clear()
        self._page_counts.clear()
        self._relevant_counts.clear()
        self._update_words()

    def add_page(self, page: TitledPage) -> None:
        """Count a page, and update the words if it is time."""
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
            self._next_update = adjacent_updates(self.page_count)[1]
            self._update_words()

    def _count_words(self, page: TitledPage) -> _CountedPage | None:
        if address_role(page.url) is not Role.PAGE:
            return None
        words = {word for run in page.runs for word in run}
        words.update(_words_in(self._expected_pattern, page.title[:TITLE_CHARS]))
        return _CountedPage(tuple(sorted(words)), page.runs, page.relevant, page.hub)

    def _update_words(self) -> None:
        """Set the words to the learned sub-topics and the confirmed expected terms."""
        counted = [page for page in self._window if page is not None]
        learned = _find_subtopics(counted, self._page_counts, self._relevant_counts)
        self.words = {word: weight for _, word, weight in sorted(learned)[:MAX_WORDS]}
        for word, weight in self._confirmed_expected(counted):
            self.words[word] = max(weight, self.words.get(word, 0.0))
        self._word_pattern = _any_pattern(self.words)
        self.weights.clear()

    def _confirmed_expected(self, counted: list[_CountedPage]) -> list[tuple[str, float]]:
        """Return the terms of the topic file whose weight is at least `MIN_EXPECTED_WEIGHT`.

        The weight is (p - b)/(1 - b) with b as in `_word_weight`. p is the relevant share of the
        pages with the word, with `PRIOR_PAGES` pages added of which the share b + w·(1 - b) is
        relevant, w the expected weight.

        Example: w = 0.6, b = 0.2: with no page p = (0.4 + 2.72)/6 = 0.52, weight 0.4; after three
        irrelevant pages p = 3.12/9, weight 0.18; after a fourth 0.14, so the term is dropped.
        """
        if not self._expected:
            return []
        page_counts = Counter[str]()
        relevant_counts = Counter[str]()
        share = _relevant_share(counted)
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
        if self._word_pattern.search(fold_body(text[:TITLE_CHARS])) is None:
            return 0.0  # true for most texts
        return max((self.words[word] for word in self.subtopics_in(text)), default=0.0)

    def subtopics_in(self, text: str) -> list[str]:
        """Return the sub-topics in a text: ideographs anywhere, other words as whole words.

        Of sub-topics that begin at the same place only the longest counts; the search continues
        behind it.
        """
        return _words_in(self._word_pattern, text[:TITLE_CHARS])


def _any_pattern(words: Collection[str]) -> re.Pattern[str]:
    """Return a pattern for any of the words that prefers the longest at each place."""
    longest = sorted(words, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, longest))) if longest else _MATCH_NOTHING


def _words_in(any_word: re.Pattern[str], text: str) -> list[str]:
    folded = fold_body(text)
    matches = any_word.finditer(folded)
    return [match[0] for match in matches if _is_whole_word(folded, match.start(), match.end())]


def _relevant_share(counted: list[_CountedPage]) -> float:
    """Return the relevant share of the pages, less than 1."""
    return min(0.99, sum(page.relevant for page in counted) / max(1, len(counted)))


def _word_weight(relevant: int, pages: int, share: float, prior: float | None = None) -> float:
    """Return the relative gain in relevance for pages with a word: (p - b)/(1 - b), at most 1.

    b is the relevant share of all pages, p that of the pages with the word, with two pages of share
    b added. With an expected weight (`prior`) `PRIOR_PAGES` pages that confirm it are added, too.

    Example: 6 of 6 pages, b = 0.2: p = 6.4/8 = 0.8, weight 0.75.
    """
    prior_pages = 0.0 if prior is None else PRIOR_PAGES
    prior_relevant = prior_pages * (share + (prior or 0.0) * (1.0 - share))
    rate = (relevant + 2.0 * share + prior_relevant) / (pages + 2.0 + prior_pages)
    return (rate - share) / (1.0 - share)


def _find_subtopics(
    counted: list[_CountedPage], page_counts: Mapping[str, int], relevant_counts: Mapping[str, int]
) -> list[tuple[float, str, float]]:
    """Return (-likelihood ratio, word or phrase, weight) for each word typical of relevant pages.

    page_counts, relevant_counts   word -> number of pages and of relevant pages with it

    A phrase is included only if its weight is higher than that of each of its words.
    """
    pages = len(counted)
    relevant_pages = sum(page.relevant for page in counted)
    share = _relevant_share(counted)
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
    """Return the words whose relevant pages were found through `MIN_HUBS` or more hubs."""
    hubs: dict[str, set[int]] = {word: set() for word in words}
    for page in counted:
        if page.relevant:
            for word in hubs.keys() & page.words:
                hubs[word].add(page.hub)
    for word in hubs.keys() & pages_by_phrase:
        hubs[word].update(page.hub for page in pages_by_phrase[word] if page.relevant)
    return {word for word, hub_ids in hubs.items() if len(hub_ids) >= MIN_HUBS}


def _subtract_words(counts: Counter[str], words: tuple[str, ...]) -> None:
    for word in words:
        counts[word] -= 1
        if not counts[word]:
            del counts[word]


def _phrase_pages(
    counted: list[_CountedPage], page_counts: Mapping[str, int], common: set[str]
) -> dict[Phrase, list[_CountedPage]]:
    """Return the phrases of relevant pages, each with all pages that contain it."""
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
    """Return whether a word is not part of a longer word in Latin letters or digits."""
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    return not (_is_alphabetic(before) and _is_alphabetic(first)) and not (
        _is_alphabetic(last) and _is_alphabetic(after)
    )


def _is_alphabetic(char: str) -> bool:
    return char.isalnum() and char < "\u2e80"
