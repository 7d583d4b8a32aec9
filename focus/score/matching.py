"""Search for topic words in a text, without tokens and in one pass for all words.

A keyword with an ideograph matches anywhere (足球赛 contains 足球). Other keywords match as whole
words or phrases (`java` does not match `javascript`), in singular and plural (`games` matches
`game`), phrases also with hyphens or as one word. Traditional and simplified forms match each
other: each keyword is searched for in both scripts, which is cheaper than converting every page.

Pages are scored by keywords, and by related terms if there are enough of them. Links are scored by
keywords and by the topic's features: the anchor 欧冠 is a hint for a topic 足球 that learned the
word from example pages. Terms in links are weighed by what their pages turn out to be
(`focus.score.subtopics`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick, Implementation

from focus.score.memo import Memo
from focus.score.statistics.vector import background_idf, count_terms, euclidean_similarity, tf_idf
from focus.text import inflection
from focus.text.tokenisation import Segmenter, fold, has_han
from focus.topic.topic import Topic, from_builtins

FEATURE_LINK_WEIGHT = 0.15
"""A feature of weight 1 counts in a link text like a keyword of this weight.

Words of the topic also occur on neighbouring topics; with a larger weight a crawl would drift there
and stay (`focus topic suggest` gives its words the same weight)."""

_NEEDS_FOLDING = re.compile(
    "[\u00ad\u200b-\u200f\u2060\u2e80-\u2fdf\uf900-\ufaff\ufe00-\ufe0f\ufeff\uff10-\uff5a]"
)
_LATIN = "a-z0-9\u00df-\u00f6\u00f8-\u024f"  # letters that continue a word
_MIN_COMPOUND_PART = (
    3  # `machine learning` also matches machinelearning, but `c language` not clanguage
)


def fold_body(text: str) -> str:
    """Fold a long text for keyword search; ten times faster than `fold`."""
    if text.isascii() or _NEEDS_FOLDING.search(text) is None:
        return text.lower()
    return fold(text)


class _SearchWord(NamedTuple):
    name: str
    weight: float
    forms: tuple[str, ...]
    pattern: re.Pattern[str] | None  # None for a plain substring
    needles: tuple[str, ...]  # every text that contains the word contains one of them


def topic_segmenter(topic: dict[str, object]) -> Segmenter:
    """Return the segmenter of a topic that is plain data; it does not split topic words."""
    return Matcher(from_builtins(topic)).segmenter


class Matcher:
    """Finds the keywords of a topic. Results name keywords as the user wrote them.

        keyword_score    text -> certainty that its keywords mean the topic, 0…1
        link_score       the same for a link text, with a share for the features of the topic
        may_match_ascii  whether any keyword or feature can occur in ASCII text
        token_counts     text -> (tokens that match a keyword, all tokens)
        cosine, euclid   text -> similarity to the topic vector by P2 eq. 1 and by P3 eq. 5-2, 0…1

    The scores are cached by text.
    """

    def __init__(self, topic: Topic, segmenter: Segmenter | None = None) -> None:
        all_words = [*(k.text for k in topic.keywords), *topic.terms, *topic.features]
        convert = _converters() if any(map(has_han, all_words)) else ()
        self.topic = topic
        self._keywords = [_make_word(k.text, k.weight, convert) for k in topic.keywords]
        first_forms = {word.forms[0] for word in self._keywords}
        self._terms = [_make_word(text, weight, convert) for text, weight in topic.terms.items()]
        features = [_make_word(text, weight, convert) for text, weight in topic.features.items()]
        self._features = [word for word in features if word.forms[0] not in first_forms]
        self._keyword_finder = WordFinder(self._keywords)
        self._page_finder = WordFinder([*self._keywords, *self._terms])
        self._feature_finder = WordFinder(self._features)
        self._weights = {word.name: word.weight for word in (*self._terms, *self._keywords)}
        self._forms = {form for word in self._keywords for form in word.forms}
        self._han_forms = tuple(form for form in self._forms if has_han(form))
        self.segmenter = segmenter or Segmenter(self.segmenter_words)
        link_words = (*self._keywords, *self._features)
        self.may_match_ascii = any(form.isascii() for word in link_words for form in word.forms)
        self.keyword_score = Memo(self._keyword_score, 50_000)
        self.term_score = Memo(self._term_score, 50_000)
        self.link_score = Memo(self._link_score, 50_000) if self._features else self.keyword_score
        self.token_counts = Memo(self._token_counts, 20_000)
        self.cosine = Memo(self._cosine, 20_000)
        self.euclid = Memo(self._euclid, 20_000)

    @cached_property
    def _token_runs(self) -> tuple[tuple[str, ...], ...]:
        """Token sequences of the keywords that have more than one token."""
        cuts = [self.segmenter.tokens(form) for form in sorted(self._forms)]
        return tuple(cut for cut in cuts if len(cut) > 1)

    @cached_property
    def _token_hint_pattern(self) -> re.Pattern[str]:
        """Pattern that every text with a matching token contains."""
        needles = {needle for word in self._keywords for needle in word.needles}
        return _any_pattern(needles | {run[0] for run in self._token_runs})

    @property
    def segmenter_words(self) -> list[str]:
        """Words that the segmenter must not split."""
        return [form for word in self._keywords for form in word.forms]

    @property
    def word_forms(self) -> dict[str, tuple[str, ...]]:
        """Searched forms of each keyword and related term: folded, in both scripts or numbers."""
        return {word.name: word.forms for word in (*self._terms, *self._keywords)}

    def keyword_counts(self, text: str) -> dict[str, int]:
        """Return how often each keyword occurs in a folded text: {"足球": 3}."""
        return self._keyword_finder.counts(text)

    def has_keyword(self, text: str) -> bool:
        """Return whether any keyword occurs in a folded text."""
        return self._keyword_finder.is_any_in(text)

    def word_counts(self, text: str) -> dict[str, int]:
        """Return how often each keyword and each related term occurs in a folded text."""
        return self._page_finder.counts(text)

    def keyword_spans(self, text: str) -> list[tuple[int, int, str]]:
        """Return the places of keywords in a folded text, unordered: [(0, 2, "足球")]."""
        return [
            (match.start(), match.end(), word.name)
            for word in self._keywords
            for pattern in ([word.pattern] if word.pattern else map(re.escape, word.forms))
            for match in re.finditer(pattern, text)
        ]

    def combined_weight(self, names: Iterable[str]) -> float:
        """Return how certainly these keywords together mean the topic: 1 - Π(1 - weight).

        Example: one keyword of weight 1 gives 1; two of weight 0.5 give 0.75.
        """
        return 1.0 - math.prod(1.0 - self._weights[name] for name in dict.fromkeys(names))

    def _keyword_score(self, text: str) -> float:
        return self.combined_weight(self.keyword_counts(fold(text)))

    def _term_score(self, text: str) -> float:
        """Return `combined_weight` of the keywords and terms in a text."""
        return self.combined_weight(self.word_counts(fold(text)))

    def _link_score(self, text: str) -> float:
        """Return 1 - (1 - keyword_score)·Π(1 - s·weight) over its features.

        s is `FEATURE_LINK_WEIGHT`.

        Example: no keyword and features of weight 1 and 0.5: 1 - 0.85·0.925 = 0.214.
        """
        miss = 1.0 - self.keyword_score[text]
        for feature in self._feature_finder.counts(fold(text)):
            miss *= 1.0 - FEATURE_LINK_WEIGHT * self.topic.features[feature]
        return 1.0 - miss

    def link_words(self, text: str) -> list[str]:
        """Return the keywords and features in a link text: ["足球", "欧冠"]."""
        folded = fold(text)
        return [*self.keyword_counts(folded), *self._feature_finder.counts(folded)]

    def count_matched_tokens(self, tokens: Sequence[str]) -> tuple[int, int]:
        """Return (matched, all) of the tokens of a text; a phrase counts as one token."""
        matched = sum(1 for token in tokens if self._is_match(token))
        total = len(tokens)
        for run in self._token_runs:
            width = len(run)
            run_count = sum(
                1
                for start in range(len(tokens) - width + 1)
                if tokens[start] == run[0] and tuple(tokens[start : start + width]) == run
            )
            matched += run_count
            total -= run_count * (width - 1)
        return matched, total

    def _is_match(self, token: str) -> bool:
        return token in self._forms or any(part in token for part in self._han_forms)

    def _token_counts(self, text: str) -> tuple[int, int]:
        tokens = self.segmenter.tokens(text)
        return (
            self.count_matched_tokens(tokens)
            if self._token_hint_pattern.search(fold(text))
            else (0, len(tokens))
        )

    def _cosine(self, text: str) -> float:
        """Return the cosine of the distinct words of a short text and the topic vector (P2 eq. 1).

        The topic vector consists of its keywords and features with their weights.

        Examples: a single keyword in a text of n distinct words: 1/√n. Keyword 1 and features 0.6
        and 0.3, a text of two words, the first feature and another word: 0.6 / (√1.45·√2) = 0.352.
        """
        matched, _ = self.token_counts[text]
        if not matched and not self._features:
            return 0.0
        distinct, vector = len(set(self.segmenter.tokens(text))), [*self._keywords, *self._features]
        weights = [word.weight for word in vector if _count_word(word, fold(text))]
        norm = sum(word.weight**2 for word in vector) ** 0.5
        return min(1.0, sum(weights) / (norm * distinct**0.5)) if weights else 0.0

    def _euclid(self, text: str) -> float:
        """Return the similarity of the TF-IDF vectors of a short text and the topic (P3 eq. 5-2).

        Example: for topic 足球 and text 足球 新闻 the text vector has half of the word's idf, so
        the result is 1 - |1 - 1/2| = 0.5.
        """
        keywords = self.keyword_counts(fold(text))
        if not keywords and not self._feature_finder.counts(fold(text)):
            return 0.0
        forms = {form for word in self._keywords for form in word.forms}
        tokens = (token for token in self.segmenter.tokens(text) if token not in forms)
        counts = count_terms(tokens) | {fold(word): n for word, n in keywords.items()}
        keyword_weights = {fold(word.name): word.weight for word in self._keywords}
        return euclidean_similarity(
            tf_idf({**self.topic.features, **keyword_weights}, background_idf()),
            tf_idf(counts, background_idf()),
        )


class WordFinder:
    """Finds words in folded texts, in one pass for all of them.

    The time does not depend on the number of words, but on the occurrences of their `needles`.
    """

    def __init__(self, words: Sequence[_SearchWord]) -> None:
        self._words = words
        self._numbers: dict[str, list[int]] = {}  # by needle
        for number, word in enumerate(words):
            for needle in word.needles:
                self._numbers.setdefault(needle, []).append(number)
        self._needles = AhoCorasick(list(self._numbers), implementation=Implementation.DFA)

    def counts(self, folded: str) -> dict[str, int]:
        """Return how often each word occurs, in the order of the words: {"越位": 2}."""
        counts = {word.name: _count_word(word, folded) for word in self._possible_words(folded)}
        return {name: count for name, count in counts.items() if count}

    def is_any_in(self, folded: str) -> bool:
        """Return whether any word occurs; on long texts much faster than `counts`."""
        return any(
            word.pattern is None or word.pattern.search(folded)
            for word in self._possible_words(folded)
        )

    def _possible_words(self, folded: str) -> list[_SearchWord]:
        """Return the words of which a needle occurs; a word with an ideograph then occurs, too."""
        needles = set(self._needles.find_matches_as_strings(folded, overlapping=True))
        numbers = sorted({number for needle in needles for number in self._numbers[needle]})
        return [self._words[number] for number in numbers]


def _make_word(text: str, weight: float, converters: Iterable[Callable[[str], str]]) -> _SearchWord:
    folded = " ".join(fold(text).split())
    if has_han(folded):
        forms = tuple(dict.fromkeys([folded, *(convert(folded) for convert in converters)]))
        return _SearchWord(text, weight, forms, None, forms)
    forms = _latin_forms(text)
    alternatives = "|".join(r"[\s_-]+".join(map(re.escape, form.split(" "))) for form in forms)
    not_after_letter = rf"(?<![{_LATIN}])" if folded[0].isalnum() else ""
    not_before_letter = rf"(?![{_LATIN}])" if folded[-1].isalnum() else ""
    return _SearchWord(
        text,
        weight,
        forms,
        re.compile(f"{not_after_letter}(?:{alternatives}){not_before_letter}"),
        _needles(forms),
    )


def _needles(forms: Sequence[str]) -> tuple[str, ...]:
    """Return the longest word that all forms contain, or else the longest word of each form."""
    words = sorted(forms[0].split(" "), key=len, reverse=True)
    shared = next((word for word in words if all(word in form for form in forms)), None)
    if shared:
        return (shared,)
    return tuple(dict.fromkeys(max(form.split(" "), key=len) for form in forms))


def _latin_forms(text: str) -> tuple[str, ...]:
    """Return singular and plural; for a phrase of long words also the forms as one word.

    A word is long if it has three or more letters.
    """
    forms = [fold(form) for form in inflection.phrase_forms(" ".join(text.split()))]
    if min(map(len, forms[0].split(" "))) >= _MIN_COMPOUND_PART:
        forms += [form.replace(" ", "") for form in forms]
    return tuple(dict.fromkeys(forms))


def _any_pattern(parts: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for any of the parts, the longest first; for no part it matches nothing."""
    longest_first = sorted(parts, key=lambda part: (-len(part), part))
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


def _count_word(word: _SearchWord, text: str) -> int:
    if word.pattern is None:
        return sum(text.count(form) for form in word.forms)
    return len(word.pattern.findall(text))


@lru_cache(maxsize=1)
def _converters() -> tuple[Callable[[str], str], ...]:
    import opencc  # takes 20 ms, so only for topics with ideographs

    return tuple(opencc.OpenCC(name).convert for name in ("t2s", "s2t"))
