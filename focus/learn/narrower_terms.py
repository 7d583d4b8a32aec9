"""Narrower terms of a topic, from a knowledge base.

A topic has a table of them (`Topic.narrower`). They are not keywords and do not affect the
relevance of pages. A crawl raises the priority of links whose text contains one, and drops terms
whose pages do not have the topic's keywords (`focus.score.subtopics`).
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

MAX_TERMS = 300  # the best known terms of a topic
LEVEL_WEIGHTS = 0.6, 0.4  # weights of the first and the second level
SHARED_NAME_FACTOR = 0.5  # factor for a name that several entities have

NamedFact = tuple[str, str]
"""A folded name, and the fact it comes from."""


def add_narrower_terms(topic: Topic, kb: KnowledgeBase) -> Topic:
    """Return the topic with its instances, subclasses and parts, two levels down.

    Terms directly under a keyword have weight 0.6, terms under these 0.4; half of it if several
    entities have the name. Names that contain a keyword are omitted: a link with such a name
    contains a topic word anyway.
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
    """Yield the names of everything under these words, of the best known entity first."""
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
