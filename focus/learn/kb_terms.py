"""Related terms of a topic from a knowledge base: its instances, subclasses and parts."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator

from focus.learn.kb.knowledge_base import KnowledgeBase
from focus.learn.kb.schema import NAME_SEPARATOR, NARROWER, fold_name, list_names, remove_sense
from focus.score.statistics.entities import is_linkable
from focus.topic.terms import MAX_TERMS, add_terms
from focus.topic.topic import TERM_WEIGHT, Topic

_LEVELS = 2  # instances of instances are terms, too
_MAX_ENTITIES = 300  # the best known ones of a level
_SHARED_NAME_FACTOR = 0.5  # factor for a name that several entities have

NamedFact = tuple[str, str]
"""A folded name, and the fact it comes from."""


def add_kb_terms(topic: Topic, kb: KnowledgeBase) -> Topic:
    """Return the topic with its instances, subclasses and parts as terms, two levels down.

    A name that several entities have gets half of the usual weight.
    """
    level: Collection[str] = {fold_name(keyword.text) for keyword in topic.keywords}
    max_terms = len(topic.terms) + MAX_TERMS
    for _ in range(_LEVELS):
        facts: dict[str, str] = {}
        for name, fact in _find_terms_below(kb, level):
            if is_linkable(name):
                facts.setdefault(name, f"knowledge base: {fact}")
        bearers = kb.entities_by_name(list(facts))
        weights = {
            name: TERM_WEIGHT * (_SHARED_NAME_FACTOR if len(bearers.get(name, ())) > 1 else 1.0)
            for name in facts
        }
        known = topic.terms.keys()
        limit = max_terms - len(known)
        topic = add_terms(topic, facts, facts, weights=weights, limit=limit)
        level = [name for name in topic.terms if name not in known]
        if not level:
            break
    return topic


def _find_terms_below(kb: KnowledgeBase, words: Collection[str]) -> Iterator[NamedFact]:
    """Yield the names of everything under these words, of the best known entity first."""
    for word in words:
        for entity in kb.find_entities(word):
            for attribute, value in entity.facts:
                if attribute in NARROWER:
                    for name in NAME_SEPARATOR.split(value):
                        yield fold_name(remove_sense(name)), f"{entity.name} {attribute}"
    best_known = heapq.nlargest(
        _MAX_ENTITIES, kb.find_narrower(words), key=lambda pair: len(pair[0].facts)
    )
    for entity, fact in best_known:
        for name in sorted(list_names(entity.name, entity.facts)):
            if "(" not in name:
                yield name, fact
