"""Finds topic words in a text, without tokens.

A keyword with an ideograph matches wherever it stands (足球赛 matches 足球); any
other matches as a whole word or run of words (`java` does not match `javascript`), in the
singular and the plural (`games` matches `game`), a phrase also with hyphens or as one word.
Traditional and simplified forms match each other: each keyword is looked for in
both scripts, which is cheaper than converting every page.

Pages are judged by keywords; links are weighed by the topic's features, too: the anchor
欧冠 says something to a topic 足球 that learned the word from example pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from focus.score.memo import Memo
from focus.score.source_search import SourceSearch
from focus.score.statistics.vector import background_idf, count_terms, euclidean_similarity, tf_idf
from focus.text import inflection
from focus.text.tokenisation import Segmenter, fold, has_han
from focus.topic.topic import Topic, from_builtins

FEATURE_LINK_WEIGHT = 0.15
"""What a feature of weight 1 adds to a link as a keyword of this weight: a word that goes with
the topic goes with its neighbours, too, and a crawl that takes these for the topic never leaves
them (`focus topic expand` gives its words the same weight)."""

_FULLWIDTH = re.compile("[\uff10-\uff5a]")
_LATIN = "a-z0-9\u00df-\u00f6\u00f8-\u024f"  # what a word runs on with
_MIN_COMPOUND_PART = 3  # letters: `machine learning` is machinelearning, `c language` not clanguage


def fold_body(text: str) -> str:
    """Like `fold` at a tenth of the cost: enough to find keywords in long texts."""
    return fold(text) if _FULLWIDTH.search(text) else text.lower()


class _SearchWord(NamedTuple):
    name: str
    weight: float
    forms: tuple[str, ...]
    pattern: re.Pattern[str] | None  # None: plain substring
    head: str  # what no text with the word is without


def topic_segmenter(topic: dict[str, object]) -> Segmenter:
    """What a topic as plain data has texts cut by: its own words stay whole."""
    return Matcher(from_builtins(topic)).segmenter


class Matcher:
    """Finds a topic's keywords. Everything returned is by keyword as the user wrote it.

    coverage   text -> how surely it means the topic by its keywords, 0…1
    promise    the same of a link's text, to which features of the topic add their share
    reads_ascii  whether any of this can stand in a text of ASCII
    share      text -> (tokens that match a keyword, all tokens)
    cosine, euclid   text -> likeness to the topic's vector by P2 eq. 1 and by P3 eq. 5-2, 0…1
    """

    def __init__(self, topic: Topic, segmenter: Segmenter | None = None) -> None:
        all_words = [*(k.text for k in topic.keywords), *topic.features]
        convert = _converters() if any(map(has_han, all_words)) else ()
        self.topic = topic
        self._keywords = [_make_word(k.text, k.weight, convert) for k in topic.keywords]
        first_forms = {word.forms[0] for word in self._keywords}
        features = [_make_word(text, weight, convert) for text, weight in topic.features.items()]
        self._features = [word for word in features if word.forms[0] not in first_forms]
        self._forms = {form for word in self._keywords for form in word.forms}
        self._han_forms = tuple(form for form in self._forms if has_han(form))
        self.segmenter = segmenter or Segmenter(self.segmenter_words)
        # A text without any of these holds no keyword, in no form: most texts, at once.
        self._heads = {form for form in self._forms if has_han(form)}
        self._heads |= {word.head for word in self._keywords if word.pattern}
        self._hint_pattern = _any_pattern(self._heads)
        self.source_search = SourceSearch(self._forms)
        forms = (form for word in (*self._keywords, *self._features) for form in word.forms)
        self.may_match_ascii = any(map(str.isascii, forms))
        self.keyword_score = Memo(self._keyword_score, 50_000)
        self.link_score = Memo(self._link_score, 50_000) if self._features else self.keyword_score
        self.token_counts = Memo(self._token_counts, 20_000)
        self.cosine = Memo(self._cosine, 20_000)
        self.euclid = Memo(self._euclid, 20_000)

    @cached_property
    def _token_runs(self) -> tuple[tuple[str, ...], ...]:
        """The keywords that are several tokens."""
        cuts = [self.segmenter.tokens(form) for form in sorted(self._forms)]
        return tuple(cut for cut in cuts if len(cut) > 1)

    @cached_property
    def _token_hint_pattern(self) -> re.Pattern[str]:
        """What a text with a keyword among its tokens holds for sure."""
        return _any_pattern(self._heads | {run[0] for run in self._token_runs})

    @property
    def max_keyword_length(self) -> int:
        """Characters of the longest keyword."""
        return max(len(form) for word in self._keywords for form in word.forms)

    @property
    def segmenter_words(self) -> list[str]:
        """What the segmenter must leave whole."""
        return [form for word in self._keywords for form in word.forms]

    @property
    def keyword_forms(self) -> dict[str, tuple[str, ...]]:
        """Each keyword as it is looked for: folded, in both scripts or numbers."""
        return {word.name: word.forms for word in self._keywords}

    def keyword_counts(self, text: str) -> dict[str, int]:
        """How often each keyword stands in a text already folded: {"足球": 3}."""
        counts = {}
        for word in self._keywords:
            number = _count_word(word, text)
            if number:
                counts[word.name] = number
        return counts

    def occurs_in_source(self, source: bytes) -> bool:
        """Whether any keyword stands in the source of a page (UTF-8), as `SourceSearch` sees it."""
        return self.source_search.contains_keyword(source)

    def keyword_spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where each keyword stands in a text already folded: [(0, 2, "足球")], in any order."""
        return [
            (match.start(), match.end(), word.name)
            for word in self._keywords
            for pattern in ([word.pattern] if word.pattern else map(re.escape, word.forms))
            for match in re.finditer(pattern, text)
        ]

    def combined_weight(self, names: Iterable[str]) -> float:
        """How surely these keywords together mean the topic: 1 - Π(1 - weight).

        One keyword of weight 1 suffices; two of weight 0.5 give 0.75.
        """
        names = set(names)
        miss = 1.0
        for word in self._keywords:
            if word.name in names:
                miss *= 1.0 - word.weight
        return 1.0 - miss

    def _keyword_score(self, text: str) -> float:
        folded = fold(text)
        return (
            self.combined_weight(self.keyword_counts(folded))
            if self._hint_pattern.search(folded)
            else 0.0
        )

    def _link_score(self, text: str) -> float:
        """1 - (1 - coverage)·Π(1 - s·weight) over the features in it, s `FEATURE_SHARE`.

        Worked: no keyword, features of weight 1 and 0.5: 1 - 0.85·0.925 = 0.214.
        """
        miss = 1.0 - self.keyword_score[text]
        for feature in self._features_in(fold(text)):
            miss *= 1.0 - FEATURE_LINK_WEIGHT * feature.weight
        return 1.0 - miss

    def _features_in(self, folded: str) -> list[_SearchWord]:
        return [word for word in self._features if _count_word(word, folded)]

    def link_words(self, text: str) -> list[str]:
        """The keywords and features that speak for a link, of its text: ["足球", "欧冠"]."""
        folded = fold(text)
        return [*self.keyword_counts(folded), *(word.name for word in self._features_in(folded))]

    def count_matched_tokens(self, tokens: Sequence[str]) -> tuple[int, int]:
        """(matched, all) of a text's tokens; a phrase counts as one."""
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
        """(matched, all) tokens of a short text."""
        tokens = self.segmenter.tokens(text)
        return (
            self.count_matched_tokens(tokens)
            if self._token_hint_pattern.search(fold(text))
            else (0, len(tokens))
        )

    def _cosine(self, text: str) -> float:
        """Cosine of a short text's words, each once, and the topic's vector (P2 eq. 1).

        The topic's vector are its keywords and features by their weights. Worked: one keyword
        alone: 1/√n for a text of n different words that holds it; keyword 1 and features 0.6
        and 0.3, a text of 2 words, the first feature and another: 0.6 / (√1.45·√2) = 0.352.
        """
        matched, _ = self.token_counts[text]
        if not matched and not self._features:
            return 0.0
        distinct, vector = len(set(self.segmenter.tokens(text))), [*self._keywords, *self._features]
        weights = [word.weight for word in vector if _count_word(word, fold(text))]
        norm = sum(word.weight**2 for word in vector) ** 0.5
        return min(1.0, sum(weights) / (norm * distinct**0.5)) if weights else 0.0

    def _euclid(self, text: str) -> float:
        """Likeness of a short text's TF-IDF and the topic's (P3 eq. 5-2).

        Worked: topic 足球, the text 足球 新闻: the text's vector has half of the word's idf,
        so 1 - |1 - 1/2| = 0.5.
        """
        keywords = self.keyword_counts(fold(text))
        if not keywords and not self._features_in(fold(text)):
            return 0.0
        forms = {form for word in self._keywords for form in word.forms}
        tokens = (token for token in self.segmenter.tokens(text) if token not in forms)
        counts = count_terms(tokens) | {fold(word): n for word, n in keywords.items()}
        keyword_weights = {fold(word.name): word.weight for word in self._keywords}
        return euclidean_similarity(
            tf_idf({**self.topic.features, **keyword_weights}, background_idf()),
            tf_idf(counts, background_idf()),
        )


