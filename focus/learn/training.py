"""Trains and tests a topic's classifier on labelled pages.

    Extractor     a document → the words, and the features of the entities, that it has
    train_on      labelled pages → classifier, with P, R and F by cross-validation

The documents come from corpus.py; the mathematics is in score/statistics/naive_bayes.py and
score/statistics/feature_selection.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from random import Random

import msgspec

from focus.errors import ConfigError
from focus.learn.kb.base import KnowledgeBase
from focus.learn.kb.file import folded, names_of
from focus.learn.model_file import Trained
from focus.score.relevance import Document
from focus.score.relevance.bayes import (
    MAX_ENTITY_CHARS,
    EntityExpansion,
    entity_features,
    feature_words,
    page_text,
)
from focus.score.statistics.entities import is_linkable, link_entities, make_gazetteer_table
from focus.score.statistics.feature_selection import (
    LabelledWords,
    WordCounts,
    count_words,
    select_words,
)
from focus.score.statistics.naive_bayes import (
    ClassifierTest,
    FeatureSelector,
    ScoredLabel,
    cross_validate,
    evaluate_classifier,
    fit_calibration,
    make_feature_selector,
    make_folds,
)
from focus.text.tokenisation import Segmenter

PARTS = 5  # a classifier is tested on each by a classifier of the others
FEWEST = 5
"""Pages of each kind that a classifier needs at least: one per part of the validation."""

MAX_ENTITIES = 20_000
"""Of a large knowledge base, so many entities at most travel in a classifier."""


# -- features -----------------------------------------------------------------------


class Extractor:
    """Takes the features out of pages; remembers which entities they speak of.

    kb   where entities are known, None: words only
    """

    def __init__(self, segmenter: Segmenter, kb: KnowledgeBase | None = None) -> None:
        self.kb = kb
        self.entities: dict[str, set[str]] = {}
        self._segmenter = segmenter

    def words(self, page: Document) -> set[str]:
        """The words of a page that may be features."""
        return feature_words(self._segmenter.tokens(page_text(page)))

    def expansion(self, page: Document) -> set[str]:
        """What the entities stand for that a page speaks of (none without knowledge base)."""
        if self.kb is None:
            return set()
        text = page_text(page)
        mentions = link_entities(text[:MAX_ENTITY_CHARS], self._segmenter.tokens(text), self.kb)
        found = {mention.entity for mention in mentions}
        for name, entity in self.kb.entities(found - self.entities.keys()).items():
            self.entities[name] = entity_features(entity, self._segmenter)
        return {each for name in found for each in self.entities.get(name, ())}

    def embedded(self, features: Collection[str]) -> EntityExpansion | None:
        """The part of the knowledge base that a classifier of these features needs.

        All of a small base; of a large one the entities that were met, then such of the
        same categories, as far as these are features.
        """
        if self.kb is None:
            return None
        wanted = set(features)
        met = [name for name, each in self.entities.items() if not wanted.isdisjoint(each)]
        if len(self.kb) <= MAX_ENTITIES:
            names = self.kb.names(MAX_ENTITIES)
        else:
            kinds = {kind for each in self.kb.entities(met).values() for kind in each.categories}
            more = self.kb.names(MAX_ENTITIES - len(met), kinds & wanted)
            names = list(dict.fromkeys((*met, *more)))[:MAX_ENTITIES]
        entities = self.kb.entities(names)
        brought = {
            name: sorted(entity_features(entity, self._segmenter) & wanted)
            for name, entity in entities.items()
        }
        useful = {name: each for name, each in brought.items() if each}
        texts = {
            text
            for name in useful
            for text in names_of(name, entities[name].facts)
            if is_linkable(text)
        }
        bearers = self.kb.entities_by_name(texts)
        shared = {name for each in bearers.values() if len(each) > 1 for name in each}
        around = {name: sorted(words) for name, words in self.kb.context_words(shared).items()}
        return EntityExpansion(make_gazetteer_table(bearers, around), useful)


class Example(msgspec.Struct, frozen=True):
    """A labelled page, taken apart."""

    words: set[str]
    expansion: set[str]
    is_on: bool

    def sample(self, *, entities: bool) -> LabelledWords:
        """With or without what the entities add."""
        return (self.words | self.expansion if entities else self.words, self.is_on)


def examples(pages: Iterable[Document], is_on: bool, extractor: Extractor) -> list[Example]:
    """Pages of one label, taken apart one after the other."""
    return [Example(extractor.words(page), extractor.expansion(page), is_on) for page in pages]


def telling(pages: Sequence[Example], extractor: Extractor) -> list[Example]:
    """The examples with only such features of entities as say more than the entity's name.

    A word of one entity's description alone comes and goes with that entity's name; naive
    Bayes would count the name ten times over. Left are names, and what several share.
    """
    bringers = Counter(each for features in extractor.entities.values() for each in features)
    names = {folded(name) for name in extractor.entities}
    kept = names | {each for each, number in bringers.items() if number > 1}
    return [msgspec.structs.replace(page, expansion=page.expansion & kept) for page in pages]


# -- training -----------------------------------------------------------------------


class TrainingOptions(msgspec.Struct, frozen=True):
    """Options of training: `number` features by the method `select`."""

    select: str = "ig"
    number: int = 500


def with_entities(plan: TrainingOptions, brought: Collection[str]) -> FeatureSelector:
    """The features when entities are at hand: the best of all, and the entities' own join.

    P3 4.3.3 adds every feature of every entity; here as many as there are words at most, the
    best of those by the same method (what tells nothing helps no classifier).
    """

    def choose(counts: WordCounts) -> Sequence[str]:
        best = select_words(counts, plan.select, plan.number)
        own = WordCounts(
            counts.on, counts.off, {w: n for w, n in counts.words.items() if w in brought}
        )
        return list(dict.fromkeys((*best, *select_words(own, plan.select, plan.number))))

    return choose


def train_on(pages: Sequence[Example], extractor: Extractor, plan: TrainingOptions) -> Trained:
    """A classifier of labelled pages, tested with and without entities, calibrated.

    ConfigError when there are too few pages of a kind.
    """
    _check(pages)
    pages = telling(pages, extractor)
    brought = {each for page in pages for each in page.expansion}
    plain: list[LabelledWords] = [page.sample(entities=False) for page in pages]
    parts = make_folds(plain, PARTS, Random(0))
    choose, samples = make_feature_selector(plan.select, plan.number), plain
    scored, verdicts = _validated("words", plain, parts, choose)
    if extractor.kb is not None:
        samples = [page.sample(entities=True) for page in pages]
        choose = with_entities(plan, brought)
        scored, more = _validated("words and entities", samples, parts, choose)
        verdicts |= more
    counts = count_words(samples)
    features = list(choose(counts))
    frequent = {word: n for word, n in counts.words.items() if sum(n) > 1}
    return Trained(
        select=plan.select,
        number=plan.number,
        features=features,
        counts=WordCounts(counts.on, counts.off, frequent),
        calibration=fit_calibration(scored),
        expansion=extractor.embedded(features),
        verdicts=verdicts,
    )


def _check(pages: Sequence[Example]) -> None:
    for wanted, option in ((True, "--positive"), (False, "--negative")):
        number = sum(page.is_on is wanted for page in pages)
        if number < FEWEST:
            raise ConfigError(
                "{option}: only {number} pages; a classifier needs {fewest} of each kind at least",
                option=option,
                number=number,
                fewest=FEWEST,
            )


def _validated(
    name: str,
    samples: Sequence[LabelledWords],
    parts: Sequence[Sequence[int]],
    choose: FeatureSelector,
) -> tuple[list[ScoredLabel], dict[str, ClassifierTest]]:
    scored = cross_validate(samples, parts, choose)
    raw, calibrated = evaluate_classifier(scored, parts)
    return scored, {name: raw, f"{name}, calibrated": calibrated}
