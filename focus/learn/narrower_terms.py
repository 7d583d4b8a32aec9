"""Finds narrower terms of a topic: what a knowledge base puts under it.

A topic has them in a table of its own (`Topic.narrower`). They are no keywords:
they never judge a page. A crawl has its links that name one come sooner, and drops those that do
not bring pages on which the topic's own words are (`focus.score.subtopics`).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator

import msgspec

from focus.learn.kb.knowledge_base import KnowledgeBase
from focus.learn.kb.schema import NAME_SEPARATOR, NARROWER, fold_name, list_names, remove_sense
from focus.score.statistics.entities import is_linkable
from focus.text.tokenisation import has_han
from focus.topic.topic import Topic

MAX_TERMS = 300  # of a topic, the best known
LEVEL_WEIGHTS = 0.6, 0.4  # of what stands right under a topic, of what stands under that
SHARED_NAME_FACTOR = 0.5  # of the weight for a name that several entities go by

NamedFact = tuple[str, str]
"""A folded name, and the fact that speaks for it."""


def add_narrower_terms(topic: Topic, kb: KnowledgeBase) -> Topic:
    """The topic with its instances, subclasses and parts, two levels down, as narrower terms.

    Weighs 0.6 what stands right under a keyword, 0.4 what stands under such a term; half of it
    where several entities have the name. Names that hold a keyword are left out: a link with such
    a name has a word of the topic anyway.
    """
    words = {fold_name(keyword.text) for keyword in topic.keywords}
    weights: dict[str, float] = dict(topic.narrower)
    sources: dict[str, str] = {}
    level: Collection[str] = words
    for weight in LEVEL_WEIGHTS:
        terms: dict[str, str] = {}
        for name, fact in _find_terms_below(kb, level):
            if _is_new_term(name, words, weights):
                terms.setdefault(name, fact)
        names = list(terms)[: max(0, MAX_TERMS - len(weights))]
        bearers = kb.entities_by_name(names)
        for name in names:
            factor = SHARED_NAME_FACTOR if len(bearers.get(name, ())) > 1 else 1.0
            weights[name] = round(weight * factor, 2)
            sources[name] = f"knowledge base: {terms[name]}"
        level = names
        if not level:
            break
    return msgspec.structs.replace(topic, narrower=weights, sources={**sources, **topic.sources})


def _find_terms_below(kb: KnowledgeBase, words: Collection[str]) -> Iterator[NamedFact]:
    """The names of what stands under these words, of the best known first."""
    for word in words:
        for entity in kb.find_entities(word):
            for attribute, value in entity.facts:
                if attribute in NARROWER:
                    for name in NAME_SEPARATOR.split(value):
                        yield fold_name(remove_sense(name)), f"{entity.name} {attribute}"
    best_known = heapq.nlargest(
        MAX_TERMS, kb.find_narrower(words), key=lambda pair: len(pair[0].facts)
    )
    for entity, fact in best_known:
        for name in sorted(list_names(entity.name, entity.facts)):
            if "(" not in name:
                yield name, fact


def _is_new_term(name: str, words: Collection[str], known: Collection[str]) -> bool:
    return (
        is_linkable(name) and name not in known and not any(_contains_word(name, w) for w in words)
    )


def _contains_word(name: str, word: str) -> bool:
    return word in name if has_han(word) else f" {word} " in f" {name} "
