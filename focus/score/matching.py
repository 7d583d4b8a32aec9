"""Finds topic words in a text, without tokens.

A keyword with an ideograph matches wherever it stands (足球赛 matches 足球); any
other matches as a whole word or run of words (`java` does not match `javascript`).
Traditional and simplified forms match each other: each keyword is looked for in
both scripts, which is cheaper than converting every page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from focus.score.memo import Memo
from focus.score.source_search import SourceSearch
from focus.text.tokenisation import Segmenter, fold, has_han
from focus.topic.topic import Topic

_FULLWIDTH = re.compile("[\uff10-\uff5a]")


def fold_body(text: str) -> str:
    """Like `fold` at a tenth of the cost: enough to find keywords in long texts."""
    return fold(text) if _FULLWIDTH.search(text) else text.lower()


class _Word(NamedTuple):
    name: str
    weight: float
    forms: tuple[str, ...]
    pattern: re.Pattern[str] | None  # None: plain substring


class Matcher:
    """Finds a topic's keywords. Everything returned is by keyword as the user wrote it."""

    def __init__(self, topic: Topic, segmenter: Segmenter | None = None) -> None:
        convert = _converters() if any(has_han(k.text) for k in topic.keywords) else ()
        self.topic = topic
        self._words = [_word(k.text, k.weight, convert) for k in topic.keywords]
        self._exact = {form for word in self._words for form in word.forms}
        self._parts = tuple(form for form in self._exact if has_han(form))
        self.segmenter = segmenter or Segmenter(self.segmenter_words)
        # A text without any of these holds no keyword, in no form: most texts, at once.
        self._heads = {form if has_han(form) else form.split(" ", 1)[0] for form in self._exact}
        self._hint = _any_of(self._heads)
        self._in_source = SourceSearch(self._exact)
        self.coverage = Memo(self._coverage, 50_000)
        self.share = Memo(self._share, 20_000)
        self.cosine = Memo(self._cosine, 20_000)

    @cached_property
    def _runs(self) -> tuple[tuple[str, ...], ...]:
        """The keywords that are several tokens."""
        cuts = [self.segmenter.tokens(form) for form in sorted(self._exact)]
        return tuple(cut for cut in cuts if len(cut) > 1)

    @cached_property
    def _token_hint(self) -> re.Pattern[str]:
        """What a text with a keyword among its tokens holds for sure."""
        return _any_of(self._heads | {run[0] for run in self._runs})

    @property
    def longest(self) -> int:
        """Characters of the longest keyword."""
        return max(len(form) for word in self._words for form in word.forms)

    @property
    def segmenter_words(self) -> list[str]:
        """What the segmenter must leave whole."""
        return [form for word in self._words for form in word.forms]

    @property
    def forms(self) -> dict[str, tuple[str, ...]]:
        """Each keyword as it is looked for: folded, in both scripts."""
        return {word.name: word.forms for word in self._words}

    def counts(self, text: str) -> dict[str, int]:
        """How often each keyword stands in a text already folded: {"足球": 3}."""
        found = {}
        for word in self._words:
            number = _count(word, text)
            if number:
                found[word.name] = number
        return found

    def is_in(self, source: bytes) -> bool:
        """Whether any keyword stands in the source of a page (UTF-8), as `SourceSearch` sees it."""
        return self._in_source.finds(source)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where each keyword stands in a text already folded: [(0, 2, "足球")], in any order."""
        return [
            (match.start(), match.end(), word.name)
            for word in self._words
            for pattern in ([word.pattern] if word.pattern else map(re.escape, word.forms))
            for match in re.finditer(pattern, text)
        ]

    def weight(self, names: Iterable[str]) -> float:
        """How surely these keywords together mean the topic: 1 - Π(1 - weight).

        One keyword of weight 1 suffices; two of weight 0.5 give 0.75.
        """
        names = set(names)
        miss = 1.0
        for word in self._words:
            if word.name in names:
                miss *= 1.0 - word.weight
        return 1.0 - miss

    def _coverage(self, text: str) -> float:
        folded = fold(text)
        return self.weight(self.counts(folded)) if self._hint.search(folded) else 0.0

    def matched_tokens(self, tokens: Sequence[str]) -> tuple[int, int]:
        """(matched, all) of a text's tokens; a phrase counts as one."""
        matched = sum(1 for token in tokens if self._is_match(token))
        total = len(tokens)
        for run in self._runs:
            width = len(run)
            found = sum(
                1
                for start in range(len(tokens) - width + 1)
                if tokens[start] == run[0] and tuple(tokens[start : start + width]) == run
            )
            matched += found
            total -= found * (width - 1)
        return matched, total

    def _is_match(self, token: str) -> bool:
        return token in self._exact or any(part in token for part in self._parts)

    def _share(self, text: str) -> tuple[int, int]:
        """(matched, all) tokens of a short text."""
        tokens = self.segmenter.tokens(text)
        return (
            self.matched_tokens(tokens) if self._token_hint.search(fold(text)) else (0, len(tokens))
        )

    def _cosine(self, text: str) -> float:
        """Cosine of a short text's and the topic's words, each word once (P2 eq. 1).

        With one keyword: 1/√n for a text of n different words that holds it.
        """
        matched, _ = self.share[text]
        if not matched:
            return 0.0
        different = len(set(self.segmenter.tokens(text)))
        found = [w.weight for w in self._words if _count(w, fold(text))]
        norm = sum(word.weight**2 for word in self._words) ** 0.5
        return min(1.0, sum(found) / (norm * different**0.5)) if found else 0.0


def _word(text: str, weight: float, converters: Iterable[Callable[[str], str]]) -> _Word:
    folded = " ".join(fold(text).split())
    forms = tuple(dict.fromkeys([folded, *(convert(folded) for convert in converters)]))
    if has_han(folded):
        return _Word(text, weight, forms, None)
    body = r"\s+".join(re.escape(part) for part in folded.split())
    left = r"(?<![a-z0-9])" if folded[0].isalnum() else ""
    right = r"(?![a-z0-9])" if folded[-1].isalnum() else ""
    return _Word(text, weight, forms, re.compile(left + body + right))


def _any_of(parts: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(parts))))


def _count(word: _Word, text: str) -> int:
    if word.pattern is None:
        return sum(text.count(form) for form in word.forms)
    if word.forms[0].split(" ", 1)[0] not in text:
        return 0
    return len(word.pattern.findall(text))


@lru_cache(maxsize=1)
def _converters() -> tuple[Callable[[str], str], ...]:
    import opencc  # 20 ms to load: only for topics with ideographs

    return tuple(opencc.OpenCC(name).convert for name in ("t2s", "s2t"))