def _make_word(text: str, weight: float, converters: Iterable[Callable[[str], str]]) -> _SearchWord:
    folded = " ".join(fold(text).split())
    if has_han(folded):
        forms = tuple(dict.fromkeys([folded, *(convert(folded) for convert in converters)]))
        return _SearchWord(text, weight, forms, None, forms[0])
    forms = _latin_forms(text)
    alternatives = "|".join(r"[\s_-]+".join(map(re.escape, form.split(" "))) for form in forms)
    not_after_letter = rf"(?<![{_LATIN}])" if folded[0].isalnum() else ""
    not_before_letter = rf"(?![{_LATIN}])" if folded[-1].isalnum() else ""
    head = forms[0].split(" ", 1)[0]
    while not all(form.startswith(head) for form in forms):
        head = head[:-1]
    return _SearchWord(
        text,
        weight,
        forms,
        re.compile(f"{not_after_letter}(?:{alternatives}){not_before_letter}"),
        head,
    )


def _latin_forms(text: str) -> tuple[str, ...]:
    """In both numbers; a phrase of parts of three letters or more also as one word."""
    forms = [fold(form) for form in inflection.forms(" ".join(text.split()))]
    if min(map(len, forms[0].split(" "))) >= _MIN_COMPOUND_PART:
        forms += [form.replace(" ", "") for form in forms]
    return tuple(dict.fromkeys(forms))


def _any_pattern(parts: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(parts))))


def _count_word(word: _SearchWord, text: str) -> int:
    if word.pattern is None:
        return sum(text.count(form) for form in word.forms)
    if word.head not in text:
        return 0
    return len(word.pattern.findall(text))


@lru_cache(maxsize=1)
def _converters() -> tuple[Callable[[str], str], ...]:
    import opencc  # 20 ms to load: only for topics with ideographs

    return tuple(opencc.OpenCC(name).convert for name in ("t2s", "s2t"))
