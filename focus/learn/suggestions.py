"""Names and terms that sources propose for a topic, and their effect on stored pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from focus.errors import ConfigError
from focus.learn.topic_building import ModelSet, SourcedPage
from focus.score.matching import Matcher, fold_body
from focus.topic.terms import remove_words
from focus.topic.topic import Keyword, Topic

ALL = "all"
"""Word for all suggestions, in the place of a term."""


class Suggestion(msgspec.Struct, frozen=True):
    """A proposed name or term.

    pages           stored pages on which it occurs; None without a crawl
    newly_relevant  those of them that are relevant only with all suggestions
    """

    term: str
    role: str
    weight: float
    source: str
    pages: int | None = None
    newly_relevant: int | None = None


class Effect(NamedTuple):
    """Suggestions with their effect on stored pages, and the numbers of these pages."""

    suggestions: list[Suggestion]
    pages: int
    newly_relevant: int


def list_suggestions(topic: Topic, wide: Topic) -> list[Suggestion]:
    """Return the names and terms of `wide` that `topic` does not have."""
    known = {keyword.text for keyword in topic.keywords} | topic.terms.keys()
    words = [("name", keyword.text, keyword.weight) for keyword in wide.keywords]
    words += [("term", term, weight) for term, weight in wide.terms.items()]
    return [
        Suggestion(word, role, weight, wide.sources.get(word, ""))
        for role, word, weight in words
        if word not in known
    ]


def count_effect(
    topic: Topic, wide: Topic, suggestions: Sequence[Suggestion], pages: Iterable[SourcedPage]
) -> Effect:
    """Return the suggestions with the numbers of pages on which they occur and decide."""
    finder = Matcher(Topic("", tuple(Keyword(suggestion.term) for suggestion in suggestions)))
    before, after = ModelSet(topic), ModelSet(wide)
    on_pages, newly_on_pages = Counter[str](), Counter[str]()
    total = newly_relevant = 0
    for page in (sourced.page for sourced in pages):
        total += 1
        words = finder.keyword_counts(fold_body(f"{page.title}\n{page.content}"))
        on_pages.update(words.keys())
        if words and after.judge(page)[0].relevant and not before.judge(page)[0].relevant:
            newly_relevant += 1
            newly_on_pages.update(words.keys())
    counted = [
        msgspec.structs.replace(s, pages=on_pages[s.term], newly_relevant=newly_on_pages[s.term])
        for s in suggestions
    ]
    return Effect(counted, total, newly_relevant)


def keep_accepted(
    wide: Topic,
    suggestions: Sequence[Suggestion],
    accepted: Collection[str],
    rejected: Collection[str],
) -> Topic:
    """Return the topic with the accepted suggestions only; without any, all but the rejected ones.

    Raises ConfigError for a word that is not suggested.
    """
    words = {suggestion.term for suggestion in suggestions}
    for word in (*accepted, *rejected):
        if word not in words and word != ALL:
            raise ConfigError("{word!r} is not suggested, so it cannot be chosen", word=word)
    omitted = words - set(accepted) if accepted and ALL not in accepted else set()
    return remove_words(wide, omitted.union(rejected))
